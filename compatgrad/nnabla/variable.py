"""nnabla.Variable: arrays for data and gradient, and a node of a graph that runs when `forward` is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from compatgrad import _C
from compatgrad.nnabla import callback
from compatgrad.nnabla._attributes import refuse_others
from compatgrad.nnabla._frontend import fe
from compatgrad.nnabla._nd_array import NdArray, dimensions, tensor_of

__all__ = ["CommunicatorBackwardCallback", "Context", "NdArray", "Variable"]

from compatgrad.nnabla.context import Context


class CommunicatorBackwardCallback:
    """Base class of the callbacks for `Variable.backward(communicator_callbacks=)`, called as gradients become final.

    Subclasses override `on_finish_function_backward(function)` and `on_finish_backward()`.

    Example:
        >>> from compatgrad.nnabla.variable import CommunicatorBackwardCallback
        >>> class Told(CommunicatorBackwardCallback):
        ...     def on_finish_function_backward(self, function):
        ...         print(function.name)
        >>> x = nn.Variable.from_numpy_array(np.array([1.0, 2.0]), need_grad=True)
        >>> y = F.sum(F.exp(x))
        >>> y.forward()
        >>> y.backward(communicator_callbacks=Told())
        Sum
        Exp

    Source: `nnabla._variable.CommunicatorBackwardCallback` of nnabla 1.39.0.
    """

    #: whether it has nothing to do until the end of backward
    _idle = False

    def on_finish_function_backward(self, function: Any) -> None:
        """Called after each function's backward."""

    def on_finish_backward(self) -> None:
        """Called once, at the end of backward."""

    def _begin(self, variable: Variable) -> None:
        """Called before backward of `variable`."""


