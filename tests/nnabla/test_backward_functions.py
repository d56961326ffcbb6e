"""The classes of nnabla.backward_function, and their gradients, give the same results as nn.grad."""

import importlib

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
from compatgrad.nnabla._dropout_workaround import _get_dropout_mask
from compatgrad.nnabla.backward_functions import registry

CONVOLUTION = dict(pad=(1, 0), stride=(2, 1), dilation=(1, 2), group=2)
# module, class, shapes of the forward function's inputs, its arguments
CASES = [
    ("affine", "AffineDataGrad", [(2, 3, 4), (12, 5)], {}),
    ("affine", "AffineFilterGrad", [(2, 3, 4), (4, 5, 2)], dict(base_axis=-1)),
    ("convolution", "ConvolutionDataGrad", [(2, 4, 5, 6), (6, 2, 3, 2)], CONVOLUTION),
    ("convolution", "ConvolutionFilterGrad", [(2, 4, 5, 6), (6, 2, 3, 2)], CONVOLUTION),
    ("convolution", "ConvolutionFilterGrad", [(2, 3, 5, 6, 2), (4, 3, 3, 2)], dict(base_axis=2, channel_last=True)),
    ("deconvolution", "DeconvolutionDataGrad", [(2, 4, 3, 4), (4, 3, 3, 2)], CONVOLUTION),
    (
        "deconvolution",
        "DeconvolutionFilterGrad",
        [(2, 4, 3, 4), (4, 3, 3, 2)],
        CONVOLUTION | dict(output_padding=(1, 0)),
    ),
    ("embed", "EmbedFilterGrad", [(2, 3), (5, 4)], {}),
    (
        "average_pooling",
        "AveragePoolingDataGrad",
        [(2, 3, 6, 5)],
        dict(kernel=(2, 3), stride=(2, 2), ignore_border=False, pad=(1, 1), including_pad=False),
    ),
    ("average_pooling", "AveragePoolingDataGrad", [(2, 6, 5, 3)], dict(kernel=(2, 3), channel_last=True)),
    ("global_average_pooling", "GlobalAveragePoolingDataGrad", [(2, 3, 4, 5)], {}),
    ("sum_pooling", "SumPoolingDataGrad", [(2, 3, 6, 5)], dict(kernel=(2, 3), stride=(1, 2), pad=(1, 0))),
    ("unpooling", "UnpoolingDataGrad", [(2, 3, 4)], dict(kernel=(2, 3))),
    ("concatenate", "ConcatenateDataGrad", [(2, 3, 4), (2, 1, 4), (2, 2, 4)], dict(axis=1)),
    ("concatenate", "ConcatenateDataGrad", [(2, 3), (2, 2)], {}),
    ("pad", "PadDataGrad", [(2, 3, 4)], dict(pad_width=(1, 2, 0, 3), constant_value=2.0)),
    ("pad", "PadDataGrad", [(2, 3, 4)], dict(pad_width=(2, 1), mode="reflect")),
    ("slice", "SliceDataGrad", [(4, 5, 6)], dict(start=(1, 4, 0), stop=(4, 0, 6), step=(1, -2, 3))),
    ("slice", "SliceDataGrad", [(4, 5)], {}),
    ("transpose", "TransposeDataGrad", [(2, 3, 4)], dict(axes=(2, 0, 1))),
]


def variable(shape, seed, integers=False):
    rng = np.random.RandomState(seed)
    v = nn.Variable.from_numpy_array(rng.randint(0, 4, shape) if integers else rng.randn(*shape).astype("f"))
    return v.apply(need_grad=not integers)


def made(module, name):
    return getattr(importlib.import_module(f"compatgrad.nnabla.backward_function.{module}"), name)


