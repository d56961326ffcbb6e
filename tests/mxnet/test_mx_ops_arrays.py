"""Operators on arrays give what MXNet 1.9.1 gives (tests/golden/mxnet_arrays.py), and both derivatives are right."""

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, nd

from tests.golden import mxnet_arrays
from tests.golden.mxnet_arrays import CASES, GOLDEN
from tests.mxnet.operator_checks import A, check_gradients

EVERY_CASE = pytest.mark.parametrize("k", range(len(CASES)), ids=lambda k: f"{k}-{CASES[k][0]}")


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as file:
        return dict(file)


@EVERY_CASE
def test_like_mxnet(k, golden):
    ys, grads = mxnet_arrays.run(mx, *CASES[k])
    assert len(ys) == sum(key.startswith(f"{k}_y") for key in golden)
    for j, y in enumerate(ys):
        expected = golden[f"{k}_y{j}"]
        assert y.dtype == expected.dtype
        np.testing.assert_allclose(y, expected, rtol=2e-5, atol=2e-5, strict=True)
    for i, g in enumerate(grads):
        assert (g is None) == (f"{k}_g{i}" not in golden)
        if g is not None:
            np.testing.assert_allclose(g, golden[f"{k}_g{i}"], rtol=1e-4, atol=1e-4, strict=True)


