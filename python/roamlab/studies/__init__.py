"""Studies that compare, on one network: what no single paper asks."""
