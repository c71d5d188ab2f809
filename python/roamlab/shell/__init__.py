"""`roamlab shell`: programs in namespaces whose cards are nodes of a scenario, in real time."""
