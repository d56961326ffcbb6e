"""The engine's `Frontend` of Chainer. The modules that define Variables, nodes and functions set its attributes."""

from __future__ import annotations

from compatgrad import _C

# Chainer records a function even where no input requires a gradient: such functions raise the ranks of later ones, and
# the ranks determine the order of backward.
frontend = _C.Frontend("chainer", "numpy", record_constants=True)
