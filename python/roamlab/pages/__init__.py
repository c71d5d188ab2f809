"""Pages about a run: `roamlab report`."""
