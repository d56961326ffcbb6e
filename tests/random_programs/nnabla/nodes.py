"""Functions that users of nnabla would have written themselves."""

import nnabla.functions as F
import numpy as np
from nnabla.backward_functions import register
from nnabla.function import PythonFunction


def give(variable, accum, gradient):
    """Write or add a gradient, as `accum` says."""
    if accum:
        variable.g += gradient
    else:
        variable.g = gradient


class Mix(PythonFunction):
    """a * b and a + sin(b)."""

    @property
    def name(self):
        return "Mix"

    def min_outputs(self):
        return 2

    def grad_depends_output_data(self, i, o):
        return False

    def grad_depends_input_data(self, i, j):
        return True

    def setup_impl(self, inputs, outputs):
        for output in outputs:
            output.reset_shape(inputs[0].shape, True)

    def forward_impl(self, inputs, outputs):
        a, b = inputs[0].d, inputs[1].d
        outputs[0].d = a * b
        outputs[1].d = a + np.sin(b)

    def backward_impl(self, inputs, outputs, propagate_down, accum):
        a, b = inputs[0].d, inputs[1].d
        g0, g1 = outputs[0].g, outputs[1].g
        if propagate_down[0]:
            give(inputs[0], accum[0], g0 * b + g1)
        if propagate_down[1]:
            give(inputs[1], accum[1], g0 * a + g1 * np.cos(b))


def mix_backward(grad_inputs, inputs, input_shapes, outputs, output_shapes):
    g0, g1 = grad_inputs
    a, b = inputs
    return g0 * b + g1, g0 * a + g1 * F.cos(b)


class Gate(PythonFunction):
    """tanh(slope * x); the gradient depends on the output."""

    def __init__(self, slope):
        super().__init__()
        self.slope = slope

    @property
    def name(self):
        return "Gate"

    @property
    def args(self):
        return {"slope": self.slope}

    def min_outputs(self):
        return 1

    def grad_depends_output_data(self, i, o):
        return True

    def grad_depends_input_data(self, i, j):
        return False

    def setup_impl(self, inputs, outputs):
        outputs[0].reset_shape(inputs[0].shape, True)

    def forward_impl(self, inputs, outputs):
        outputs[0].d = np.tanh(self.slope * inputs[0].d)

    def backward_impl(self, inputs, outputs, propagate_down, accum):
        if propagate_down[0]:
            give(inputs[0], accum[0], outputs[0].g * self.slope * (1 - outputs[0].d ** 2))


def gate_backward(grad_inputs, inputs, input_shapes, outputs, output_shapes, slope):
    y = outputs[0]
    return grad_inputs[0] * (1 - y * y) * slope


register("Mix", mix_backward)
register("Gate", gate_backward)


def mix(a, b):
    return Mix()(a, b)


def gate(a, slope):
    return Gate(slope)(a)
