"""Layer 1: what happens inside one unit."""
