"""A person at the board."""
