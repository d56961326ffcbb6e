"""Blocks of deformable convolution; the original gives no gradients to compare with."""

import re

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, nd
from compatgrad.mxnet.gluon.contrib import cnn


def test_the_modulated_block_equals_its_operators():
    """The block's values (hybridized or not) and gradients are those of the single operators."""
    net = cnn.ModulatedDeformableConvolution(4, 3, padding=1, groups=2, num_deformable_group=2, activation="relu")
    net.initialize(mx.init.Uniform(1))
    x = nd.random.uniform(-1, 1, (2, 4, 5, 6))
    net(x)
    assert net.offset_weight.shape == (54, 2, 3, 3) and net.deformable_conv_weight.shape == (4, 2, 3, 3)
    params = list(net.collect_params().values())
    assert [re.sub(r".*conv\d+_(?=deform|offset)", "", p.name) for p in params] == [
        "deformable_conv_weight", "deformable_conv_bias", "offset_weight", "offset_bias",
    ]  # fmt: skip
    for k, p in enumerate(params):
        p.set_data(nd.array(np.random.default_rng(k).uniform(-0.5, 0.5, p.shape)))
    geometry = {"kernel": (3, 3), "pad": (1, 1), "num_group": 2}
    deformable = {"num_filter": 4, "num_deformable_group": 2, **geometry}

    def by_name():
        weight, bias, offset_weight, offset_bias = (p.data() for p in params)
        found = nd.Convolution(x, offset_weight, offset_bias, num_filter=54, **geometry)
        offset, mask = found[:, :36], 2 * nd.sigmoid(found[:, 36:])
        y = nd.contrib.ModulatedDeformableConvolution(x, offset, mask, weight, bias, **deformable)
        return nd.relu(y)

    def gradients(f):
        with autograd.record():
            y = f()
        y.backward()
        return [y.asnumpy(), *(p.grad().asnumpy().copy() for p in params)]

    expected = gradients(by_name)
    assert all(np.abs(g).max() > 1e-3 for g in expected)
    for _ in range(2):
        for a, b in zip(gradients(lambda: net(x)), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        net.hybridize()


def test_offsets_begin_with_zeros():
    net = cnn.DeformableConvolution(3, (3, 2), strides=2, dilation=(1, 2), in_channels=2)
    net.initialize()
    x = nd.random.uniform(-1, 1, (2, 2, 7, 8))
    found = net(x)
    y = nd.Convolution(x, net.deformable_conv_weight.data(), net.deformable_conv_bias.data(), kernel=(3, 2),
                       stride=(2, 2), dilate=(1, 2), num_filter=3)  # fmt: skip
    np.testing.assert_allclose(found.asnumpy(), y.asnumpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(AssertionError, match="layout"):
        cnn.DeformableConvolution(3, layout="NCW")


def test_inputs_and_shapes_of_deformable_symbols():
    for name, more in (("DeformableConvolution", []), ("ModulatedDeformableConvolution", ["mask"])):
        y = getattr(mx.sym.contrib, name)(mx.sym.var("data"), kernel=(3, 3), num_filter=6, num_group=2, name="q")
        names = ["data", *(f"q_{n}" for n in ("offset", *more, "weight", "bias"))]
        assert y.list_arguments() == names
        shapes = {"data": (2, 4, 5, 6), "q_offset": (2, 18, 3, 4)} | {f"q_{n}": (2, 9, 3, 4) for n in more}
        found, out, _ = y.infer_shape(**shapes)
        assert out == [(2, 6, 3, 4)] and found[-2:] == [(6, 2, 3, 3), (6,)]


@pytest.mark.parametrize("kind", [cnn.DeformableConvolution, cnn.ModulatedDeformableConvolution])
def test_the_deformable_weight_waits_for_data(kind):
    net = kind(3, in_channels=2)
    net.initialize()
    assert net.deformable_conv_weight.shape[1] == 0 and net.offset_weight.shape[1] == 2
    net(mx.nd.ones((1, 2, 5, 5)))
    assert net.deformable_conv_weight.shape[1] == 2
