"""Chainer's static graphs. Here every graph is defined by run: the decorators leave their functions as they
are.
"""

from compatgrad.chainer.graph_optimizations.static_graph_utilities import static_code as static_code
