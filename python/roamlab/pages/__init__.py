"""Pages about what was run: `roamlab report`."""
