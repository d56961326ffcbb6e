"""Gradients of the biases of convolutions keep their digits where the numbers of a large map are added."""

import numpy as np
import pytest
import torch

from compatgrad import _C

CASES = {  # op, shapes of x and w, number of biases
    "convolution": ("convolution", (2, 3, 128, 160), (4, 3, 3, 3), 4, {"pad": [1, 1]}),
    "convolution of a large batch": ("convolution", (100, 16, 14, 14), (8, 16, 3, 3), 8, {"pad": [1, 1]}),
    "convolution in one dimension": ("convolution", (8, 3, 8000), (4, 3, 3), 4, {"pad": [1]}),
    "deconvolution": ("deconvolution", (2, 3, 128, 160), (3, 4, 3, 3), 4, {"pad": [1, 1]}),
    "depthwise": ("depthwise_convolution", (2, 3, 128, 160), (3, 3, 3), 3, {"pad": [1, 1]}),
    "depthwise, transposed": ("depthwise_deconvolution", (2, 3, 128, 160), (3, 3, 3), 3, {"pad": [1, 1]}),
    "transposed": ("transposed_convolution", (2, 3, 128, 160), (3, 4, 3, 3), 4, {"pad": [1, 1]}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("alone", [False, True])
def test_bias(name, alone):
    op, x_shape, w_shape, channels, place = CASES[name]
    torch.manual_seed(0)
    x, w = (_C.Variable(torch.randn(s), requires_grad=not alone) for s in (x_shape, w_shape))
    b = _C.Variable(torch.zeros(channels))
    spatial = len(place["pad"])
    y = _C.op(op)(x, w, b, stride=[1] * spatial, dilate=[1] * spatial, **place)
    gy = torch.randn(y.tensor.shape) + 0.1
    asked = [b] if alone else [x, w, b]
    found = _C.grad(_C.native_frontend, [y], asked, [_C.Variable(gy)], [None] * len(asked), False, None, False)
    positions = [0, *range(2, gy.ndim)]
    error = found[-1].tensor.double() - gy.double().sum(positions)
    size = gy.double().abs().sum(positions)
    assert float((error.abs() / size).max()) < 3e-8  # 4e-8 to 8e-7 where a kernel adds number by number
    np.testing.assert_array_equal(found[-1].tensor.shape, [channels])