@refuse_others
class Variable(_C.DeferredVariable):
    """A node of a graph, with arrays for data and gradient.

    Two Variables are equal if they share the same pair of arrays, even at different places of the graph.

    Args:
        shape: the lengths of the axes.
        need_grad: whether it needs a gradient. None: a leaf does not; the output of a function does if one of its
            inputs does.
        info: any object, stored as the attribute `info`.

    Raises:
        TypeError: `shape` has no integers, or is a tensor.

    Example:
        >>> x = nn.Variable((2,), need_grad=True)
        >>> y = F.sum(x ** 2)
        >>> x.d = [1, 2]
        >>> y.forward()
        >>> x.grad.zero()
        >>> y.backward()
        >>> y.d, x.g
        (array(5., dtype=float32), array([2., 4.], dtype=float32))

    Source: `nnabla.Variable` of nnabla 1.39.0.
    """

    _frontend = fe

    def __new__(cls, shape: Any = (), need_grad: bool | None = None, info: Any = None) -> Variable:
        """Initializes the Variable here, so that a subclass may use it before, or without, calling `__init__`."""
        if isinstance(shape, torch.Tensor):
            raise TypeError('Variable: shape: expected a tuple of int, got a tensor; use interop.to("nnabla", t)')
        v = super().__new__(cls)
        v._setup(dimensions(shape), need_grad)
        if info is not None:
            v.info = info
        return v

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: `__new__` uses the arguments."""

    info: Any = None

    @staticmethod
    def from_numpy_array(data: Any, grad: Any = None, need_grad: bool | None = None) -> Variable:
        """A Variable with copies of `data` and, if given, `grad`; both keep their dtype."""
        data = np.asarray(data)
        v = Variable(data.shape, need_grad)
        v.data.tensor = tensor_of(data)
        if grad is not None:
            grad = np.asarray(grad)
            assert data.shape == grad.shape, f"from_numpy_array: grad has shape {grad.shape}, data {data.shape}"
            v.grad.tensor = tensor_of(grad)
        return v

    def __repr__(self) -> str:
        return f"<Variable({self.shape}, need_grad={self.need_grad}) at {hex(id(self))}>"

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        raise TypeError("object of type 'Variable' has no len()")

    # Variable defines no `__iter__`: Python iterates over x[0], x[1], ..., and programs that check for `__iter__` to
    # recognize lists do not take a Variable for a list.
    __getitem__ = _C.DeferredVariable.__getitem__

    def apply(self, **kwargs: Any) -> Variable:
        """Sets attributes and returns the Variable itself: ``nn.Variable((2, 3)).apply(need_grad=True)``.

        Raises AttributeError for a name that is no attribute of Variables.
        """
        for name, value in kwargs.items():
            if not hasattr(type(self), name):
                raise AttributeError(f"apply: a Variable has no attribute {name!r}")
            setattr(self, name, value)
        return self

    # ---- arrays ------------------------------------------------------------------------------------------------
    @property
    def d(self) -> np.ndarray:
        """The values as a NumPy array that shares their memory. Assigning to it sets values and dtype."""
        return self.data.data

    @d.setter
    def d(self, value: Any) -> None:
        self.data.data = value

    @property
    def g(self) -> np.ndarray:
        """The gradient as a NumPy array that shares its memory."""
        return self.grad.data

    @g.setter
    def g(self, value: Any) -> None:
        self.grad.data = value

    def size_from_axis(self, axis: int = -1) -> int:
        """Number of elements from `axis` on; -1: of all axes."""
        return self.data.size_from_axis(axis)

    def reset_shape(self, shape: Any, force: bool = False) -> None:
        """Changes the shape in place. If the size changes, data and gradient become new arrays of zeros, which share
        memory with no other array.

        Raises RuntimeError if the size changes and `force` is not set, or if the arrays have parts made by `narrow`.
        """
        shape = dimensions(shape)
        resized = int(np.prod(shape, dtype=np.int64)) != self.size
        if resized and not force:
            raise RuntimeError(f"reset_shape: shape {shape} has another size than {self.shape}; force=True allows it")
        if resized:
            self.data._set_shape(shape)
            self.grad._set_shape(shape)
        self._set_shape(shape)

    # The module `_methods` sets these: they are functions, whose modules import this class.
    reshape: Callable[..., Variable]
    bool_fill_: Callable[..., Variable]
    masked_fill_: Callable[..., Variable]
    no_grad: Callable[..., Variable]

    # ---- graph -------------------------------------------------------------------------------------------------
    @property
    def recompute(self) -> bool:
        """Whether forward frees the data after its last use, and backward recomputes it."""
        return self._recompute

    @recompute.setter
    def recompute(self, value: bool) -> None:
        self._recompute = value

    def rewire_on(self, var: Variable) -> None:
        """Makes this Variable, with the functions that read it, the output of the parent of `var`; `var` loses its
        parent. Raises RuntimeError if the shapes differ or `var` has no parent.
        """
        self._rewire_on(var)

    def get_unlinked_variable(self, need_grad: bool | None = None) -> Variable:
        """A Variable with the same arrays and no parent. `need_grad` None: as for this Variable."""
        return self._unlinked(self.need_grad if need_grad is None else need_grad)

    def unlinked(self, need_grad: bool | None = None) -> Variable:
        """Deprecated name of `get_unlinked_variable`."""
        from compatgrad.nnabla.logger import logger

        logger.warning("Variable.unlinked is deprecated: use get_unlinked_variable.")
        return self.get_unlinked_variable(need_grad)

    def visit(self, f: Callable[[Any], Any]) -> None:
        """Calls `f` with each function this Variable depends on, inputs first."""
        if self.parent is not None:
            for function in self._functions():
                f(function)

    def visit_check(self, f: Callable[[Any], Any]) -> bool:
        """Like `visit`, but stops and returns True at the first function for which `f` returns a true value."""
        return self.parent is not None and any(f(function) for function in self._functions())

    def clear_all_graph_links(self) -> None:
        """Removes the parents of all Variables that this one depends on, for truncated backpropagation."""
        if self.parent is not None:
            for function in list(self._functions()):
                for y in function.outputs:
                    y.parent = None

    # ---- passes ------------------------------------------------------------------------------------------------
    def forward(
        self,
        clear_buffer: bool = False,
        clear_no_need_grad: bool = False,
        function_pre_hook: Any = None,
        function_post_hook: Any = None,
    ) -> None:
        """Computes this Variable and all it depends on.

        `clear_buffer` frees every array after its last use, except those of persistent Variables. `clear_no_need_grad`
        frees the arrays that no backward function reads. The hooks are called with each function before and after it
        runs. Raises RuntimeError if the Variable has no parent.
        """
        _C.deferred_forward(
            (self,),
            clear_buffer,
            clear_no_need_grad,
            callback.before(function_pre_hook),
            callback.after(function_post_hook),
            callback.done(),
        )

    def backward(
        self,
        grad: Any = 1,
        clear_buffer: bool = False,
        communicator_callbacks: Any = None,
        function_pre_hook: Any = None,
        function_post_hook: Any = None,
    ) -> None:
        """Adds to the gradients of all leaves that need one, and replaces the gradients of intermediate Variables.

        `grad` is the gradient of this Variable: a number, an array, an NdArray (not copied), or None for the current
        `grad`. `clear_buffer` frees data and gradients of intermediate Variables after their last use. Raises
        RuntimeError if the Variable has no parent.
        """
        start, own = _start(self, grad)
        callbacks = communicator_callbacks
        if callbacks is None:
            callbacks = []
        elif not isinstance(callbacks, list):
            callbacks = [callbacks]
        for c in callbacks:
            if isinstance(c, CommunicatorBackwardCallback):
                c._begin(self)
        finished = None
        told = [c for c in callbacks if not getattr(c, "_idle", False)]
        if told:

            def finished(f: Any) -> None:
                for c in told:
                    c.on_finish_function_backward(f)

        _C.deferred_backward(
            self,
            start,
            clear_buffer,
            own,
            callback.before(function_pre_hook),
            callback.after(function_post_hook),
            callback.done(finished),
        )
        for c in callbacks:
            c.on_finish_backward()


def _around(array: NdArray, need_grad: bool | None = None) -> Variable:
    """A leaf Variable whose data is `array` itself, not a copy."""
    v = Variable(array.shape, need_grad)
    v.data = array
    return v


def _start(v: Variable, grad: Any) -> tuple[NdArray | None, bool]:
    """The initial gradient of backward (None: the Variable's own), and whether backward frees it after use."""
    if isinstance(grad, NdArray):
        return grad, False
    if grad is None:
        return None, False
    if np.isscalar(grad):
        start = NdArray(v.shape)
        start.fill(grad)
    else:
        value = np.asarray(grad)
        start = NdArray(value.shape)
        start.data = value
    if start.size != v.size:
        raise RuntimeError(f"backward: grad of shape {start.shape} does not fit a Variable of shape {v.shape}")
    if start.shape != v.shape:
        start = start.view(v.shape)
    return start, True


fe.variable_class = Variable
_C.set_array_class(NdArray)
