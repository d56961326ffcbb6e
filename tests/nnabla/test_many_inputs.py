"""Functions with more inputs than a machine word has bits."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
from compatgrad.nnabla.function import PythonFunction


class Chain(PythonFunction):
    """x0 * x1 + x1 * x2 + …; each gradient depends on the neighboring inputs."""

    name = "Chain"

    def min_outputs(self):
        return 1

    def setup_impl(self, inputs, outputs):
        outputs[0].reset_shape(inputs[0].shape, True)

    def forward_impl(self, inputs, outputs):
        outputs[0].data.data = sum(a.data.data * b.data.data for a, b in zip(inputs, inputs[1:], strict=False))

    def backward_impl(self, inputs, outputs, propagate_down, accum):
        gy = outputs[0].grad.data
        for i, x in enumerate(inputs):
            near = sum(inputs[k].data.data for k in (i - 1, i + 1) if 0 <= k < len(inputs))
            if propagate_down[i]:
                x.grad.data = x.grad.data + gy * near if accum[i] else gy * near

    def grad_depends_output_data(self, i, o):
        return False

    def grad_depends_input_data(self, i, j):
        return abs(i - j) == 1


@pytest.mark.parametrize("n", [3, 15, 16, 20, 31, 32, 40])
@pytest.mark.parametrize("clear", [False, True])
def test_gradients_of_many_inputs_find_their_data(n, clear):
    """The data of inputs from the 16th on must not be treated as outputs and freed before backward."""
    numbers = np.random.RandomState(0).rand(n, 3).astype(np.float32)
    leaves = [nn.Variable.from_numpy_array(row, need_grad=True) for row in numbers]
    for x in leaves:
        x.g = 0
    y = F.sum(Chain()(*[x * 1.0 for x in leaves]))
    y.forward(clear_no_need_grad=clear)
    y.backward(clear_buffer=clear)
    padded = np.pad(numbers, ((1, 1), (0, 0)))
    for k, x in enumerate(leaves):
        np.testing.assert_allclose(x.g, padded[k] + padded[k + 2], rtol=1e-6)
