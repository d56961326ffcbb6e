"""Copies between devices."""

from compatgrad.chainer import backend, function_node
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array


class Copy(function_node.FunctionNode):
    def __init__(self, in_device, out_device):
        self._in_device = in_device
        self.out_device = out_device

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))

    def forward(self, inputs):
        return (self.out_device.send(inputs[0]),)

    def backward(self, indexes, grad_outputs):
        return Copy(self.out_device, self._in_device).apply(grad_outputs)


def copy(x, dst):
    """`x` on the device `dst` (a device or what names one; -1: the CPU).

    On the same device it shares memory with `x`. Its gradient is sent back to the device of `x`.
    """
    out_device = backend.get_device("@numpy" if dst is cuda.DummyDevice else dst)
    in_device = backend.get_device_from_array(as_array(x))
    return Copy(in_device, out_device).apply((x,))[0]
