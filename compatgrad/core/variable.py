"""The native Variable: a torch tensor, its gradient, and its place in the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import torch

from compatgrad import _C
from compatgrad.core import passes
from compatgrad.core.backprop import torch_word
from compatgrad.core.function import FunctionNode

__all__ = ["Variable", "VariableNode"]

_reshape: Callable[..., Variable] = _C.op("reshape")
_transpose: Callable[..., Variable] = _C.op("transpose")
_sum: Callable[..., Variable] = _C.op("sum")
_mean: Callable[..., Variable] = _C.op("mean")


class VariableNode(_C.VariableNode):
    """The node of a Variable in the graph. It exists as long as a function has it as an input or output, even if its
    Variable was deleted.

    `data` and `tensor` are then None, unless a function has retained them for its backward. `shape`, `dtype`, `rank`,
    `name`, `requires_grad` and `creator` remain. `x.node` returns it; programs do not create nodes.

        >>> import torch
        >>> import compatgrad
        >>> y = compatgrad.Variable(torch.ones(2)) * 3
        >>> (node,) = y.creator.inputs
        >>> node.shape, node.get_variable_or_none() is None
        ((2,), True)

    Source: `compatgrad/core/variable.py`, `csrc/python/node.cpp`.
    """

    __slots__ = ()

    @property
    def creator(self) -> FunctionNode | None:
        """The function node that made this variable, or None."""
        return self.creator_node  # type: ignore[no-any-return]  # a frontend's node is of another class

    @property
    def grad(self) -> torch.Tensor | None:
        """The gradient of the Variable, a tensor of its shape; None if the Variable was deleted or has no gradient."""
        variable = self.get_variable_or_none()
        return None if variable is None else variable.grad

    def __repr__(self) -> str:
        return f"VariableNode(shape={self.shape}, dtype={self.dtype}, rank={self.rank})"


def _rebuild(
    cls: type[Variable], tensor: torch.Tensor | None, requires_grad: bool, name: str | None, grad: torch.Tensor | None
) -> Variable:
    """Makes a copied or unpickled Variable, which is a leaf."""
    v = cls.__new__(cls)
    _C.Variable.__init__(v, tensor, requires_grad, name)
    v._grad_tensor = grad
    return v


class Variable(_C.Variable):
    """A torch tensor with a place in compatgrad's graph: functions of `compatgrad` that take it are recorded.

    ``Variable(data=None, requires_grad=True, name=None)``

    data: a tensor or NumPy array of any shape, dtype and device; its memory is shared, not copied. For a tensor that
        requires torch's grad, gradients continue in torch's graph. None makes a Variable without data, until `tensor`
        is assigned.
    requires_grad: bool; False makes a constant, which gets no gradient.
    name: str or None, for pictures of graphs.

    Each call makes a separate leaf: two Variables made from one tensor share its values, and each has its own gradient.

    Attributes are `tensor` (the data), `grad` (the gradient as a tensor), `grad_var` (the gradient as a Variable),
    `shape`, `dtype`, `ndim`, `size`, `name`, `requires_grad`, `creator` and `node`. The operators ``+ - * / ** @``,
    negation, `abs` and indexing take Variables, tensors, arrays and numbers as the other operand, with torch's rules of
    broadcasting and of dtypes; all other functions are in `compatgrad.ops`. torch's functions and modules accept
    Variables, too, and become nodes of their graph (`interop.call`). Comparisons return boolean tensors; `bool`, `int`,
    `float`, `complex` and format strings work for Variables of one element; `to` and `device` work as in torch, and the
    error for a missing attribute of tensors says what to write instead. Raises TypeError for other data. An operator
    whose operands do not fit raises ValueError with its name and the shapes.

        >>> import torch
        >>> import compatgrad
        >>> x = compatgrad.Variable(torch.tensor([[1.0, 2.0]]), name="x")
        >>> y = (x * x + torch.ones(2)).sum()
        >>> y.backward()
        >>> x.grad
        tensor([[2., 4.]])

    Source: `compatgrad/core/variable.py`, `csrc/python/variable.cpp`.
    """

    _frontend = _C.native_frontend
    __array_ufunc__ = None  # without this, NumPy treats the Variable in `array * variable` as a sequence

    if TYPE_CHECKING:  # the compiled class defines these for all frontends

        @property
        def shape(self) -> torch.Size: ...
        @property
        def dtype(self) -> torch.dtype: ...
        def __add__(self, other: Any) -> Variable: ...
        def __radd__(self, other: Any) -> Variable: ...
        def __sub__(self, other: Any) -> Variable: ...
        def __rsub__(self, other: Any) -> Variable: ...
        def __mul__(self, other: Any) -> Variable: ...
        def __rmul__(self, other: Any) -> Variable: ...
        def __truediv__(self, other: Any) -> Variable: ...
        def __rtruediv__(self, other: Any) -> Variable: ...
        def __pow__(self, other: Any) -> Variable: ...
        def __rpow__(self, other: Any) -> Variable: ...
        def __matmul__(self, other: Any) -> Variable: ...
        def __rmatmul__(self, other: Any) -> Variable: ...
        def __neg__(self) -> Variable: ...
        def __pos__(self) -> Variable: ...
        def __abs__(self) -> Variable: ...
        def __getitem__(self, index: Any) -> Variable: ...

    @property
    def grad(self) -> torch.Tensor | None:
        """The gradient: None, or a tensor of the shape and dtype of the data.

        Setting raises TypeError for another type or dtype, ValueError for another shape.
        """
        return self._grad_tensor

    @grad.setter
    def grad(self, g: torch.Tensor | None) -> None:
        if g is not None:
            x = self.tensor
            if not isinstance(g, torch.Tensor):
                raise TypeError(f"grad must be a tensor, not {type(g)}")
            if x is not None and g.dtype != x.dtype:
                raise TypeError(f"grad has dtype {g.dtype}, the variable {x.dtype}")
            if x is not None and g.shape != x.shape:
                raise ValueError(f"grad has shape {tuple(g.shape)}, the variable {tuple(x.shape)}")
        self._grad_tensor = g

    @property
    def creator(self) -> FunctionNode | None:
        """The function node that made this variable; None for a leaf and for a result that was not recorded."""
        return self.creator_node  # type: ignore[no-any-return]  # a frontend's node is of another class

    def backward(
        self,
        retain_grad: bool = False,
        enable_double_backprop: bool = False,
        loss_scale: float | None = None,
        **unknown: Any,
    ) -> None:
        """Backpropagates from this Variable to all leaves, and adds to their gradients.

        The pass starts from `grad`, which is cleared; without a gradient it starts from ones, if there is one element.

        retain_grad: bool; also store the gradients of intermediate Variables.
        enable_double_backprop: bool; record the pass, so that gradients (`grad_var`) can be differentiated.
        loss_scale: float; the factor of the ones.
        unknown: not allowed; for keywords of torch's `backward`, the error says what to write instead.

        ValueError if there is no data, or no gradient and more than one element; TypeError for a gradient passed as
        `retain_grad`, and for an unknown keyword.

            >>> import torch
            >>> import compatgrad
            >>> x = compatgrad.Variable(torch.tensor([3.0]))
            >>> h = x * 2
            >>> (h * h).backward(retain_grad=True)
            >>> x.grad, h.grad
            (tensor([24.]), tensor([12.]))

        Source: `compatgrad/core/backprop.py`.
        """
        self._initialized("backward")
        if unknown:
            _refuse("Variable.backward", unknown)
        if not isinstance(retain_grad, (bool, int)):  # the first argument of torch's `backward` is a gradient
            raise TypeError(
                f"Variable.backward: retain_grad must be a bool, not {type(retain_grad)}; to start from a "
                "gradient, assign it to `grad` first, or call compatgrad.backward(y, gradient)"
            )
        passes.start_backward(
            self._frontend,
            (self,),
            (None,),
            retain_grad=retain_grad,
            enable_double_backprop=enable_double_backprop,
            loss_scale=loss_scale,
        )

    def cleargrad(self) -> None:
        """Sets the gradient to None."""
        self.cleargrad_()

    def zerograd(self) -> None:
        """Sets the gradient to zeros of the shape and dtype of the data; ValueError if there is no data."""
        self._grad_tensor = torch.zeros_like(self._initialized("zerograd"))

    def unchain(self) -> None:
        """Cuts this variable off from the function that made it, which makes it a leaf.

        >>> import torch
        >>> import compatgrad
        >>> x = compatgrad.Variable(torch.ones(1))
        >>> h = x * 2
        >>> h.unchain()
        >>> (h * h).backward()
        >>> x.grad, h.grad
        (None, tensor([4.]))
        """
        self.creator_node = None

    def unchain_backward(self) -> None:
        """Cuts every function that this variable was computed by out of the graph, which frees the data that they
        kept."""
        passes.unchain_backward(self)

    def item(self) -> float | int | bool | complex:
        """The only element, as a Python number.

        RuntimeError if there are more elements, ValueError if there is no data.
        """
        return self._initialized("item").item()

    def _initialized(self, who: str) -> torch.Tensor:
        if self.tensor is None:
            raise ValueError(f"{who}: the Variable has no data; assign its `tensor` first")
        tensor: torch.Tensor = self.tensor
        return tensor

    @property
    def T(self) -> Variable:
        """The Variable with its axes in reverse order, recorded."""
        return _transpose(self)

    def reshape(self, *shape: Any) -> Variable:
        """The same elements in C order in another shape, recorded.

        shape: ints, or one tuple or list of ints; one of them may be -1. ValueError if the number of elements would
            change.

            >>> import torch
            >>> import compatgrad
            >>> compatgrad.Variable(torch.ones(2, 3)).reshape(3, -1).shape
            torch.Size([3, 2])
        """
        return _reshape(self, shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)

    def transpose(self, *axes: Any) -> Variable:
        """The Variable with its axes in another order, recorded.

        axes: ints, or one tuple or list of ints, with each axis once; none for the reverse order. IndexError for an
            axis that does not exist.

            >>> import torch
            >>> import compatgrad
            >>> compatgrad.Variable(torch.ones(2, 3, 4)).transpose(2, 0, 1).shape
            torch.Size([4, 2, 3])
        """
        return _transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None)

    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, **unknown: Any) -> Variable:
        """The sum over axes, recorded.

        axis: int or tuple of ints, None for all. keepdims: keep the axes, with length 1. IndexError for an axis that
            does not exist. unknown: not allowed; for keywords of torch's `sum`, the error says what to write instead.
        """
        if unknown:
            _refuse("Variable.sum", unknown)
        return _sum(self, axis, keepdims)

    def mean(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, **unknown: Any) -> Variable:
        """The mean over axes, recorded; arguments as for `sum`."""
        if unknown:
            _refuse("Variable.mean", unknown)
        return _mean(self, axis, keepdims)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (type(self), self.tensor, self.requires_grad, self.name, self.grad)
        return _rebuild, parts, self.__dict__ or None

    def __repr__(self) -> str:
        name = f" {self.name}" if self.name else ""
        return f"variable{name}({self.tensor})"


def _refuse(who: str, unknown: dict[str, Any]) -> NoReturn:
    raise torch_word(who, unknown) or TypeError(f"{who}() got an unexpected keyword argument {next(iter(unknown))!r}")


def _operator(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    """The operator for cases that the engine's fast path does not handle: a tensor, an array or a number as the other
    operand, two dtypes or devices, integers. For operands that the op refuses, it raises an error that names the op and
    the operands."""
    op = _C.op(name)

    def apply(variable: Any, other: Any) -> Any:
        if isinstance(other, Number):
            other = torch.tensor(other)  # 0-dimensional, so that it determines neither dtype nor device
        elif not isinstance(other, (_C.Variable, torch.Tensor, np.ndarray)):
            return NotImplemented
        if any(isinstance(v, _C.Variable) and v.tensor is None for v in (variable, other)):
            raise ValueError(f"{name}: an operand has no data; assign its `tensor` first")
        return op(other, variable) if reflected else op(variable, other)

    return apply


def _unary(name: str) -> Callable[[Any], Any]:
    op = _C.op(name)

    def apply(variable: Any) -> Any:
        variable._initialized(name)
        return op(variable)

    return apply


_C.native_frontend.fallbacks = {
    **{
        ("r" if r else "") + name: _operator(name, r)
        for name in ("add", "sub", "mul", "div", "pow", "matmul")
        for r in (False, True)
    },
    **{name: _unary(name) for name in ("neg", "abs")},
}
_C.native_frontend.variable_class = Variable
_C.native_frontend.variable_node_class = VariableNode
_C.native_frontend.node_class = FunctionNode
FunctionNode._variable_type = Variable
