"""Layers as objects that own their parameters."""
