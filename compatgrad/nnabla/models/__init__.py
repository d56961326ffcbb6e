"""Trained networks by name, read from .nnp files."""
