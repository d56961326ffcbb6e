"""Pretrained networks, which are read from .nnp files."""