# Every differentiable operator: name, float64 inputs (others are passed on), arguments.
P = A(3, 3) @ A(3, 3).T + np.eye(3)
LOWER = np.tril(A(2, 3, 3, low=1, high=2)) + np.triu(A(2, 3, 3), 1)
LENGTHS = np.array([1, 4, 2])
SMOOTH = [
    ("sum", [A(2, 3, 2)], {}), ("sum", [A(2, 3, 2)], dict(axis=(0, 2), keepdims=True)),
    ("sum", [A(2, 3, 2)], dict(axis=1, exclude=True)), ("mean", [A(2, 3)], dict(axis=1)), ("mean", [A(2, 3)], {}),
    ("prod", [A(2, 3)], {}), ("prod", [A(2, 3, 2)], dict(axis=1)), ("nansum", [A(2, 3)], dict(axis=0)),
    ("nanprod", [A(2, 3)], dict(axis=0)), ("max", [A(2, 3)], dict(axis=1)), ("min", [A(2, 3)], {}),
    ("norm", [A(2, 3)], {}), ("norm", [A(2, 3)], dict(axis=1, keepdims=True)), ("norm", [A(2, 4)], dict(ord=1, axis=0)),
    ("moments", [A(2, 3)], dict(axes=(0,))), ("cumsum", [A(2, 3)], dict(axis=1)), ("cumsum", [A(2, 3)], {}),
    ("reshape", [A(2, 3)], dict(shape=(-1, 2))), ("reshape_like", [A(2, 3), np.zeros((3, 2), "int32")], {}),
    ("flatten", [A(2, 2, 2)], {}), ("transpose", [A(2, 1, 3)], dict(axes=(2, 0, 1))), ("swapaxes", [A(2, 3)], dict(dim1=1)),
    ("moveaxis", [A(2, 1, 3)], dict(source=0, destination=-1)), ("expand_dims", [A(2, 3)], dict(axis=1)),
    ("squeeze", [A(1, 3)], {}), ("tile", [A(2, 2)], dict(reps=(2, 1, 2))), ("repeat", [A(2, 2)], dict(repeats=2)),
    ("repeat", [A(2, 2)], dict(repeats=2, axis=1)), ("flip", [A(2, 3)], dict(axis=1)),
    *[("pad", [A(1, 1, 3, 2)], dict(mode=mode, pad_width=(0, 0, 0, 0, 1, 2, 1, 0)))
      for mode in ("constant", "edge", "reflect")],
    ("diag", [A(3)], dict(k=-1)), ("diag", [A(3, 3)], dict(k=1)), ("depth_to_space", [A(1, 4, 1, 2)], dict(block_size=2)),
    ("space_to_depth", [A(1, 1, 2, 4)], dict(block_size=2)), ("broadcast_to", [A(1, 3)], dict(shape=(2, 0))),
    ("broadcast_like", [A(1, 3), np.zeros((2, 3), "int32")], {}), ("broadcast_axis", [A(1, 3)], dict(axis=0, size=2)),
    ("concat", [A(2, 3), A(2, 1)], {}), ("concat", [A(2, 3)], {}), ("stack", [A(2, 3), A(2, 3)], dict(axis=1)),
    ("split", [A(2, 3)], dict(num_outputs=3, squeeze_axis=True)), ("split", [A(2, 4)], dict(num_outputs=2)),
    ("split_v2", [A(2, 4)], dict(indices_or_sections=(1, 3), axis=1)), ("add_n", [A(2, 3), A(2, 3), A(2, 3)], {}),
    ("where", [np.array([[1, 0, 2], [0, 0, 1]]), A(2, 3), A(2, 3)], {}),
    ("where", [np.array([1, 0]), A(2, 3), A(2, 3)], {}), ("identity", [A(2, 3)], {}), ("clip", [A(2, 4)], dict(a_min=-0.4, a_max=0.4)),
    ("cast", [A(2, 3)], dict(dtype="float64")), ("amp_multicast", [A(2, 3), A(2)], dict(num_outputs=2)),
    ("multi_sum_sq", [A(2, 3), A(2)], dict(num_arrays=2)),
    ("slice", [A(3, 4)], dict(begin=(None, 3), end=(2, None), step=(1, -2))), ("slice_axis", [A(3, 4)], dict(axis=1, begin=-3, end=None)),
    ("slice_like", [A(3, 4), np.zeros((2, 2), "int32")], {}), ("take", [A(3, 2), np.array([[0, 2], [2, -1]])], dict(mode="wrap")),
    ("take", [A(2, 3), np.array([0, 2, 2])], dict(axis=1)), ("batch_take", [A(3, 2), np.array([0, 1, 1])], {}),
    ("pick", [A(3, 2), np.array([0, 1, 1])], {}), ("pick", [A(3, 2), np.array([[2, 0]])], dict(axis=0, keepdims=True)),
    ("fill_element_0index", [A(3, 2), A(3), np.array([0, 1, 1])], {}), ("gather_nd", [A(2, 3), np.array([[0, 1, 0], [2, 0, -1]])], {}),
    ("scatter_nd", [A(2, 3), np.array([[3, 1]])], dict(shape=(4, 3))),
    *[("topk", [A(2, 4)], dict(k=2, ret_typ="value", axis=axis, is_ascend=ascend)) for axis, ascend in ((1, True), (None, False))],
    ("sort", [A(2, 4)], {}), ("sort", [A(2, 4)], dict(axis=None, is_ascend=False)),
    ("SequenceMask", [A(4, 3, 2), LENGTHS], dict(use_sequence_length=True, value=0.5)),
    ("SequenceMask", [A(3, 4), LENGTHS], dict(use_sequence_length=True, axis=1)), ("SequenceLast", [A(3, 2, 2)], dict(axis=1)),
    ("SequenceLast", [A(4, 3), LENGTHS], dict(use_sequence_length=True)), ("SequenceReverse", [A(4, 3), LENGTHS], dict(use_sequence_length=True)),
    ("SequenceReverse", [A(3, 2)], {}), ("contrib.index_copy", [A(3, 2), np.array([2, 0]), A(2, 2)], {}),
    ("contrib.boolean_mask", [A(3, 2), np.array([1, 0, 1])], {}), ("contrib.quadratic", [A(2, 3)], dict(a=2.0, b=1.0, c=0.5)),
    ("dot", [A(2, 3), A(3, 2)], {}), ("dot", [A(3, 2), A(2, 3)], dict(transpose_a=True, transpose_b=True)),
    ("dot", [A(2, 2, 3), A(3, 2)], {}), ("dot", [A(3), A(3)], {}), ("dot", [A(2, 2, 2), A(3, 2)], dict(transpose_b=True)),
    ("batch_dot", [A(2, 1, 3), A(2, 2, 3)], dict(transpose_b=True)), ("khatri_rao", [A(2, 2), A(2, 2), A(1, 2)], {}),
    ("linalg.gemm", [A(2, 3), A(3, 2), A(2, 2)], dict(alpha=2.0, beta=0.5)),
    ("linalg.gemm2", [A(2, 3), A(3, 2)], dict(alpha=2.0)), ("linalg.gemm2", [A(2, 2, 3), A(3, 2, 2)], dict(axis=0)),
    ("linalg.potri", [LOWER], {}), ("linalg.syrk", [A(2, 3)], dict(transpose=True)), ("linalg.sumlogdiag", [LOWER], {}),
    *[(name, [LOWER, A(2, 2, 3) if right else A(2, 3, 2)], dict(transpose=transpose, rightside=right, lower=lower, alpha=0.5))
      for name, transpose, right, lower in (("linalg.trmm", False, False, True), ("linalg.trmm", True, True, True),
                                            ("linalg.trsm", False, False, True), ("linalg.trsm", True, True, True))],
    *[("linalg.trsm", [np.swapaxes(LOWER, 1, 2), A(2, 3, 2)], dict(transpose=transpose, lower=False)) for transpose in (False, True)],
    ("linalg.extractdiag", [A(3, 3)], dict(offset=1)), ("linalg.makediag", [A(2, 2)], dict(offset=-1)),
    ("linalg.extracttrian", [A(3, 3)], {}), ("linalg.maketrian", [A(2, 3)], dict(offset=1)), ("linalg.inverse", [P], {}),
    ("linalg.det", [P], {}), ("linalg.slogdet", [P], {}), ("linalg.gelqf", [A(2, 3)], {}),
]  # fmt: skip


def named(name):
    function = nd
    for part in name.split("."):
        function = getattr(function, part)
    return function


@pytest.mark.parametrize("name, arrays, args", SMOOTH, ids=lambda v: v if isinstance(v, str) else "")
def test_derivatives(name, arrays, args):
    check_gradients(lambda *xs: named(name)(*xs, **args), *arrays, tol=1e-4 if name.startswith("linalg") else 2e-5)


@pytest.mark.parametrize("name", ["linalg.potrf", "linalg.syevd"])
def test_derivatives_on_symmetric_matrices(name):
    check_gradients(lambda x: named(name)((x + nd.transpose(x)) / 2), P + np.diag([0.5, 1.0, 2.0]), tol=1e-4)
