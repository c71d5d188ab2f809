"""Intervals and tests, verdicts on claims, and the sample size that is large enough."""
