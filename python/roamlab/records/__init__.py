"""The results of a run: its origin, its tables, and metrics."""
