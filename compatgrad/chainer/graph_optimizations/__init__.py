"""Chainer's static graphs. compatgrad defines every graph by running it, so the decorators return their functions
unchanged.
"""

from compatgrad.chainer.graph_optimizations.static_graph_utilities import static_code as static_code
