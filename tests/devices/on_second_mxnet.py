"""MXNet on a second device, which takes gpu(0)'s place. Run by test_devices.py."""

import numpy as np
import pytest
import torch

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, context, gluon, nd
from tests.devices.second_device import device

cpu, gpu = mx.cpu(), mx.gpu(0)
_torch_device, _generator = context.Context.torch_device, torch.Generator
context.num_gpus = lambda: 1
context.Context.torch_device = property(lambda self: device if self == gpu else _torch_device.fget(self))
torch.Generator = lambda where=None: _generator()  # the device draws what the CPU draws


def array(values, ctx=cpu):
    return nd.array(values, ctx=ctx)


def test_arrays_go_where_they_are_told():
    x = array([[1, 2], [3, 4]], gpu)
    assert x.context == gpu and x.tensor.device == device
    y = x.as_in_context(cpu)
    assert y.context == cpu and x.as_in_context(gpu) is x
    assert x.copyto(cpu).context == cpu and y.copyto(gpu).context == gpu and x.copy().context == gpu
    z = nd.zeros((2, 2))
    assert x.copyto(z) is z and z.context == cpu
    np.testing.assert_array_equal(z.asnumpy(), [[1, 2], [3, 4]])
    x[:] = y * 2
    x[0] = 7
    x += 1
    assert x.context == gpu
    np.testing.assert_array_equal(x.asnumpy(), [[8, 8], [7, 9]])
    with gpu:
        for made in (nd.ones((2,)), nd.random.uniform(shape=(2,)), nd.arange(3), mx.np.zeros((2,))):
            assert made.context == gpu
    assert nd.ones((1,)).context == cpu


def test_a_copy_takes_part_in_the_graph_and_its_gradient_comes_back():
    a, x = array([1, 2]), array([[1, 2], [3, 4]], gpu)
    a.attach_grad()
    x.attach_grad()
    with autograd.record():
        there = (a.as_in_context(gpu) * x).sum()
        here = there.as_in_context(cpu) * 2
    here.backward()
    assert there.context == gpu and here.context == cpu
    assert a.grad.context == cpu and x.grad.context == gpu
    np.testing.assert_array_equal(a.grad.asnumpy(), [8, 12])
    np.testing.assert_array_equal(x.grad.asnumpy(), [[2, 4], [2, 4]])


@pytest.mark.parametrize("rule", ["sgd", "adam"])
def test_gluon_trains_there_and_on_both(rule):
    def losses(contexts):
        mx.random.seed(0)
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(4, activation="relu"), gluon.nn.Dense(2))
        net.initialize(mx.init.One(), ctx=contexts)
        trainer = gluon.Trainer(net.collect_params(), rule, {"learning_rate": 0.1})
        loss = gluon.loss.L2Loss()
        x, t = array(np.arange(8).reshape(4, 2) / 8), array([[0, 1]] * 4)
        found = []
        for _ in range(3):
            parts = zip(*(gluon.utils.split_and_load(v, contexts) for v in (x, t)), strict=True)
            with autograd.record():
                all_of = [loss(net(a), b) for a, b in parts]
            autograd.backward(all_of)
            trainer.step(4)
            found.append(sum(float(v.sum().asscalar()) for v in all_of))
        weight = net[0].weight
        assert weight.list_ctx() == contexts and [g.context for g in weight.list_grad()] == contexts
        return found

    here = losses([cpu])
    np.testing.assert_allclose(losses([gpu]), here, rtol=1e-5)
    np.testing.assert_allclose(losses([cpu, gpu]), here, rtol=1e-5)


def test_reset_ctx_moves_parameters():
    p = gluon.Parameter("w", shape=(2,))
    p.initialize(mx.init.One(), ctx=cpu)
    p.reset_ctx(gpu)
    assert p.list_ctx() == [gpu] and p.data().tensor.device == p.grad().tensor.device == device
    np.testing.assert_array_equal(p.data().asnumpy(), [1, 1])
    p.reset_ctx([cpu, gpu])
    assert p.data(cpu).context == cpu and p.data(gpu).context == gpu
    with pytest.raises(RuntimeError, match=r"not initialized on context cpu\(1\)"):
        p.data(mx.cpu(1))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: x + y,
        nd.dot,
        lambda x, y: nd.concat(x, y, dim=0),
        lambda x, y: nd.FullyConnected(x, y, no_bias=True, num_hidden=2),
        nd.add_n,
        lambda x, y: nd.where(x, y, y),
        lambda x, y: mx.np.ones((2, 2)) + mx.np.ones((2, 2), ctx=gpu),
    ],
)
def test_mixed_devices_are_named(call):
    with pytest.raises(
        mx.base.MXNetError, match=r"different devices.*(second:0|gpu\(0\)).*cpu|different.*cpu.*gpu\(0\)"
    ):
        call(array([[1, 2], [3, 4]], gpu), array([[1, 2], [3, 4]]))


def test_a_gpu_that_is_not_there():
    with pytest.raises(mx.base.MXNetError, match=r"gpu\(1\): this machine has 1 GPUs"):
        nd.ones((1,), ctx=mx.gpu(1))
