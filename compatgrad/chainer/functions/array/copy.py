"""Copies between devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import backend, function_node
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import DeviceSpec, NdArray
    from compatgrad.chainer.variable import Variable


class Copy(function_node.FunctionNode):
    """The node of `chainer.functions.copy` in the graph, its result's `creator`.

    Args:
        in_device: the device of the input.
        out_device: that of the result.

    Example:
        >>> cpu = chainer.get_device("@numpy")
        >>> F.array.copy.Copy(cpu, cpu).apply((np.array([1.0, 2.0]),))[0].array
        array([1., 2.])

    Source: `chainer.functions.array.copy.Copy` of Chainer 7.8.1.
    """

    def __init__(self, in_device: backend.Device, out_device: backend.Device) -> None:
        self._in_device = in_device
        self.out_device = out_device

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x",))

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        return (self.out_device.send(inputs[0]),)

    def backward(self, indexes: Sequence[int], grad_outputs: Sequence[Variable | None]) -> tuple[Variable | None, ...]:
        return Copy(self.out_device, self._in_device).apply(grad_outputs)


def copy(x: VariableOrArray, dst: DeviceSpec) -> Variable:
    """`x` on another device; its gradient is sent back to that of `x`.

    Args:
        x: any dtype and shape.
        dst: a device, or its specifier: "@numpy" or -1 for the CPU, "@cupy:0" or 0 for the first GPU.

    Returns:
        Variable of the shape and dtype of `x`; on the device of `x` it shares memory with `x`.

    Raises:
        RuntimeError: `dst` is a GPU and there is no CuPy, or a device of ChainerX.
        TypeError: `x` is neither a Variable nor an array.

    Example:
        >>> F.copy(np.array([1.0, 2.0]), -1).array
        array([1., 2.])

    Source: `chainer.functions.copy` of Chainer 7.8.1.
    """
    out_device = backend.get_device("@numpy" if dst is cuda.DummyDevice else dst)
    in_device = backend.get_device_from_array(as_array(x))
    return Copy(in_device, out_device).apply((x,))[0]
