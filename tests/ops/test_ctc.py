"""`ctc_loss` where ATen has no value: its loop on the host beside the recursion in ops of a recorded pass."""

import numpy as np
import pytest
import torch

from compatgrad import _C


@pytest.mark.parametrize("seed", range(40))
def test_loop_and_recursion(seed):
    rng = np.random.default_rng(seed)
    steps, batch, classes, length = rng.integers([1, 1, 2, 0], [7, 4, 5, 5])
    dtype, tolerance = [(torch.float32, 2e-5), (torch.float64, 1e-10)][seed % 2]
    x = torch.tensor(rng.normal(0, 2, (steps, batch, classes)), dtype=dtype)
    labels = rng.integers(0, classes, (batch, length))  # the blank is among them
    counts = [labels, rng.integers(0, steps + 1, batch), rng.integers(0, length + 1, batch)]
    params = {"blank": int(rng.integers(classes)), **({"lowest": -1e10} if seed % 3 else {})}
    found = []
    for recorded in (False, True):
        leaf = _C.Variable(x, True)
        y = _C.op("ctc_loss")(leaf, *(_C.Variable(torch.tensor(n), False) for n in counts), **params)
        gy = _C.Variable(torch.arange(1, batch + 1).to(dtype), False)
        (g,) = _C.grad(_C.native_frontend, [y], [leaf], [gy], enable_double_backprop=recorded)
        found.append(g.tensor.detach())
    torch.testing.assert_close(*found, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "steps, lengths, words",
    [
        ([3, 6], [1, 1], "steps must be at least 0 and at most 5; 6 is not"),
        ([3, 3], [1, 3], "label lengths must be at least 0 and at most 2; 3 is not"),
        ([3], [1, 1], r"steps must have the shape \(2,\)"),
    ],
)
def test_counts_that_reach_beyond(steps, lengths, words):
    blanks = torch.zeros(2, 2, dtype=torch.long)
    with pytest.raises(ValueError, match=words):
        _C.op("ctc_loss")(
            _C.Variable(torch.zeros(5, 2, 3), True),
            *(_C.Variable(torch.as_tensor(n), False) for n in (blanks, steps, lengths)),
        )


@pytest.mark.parametrize("labels", [[[0, 1]], [[1, 2]]])
@pytest.mark.parametrize("params", [{}, {"lowest": -1e10}])
def test_data_without_steps(labels, params):
    counts = [torch.tensor(n) for n in (labels, [0], [2])]
    with pytest.raises(ValueError, match=r"data of shape \[0, 1, 3\] has no steps"):
        _C.op("ctc_loss")(_C.Variable(torch.zeros(0, 1, 3), True), *(_C.Variable(n, False) for n in counts), **params)
