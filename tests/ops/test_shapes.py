"""Results have the same shape in a static graph, before there are values, as when they are computed."""

import pytest

from tests.ops.all_samples import SAMPLES
from tests.ops.test_saves import deferred

# the ops that tell the shape themselves
OPS = set(
    """
    add_active affine average_pooling convolution deconvolution equal_scalar greater_equal_scalar greater_scalar
    group_normalization isinf isnan layer_normalization less_equal_scalar less_scalar linear log_sigmoid log_softmax
    logical_and logical_and_scalar logical_not logical_or logical_or_scalar logical_xor logical_xor_scalar matmul mean
    mul_active not_equal_scalar prelu silu softsign sum sum_pooling tile unpooling window_pooling
    """.split()
)
TOLD = [s for s in SAMPLES if s.op in OPS]


def test_each_op_has_a_sample():
    assert {s.op for s in TOLD} == OPS


@pytest.mark.parametrize("sample", TOLD, ids=str)
def test_shapes_without_values(sample):
    _, ys = deferred(sample, sample.arrays("float32"), ())
    computed = sample.run(sample.variables(sample.arrays("float32"), ()))
    assert [y.shape for y in ys] == [tuple(v.shape) for v in computed]
