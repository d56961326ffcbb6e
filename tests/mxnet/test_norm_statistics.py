"""Normalization layers: the statistics that they also return, and parameter shapes declared by variables.

The numbers are MXNet 1.9.1's.
"""

import numpy as np
import pytest

from compatgrad import mxnet as mx

X = np.random.RandomState(0).normal(size=(2, 4, 3, 3)).astype("f")
DATA = mx.sym.Variable("data")


def make(name, **named):
    if name == "GroupNorm":
        named["num_groups"] = 2
    if name == "SyncBatchNorm":
        return mx.sym.contrib.SyncBatchNorm(DATA, key="k", name="n", **named)
    return getattr(mx.sym, name)(DATA, name="n", **named)


def run(symbol, *heads):
    executor = symbol.simple_bind(mx.cpu(), data=X.shape)
    for name, a in executor.arg_dict.items():
        a[:] = mx.nd.array(X) if name == "data" else 1.5
    executor.forward(is_train=True)
    executor.backward([mx.nd.full(y.shape, h) for y, h in zip(executor.outputs, heads, strict=True)])
    return executor


@pytest.mark.parametrize("name", ["BatchNorm", "BatchNorm_v1", "SyncBatchNorm", "LayerNorm", "GroupNorm"])
def test_no_gradient_flows_through_the_statistics_of_a_normalization(name):
    executor = run(make(name, output_mean_var=True), 0, 1, 1)
    for g in executor.grad_arrays:
        assert not g.asnumpy().any()


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize(
    ("name", "third"),
    [("BatchNorm", lambda v: (v + 1e-3) ** -0.5), ("BatchNorm_v1", lambda v: v), ("SyncBatchNorm", lambda v: v)],
)
def test_third_result_of_batch_normalizations(name, third, train):
    executor = run(make(name, output_mean_var=True, use_global_stats=not train), 0, 0, 0)
    mean, var = (X.mean((0, 2, 3)), X.var((0, 2, 3))) if train else (np.zeros(4), np.zeros(4))
    np.testing.assert_allclose(executor.outputs[1].asnumpy(), mean, atol=1e-6)
    np.testing.assert_allclose(executor.outputs[2].asnumpy(), third(var), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "length"),
    [("BatchNorm", 4), ("BatchNorm_v1", 4), ("SyncBatchNorm", 4), ("InstanceNorm", 4), ("GroupNorm", 2)],
)
def test_data_decides_the_shape_of_parameters_of_a_normalization(name, length):
    variables = {n: mx.sym.Variable(f"n_{n}", shape=(k,)) for n, k in (("gamma", 3), ("beta", 7))}
    for declared in ({}, variables):
        symbol = make(name, **declared)
        assert symbol.infer_shape(data=X.shape)[0] == [X.shape, (length,), (length,)]
        assert symbol.infer_shape(data=X.shape, n_gamma=(5,))[0] == [X.shape, (length,), (length,)]
        assert run(symbol, 1).arg_dict["n_gamma"].shape == (length,)


def test_two_batch_normalizations_that_share_a_variable_of_another_shape():
    shared = mx.sym.Variable("g", shape=(3,))
    part = mx.sym.slice_axis(DATA, axis=1, begin=0, end=2)
    both = mx.sym.Group([mx.sym.BatchNorm(DATA, shared, name="a"), mx.sym.BatchNorm(part, shared, name="b")])
    assert both.infer_shape(data=X.shape)[0] == [X.shape, (2,), (4,), (2,)]


def test_layer_norm_refuses_declared_shapes_that_do_not_fit():
    with pytest.raises(mx.MXNetError, match="Shape inconsistent"):
        mx.sym.LayerNorm(DATA, mx.sym.Variable("n_gamma", shape=(4,))).infer_shape(data=X.shape)


def test_module_with_a_group_norm():
    module = mx.mod.Module(make("GroupNorm"), label_names=None)
    module.bind([("data", X.shape)])
    module.init_params(mx.init.One())
    module.forward(mx.io.DataBatch([mx.nd.array(X)]))
    assert {k: v.shape for k, v in module.get_params()[0].items()} == {"n_gamma": (2,), "n_beta": (2,)}
    wanted = X.reshape(2, 2, -1)
    wanted = (wanted - wanted.mean(2, keepdims=True)) / np.sqrt(wanted.var(2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), wanted.reshape(X.shape), atol=1e-5)


@pytest.mark.parametrize("backward_mode", [True, False])
def test_batch_norm_has_the_gradient_of_its_forward_mode(backward_mode):
    net = mx.gluon.nn.BatchNorm(in_channels=2)
    net.initialize()
    mean, var, gamma = np.array([0.5, -1.0]), np.array([2.0, 0.25]), np.array([3.0, -2.0])
    for p, value in ((net.running_mean, mean), (net.running_var, var), (net.gamma, gamma)):
        p.set_data(mx.nd.array(value))
    x, gy = mx.nd.array(np.arange(12).reshape(3, 2, 2)), np.linspace(-1, 2, 12).reshape(3, 2, 2)
    x.attach_grad()
    with mx.autograd.record(train_mode=False):
        y = net(x)
    y.backward(mx.nd.array(gy), train_mode=backward_mode)
    factor = (gamma / np.sqrt(var + 1e-5)).reshape(2, 1)
    np.testing.assert_allclose(x.grad.asnumpy(), gy * factor, rtol=1e-5)
    np.testing.assert_array_equal(net.running_mean.data().asnumpy(), mean)
