"""Functions that users of MXNet would have written themselves."""

import numpy as np
from mxnet import autograd, nd


class Mix(autograd.Function):
    """a * b and a + sin(b)."""

    def forward(self, a, b):
        self.save_for_backward(a, b)
        return a * b, a + nd.sin(b)

    def backward(self, g0, g1):
        a, b = self.saved_tensors
        return g0 * b + g1, g0 * a + g1 * nd.cos(b)


class Gate(autograd.Function):
    """tanh(slope * x); the gradient depends on the output."""

    def __init__(self, slope):
        super().__init__()
        self.slope = slope

    def forward(self, x):
        y = nd.tanh(self.slope * x)
        self.save_for_backward(y)
        return y

    def backward(self, dy):
        (y,) = self.saved_tensors
        return dy * self.slope * (1 - y * y)


class NumpyCube(autograd.Function):
    """x ** 3, by numpy."""

    def forward(self, x):
        self.x = x.asnumpy()
        return nd.array(self.x**3, dtype=self.x.dtype)

    def backward(self, dy):
        return nd.array(3 * self.x**2 * dy.asnumpy(), dtype=self.x.dtype)


class Straight(autograd.Function):
    """Rounds, and lets the gradient through: not a gradient at all."""

    def forward(self, x):
        assert not autograd.is_recording()
        return nd.round(4 * x) / 4

    def backward(self, dy):
        return dy


def mix(a, b):
    return Mix()(a, b)


def gate(x, slope):
    return Gate(slope)(x)


def numpy_cube(x):
    return NumpyCube()(x)


def straight(x):
    return Straight()(x)


class Short(autograd.Function):
    """One gradient for two inputs."""

    def forward(self, a, b):
        return a + b

    def backward(self, dy):
        return dy


class Plain(autograd.Function):
    """A gradient that is no NDArray."""

    def forward(self, x):
        return 2 * x

    def backward(self, dy):
        return np.ones(dy.shape)


class Failing(autograd.Function):
    """Raises when it is asked for a gradient."""

    def forward(self, x):
        return 2 * x

    def backward(self, dy):
        raise RuntimeError("no gradient today")
