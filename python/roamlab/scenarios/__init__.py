"""Scenarios and the parameters of TCP profiles, as the engine defines them."""
