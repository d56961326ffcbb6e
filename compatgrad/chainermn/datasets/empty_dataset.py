"""A dataset of nothing, of the length of another."""

from __future__ import annotations

from typing import Any


def create_empty_dataset(dataset: Any) -> list[tuple[()]]:
    """As many empty tuples as `dataset` has examples: for the processes of a network that read none.

    Args:
        dataset: what has a length.

    Returns:
        The list of empty tuples.

    Raises:
        TypeError: `dataset` has no length.

    Example:
        >>> chainermn.datasets.create_empty_dataset([10, 20])
        [(), ()]

    Source: `chainermn.datasets.create_empty_dataset` of Chainer 7.8.1.
    """
    return [()] * len(dataset)
