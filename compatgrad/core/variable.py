"""The native Variable: a torch tensor, its gradient, and its place in the graph."""

from __future__ import annotations

import torch

from compatgrad import _C
from compatgrad.core.backprop import start_backward, unchain_backward
from compatgrad.core.function import FunctionNode

__all__ = ["Variable", "VariableNode"]

_reshape, _transpose, _sum, _mean = (_C.op(name) for name in ("reshape", "transpose", "sum", "mean"))


class VariableNode(_C.VariableNode):
    """The vertex of a Variable in the graph. It outlives the Variable; its data only where a function
    retained it.
    """

    __slots__ = ()

    @property
    def creator(self):
        """The function node that made this variable, or None."""
        return self.creator_node

    @property
    def grad(self):
        """The gradient tensor of the Variable, None when either is gone."""
        variable = self.get_variable_or_none()
        return None if variable is None else variable.grad

    def __repr__(self):
        return f"VariableNode(shape={self.shape}, dtype={self.dtype}, rank={self.rank})"


def _rebuild(cls, tensor, requires_grad, name, grad):
    """A copied or unpickled Variable: a leaf."""
    v = cls.__new__(cls)
    _C.Variable.__init__(v, tensor, requires_grad, name)
    v._grad_tensor = grad
    return v


class Variable(_C.Variable):
    """A torch tensor in a graph of its own: `compatgrad` functions applied to it are recorded.

    `Variable(data=None, requires_grad=True, name=None)`: `data` is a tensor, which is shared, not copied, or
    None. A tensor that requires torch's own grad enters with its history: gradients go on in torch's graph.
    With `requires_grad=False` it is a constant.
    """

    _frontend = _C.native_frontend

    @property
    def grad(self) -> torch.Tensor | None:
        """The gradient; TypeError or ValueError when set to one of another type, dtype or shape."""
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
    def creator(self):
        """The function node that made this variable, or None."""
        return self.creator_node

    def backward(
        self,
        retain_grad: bool = False,
        enable_double_backprop: bool = False,
        loss_scale: float | None = None,
    ) -> None:
        """Backprop from here to all leaves, which accumulate.

        Starts from `grad`, which is used up, or from ones (times `loss_scale`) for one element; ValueError
        otherwise. ``retain_grad`` keeps the gradients of intermediates, ``enable_double_backprop`` records
        the pass.
        """
        start_backward(self._frontend, (self,), (None,), retain_grad, enable_double_backprop, loss_scale)

    def cleargrad(self) -> None:
        """Sets the gradient to None."""
        self.cleargrad_()

    def zerograd(self) -> None:
        """Sets the gradient to zeros."""
        self._grad_tensor = torch.zeros_like(self.tensor)

    def unchain(self) -> None:
        """Cuts this variable from the function that made it."""
        self.creator_node = None

    unchain_backward = unchain_backward

    def item(self):
        """The only element, as a Python number."""
        return self.tensor.item()

    @property
    def T(self) -> Variable:
        return _transpose(self)

    def reshape(self, *shape) -> Variable:
        return _reshape(self, shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)

    def transpose(self, *axes) -> Variable:
        return _transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None)

    def sum(self, axis=None, keepdims: bool = False) -> Variable:
        return _sum(self, axis, keepdims)

    def mean(self, axis=None, keepdims: bool = False) -> Variable:
        return _mean(self, axis, keepdims)

    def __reduce__(self):
        parts = (type(self), self.tensor, self.requires_grad, self.name, self.grad)
        return _rebuild, parts, self.__dict__ or None

    def __repr__(self):
        name = f" {self.name}" if self.name else ""
        return f"variable{name}({self.tensor})"


_C.native_frontend.variable_class = Variable
_C.native_frontend.variable_node_class = VariableNode
_C.native_frontend.node_class = FunctionNode
FunctionNode._variable_type = Variable
