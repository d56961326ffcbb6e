"""The setting that makes functions run when they are called, instead of in `forward`."""

from __future__ import annotations

from compatgrad import _C
from compatgrad.core.configuration import using_modes

__all__ = ["auto_forward", "get_auto_forward", "set_auto_forward"]


def set_auto_forward(auto: bool) -> None:
    """Chooses when functions run: when they are called (dynamic graph) or in `forward` (static graph, the default).

    Args:
        auto: True for a dynamic graph.

    Raises:
        ValueError: `auto` is an array of several elements, which is neither true nor false.

    Example:
        >>> nn.set_auto_forward(True)
        >>> F.relu(nn.Variable.from_numpy_array(np.array([-1.0, 2.0]))).d
        array([0., 2.], dtype=float32)
        >>> nn.set_auto_forward(False)

    Source: `nnabla.set_auto_forward` of nnabla 1.39.0.
    """
    _C.set_default_mode("auto_forward", bool(auto))


def get_auto_forward() -> bool:
    """Whether functions run when they are called.

    Returns:
        True for a dynamic graph, False for a static one.

    Example:
        >>> with nn.auto_forward():
        ...     print(nn.get_auto_forward())
        True
        >>> nn.get_auto_forward()
        False

    Source: `nnabla.get_auto_forward` of nnabla 1.39.0.
    """
    return _C.get_mode("auto_forward")


def auto_forward(auto: bool = True) -> using_modes:
    """Inside the `with` block functions run when they are called; at its end the previous setting is restored.

    Args:
        auto: False makes functions in the block run in `forward`.

    Returns:
        A context manager.

    Raises:
        ValueError: `auto` is an array of several elements, which is neither true nor false.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.array([[1.0, 2.0]]))
        >>> with nn.auto_forward():
        ...     y = F.sum(x)
        >>> float(y.d)
        3.0

    Source: `nnabla.auto_forward` of nnabla 1.39.0.
    """
    return using_modes(process_auto_forward=bool(auto))
