"""Tensor decompositions."""

from . import cpd

__all__ = ["cpd"]
