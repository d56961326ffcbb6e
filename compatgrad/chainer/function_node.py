"""`FunctionNode` and `grad`, as Chainer 7.8.1's `chainer.function_node` has them."""

from __future__ import annotations

import traceback
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy

from compatgrad import _C
from compatgrad.chainer import backend, utils, variable
from compatgrad.chainer._documented import take_docstring
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.utils import type_check
from compatgrad.core import bridge, passes
from compatgrad.core.function import FunctionNodeBase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray

_get_mode = _C.get_mode
_EngineVariable = _C.Variable


def _refuse_empty(label, in_data, cause=None):
    for i, x in enumerate(in_data):
        if x is None:
            raise AttributeError(
                f"{label}: input {i} has no data yet: a Parameter without a shape gets data from initialize(shape), "
                "a link's Parameter from the link's first call"
            ) from cause


class FunctionNode(FunctionNodeBase):
    """One application of a function, defined on arrays.

    A subclass defines `forward` (or `forward_cpu` and `forward_gpu`): a tuple of arrays in, a tuple out; and
    `backward(target_input_indexes, grad_outputs)` on Variables. `check_type_forward` may check the input types. `apply`
    runs it, once per instance.

    Example:
        >>> class Square(chainer.FunctionNode):
        ...     def forward(self, inputs):
        ...         self.retain_inputs((0,))
        ...         return (inputs[0] ** 2,)
        ...     def backward(self, target_input_indexes, grad_outputs):
        ...         (x,) = self.get_retained_inputs()
        ...         return (2 * x * grad_outputs[0],)
        >>> x = chainer.Variable(np.float32([3]))
        >>> (y,) = Square().apply((x,))
        >>> (gx,) = chainer.grad([y], [x], enable_double_backprop=True)
        >>> chainer.grad([gx], [x])[0].array
        array([2.], dtype=float32)

    Source: `chainer.FunctionNode` of Chainer 7.8.1.
    """

    _frontend = frontend
    _variable_type = variable.Variable
    _raw = staticmethod(attrgetter("array"))
    is_elementwise = False
    chainerx_device = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        take_docstring(cls)

    @property
    def label(self):
        """Short name of this function in messages and graph drawings."""
        return type(self).__name__

    def __call__(self, *args, **kwargs):
        name = type(self).__name__
        advice = "Use its apply() method instead."
        if type(self).__module__.partition("compatgrad.")[2].startswith("chainer."):
            advice += " For built-in functions, prefer the functions of chainer.functions to their classes."
        raise RuntimeError(f"A FunctionNode ({name}) has been called as if it were a callable. {advice}")

    def apply(self, inputs: Sequence[VariableOrArray | None]) -> tuple[variable.Variable, ...]:
        """Runs forward on the inputs (Variables, arrays or None), records the call in the graph and returns a tuple of
        Variables. Raises TypeError for other inputs or outputs, and InvalidType where `check_type_forward` refuses the
        inputs.
        """
        try:
            in_data = tuple([x.array if isinstance(x, _EngineVariable) else x for x in inputs])
        except ImportError:  # no CuPy, so there are no GPU arrays; inputs on two devices are an error anyway
            utils._check_devices(inputs, self.label)
            raise
        for x in in_data:
            if type(x) is not numpy.ndarray:
                crossed = bridge.left(inputs, frontend)
                if crossed is not None:
                    return self.apply(crossed)
                utils._check_devices(inputs, self.label)
                utils._check_arrays_forward_compatible(in_data, self.label)
                break
        if _get_mode("debug"):
            self.stack = traceback.extract_stack()
        if _get_mode("type_check"):
            self._check_data_type_forward(in_data)
        return self._run(tuple(inputs), in_data)

    def _check_data_type_forward(self, in_data):
        if getattr(self.check_type_forward, "__func__", None) is FunctionNode.check_type_forward:
            return
        in_types = type_check.get_light_types(in_data)
        try:
            with type_check.light_mode:
                self.check_type_forward(in_types)
            return
        except AttributeError as e:
            _refuse_empty(self.label, in_data, e)
            raise
        except type_check.InvalidType:
            pass  # the check below repeats it with expressions, from which the message is made
        in_types = type_check.get_types(in_data, "in_types", False)
        with type_check.get_function_check_context(self):
            self.check_type_forward(in_types)

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        """To be overridden: checks the inputs with `type_check.expect`."""

    def _forward(self, in_data):
        if not cuda.available:
            return self.forward(in_data)
        with backend.using_device(backend.get_device_from_array(*in_data)):
            return self.forward(in_data)

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        """Computes arrays from arrays; by default `forward_gpu` where the first input is on a GPU, else
        `forward_cpu`.
        """
        if self.is_native:
            return self._run_native(*inputs)
        assert len(inputs) > 0
        if isinstance(inputs[0], cuda.ndarray):
            return self.forward_gpu(inputs)
        return self.forward_cpu(inputs)

    def forward_cpu(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        """To be overridden: a tuple of NumPy arrays to a tuple of NumPy arrays."""
        raise NotImplementedError(f"{type(self).__name__}.forward_cpu")

    def forward_gpu(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        """To be overridden: a tuple of CuPy arrays to a tuple of CuPy arrays."""
        raise NotImplementedError(f"{type(self).__name__}.forward_gpu")

    def _check_outputs(self, outputs):
        for y in outputs:
            if type(y) is not numpy.ndarray:
                self._check_array_types(outputs)
                break
        if self.is_elementwise and any(y.shape != outputs[0].shape for y in outputs):
            shapes = ", ".join(repr(y.shape) for y in outputs)
            raise RuntimeError(
                f"An elementwise function returned outputs with different shapes.\n"
                f"Function: {self.label}\nOutput shapes: {shapes}"
            )

    def _check_array_types(self, outputs):
        if backend.is_arrays_compatible(outputs):
            return
        types = tuple(type(y) for y in outputs)
        if not all(y is None or isinstance(y, backend.get_array_types()) for y in outputs):
            raise TypeError(f"forward output must be a tuple of ndarrays ({self.label}).\nActual output types: {types}")
        raise TypeError(f"incompatible array types are mixed in the forward output ({self.label}).\nActual: {types}")

    _has_nan = staticmethod(backend._contains_nan)


class NativeFunctionNode(FunctionNode):
    """The `creator` of a result of an engine op that has no function class. Programs do not make such nodes.

    Example:
        >>> x = chainer.Variable(np.array([0.0]))
        >>> gx, = chainer.grad([F.tanh(x)], [x], enable_double_backprop=True)
        >>> type(gx.creator).__name__, gx.creator.label
        ('NativeFunctionNode', 'tanh_grad')

    Source: compatgrad's own.
    """

    @property
    def label(self):
        if self.op_name is None and (record := _C.torch_record(self)) is not None:
            return record[1]
        return self.op_name

    _impl_name = label


def _check_sequence(argument, value, others, other, optional=True):
    if value is None and optional:
        return
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{argument} must be a tuple or a list{' or None' if optional else ''}, not {type(value)}.")
    if others is not None and len(value) != len(others):
        raise ValueError(
            f"{argument} must be of the same length as {other}.\n"
            f"len({other}) = {len(others)}, len({argument}) = {len(value)}"
        )


def _check_variables(argument, values):
    for v in values:
        if not isinstance(v, _EngineVariable):
            raise TypeError(f"each of {argument} must be a Variable, not {type(v)}.")


def grad(
    outputs: Sequence[variable.Variable],
    inputs: Sequence[variable.Variable],
    grad_outputs: Sequence[variable.Variable | None] | None = None,
    grad_inputs: Sequence[variable.Variable | None] | None = None,
    set_grad: bool = False,
    retain_grad: bool = False,
    enable_double_backprop: bool = False,
    loss_scale: float | None = None,
) -> list[variable.Variable | None]:
    """Gradients of `outputs` with respect to `inputs`.

    Args:
        outputs: sequence of Variables.
        inputs: sequence of Variables.
        grad_outputs: sequence of Variables or None, the gradients of `outputs`; None: ones.
        grad_inputs: sequence of Variables or None, which are added to the results; None: nothing.
        set_grad: True stores the results as the gradients of `inputs`.
        retain_grad: True stores the gradients of intermediate Variables in them.
        enable_double_backprop: True records the pass, so that the results can be differentiated.
        loss_scale: number by which the loss was multiplied, which some functions read; None for 1.

    Returns:
        List of Variables, None for an input that is not reached.

    Raises:
        TypeError: an argument is not a sequence of Variables.
        ValueError: sequences differ in length.
        RuntimeError: an old-style `Function` would be differentiated twice.

    Example:
        >>> x = chainer.Variable(np.float32([1, 2]))
        >>> (gx,) = chainer.grad([F.sum(x ** 3)], [x])
        >>> gx.array, x.grad
        (array([ 3., 12.], dtype=float32), None)

    Source: `chainer.grad` of Chainer 7.8.1.
    """
    _check_sequence("outputs", outputs, None, None, optional=False)
    _check_sequence("inputs", inputs, None, None, optional=False)
    _check_sequence("grad_outputs", grad_outputs, outputs, "outputs")
    _check_sequence("grad_inputs", grad_inputs, inputs, "inputs")
    _check_variables("outputs", outputs)
    try:
        _check_variables("inputs", inputs)
    except TypeError:
        _C.grad(frontend, outputs, [], [None] * len(outputs))  # Chainer reports an old-style function first
        raise
    gys = [g if g is None else variable.as_variable(g) for g in grad_outputs or (None,) * len(outputs)]
    gxs = [g if g is None else variable.as_variable(g) for g in grad_inputs or (None,) * len(inputs)]
    results = passes.compute_grad(
        frontend,
        outputs,
        inputs,
        gys,
        gxs,
        retain_grad=retain_grad,
        enable_double_backprop=enable_double_backprop,
        loss_scale=loss_scale,
    )
    if set_grad:
        passes.set_grads(inputs, results)
    return results


frontend.node_class = NativeFunctionNode
