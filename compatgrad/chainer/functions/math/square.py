"""Squares."""

from __future__ import annotations

from compatgrad.chainer.functions import _native

Square, square = _native.unary("Square", "x * x, element-wise.", "[-2.0, 3.0]", "[4., 9.]")
