"""Chainer's place in the engine. The classes and the functions' modules fill in its attributes."""

from __future__ import annotations

from compatgrad import _C

# Chainer records a function also where no input requires a gradient: ranks, and so the visit order, count it.
frontend = _C.Frontend("chainer", "numpy", record_constants=True)
