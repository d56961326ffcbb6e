"""Chainer's function classes over the engine's ops.

A class names its op and states Chainer's checks. An instance is either a node that the engine recorded, as hooks and
`creator` show it, or an object that a program made; its `apply` turns it into such a node.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from compatgrad import _C, ops
from compatgrad.chainer import backend, function_node, utils
from compatgrad.chainer._documented import documented_class
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _bound
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array, as_variable
from compatgrad.core.configuration import force_backprop_mode, no_backprop_mode

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

_OVERRIDABLE = frozenset(("forward", "forward_cpu", "forward_gpu", "backward", "backward_accumulate"))


@functools.cache
def _parameters(op: str) -> frozenset[str]:
    """The names of an op's parameters."""
    found = inspect.signature(getattr(ops, op)).parameters.values()
    return frozenset([p.name for p in found if p.kind is not p.POSITIONAL_ONLY])


class NativeFunction(function_node.FunctionNode):
    """Base of function classes that the op named `op` computes.

    `params` are the op's parameters, by keyword. A subclass may define `check_type_forward(in_types)`, `label`, and
    properties that read `self.op_params`, for the attributes that programs know from Chainer.
    """

    op = None
    _bound = None
    _given = None

    def __init_subclass__(cls, show=True, **kwargs):
        """`show=False`: nodes of this op appear as instances of another class."""
        super().__init_subclass__(**kwargs)
        if "op" in cls.__dict__ and cls.op is not None:
            cls._bound = frontend.bind(cls.op, dtype="any")
            if show:
                frontend.node_classes[cls.op] = cls
        elif cls._bound is not None and not _OVERRIDABLE.isdisjoint(cls.__dict__):
            cls.apply = function_node.FunctionNode.apply  # the op would bypass a program's forward

    def __init__(self, **params: Any) -> None:
        unknown = params.keys() - (_parameters(self.op) if params and self.op else ())
        if unknown:
            raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {min(unknown)!r}")
        self._given = params

    @property
    def op_params(self) -> dict[str, Any]:
        """The op's parameters by name."""
        return self._given if self._given is not None else _C.FunctionNode.op_params.__get__(self)

    def check(self, inputs):
        """Raises Chainer's errors for these inputs: TypeError if one is not an array, InvalidType for a wrong dtype or
        shape."""
        utils._check_devices(inputs, self.label)
        in_data = tuple([_looks_of(x) if isinstance(x, _C.Variable) else x for x in inputs])
        utils._check_arrays_forward_compatible(in_data, self.label)
        if _C.get_mode("type_check"):
            self._check_data_type_forward(in_data)
        function_node._refuse_empty(self.label, [a for a, x in zip(in_data, inputs, strict=True) if x is not None])

    def apply(self, inputs):
        self.check(inputs)
        y = self._run_bound(inputs)
        return y if isinstance(y, tuple) else (y,)

    def _run_bound(self, inputs):
        return self._bound._apply_as(self, *inputs, **self.op_params)

    def forward(self, inputs):
        if self.is_native:
            return self._run_native(*inputs)
        with no_backprop_mode():
            y = self._twin()._run_bound(inputs)
        self.retain_inputs(range(len(inputs)))
        return tuple([v.array for v in y]) if isinstance(y, tuple) else (y.array,)

    def backward(self, target_input_indexes, grad_outputs):
        if self.is_native:
            return super().backward(target_input_indexes, grad_outputs)
        again = _C.get_mode("enable_backprop")
        with force_backprop_mode():
            # One node per input: a Variable that is given twice gets two gradients, which the caller adds.
            xs = [_bound.identity(x) if x.dtype.kind == "f" else x for x in self.get_retained_inputs()]
            y = self._twin()._run_bound(xs)
        targets = [xs[i] for i in target_input_indexes]
        none = [None] * len(targets)
        ys = y if isinstance(y, tuple) else (y,)
        return tuple(_C.grad(frontend, ys, targets, list(grad_outputs), none, False, None, again))

    def _twin(self):
        """Another node with the state of this one, which the engine may record: this one is recorded already."""
        twin = type(self).__new__(type(self))
        twin.__dict__ = self.__dict__
        return twin


def _looks_of(x):
    """An array of the shape and dtype of x, for checks: x.array, or zeros while a trace runs, in which x has no
    values."""
    if _C.traced():
        return numpy.broadcast_to(numpy.zeros((), x.dtype), x.shape)
    return x.array


class NativeListFunction(NativeFunction):
    """A function of any number of inputs."""

    def _run_bound(self, inputs):
        return self._bound._apply_as(self, list(inputs), **self.op_params)


def applied(function, x, W, b):
    """The result of `function` of an input, weights and, unless it is None, a bias."""
    return function.apply((x, W) if b is None else (x, W, b))[0]


