"""The results of a run: its origin, its tables, their storage, and metrics."""
