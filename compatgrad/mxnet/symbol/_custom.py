"""Symbols of operators that are defined in Python."""

from __future__ import annotations

from typing import Any

from .._custom_op import prop_of
from ..name import NameManager
from ._graph import Node, text
from .symbol import Symbol

__all__ = ["Custom"]


def Custom(*data: Any, op_type: str, name: str | None = None, attr: Any = None, **kwargs: Any) -> Symbol:
    """A symbol of an operator that is defined in Python, see `mx.operator.register`.

    Args:
        *data: the inputs, Symbols, in the order of the operator's `list_arguments()` and `list_auxiliary_states()`;
            missing ones become variables that are named after the node.
        op_type: the name of the operator.
        name: the name of the node.
        attr: a dict of attributes of the node.
        **kwargs: inputs by name, and parameters of the operator.

    Returns:
        Symbol of as many outputs as the operator has.

    Raises:
        TypeError: an input is no Symbol.
        mxnet.base.MXNetError: no operator is registered under the name.

    Example:
        >>> @mx.operator.register("doc_double")
        ... class DoubleProp(mx.operator.CustomOpProp):
        ...     pass
        >>> mx.sym.Custom(mx.sym.var("x"), op_type="doc_double", name="y").list_outputs()
        ['y_output']

    Source: `mxnet.sym.Custom` of MXNet 1.9.1.
    """
    given = {k: v for k, v in kwargs.items() if isinstance(v, Symbol)}
    params = {"op_type": op_type, **{k: text(v) for k, v in kwargs.items() if k not in given}}
    prop = prop_of(params)
    names = [*prop.list_arguments(), *prop.list_auxiliary_states()]
    for i, s in enumerate(data):
        if not isinstance(s, Symbol):
            raise TypeError(f"Custom: argument {i}: expected a Symbol, got {type(s)}")
    given = dict(zip(names, data, strict=False)) | given
    name = NameManager._current.value.get(name, "custom")
    inputs = [given[n]._outputs[0] if n in given else (Node(None, f"{name}_{n}"), 0) for n in names]
    node = Node("Custom", name, inputs, params, dict(attr or {}))
    return Symbol([(node, i) for i in range(len(prop.list_outputs()))])
