"""Studies of the papers' main results under other conditions: measured durations, and the senders of today."""
