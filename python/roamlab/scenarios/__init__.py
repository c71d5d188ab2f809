"""Scenarios and the parameters of TCP profiles, as the engine understands them."""
