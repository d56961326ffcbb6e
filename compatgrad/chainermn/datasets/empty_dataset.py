"""A dataset of empty examples with the length of another dataset."""

from __future__ import annotations

from typing import Any


def create_empty_dataset(dataset: Any) -> list[tuple[()]]:
    """A list of empty tuples with the length of `dataset`, for processes of a model-parallel network that read no
    examples.

    Args:
        dataset: an object with a length.

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
