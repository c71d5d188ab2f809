"""Studies of the papers' main results under other conditions: measured durations, and current senders."""
