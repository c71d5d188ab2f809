"""Runs for other programs: captures, traces of ns-2, tables."""
