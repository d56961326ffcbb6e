"""Operators on arrays: values of MXNet 1.9.1 (tests/golden/mxnet_arrays.py), first and second derivatives."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, nd
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
        assert (y.dtype, y.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(y, expected, rtol=2e-5, atol=2e-5)
    for i, g in enumerate(grads):
        assert (g is None) == (f"{k}_g{i}" not in golden)
        if g is not None:
            np.testing.assert_allclose(g, golden[f"{k}_g{i}"], rtol=1e-4, atol=1e-4)


# Every differentiable operator: name, float64 inputs to differentiate by (and constants of other dtypes), arguments.
P = A(3, 3) @ A(3, 3).T + np.eye(3)
LOWER = np.tril(A(2, 3, 3, low=1, high=2)) + np.triu(A(2, 3, 3), 1)
LENGTHS = np.array([1, 4, 2])
SMOOTH = [
    ("sum", [A(2, 3, 2)], {}), ("sum", [A(2, 3, 2)], dict(axis=(0, 2), keepdims=True)),
    ("sum", [A(2, 3, 2)], dict(axis=1, exclude=True)), ("mean", [A(2, 3)], dict(axis=1)),
    ("mean", [A(2, 3)], {}), ("prod", [A(2, 3)], {}), ("prod", [A(2, 3, 2)], dict(axis=1)),
    ("nansum", [A(2, 3)], dict(axis=0)), ("nanprod", [A(2, 3)], dict(axis=0)), ("max", [A(2, 3)], dict(axis=1)),
    ("min", [A(2, 3)], {}), ("norm", [A(2, 3)], {}), ("norm", [A(2, 3)], dict(axis=1, keepdims=True)),
    ("norm", [A(2, 4)], dict(ord=1, axis=0)), ("moments", [A(2, 3)], dict(axes=(0,))),
    ("cumsum", [A(2, 3)], dict(axis=1)), ("cumsum", [A(2, 3)], {}), ("reshape", [A(2, 3)], dict(shape=(-1, 2))),
    ("reshape_like", [A(2, 3), np.zeros((3, 2), "int32")], {}), ("flatten", [A(2, 2, 2)], {}),
    ("transpose", [A(2, 1, 3)], dict(axes=(2, 0, 1))), ("swapaxes", [A(2, 3)], dict(dim1=1)),
    ("moveaxis", [A(2, 1, 3)], dict(source=0, destination=-1)), ("expand_dims", [A(2, 3)], dict(axis=1)),
    ("squeeze", [A(1, 3)], {}), ("tile", [A(2, 2)], dict(reps=(2, 1, 2))),
    ("repeat", [A(2, 2)], dict(repeats=2)), ("repeat", [A(2, 2)], dict(repeats=2, axis=1)),
    ("flip", [A(2, 3)], dict(axis=1)),
    *[("pad", [A(1, 1, 3, 2)], dict(mode=mode, pad_width=(0, 0, 0, 0, 1, 2, 1, 0)))
     for mode in ("constant", "edge", "reflect")],
    ("diag", [A(3)], dict(k=-1)), ("diag", [A(3, 3)], dict(k=1)),
    ("depth_to_space", [A(1, 4, 1, 2)], dict(block_size=2)),
    ("space_to_depth", [A(1, 1, 2, 4)], dict(block_size=2)), ("broadcast_to", [A(1, 3)], dict(shape=(2, 0))),
    ("broadcast_like", [A(1, 3), np.zeros((2, 3), "int32")], {}),
    ("broadcast_axis", [A(1, 3)], dict(axis=0, size=2)), ("concat", [A(2, 3), A(2, 1)], {}),
    ("concat", [A(2, 3)], {}), ("stack", [A(2, 3), A(2, 3)], dict(axis=1)),
    ("split", [A(2, 3)], dict(num_outputs=3, squeeze_axis=True)), ("split", [A(2, 4)], dict(num_outputs=2)),
    ("split_v2", [A(2, 4)], dict(indices_or_sections=(1, 3), axis=1)),
    ("add_n", [A(2, 3), A(2, 3), A(2, 3)], {}),
    ("where", [np.array([[1, 0, 2], [0, 0, 1]]), A(2, 3), A(2, 3)], {}),
    ("where", [np.array([1, 0]), A(2, 3), A(2, 3)], {}), ("identity", [A(2, 3)], {}),
    ("clip", [A(2, 4)], dict(a_min=-0.4, a_max=0.4)), ("cast", [A(2, 3)], dict(dtype="float64")),
    ("amp_multicast", [A(2, 3), A(2)], dict(num_outputs=2)),
    ("multi_sum_sq", [A(2, 3), A(2)], dict(num_arrays=2)),
    ("slice", [A(3, 4)], dict(begin=(None, 3), end=(2, None), step=(1, -2))),
    ("slice_axis", [A(3, 4)], dict(axis=1, begin=-3, end=None)),
    ("slice_like", [A(3, 4), np.zeros((2, 2), "int32")], {}),
    ("take", [A(3, 2), np.array([[0, 2], [2, -1]])], dict(mode="wrap")),
    ("take", [A(2, 3), np.array([0, 2, 2])], dict(axis=1)), ("batch_take", [A(3, 2), np.array([0, 1, 1])], {}),
    ("pick", [A(3, 2), np.array([0, 1, 1])], {}),
    ("pick", [A(3, 2), np.array([[2, 0]])], dict(axis=0, keepdims=True)),
    ("fill_element_0index", [A(3, 2), A(3), np.array([0, 1, 1])], {}),
    ("gather_nd", [A(2, 3), np.array([[0, 1, 0], [2, 0, -1]])], {}),
    ("scatter_nd", [A(2, 3), np.array([[3, 1]])], dict(shape=(4, 3))),
    *[("topk", [A(2, 4)], dict(k=2, ret_typ="value", axis=axis, is_ascend=ascend))
     for axis, ascend in ((1, True), (None, False))],
    ("sort", [A(2, 4)], {}), ("sort", [A(2, 4)], dict(axis=None, is_ascend=False)),
    ("SequenceMask", [A(4, 3, 2), LENGTHS], dict(use_sequence_length=True, value=0.5)),
    ("SequenceMask", [A(3, 4), LENGTHS], dict(use_sequence_length=True, axis=1)),
    ("SequenceLast", [A(3, 2, 2)], dict(axis=1)),
    ("SequenceLast", [A(4, 3), LENGTHS], dict(use_sequence_length=True)),
    ("SequenceReverse", [A(4, 3), LENGTHS], dict(use_sequence_length=True)), ("SequenceReverse", [A(3, 2)], {}),
    ("contrib.index_copy", [A(3, 2), np.array([2, 0]), A(2, 2)], {}),
    ("contrib.boolean_mask", [A(3, 2), np.array([1, 0, 1])], {}),
    ("contrib.quadratic", [A(2, 3)], dict(a=2.0, b=1.0, c=0.5)), ("dot", [A(2, 3), A(3, 2)], {}),
    ("dot", [A(3, 2), A(2, 3)], dict(transpose_a=True, transpose_b=True)), ("dot", [A(2, 2, 3), A(3, 2)], {}),
    ("dot", [A(3), A(3)], {}), ("dot", [A(2, 2, 2), A(3, 2)], dict(transpose_b=True)),
    ("batch_dot", [A(2, 1, 3), A(2, 2, 3)], dict(transpose_b=True)),
    ("khatri_rao", [A(2, 2), A(2, 2), A(1, 2)], {}),
    ("_internal._slice_assign", [A(3, 4), A(2, 2)], dict(begin=(0, 3), end=(2, None), step=(1, -2))),
    ("_internal._slice_assign_scalar", [A(3, 4)], dict(scalar=2.0, begin=(1,), end=(2,))),
    ("linalg.gemm", [A(2, 3), A(3, 2), A(2, 2)], dict(alpha=2.0, beta=0.5)),
    ("linalg.gemm2", [A(2, 3), A(3, 2)], dict(alpha=2.0)),
    ("linalg.gemm2", [A(2, 2, 3), A(3, 2, 2)], dict(axis=0)), ("linalg.potri", [LOWER], {}),
    ("linalg.syrk", [A(2, 3)], dict(transpose=True)), ("linalg.sumlogdiag", [LOWER], {}),
    *[(name, [LOWER, A(2, 2, 3) if right else A(2, 3, 2)], dict(transpose=right, rightside=right, alpha=0.5))
      for name in ("linalg.trmm", "linalg.trsm") for right in (False, True)],
    *[("linalg.trsm", [np.swapaxes(LOWER, 1, 2), A(2, 3, 2)], dict(transpose=transpose, lower=False))
     for transpose in (False, True)],
    ("linalg.extractdiag", [A(3, 3)], dict(offset=1)), ("linalg.makediag", [A(2, 2)], dict(offset=-1)),
    ("linalg.extracttrian", [A(3, 3)], {}), ("linalg.maketrian", [A(2, 3)], dict(offset=1)),
    ("linalg.inverse", [P], {}), ("linalg.det", [P], {}), ("linalg.slogdet", [P], {}),
    ("linalg.gelqf", [A(2, 3)], {}),
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


@pytest.mark.parametrize(
    "scale, call",
    [
        (1.0, nd.make_loss),
        (1.0, nd.MakeLoss),
        (2.5, lambda x: nd.MakeLoss(x, grad_scale=2.5)),
        (0.5, lambda x: nd.MakeLoss(x, normalization="batch")),
    ],
)
def test_losses_have_a_gradient_of_their_own(scale, call):
    x = mx.nd.array(A(2, 3))
    x.attach_grad()
    with autograd.record():
        y = call(x * x)
        z = 100 * y
    z.backward()
    np.testing.assert_allclose(y.asnumpy(), x.asnumpy() ** 2, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * scale * x.asnumpy(), rtol=1e-6)


def test_operators_that_block_gradients():
    x = mx.nd.array(A(2, 3))
    x.attach_grad()
    with autograd.record():
        y = x * nd.stop_gradient(x) + nd.BlockGrad(x) + nd.argmax(x, axis=1, keepdims=True) + nd.zeros_like(x)
        z = nd.contrib.gradientmultiplier(x, scalar=-3.0)
    autograd.backward([y, z])
    np.testing.assert_allclose(x.grad.asnumpy(), x.asnumpy() - 3, rtol=1e-6)


@pytest.mark.parametrize("call", [
    lambda x: nd.argmax(x, axis=1), nd.zeros_like, nd.ones_like, nd.shape_array, lambda x: nd.one_hot(x, depth=2),
    nd.topk, nd.argsort, nd.stop_gradient, nd.contrib.arange_like, lambda x: nd.topk(x, ret_typ="mask"),
])  # fmt: skip
def test_results_without_a_gradient_are_in_the_graph(call):
    x = mx.nd.array(A(2, 3))
    x.attach_grad()
    with autograd.record():
        y = call(x)
        z = x * 2
    autograd.backward([y, z])
    assert (x.grad.asnumpy() == 2).all()
    with autograd.record():
        y = call(x)
    x.grad[:] = 5
    y.backward()
    assert (x.grad.asnumpy() == 0).all()


def test_ties_share_gradients_like_mxnet():
    x = mx.nd.array([[1, 2, 2], [3, 3, 0]])
    x.attach_grad()
    with autograd.record():
        y = nd.max(x, axis=1) + nd.topk(x, k=1, ret_typ="value").reshape(-1)
    y.backward()
    assert x.grad.asnumpy().tolist() == [[0, 2, 1], [2, 1, 0]]  # each equal element for max, the first one for topk
    wide = mx.nd.array(np.arange(40) // 2)
    assert nd.topk(wide, k=4).asnumpy().tolist() == [38, 39, 36, 37]
    assert nd.topk(wide, k=3, is_ascend=True).asnumpy().tolist() == [0, 1, 2]


def test_results_have_memory_of_their_own():
    """Only the method `reshape` returns a view, as in MXNet."""
    x = nd.arange(6).reshape((2, 3))
    results = [nd.reshape(x, shape=(3, 2)), nd.transpose(x), nd.expand_dims(x, axis=0), nd.flatten(x), x.squeeze(),
               nd.identity(x), nd.concat(x), nd.add_n(x), nd.slice_axis(x, axis=0, begin=0, end=2), nd.stop_gradient(x),
               nd.broadcast_to(x, shape=(2, 3)), nd.swapaxes(x, 0, 1), nd.diag(x), *nd.split(x, num_outputs=3),
               *nd.split_v2(x, (1,)), nd.cast(x, dtype="float32"), nd.tile(x, (1, 1)), nd.SequenceMask(x),
               nd.moveaxis(x, 0, 1), x.flatten(), x.expand_dims(0),
               nd.contrib.index_copy(x, nd.array([0]), nd.zeros((1, 3)))]  # fmt: skip
    before = [y.asnumpy() for y in results]
    view, flat = x.reshape(3, 2), x.flatten(inplace=True)
    x[:] = -1
    for y, old in zip(results, before, strict=True):
        assert (y.asnumpy() == old).all()
    assert (view.asnumpy() == -1).all() and (flat.asnumpy() == -1).all()
    results[6][:] = 5
    assert (x.asnumpy() == -1).all()


def test_methods():
    x = nd.arange(6).reshape((2, 3))
    assert x.reshape(3, 2).shape == x.reshape([3, -1]).shape == x.reshape(shape=(3, 2)).shape == (3, 2)
    assert x.reshape((-1, 1), reverse=True).shape == (6, 1)
    assert x.sum(1).asnumpy().tolist() == [3, 12] and x.norm().shape == (1,) and x.mean(axis="1").shape == (2,)
    assert x.split(num_outputs=3)[2].shape == (2, 1) and len(x.split_v2((1,), axis=1)) == 2
    assert nd.ones((1, 3)).broadcast_axes(axis=0, size=2).shape == (2, 3)
    assert x.topk(k=2).asnumpy().tolist() == [[2, 1], [2, 1]] and x.take(nd.array([1])).shape == (1, 3)
    assert x.slice_assign_scalar(9, (0, 0), (1, 2), ()) is x and x.asnumpy().tolist() == [[9, 9, 2], [3, 4, 5]]
    assert x.slice_assign(nd.zeros((1, 3)), (1,), (2,)).asnumpy()[1].tolist() == [0, 0, 0]
    out = nd.zeros((3,))
    assert nd.sum(x, axis=0, out=out) is out and out.asnumpy().tolist() == [9, 9, 2]
    with pytest.raises(TypeError, match="foo"):
        x.reshape(3, 2, foo=1)
    with pytest.raises(ValueError, match="size 6"):
        x.reshape(4, -1)


X, X3 = nd.arange(6).reshape((2, 3)), nd.arange(24).reshape((2, 3, 4))
INTS = X.astype("int32")
BAD = [
    (lambda: nd.sum(X, axis=5), "sum: axis 5"), (lambda: nd.sum(X, axis=(0, 0)), "sum: axis has duplicates"),
    (lambda: nd.sum(X, axis=1.5), "sum: axis must be an int"),
    (lambda: nd.norm(X, ord=3), "norm: ord must be 1 or 2, got 3"),
    (lambda: nd.argmax(X, axis=3), "argmax: axis 3"), (lambda: nd.moments(X), "moments: axes"),
    (lambda: nd.reshape(X3, shape=(5, -1)), r"reshape: cannot reshape an array of shape \(2, 3, 4\)"),
    (lambda: nd.reshape(X3, shape=(-1, -1)), "only one size"),
    (lambda: nd.reshape(X3, shape=(0, 0, 0, 0)), "no axis left"),
    (lambda: nd.reshape(X3, shape=(-5,)), "-5 is no valid size"),
    (lambda: nd.reshape(X3), "shape must not be empty"),
    (lambda: nd.reshape(X3, shape=(-4, 3, -1, 0, 0)), "cannot be split"),
    (lambda: nd.reshape(X3, shape=(2, -4, 3)), "-4 is followed"),
    (lambda: nd.reshape_like(X3, nd.zeros((6, 5))), "reshape_like"),
    (lambda: nd.transpose(X3, axes=(0, 2)), "transpose: axes"),
    (lambda: nd.transpose(X, axes=(0, 0)), "transpose: axes has duplicates"),
    (lambda: nd.swapaxes(X3, 0, 5), "swapaxes: dim2 5"),
    (lambda: nd.expand_dims(X, axis=3), "expand_dims: axis"), (lambda: nd.squeeze(X, axis=1), "squeeze"),
    (lambda: nd.concat(X, INTS), "concat: all inputs must have one dtype"),
    (lambda: nd.concat(X, nd.ones((3, 2))), "concat: input 1"),
    (lambda: nd.concat(), "concat: expected at least one"),
    (lambda: nd.stack(X, nd.ones((3, 2))), "stack: input 1"),
    (lambda: nd.split(X3, num_outputs=5), "split: axis 1"),
    (lambda: nd.split(X3, num_outputs=2, axis=2, squeeze_axis=True), "squeeze_axis"),
    (lambda: nd.split_v2(X3, (2, 1), axis=2), "split_v2"),
    (lambda: nd.slice(X, begin=(0, 0, 0), end=(1, 1, 1)), "slice: 3 axes"),
    (lambda: nd.slice(X, begin=(0,), end=(2,), step=(0,)), "slice: step"),
    (lambda: nd.slice_axis(X, axis=1, begin=2, end=1), "slice_axis"),
    (lambda: nd.slice_axis(X, axis=1, begin=0, end=9), "slice_axis"),
    (lambda: nd.slice_like(X, nd.zeros((3, 3))), "slice_like: axis 0"),
    (lambda: nd.take(X, nd.array([5]), mode="raise").asnumpy(), "take: indices out of bound"),
    (lambda: nd.take(X, nd.array([0]), mode="foo"), "'foo'"),
    (lambda: nd.take(X, nd.array([0]), axis=2), "take: axis 2"),
    (lambda: nd.pick(X, nd.array([0, 1, 1]), axis=1), "pick: index"),
    (lambda: nd.gather_nd(X, nd.array([[0], [2], [1]])), "gather_nd: 3 indices"),
    (lambda: nd.where(nd.ones(3), X, X), "where: condition"),
    (lambda: nd.where(X, X, INTS), "where: all inputs must have one dtype"),
    (lambda: nd.pad(X, mode="edge", pad_width=(0, 0)), "pad: pad_width"),
    (lambda: nd.pad(X, mode="foo", pad_width=(0, 0, 0, 0)), "'foo'"),
    (lambda: nd.pad(X, mode="reflect", pad_width=(0, 0, 3, 0)), "reflect"), (lambda: nd.diag(X, k=5), "diag"),
    (lambda: nd.depth_to_space(X, block_size=2), "depth_to_space: data must be 4-D"),
    (lambda: nd.depth_to_space(nd.empty((1, 4, 0, 2)), block_size=2), "depth_to_space: axis 1 must"),
    (lambda: nd.space_to_depth(nd.empty((1, 4, 0, 2)), block_size=2), "space_to_depth: axes 2 and 3 must"),
    (lambda: nd.zeros(()), "zeros: shape: .* unknown size"), (lambda: nd.ones((2, 0)), "ones: shape: .* unknown size"),
    (lambda: nd.broadcast_to(nd.ones((1, 3)), shape=(2, 4)), "broadcast_to"),
    (lambda: nd.broadcast_like(nd.ones((1, 2)), X3), "broadcast_like"),
    (lambda: nd.broadcast_axis(X, axis=1, size=3), "broadcast_axis: axis 1"),
    (lambda: nd.add_n(X, nd.ones((3,))), "add_n: input 1"), (lambda: nd.dot(X, X), "dot: shapes"),
    (lambda: nd.dot(X, X.astype("float64"), transpose_b=True), "dot: all inputs"),
    (lambda: nd.batch_dot(X3, X3), "batch_dot: shapes"), (lambda: nd.batch_dot(X, X), "batch_dot: lhs and rhs"),
    (lambda: nd.khatri_rao(X, nd.ones((2, 2))), "khatri_rao"),
    (lambda: nd.topk(X, k=5), "topk: k must not be larger than 3"),
    (lambda: nd.topk(X, ret_typ="foo"), "'foo'"), (lambda: nd.sort(X, axis=3), "sort: axis 3"),
    (lambda: nd.SequenceMask(X3, use_sequence_length=True), "SequenceMask: sequence_length"),
    (lambda: nd.SequenceMask(X3, nd.array([1, 3]), use_sequence_length=True),
     "SequenceMask: sequence_length must have the shape"),
    (lambda: nd.SequenceLast(X3, nd.array([1, 0, 1]), use_sequence_length=True), "SequenceLast"),
    (lambda: nd.SequenceReverse(X3, axis=1), "SequenceReverse: axis must be 0"),
    (lambda: nd.ravel_multi_index(X, shape=(2, 3, 4)), "ravel_multi_index"),
    (lambda: nd.linalg.gemm2(X, X), "linalg_gemm2: shapes"),
    (lambda: nd.linalg.potrf(X), "linalg_potrf: A must hold square"),
    (lambda: nd.linalg.potrf(nd.array([[-4, 2], [2, 5]])), "positive definite"),
    (lambda: nd.linalg.inverse(nd.ones((2, 2))), "singular"),
    (lambda: nd.linalg.trsm(nd.ones((2, 2)), X.T), "linalg_trsm: B"),
    (lambda: nd.linalg.gelqf(X.T), "linalg_gelqf"),
    (lambda: nd.linalg.maketrian(nd.ones((5,))), "linalg_maketrian"),
    (lambda: nd.contrib.boolean_mask(X, nd.ones(3)), "boolean_mask"),
    (lambda: nd.contrib.index_copy(X, nd.array([1]), nd.ones((1, 2))), "index_copy"),
    (lambda: nd.multi_sum_sq(X, num_arrays=2), "num_arrays"),
]  # fmt: skip


@pytest.mark.parametrize("call, message", BAD, ids=[message for _, message in BAD])
def test_bad_input_is_an_mxnet_error(call, message):
    with pytest.raises(mx.MXNetError, match=message):
        call()


@pytest.mark.parametrize("call, error, message", [
    (lambda: nd.gather_nd(X, nd.array([[0, 5], [2, 0]])), IndexError, "gather_nd: index 5 is out of bounds for axis 0"),
    (lambda: nd.scatter_nd(nd.ones(1), nd.array([[7]]), shape=(2,)), IndexError, "scatter_nd"),
    (lambda: nd.sum(np.ones(3)), AssertionError, "sum: argument data must have NDArray type"),
    (lambda: nd.concat(X, 3), AssertionError, "concat"), (lambda: nd.cast(X, dtype="foo"), TypeError, "foo"),
    (lambda: nd.split_v2(X3, 5, axis=1), ValueError, "equal division"),
    (lambda: nd.split_v2(X3, 1.5), ValueError, "tuple of ints"),
    (lambda: nd.moveaxis(X3, 0, 5), ValueError, "Destination"),
    (lambda: nd.moveaxis(X3, (0, 0), (1, 2)), ValueError, "repeated"),
    (lambda: nd.histogram(X, bins="a"), ValueError, "bins"),
    (lambda: nd.concatenate([]), AssertionError, "at least one"),
    (lambda: nd.concatenate([X, INTS]), AssertionError, "int32"),
])  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_zeros_in_shapes_stand_for_themselves_in_np_shape():
    with mx.util.np_shape():
        assert nd.zeros(()).shape == () and nd.ones((2, 0)).shape == (2, 0)
    assert nd.empty((2, 0)).shape == (2, 0)


def test_contiguous_slices():
    """Programs call MXNet's private check of a key; it must agree with NumPy's contiguous flag."""
    x = np.arange(24).reshape(2, 3, 4)
    ends = [slice(None), slice(1), slice(0), slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(5)]
    for key in ((a, b, c) for a in ends for b in ends for c in ends):
        assert nd.NDArray._basic_indexing_slice_is_contiguous(key, x.shape) == x[key].flags.c_contiguous, key


def test_upper_triangular_factors():
    a = np.array([[9.0, 3, -6], [3, 26, -7], [-6, -7, 9]])
    x = nd.array(np.triu(a) + np.tril(np.full((3, 3), 100.0), -1), dtype="float64")
    x.attach_grad()
    with autograd.record():
        u = nd.linalg.potrf(x, lower=False)
    np.testing.assert_allclose(u.asnumpy(), np.linalg.cholesky(a).T, rtol=1e-12)
    u.backward(nd.arange(9, dtype="float64").reshape(3, 3) + 1)
    expected = [[1.001111, 0.796667, 1.65], [0.796667, 0.71, 1.05], [1.65, 1.05, 2.25]]
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5)
    v = u.detach()
    v.attach_grad()
    with autograd.record():
        y = nd.linalg.potri(v, lower=False)
    np.testing.assert_allclose(y.asnumpy(), np.linalg.inv(a), rtol=1e-10)
    y.backward(nd.arange(9, dtype="float64").reshape(3, 3) + 1)
    expected = [[-0.67037, -0.277778, -1.033333], [0, -0.204444, -0.773333], [0, 0, -4.77]]
    np.testing.assert_allclose(v.grad.asnumpy(), expected, rtol=1e-4)


def test_slice_like_counts_negative_axes_from_the_end_of_data():
    """MXNet 1.9.1 takes the same number of the other array's axis, which may have more axes."""
    assert nd.slice_like(nd.zeros((3, 2, 4)), nd.zeros((3, 1, 2, 4)), axes=(-1,)).shape == (3, 2, 2)
    with pytest.raises(mx.base.MXNetError, match="slice_like"):
        nd.slice_like(nd.zeros((3, 2, 4)), nd.zeros((2, 2)), axes=(-1,))