def built(module, name, shapes, args):
    """The inputs, the differentiated inputs, dy, the result of the backward class, and the result of nn.grad for the
    forward function."""
    xs = [variable(s, i, module == "embed" and i == 0) for i, s in enumerate(shapes)]
    y = getattr(F, module)(*xs, **args)
    dy = variable(y.shape, 9)
    gradient = made(module, name)(nn.get_current_context(), **args)
    if module == "concatenate":
        gradient.xshapes, asked, others = shapes, xs, []
    elif name.endswith("FilterGrad"):
        gradient.wshape, asked, others = shapes[1], xs[1:], xs[:1]
    else:
        gradient.xshape, asked, others = shapes[0], xs[:1], xs[1:]
    value = gradient(dy, *others)
    want = nn.grad([y], asked, grad_outputs=[dy])
    return [dy, *(x for x in others if x.need_grad)], list(value) if isinstance(value, tuple) else [value], want


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[1])
def test_values_and_gradients(case):
    inputs, values, wants = built(*case)
    assert len(values) == len(wants) and values[0].parent.info.type_name == case[1]
    second = []
    for results in (values, wants):
        loss = sum(F.sum(g * variable(g.shape, 20 + i)) + F.sum(g**2) for i, g in enumerate(results))
        grads = nn.grad([loss], inputs)
        for v in [*results, *grads]:
            v.forward()
        for v in inputs:
            v.g = 0
        loss.forward()
        loss.backward()
        second.append([g.d.copy() for g in grads] + [v.g.copy() for v in inputs])
    for value, want in zip(values, wants, strict=True):
        assert value.shape == want.shape and np.any(want.d)
        np.testing.assert_allclose(value.d, want.d, rtol=1e-4, atol=1e-5)
    for value, want in zip(*second, strict=True):
        assert np.any(want)
        np.testing.assert_allclose(value, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", sorted({c[1] for c in CASES}))
def test_registered(name):
    assert callable(registry[name])


def test_at_once():
    gradient = made("affine", "AffineDataGrad")(None)
    gradient.xshape = (2, 3)
    w = variable((3, 4), 0)
    with nn.auto_forward(True):
        dx = gradient(variable((2, 4), 1), w)
    np.testing.assert_allclose(dx.d, variable((2, 4), 1).d @ w.d.T, rtol=1e-5)


def test_positional_and_extra_arguments():
    gradient = made("sum_pooling", "SumPoolingDataGrad")(None, (2,), None, True, None, False, True)
    assert gradient.args == dict(kernel=(2,), stride=None, ignore_border=True, pad=None, channel_last=False)
    assert made("embed", "EmbedFilterGrad")(None, 1).args == {}


def test_what_is_wrong_is_named():
    with pytest.raises(TypeError, match="UnpoolingDataGrad: .*kernels"):
        made("unpooling", "UnpoolingDataGrad")(None, (2,), kernels=(2,))
    gradient = made("unpooling", "UnpoolingDataGrad")(None, (2,))
    with pytest.raises(AttributeError, match="UnpoolingDataGrad: xshape must be set"):
        gradient(variable((2, 6), 0))
    gradient.xshape = (2, 4)
    with pytest.raises(RuntimeError, match=r"dy must have shape \(2, 8\), not \(2, 6\)"):
        gradient(variable((2, 6), 0))


def test_dropout_mask_and_backward():
    x, dy = variable((5, 6), 0), variable((5, 6), 1)
    with pytest.raises(RuntimeError, match="dropout_backward: the input must be that of a F.dropout"):
        registry["Dropout"]([dy], [x], [x.shape], [None], [x.shape], 0.3, -1)
    y = F.dropout(x, 0.3)
    dx = registry["Dropout"]([dy], [x], [x.shape], [None], [x.shape], 0.3, -1)
    for _ in range(2):
        y.forward()
        mask = _get_dropout_mask(x)
        assert 0 < mask.d.sum() < mask.size and not mask.need_grad
        np.testing.assert_allclose(y.d, x.d * mask.d / 0.7, rtol=1e-5)
        dx.forward()  # does not draw a new mask
        np.testing.assert_allclose(dx.d, dy.d * mask.d / 0.7, rtol=1e-5)
    (gdy,) = nn.grad([dx], [dy])
    gdy.forward()
    np.testing.assert_allclose(gdy.d, mask.d / 0.7, rtol=1e-5)
