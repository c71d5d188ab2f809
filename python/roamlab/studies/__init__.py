"""Studies: comparisons on one network that no single paper makes."""
