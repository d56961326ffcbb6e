"""The op `rnn_layer`."""

import pytest
import torch

from compatgrad import _C

TIME, BATCH, UNITS = 9, 1, 4


def lstm(bias):
    draw = torch.Generator().manual_seed(0)
    x, w = (torch.randn(*s, generator=draw) for s in ((TIME, BATCH, 4 * UNITS), (4 * UNITS, UNITS)))
    state = torch.zeros(BATCH, UNITS)
    return _C.op("rnn_layer")(x, state, state, w, bias, mode="lstm", order="aifo")


@pytest.mark.parametrize("shape", [(3, 16), (2, TIME, BATCH, 16)])
def test_a_bias_that_would_enlarge_the_gates(shape):
    """The sums begin in the memory of the gates, which such a bias resized: the states were wrong."""
    with pytest.raises(ValueError, match="rnn_layer"):
        lstm(torch.randn(shape))


@pytest.mark.parametrize("shape", [(1, 16), (BATCH, 16), (TIME, BATCH, 16)])
def test_a_bias_for_each_step(shape):
    bias = torch.randn(16)
    for found, expected in zip(lstm(bias.expand(shape)), lstm(bias), strict=True):
        torch.testing.assert_close(found.tensor, expected.tensor)
