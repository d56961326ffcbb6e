"""Memory layouts of arrays: compatgrad supports the channel-first layout alone. Mirrors ``chainer.memory_layouts``."""

from __future__ import annotations

from typing import Any

CUDNN_CHANNEL_FIRST_X = None
CUDNN_CHANNEL_FIRST_W = None
CUDNN_CHANNEL_LAST_X = "CUDNN_CHANNEL_LAST_X"
CUDNN_CHANNEL_LAST_W = "CUDNN_CHANNEL_LAST_W"


def _check_layout(layout):
    if layout is not None:
        raise NotImplementedError(
            f"chainer.memory_layouts: layout {layout!r} is not supported, only channel-first (None) is"
        )


def get_raw_shape(arr_or_var: Any) -> tuple[int, ...]:
    """The shape of an array or Variable as it is stored. In compatgrad it equals the semantic shape: all arrays are
    stored channel-first.

    Args:
        arr_or_var: the array or Variable.

    Returns:
        The shape.

    Raises:
        AttributeError: the argument has no shape.

    Example:
        >>> chainer.memory_layouts.get_raw_shape(np.zeros((1, 3, 8, 8)))
        (1, 3, 8, 8)

    Source: `chainer.memory_layouts.get_raw_shape` of Chainer 7.8.1.
    """
    return arr_or_var.shape


def get_semantic_shape(arr_or_var: Any, *, assumed_layout: Any = None) -> tuple[int, ...]:
    """The shape of an array or Variable in the order (batch, channels, ...).

    Args:
        arr_or_var: the array or Variable.
        assumed_layout: layout in which an array is stored; must be None, which is channel-first.

    Returns:
        The shape.

    Raises:
        AttributeError: the argument has no shape.
        NotImplementedError: `assumed_layout` is not None.

    Example:
        >>> chainer.memory_layouts.get_semantic_shape(np.zeros((1, 3, 8, 8)))
        (1, 3, 8, 8)

    Source: `chainer.memory_layouts.get_semantic_shape` of Chainer 7.8.1.
    """
    _check_layout(assumed_layout)
    return arr_or_var.shape
