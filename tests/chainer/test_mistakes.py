"""Typical mistakes raise the exceptions of Chainer, with sentences that name the argument."""

import numpy as np
import pytest

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L

X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize("call", [
    lambda x: F.transpose(x, (0, 2)), lambda x: x.transpose(0, 2), lambda x: F.swapaxes(x, 0, 5),
    lambda x: F.repeat(x, 2, 5), lambda x: F.normalize(x, axis=5),
])  # fmt: skip
def test_an_axis_out_of_range(call):
    """NumPy's AxisError, as in Chainer: a ValueError and an IndexError."""
    x = chainer.Variable(X)
    for error in (ValueError, IndexError, getattr(np, "exceptions", np).AxisError):
        with pytest.raises(error, match=r"range|axis2 must be among"):
            call(x)


def test_other_indices_out_of_range_are_no_axis_errors():
    x = chainer.Variable(X)
    for call in (lambda: x[5], lambda: L.EmbedID(3, 2)(np.array([3], np.int32))):
        with pytest.raises(IndexError) as e:
            call()
        assert not isinstance(e.value, ValueError)


def test_a_link_in_place_of_a_file():
    link = L.Linear(3, 2)
    with pytest.raises(TypeError, match="load_npz: file: expected a path or an open file, got Linear"):
        chainer.serializers.load_npz(link, "a.npz")
