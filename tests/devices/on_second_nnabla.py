"""nnabla on a second device, which takes the GPU's place in contexts. Run by test_devices.py."""

import numpy as np
import pytest
import torch

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S
from compatgrad.nnabla import context
from compatgrad.nnabla.ext_utils import get_extension_context
from tests.devices.second_device import device

CPU = torch.device("cpu")
context.device_of = lambda ctx: device if ctx.backend[0].startswith("cud") else CPU
gpu = get_extension_context("cudnn")


def where(array):
    return array.tensor.device


def train(ctx, auto):
    nn.clear_parameters()
    rng = np.random.RandomState(0)
    nn.random.prng = np.random.RandomState(1)
    losses = []
    with nn.context_scope(ctx), nn.auto_forward(auto):
        solver = S.Momentum(0.05)
        for _ in range(3):
            x = nn.Variable.from_numpy_array(rng.randn(4, 1, 8, 8).astype(np.float32))
            t = nn.Variable.from_numpy_array(rng.randint(0, 5, (4, 1)))
            h = F.relu(PF.batch_normalization(PF.convolution(x, 3, (3, 3), name="c", with_bias=False)))
            h = PF.affine(F.max_pooling(h, (2, 2)), 5, name="a")
            loss = F.mean(F.softmax_cross_entropy(h, t)) + 0.1 * F.sum(h[0:2] ** 2)
            if not auto:
                loss.forward(clear_no_need_grad=True)
            solver.set_parameters(nn.get_parameters(), reset=False, retain_state=True)
            solver.zero_grad()
            loss.backward(clear_buffer=True)
            solver.weight_decay(1e-3)
            solver.update()
            for v in nn.get_parameters().values():
                assert where(v.data) == where(v.grad) == context.device_of(ctx)
            losses.append(float(loss.d))
    return losses, {k: v.d.copy() for k, v in nn.get_parameters(grad_only=False).items()}


@pytest.mark.parametrize("auto", [False, True])
def test_training_moves_to_the_context_and_computes_the_same(auto):
    losses, params = train(nn.Context(), auto)
    there_losses, there_params = train(gpu, auto)
    np.testing.assert_allclose(losses, there_losses, rtol=1e-5)
    for k, v in params.items():
        np.testing.assert_allclose(there_params[k], v, rtol=1e-4, atol=1e-5, err_msg=k)


def test_values_come_to_the_cpu_when_looked_at_and_go_back():
    x = nn.Variable((2, 3), need_grad=True)
    x.d = 1
    with nn.context_scope(gpu):
        y = x * 2
        z = F.sum(y)
    z.forward()
    assert where(x.data) == where(y.data) == where(z.data) == device
    x.d[0, 0] = 5  # a view of values that are on the CPU now
    assert where(x.data) == CPU
    z.forward()
    assert float(z.d) == 20 and where(x.data) == device
    x.grad.zero()
    z.backward()
    assert where(x.grad) == device
    np.testing.assert_array_equal(x.g, np.full((2, 3), 2))
    x.g = 1  # on the CPU; the next pass adds to it
    z.backward()
    np.testing.assert_array_equal(x.g, np.full((2, 3), 3))


def test_contexts_may_change_within_a_graph():
    x = nn.Variable.from_numpy_array(np.arange(1, 5, dtype=np.float32))
    x.need_grad = True
    with nn.context_scope(gpu):
        y = F.exp(x)
    z = F.sum(y * x)  # on the CPU
    z.forward()
    x.grad.zero()
    z.backward()
    assert where(z.data) == where(x.data) == CPU
    np.testing.assert_allclose(x.g, np.exp(x.d) * (1 + x.d), rtol=1e-6)


def test_arrays_that_share_memory_move_together():
    x = nn.NdArray.from_numpy_array(np.arange(6, dtype=np.float32))
    part = x.narrow(0, 2, 3)
    with nn.context_scope(gpu):
        y = F.add_scalar(part, 1)
    assert where(x) == where(part) == where(y) == device
    part.data[0] = 9
    assert where(x) == CPU and x.data[2] == 9
    np.testing.assert_array_equal(y.data, [3, 4, 5])


def test_arrays_of_two_devices_meet_where_the_context_says():
    x, y = (nn.NdArray.from_numpy_array(np.ones(3, np.float32)) for _ in range(2))
    with nn.context_scope(gpu):
        there = F.mul_scalar(x, 3)
    assert where(there) == device and where(y) == CPU
    both = F.add2(there, y)
    assert where(both) == CPU
    np.testing.assert_array_equal(both.data, [4, 4, 4])


def test_gradients_of_gradients():
    x = nn.Variable.from_numpy_array(np.array([1.0, 2.0], np.float32))
    x.need_grad = True
    with nn.context_scope(gpu):
        z = F.sum(F.sin(x) ** 2)
        (g,) = nn.grad([z], [x])
        gg = F.sum(g * g)
    gg.forward()
    x.grad.zero()
    gg.backward()
    np.testing.assert_allclose(x.g, 4 * np.sin(2 * x.d) * np.cos(2 * x.d), rtol=1e-5)