def function(cls, dtype="float"):
    """Decorator of a public function: where compiled code accepts the inputs, it runs the op of `cls` at once;
    otherwise the decorated function is called. The name, the types and the docstring are those of the decorated
    function.
    """

    def bind(f):
        return frontend.bind(cls.op, f, dtype=dtype, name=f.__name__, doc=f.__doc__, module=f.__module__)

    return bind


def _caller():
    """The name of the module that calls the caller of this function."""
    return sys._getframe(2).f_globals["__name__"]


def unary(name, formula, given, result, op=None, base=None):
    """Makes the class `name` of the element-wise function of one floating input that the op `op` computes, by default
    the op of that name in lower case; the public function, which has the op's name; and the docstrings of both.
    `formula` is the docstring's first sentence; `given` and `result` are the elements of an example. `base` is the
    class's base, by default `NamedElementwise`. Returns the class and the function.
    """
    namespace = {"op": op or name.lower(), "__module__": _caller()}
    cls = type(name, (base or NamedElementwise,), namespace)
    return cls, unary_function(cls, formula, given, result)


def unary_function(cls, formula, given, result, name=None):
    """As `unary`, for a class that exists; `name` is the function's name, by default that of the class's op."""

    def fallback(x: VariableOrArray) -> Variable:
        return cls().apply((x,))[0]

    fallback.__name__ = cls.documented = name = name or cls.op
    cls.__doc__ = documented_class
    doc = _UNARY.format(formula=formula, name=name, given=given, result=result)
    return frontend.bind(cls.op, fallback, name=name, doc=doc, module=cls.__module__)


def unary_docstring(formula, given, result):
    """Decorator that gives a public function of one floating input its docstring; the arguments are as in `unary`."""

    def document(f):
        f.__doc__ = _UNARY.format(formula=formula, name=f.__name__, given=given, result=result)
        return f

    return document


_UNARY = """{formula}

    Args:
        x: floating, any shape.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point.

    Example:
        >>> F.{name}(np.array({given})).array
        array({result})

    Source: `chainer.functions.{name}` of Chainer 7.8.1.
    """


def constant(name: str, formula: str, given: str, result: str) -> Callable[[VariableOrArray], Variable]:
    """Makes the public function of one input that NumPy or CuPy computes as `name`; its result is a constant, which is
    not connected to the input in the graph. The other arguments are as in `unary`.
    """

    def compute(x: VariableOrArray) -> Variable:
        x = as_array(x)
        return as_variable(utils.force_array(getattr(backend.get_array_module(x), name)(x), getattr(x, "dtype", None)))

    compute.__name__ = compute.__qualname__ = name
    compute.__module__ = _caller()
    compute.__doc__ = _CONSTANT.format(formula=formula, name=name, given=given, result=result)
    return compute


_CONSTANT = """{formula}, element-wise; the result is a constant, through which no gradient reaches `x`.

    Args:
        x: any real dtype, any shape; a number counts as an array.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        TypeError: `x` is neither a Variable, an array nor a number.

    Example:
        >>> F.{name}(np.array({given})).array
        array({result})

    Source: `chainer.functions.{name}` of Chainer 7.8.1.
    """


def parameter(name, index=None):
    """Makes a property: the value of the op's parameter `name` in the constructor, or in the call that made the
    node."""
    if index is None:
        return property(lambda self: self.op_params[name], doc=f"The call's argument `{name}`.")
    return property(lambda self: self.op_params[name][index], doc=f"The call's argument `{name}[{index}]`.")


def expect_floats(in_types, names):
    """Checks that all inputs are floating and of one dtype."""
    type_check._argname(in_types, names)
    type_check.expect(in_types[0].dtype.kind == "f")
    for t in in_types[1:]:
        type_check.expect(t.dtype == in_types[0].dtype)


def expect_axis(in_type, axis):
    """Checks that the input has the axis `axis`, which may be negative."""
    if axis >= 0:
        type_check.expect(axis < in_type.ndim)
    else:
        type_check.expect(-axis - 1 < in_type.ndim)


class Elementwise(NativeFunction):
    """A function of one floating input, element by element."""

    is_elementwise = True

    def check_type_forward(self, in_types):
        expect_floats(in_types, ("x",))


class ElementwiseOfTwo(NativeFunction):
    """A floating-point function of the elements of x1 and x2, with broadcasting."""

    is_elementwise = True

    def check_type_forward(self, in_types):
        expect_floats(in_types, ("x1", "x2"))
        type_check.expect_broadcast_shapes(in_types[0].shape, in_types[1].shape)


class AlongAxis(NativeFunction):
    """A floating-point function of x along `axis`."""

    def __init__(self, axis: int = 1) -> None:
        super().__init__(axis=axis)

    axis = parameter("axis")

    def check_type_forward(self, in_types):
        expect_floats(in_types, ("x",))
        type_check.expect(-in_types[0].ndim <= self.axis, self.axis < in_types[0].ndim)


class NamedElementwise(Elementwise):
    """An element-wise function whose label is the name of its op."""

    label = property(lambda self: self.op)
