"""Compares the public names of the frontends, their parameters and defaults, with the originals'."""
