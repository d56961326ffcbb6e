"""Results have the same shape in a static graph, before there are values, as when they are computed."""

import pytest

from tests.ops.all_samples import SAMPLES
from tests.ops.test_saves import deferred

# the ops that tell the shape themselves
OPS = set(
    """
    add_active add_along affine affine_grid affine_grid_grad assign attention attention_grad average_pooling
    binary_weights bit_shift bool_fill categorical_cross_entropy celu cholesky confusion_matrix convolution crelu
    cumprod cumsum deconvolution det diagonal_grad edges einsum equal_scalar eye_like flip fmod gather gather_along
    gather_nd greater_equal_scalar greater_scalar group_normalization inq_weights inverse isinf isnan istft
    layer_normalization less_equal_scalar less_scalar linear linear_scan log_abs_det log_sigmoid log_softmax
    logical_and logical_and_scalar logical_not logical_or logical_or_scalar logical_xor logical_xor_scalar matmul
    max_pooling_at max_pooling_grad mean min_max_quantize mod mul_active not_equal_scalar prelu prod prune
    random_erase running_sum scatter_add_along scatter_along searchsorted silu softmax softsign sort stft sum
    sum_pooling tile top_k top_k_mask top_n_error tril triu unpooling vat_noise window_pooling
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
