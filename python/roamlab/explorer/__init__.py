"""The run explorer: one HTML file with all that a run recorded, to zoom, point at and ask."""
