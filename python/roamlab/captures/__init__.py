"""Captures of other programs: why flows in them stalled."""
