"""A scenario at many points: designs, runs, comparisons, thresholds."""
