"""Storage of results: run folders, and the shards of many runs."""
