"""The study of procedures: handovers of LTE and 5G, what a host feels of each, and what each costs."""
