"""The run explorer: one HTML file with the complete record of a run, for zooming and queries."""
