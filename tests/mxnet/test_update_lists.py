"""Updates, norms and checks of random lists of weights give the real MXNet's numbers."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from tests.golden import mxnet_update_lists as golden


@pytest.mark.parametrize("case", range(golden.CASES))
def test_the_same_as_the_original(case):
    found = golden.run(mx, case)
    with np.load(golden.GOLDEN) as recorded:
        expected = [recorded[f"{case}_{k}"] for k in range(len(found))]
    for x, exact in zip(found, expected, strict=True):
        assert x.dtype == exact.dtype and x.shape == exact.shape
        # the original squares float16 numbers in float16
        rough = x.dtype == np.float16 or golden.KINDS[case % len(golden.KINDS)] == "reduce"
        tolerance = 2e-3 if rough else 1e-4
        np.testing.assert_allclose(x, exact, rtol=tolerance, atol=tolerance)


def test_half_weights_follow_their_copies_in_one_call():
    weight, grad = (mx.nd.array(np.random.randn(3, 70), dtype="float16") for _ in range(2))
    optimizer = mx.optimizer.create("adam", learning_rate=0.1, multi_precision=True)
    updater = mx.optimizer.get_updater(optimizer)
    updater(0, grad, weight)
    master = updater.states[0][0]
    assert master.dtype == np.float32 and weight.dtype == np.float16
    np.testing.assert_array_equal(weight.asnumpy(), master.asnumpy().astype("float16"))
