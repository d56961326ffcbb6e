"""Layers as objects that hold their parameters."""
