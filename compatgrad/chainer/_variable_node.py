"""`VariableNode`, the vertex of a Variable in the graph, and the checks of a gradient against its Variable."""

from __future__ import annotations

import traceback
from typing import Any

from compatgrad import _C
from compatgrad.chainer import backend
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.utils import argument
from compatgrad.core.function import FunctionBase

_GRAD_ERRORS = {
    "type": (TypeError, "Type of grad is invalid:\nExpected: Any of {expected}\nActual: {actual}"),
    "array": (TypeError, "Type of data and grad mismatch\ngrad: {actual} != data: {expected}"),
    "dtype": (TypeError, "Dtype of data and grad mismatch\ngrad: {actual} != data: {expected}"),
    "shape": (ValueError, "Shape of data and grad mismatch\ngrad: {actual} != data: {expected}"),
}


def _grad_error(kind, node, input_index, expected, actual):
    """The exception for a gradient that does not fit; `node` is the function that returned it, or None."""
    exception, text = _GRAD_ERRORS[kind]
    text = text.format(expected=expected, actual=actual)
    if node is None:
        return exception(text)
    where = "" if input_index is None else f", the gradient of its input {input_index}"
    lines = [f"Function `{node._impl_name}` ({node.label}) has a bug{where}.\n"]
    if node.stack:
        lines.append("Stacktrace of the function is below:\n")
        lines.extend(traceback.format_list(node.stack))
    return exception("".join(lines) + text)


def _check_grad_type(func, x, is_node_x, gx, input_index=None):
    """Raises TypeError or ValueError unless the array `gx` can be the gradient of `x`, a VariableNode or a Variable."""
    if is_node_x:
        data = x.data
        if x.shape is None:
            return
    else:
        data = x.array
        if data is None:
            return
    kind = expected = actual = None
    if not isinstance(gx, backend.get_array_types()):
        kind, expected, actual = "type", backend.get_array_types(), type(gx)
    elif data is not None and not backend.is_arrays_compatible((gx, data)):
        kind, expected, actual = "array", type(data), type(gx)
    elif gx.dtype != x.dtype and gx.dtype.newbyteorder("=") != x.dtype:
        kind, expected, actual = "dtype", x.dtype, gx.dtype
    elif gx.shape != x.shape:
        kind, expected, actual = "shape", x.shape, gx.shape
    if kind is not None:
        raise _grad_error(kind, func, input_index, expected, actual)


def _get_creator(self):
    """The function that made this variable: a `FunctionNode`, or the `Function` of an old-style one. Settable."""
    node = self.creator_node
    return None if node is None else node._user_object


def _set_creator(self, func):
    self.creator_node = func


_creator = property(_get_creator, _set_creator)


def _creator_node(base):
    """Makes the property `creator_node` for a class whose compiled base class is `base`."""
    getter, setter = base.creator_node.__get__, base.creator_node.__set__

    def set_creator_node(self, func):
        setter(self, func.node if isinstance(func, FunctionBase) else func)

    return property(getter, set_creator_node, doc="The function node that made this variable, or None. Settable.")


class VariableNode(_C.VariableNode):
    """The vertex of a Variable in the graph. The node outlives the Variable; its data is kept only where a function
    retained it.

    Nodes belong to Variables: `Variable(...).node`. Making one raises TypeError.

    Args:
        variable: not used.
        name: not used.
        **kwargs: none.

    Example:
        >>> y = F.exp(chainer.Variable(np.zeros((2, 3), np.float32), name="x"))
        >>> y.creator.inputs[0].name, y.creator.inputs[0].label
        ('x', '(2, 3), float32')

    Source: `chainer.variable.VariableNode` of Chainer 7.8.1.
    """

    __slots__ = ()

    def __new__(cls, variable: Any = None, name: str | None = None, **kwargs: Any) -> Any:
        argument.check_unexpected_kwargs(
            kwargs, grad='unexpected keyword argument "grad": pass the gradient to Variable instead'
        )
        raise TypeError("a VariableNode is made by its Variable: use Variable(...).node")

    creator = _creator
    creator_node = _creator_node(_C.VariableNode)

    @property
    def grad(self):
        """Gradient array of the Variable, None when either is gone."""
        var = self.get_variable_or_none()
        return None if var is None else var.grad

    @property
    def grad_var(self):
        """Gradient Variable of the Variable, None when either is gone."""
        var = self.get_variable_or_none()
        return None if var is None else var.grad_var

    @property
    def label(self):
        """Shape and dtype in a few words, for graph drawings."""
        if self.shape == ():
            return str(self.dtype)
        return f"({', '.join(map(str, self.shape))}), {self.dtype}"

    def set_creator(self, creator: Any) -> None:
        """Same as setting `creator`."""
        self.creator_node = creator

    def set_creator_node(self, creator_node: Any) -> None:
        """Same as setting `creator_node`."""
        self.creator_node = creator_node


frontend.variable_node_class = VariableNode
frontend.on_grad_error = _grad_error
