"""A module whose names are all in the tables."""
