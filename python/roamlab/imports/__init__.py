"""Movement, topologies and orbits of other programs, as parts of a scenario (docs/import.md)."""
