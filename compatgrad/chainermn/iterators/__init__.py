"""Iterators with the same batches, or the same order, in all processes."""

from compatgrad.chainermn.iterators.multi_node_iterator import create_multi_node_iterator  # noqa: F401
from compatgrad.chainermn.iterators.synchronized_iterator import create_synchronized_iterator  # noqa: F401
