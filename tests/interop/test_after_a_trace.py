"""What torch's tracers make while they run does not reach later calls."""

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from compatgrad import Variable, interop, ops
from compatgrad.chainer import functions as F
from compatgrad.mxnet import nd
from compatgrad.nnabla import NdArray
from compatgrad.nnabla import functions as NF

X = torch.linspace(-1, 1, 5000)


def test_numbers_of_functionalize_are_not_kept():
    """A number that an op met first in `functionalize` was a tensor of it, and its memory was read ever after."""
    torch.func.functionalize(lambda x: ops.add_scalar(Variable(x), 0.8125).tensor)(X)
    y = ops.add_scalar(Variable(X), 0.8125)
    assert not torch._is_functional_tensor(y.tensor)
    torch.testing.assert_close(y.tensor, X + 0.8125)


def test_functionalize_computes_and_refuses_numpy():
    """torch makes an array of such a tensor of memory that nobody has written."""

    def erf(x):
        return interop.to("torch", F.erf(interop.to("chainer", x)))

    torch.testing.assert_close(torch.func.functionalize(erf)(X), torch.erf(X))
    with pytest.raises(NotImplementedError, match="^inside torch.func.functionalize tensors have no memory"):
        torch.func.functionalize(lambda x: F.erf(interop.to("chainer", x)).array)(X)


# Functions that keep tensors which they compute from numbers, with arguments that no other test has.
KEEPING = {
    "normalize": lambda: nd.image.normalize(nd.ones((3, 2, 2)), mean=0.3125, std=0.4375),
    "adaptive mean": lambda: nd.contrib.AdaptiveAvgPooling2D(nd.ones((1, 1, 37, 41)), output_size=(3, 7)),
    "grid": lambda: nd.GridGenerator(nd.ones((1, 6)), transform_type="affine", target_shape=(13, 17)),
    "interpolate": lambda: NF.interpolate(NdArray.from_numpy_array(np.ones((1, 1, 19, 23), "f")), output_size=(31, 29)),
}


@pytest.mark.parametrize("name", KEEPING)
def test_kept_tensors_are_not_those_of_a_trace(name):
    with FakeTensorMode():
        KEEPING[name]()
    y = KEEPING[name]()
    assert np.isfinite(y.asnumpy() if hasattr(y, "asnumpy") else y.data).all()
    with torch.inference_mode():
        KEEPING[name]()
