"""Intervals and tests, verdicts on claims, and when a sample is large enough."""
