"""compatgrad.grad and compatgrad.backward follow Chainer for its Variables; networks may mix both kinds of
Variables."""

import numpy as np
import pytest
import torch

import compatgrad as cg
from compatgrad import chainer


def test_the_frontend_of_the_outputs_is_followed():
    x = chainer.Variable(np.array([1, 2], np.float32))
    y = x * 3
    (g,) = cg.grad([y], [x])
    assert type(g) is chainer.Variable and isinstance(g.array, np.ndarray)
    with pytest.raises(TypeError, match="outputs must be a tuple or a list"):
        cg.grad(y, [x])  # Chainer's rule, not the native one
    with pytest.warns(RuntimeWarning):
        cg.backward([y])
    y.grad = np.ones(2, np.float32)
    cg.backward([y])
    np.testing.assert_array_equal(x.grad, [3, 3])


def test_mixed_graphs():
    x = chainer.Variable(np.array([1, 2], np.float32))
    w = cg.Variable(torch.tensor([3.0, 4.0]))
    y = x * w
    assert type(y) is chainer.Variable
    y.grad = np.ones(2, np.float32)
    y.backward()
    assert w.grad.tolist() == [1, 2]
    np.testing.assert_array_equal(x.grad, [3, 4])
    z = (w * x).sum()
    assert type(z) is cg.Variable
    z.backward()
    assert w.grad.tolist() == [2, 4]
    np.testing.assert_array_equal(x.grad, [6, 8])
    with chainer.no_backprop_mode():
        assert (w * 2).creator is None
