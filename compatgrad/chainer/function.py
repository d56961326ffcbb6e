"""Old-style `Function`, its adapter and the recording modes of Chainer 7.8.1's `chainer.function`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from compatgrad.chainer import backend
from compatgrad.chainer._documented import take_docstring
from compatgrad.chainer._variable_node import _check_grad_type
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.function_hook import FunctionHook  # noqa: F401  (programs find it here as well)
from compatgrad.chainer.function_node import FunctionNode
from compatgrad.core import function as core
from compatgrad.core.configuration import force_backprop_mode, no_backprop_mode  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer.types import NdArray


class FunctionAdapter(core.FunctionAdapter, FunctionNode):
    """The function node of an old-style `Function`; its `creator` in the graph is the Function itself.

    Args:
        function: Function. Calling it makes its node.

    Example:
        >>> class Cube(chainer.Function):
        ...     def forward(self, inputs):
        ...         return (inputs[0] ** 3,)
        >>> y = Cube()(np.array([2.0]))
        >>> type(y.creator_node).__name__, type(y.creator).__name__
        ('FunctionAdapter', 'Cube')

    Source: `chainer.FunctionAdapter` of Chainer 7.8.1.
    """

    def _function_backward(self, in_data, out_grad):
        if not cuda.available:
            return self.function.backward(in_data, out_grad)
        with backend.using_device(backend.get_device_from_array(*in_data, *out_grad)):
            return self.function.backward(in_data, out_grad)

    def _check_raw_gradient(self, index, x, gx):
        _check_grad_type(self, x, True, gx, index)


class Function(core.FunctionBase):
    """An old-style function whose forward and backward compute on arrays. It cannot be differentiated twice.

    A subclass defines `forward` and `backward`, or their `_cpu` and `_gpu` forms. All inputs are retained unless
    forward calls `retain_inputs`. An instance is called with Variables or arrays.

    Example:
        >>> class Cube(chainer.Function):
        ...     def forward(self, inputs):
        ...         return (inputs[0] ** 3,)
        ...     def backward(self, inputs, grad_outputs):
        ...         return (3 * inputs[0] ** 2 * grad_outputs[0],)
        >>> x = chainer.Variable(np.float32([1, 2]))
        >>> F.sum(Cube()(x)).backward()
        >>> x.grad
        array([ 3., 12.], dtype=float32)

    Source: `chainer.Function` of Chainer 7.8.1.
    """

    _adapter = FunctionAdapter

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        take_docstring(cls)

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        """Arrays to arrays; by default `forward_gpu` where an input is on a GPU, else `forward_cpu`."""
        if any(isinstance(x, cuda.ndarray) for x in inputs):
            return self.forward_gpu(inputs)
        return self.forward_cpu(inputs)

    check_type_forward = FunctionNode.check_type_forward
    forward_cpu = FunctionNode.forward_cpu
    forward_gpu = FunctionNode.forward_gpu

    def backward(
        self, inputs: tuple[NdArray, ...], grad_outputs: tuple[NdArray | None, ...]
    ) -> tuple[NdArray | None, ...]:
        """One gradient array or None per input; by default `backward_gpu` or `backward_cpu`, as for
        forward.
        """
        if any(isinstance(x, cuda.ndarray) for x in inputs + grad_outputs):
            return self.backward_gpu(inputs, grad_outputs)
        return self.backward_cpu(inputs, grad_outputs)

    def backward_cpu(
        self, inputs: tuple[NdArray, ...], grad_outputs: tuple[NdArray | None, ...]
    ) -> tuple[NdArray | None, ...]:
        """To be overridden: one NumPy array of the input's shape and dtype, or None, for each input."""
        return (None,) * len(inputs)

    def backward_gpu(
        self, inputs: tuple[NdArray, ...], grad_outputs: tuple[NdArray | None, ...]
    ) -> tuple[NdArray | None, ...]:
        """To be overridden: one CuPy array of the input's shape and dtype, or None, for each input."""
        return (None,) * len(inputs)

    def retain_outputs(self, indexes: Sequence[int], retain_after_backward: bool = False) -> None:
        """Keeps these outputs' data for backward, in `output_data`. To be called in forward."""
        if retain_after_backward:
            warnings.warn("retain_after_backward option has no effect", DeprecationWarning, stacklevel=2)
        self.node.retain_outputs(indexes)
