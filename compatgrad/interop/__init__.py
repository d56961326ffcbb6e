"""Mixing frontends and torch in one graph, and the way out to torch."""

from compatgrad.interop._torch import call as call

__all__ = ["call"]
