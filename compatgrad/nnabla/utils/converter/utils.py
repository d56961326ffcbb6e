"""Looks up executors and networks in NNablaProtoBuf messages, and lists functions."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "calc_shape_size",
    "func_set_import_nnp",
    "func_set_nnabla_support",
    "search_network",
    "select_executor",
]


def select_executor(nnp: Any, name: str | None = None) -> Any:
    """Finds an executor.

    Args:
        nnp: an NNablaProtoBuf message.
        name: the name of the executor; None takes the first.

    Returns:
        The Executor message, or None if there is none.

    Raises:
        AttributeError: `nnp` is not such a message.

    Example:
        >>> from compatgrad.nnabla.utils.nnabla_pb2 import NNablaProtoBuf
        >>> from compatgrad.nnabla.utils.converter import select_executor
        >>> message = NNablaProtoBuf()
        >>> for name in ("run", "test"):
        ...     _ = message.executor.add(name=name)
        >>> select_executor(message).name, select_executor(message, "train")
        ('run', None)

    Source: `nnabla.utils.converter.select_executor` of nnabla 1.39.0.
    """
    return next((e for e in nnp.executor if name is None or e.name == name), None)


def search_network(nnp: Any, name: str) -> Any:
    """Finds a network.

    Args:
        nnp: an NNablaProtoBuf message.
        name: the name of the network.

    Returns:
        The Network message, or None if there is none.

    Raises:
        AttributeError: `nnp` is not such a message.

    Example:
        >>> from compatgrad.nnabla.utils.nnabla_pb2 import NNablaProtoBuf
        >>> from compatgrad.nnabla.utils.converter import search_network
        >>> message = NNablaProtoBuf()
        >>> network = message.network.add(name="net", batch_size=8)
        >>> search_network(message, "net").batch_size
        8

    Source: `nnabla.utils.converter.search_network` of nnabla 1.39.0.
    """
    return next((n for n in nnp.network if n.name == name), None)


def func_set_nnabla_support() -> set[str]:
    """Lists the types of functions that files can contain, without the gradients that the package also registers.

    Returns:
        The names of the types, the values of `function.info.type_name`.

    Example:
        >>> from compatgrad.nnabla.utils.converter import func_set_nnabla_support
        >>> {"Affine", "ReLU"} <= func_set_nnabla_support()
        True

    Source: `nnabla.utils.converter.func_set_nnabla_support` of nnabla 1.39.0.
    """
    from ..._declare import specs
    from ...functions import __name__ as package

    return {name for name, spec in specs.items() if spec.body.__module__.startswith(package)}


def func_set_import_nnp(nnp: Any) -> set[str]:
    """Lists the types of the functions in all networks of files.

    Args:
        nnp: the result of `NnpImporter.execute`.

    Returns:
        The names of the types.

    Raises:
        AttributeError: `nnp` has no message `protobuf`.

    Example:
        >>> from types import SimpleNamespace
        >>> from compatgrad.nnabla.utils.nnabla_pb2 import NNablaProtoBuf
        >>> from compatgrad.nnabla.utils.converter import func_set_import_nnp
        >>> message = NNablaProtoBuf()
        >>> function = message.network.add().function.add(type="ReLU")
        >>> func_set_import_nnp(SimpleNamespace(protobuf=message))
        {'ReLU'}

    Source: `nnabla.utils.converter.func_set_import_nnp` of nnabla 1.39.0.
    """
    return {function.type for network in nnp.protobuf.network for function in network.function}


def calc_shape_size(shape: Any, batch_size: int) -> int:
    """The number of elements of a Shape message.

    Args:
        shape: the message.
        batch_size: number that replaces -1.

    Returns:
        The product of the sizes.

    Raises:
        AttributeError: `shape` is not such a message.

    Example:
        >>> from compatgrad.nnabla.utils.nnabla_pb2 import Shape
        >>> from compatgrad.nnabla.utils.converter import calc_shape_size
        >>> calc_shape_size(Shape(dim=[-1, 3]), batch_size=5)
        15

    Source: `nnabla.utils.converter.calc_shape_size` of nnabla 1.39.0.
    """
    return int(np.prod([batch_size if n < 0 else n for n in shape.dim], dtype=np.int64))
