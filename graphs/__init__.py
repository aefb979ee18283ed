"""Layer 2: control flows over units, and their compilation."""
