"""What a run leaves: its origin, its tables, where they are kept, and what is measured of them."""
