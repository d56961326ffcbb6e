"""Sparse arrays: classes, storage types, creation and checks, gradients."""

import pickle

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, nd
from compatgrad.mxnet.base import MXNetError, NotSupportedForSparseNDArray
from compatgrad.mxnet.ndarray import sparse

DENSE = np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, -3]], dtype="float32")


def csr():
    return nd.array(DENSE).tostype("csr")


def rows():
    return nd.array(DENSE).tostype("row_sparse")


def test_parts():
    c, r = csr(), rows()
    assert type(c) is sparse.CSRNDArray and type(r) is sparse.RowSparseNDArray and nd.ones((1,)).stype == "default"
    assert c.indptr.asnumpy().tolist() == [0, 1, 1, 3] and c.indices.asnumpy().tolist() == [1, 0, 2]
    assert c.data.asnumpy().tolist() == [1.5, 2, -3] and c.indices.dtype == np.int64
    assert r.indices.asnumpy().tolist() == [0, 2] and r.data.asnumpy().tolist() == DENSE[[0, 2]].tolist()
    assert repr(c) == "\n<CSRNDArray 3x3 @cpu(0)>" and repr(r) == "\n<RowSparseNDArray 3x3 @cpu(0)>"
    for x in (c, r):
        assert (x.asnumpy() == DENSE).all() and x.tostype("default").stype == "default"
        x.check_format()
        y = pickle.loads(pickle.dumps(x))
        assert type(y) is type(x) and (y.asnumpy() == DENSE).all()
    assert (nd.zeros((2, 3), stype="csr").asnumpy() == 0).all() and nd.empty(
        (2, 3), stype="row_sparse"
    ).stype == "row_sparse"


def test_creation():
    c = sparse.csr_matrix(([1.0, 2.0, 3.0], [0, 2, 1], [0, 1, 1, 3]), shape=(3, 4))
    assert c.asnumpy().tolist() == [[1, 0, 0, 0], [0, 0, 0, 0], [0, 3, 2, 0]]
    assert c.indices.asnumpy().tolist() == [0, 2, 1]  # not sorted by column
    assert sparse.csr_matrix(([1.0, 2.0], [0, 2], [0, 1, 2])).shape == (2, 3)
    coo = sparse.csr_matrix((np.array([1.0, 2.0, 5.0]), ([0, 1, 0], [1, 0, 1])), shape=(2, 2))
    assert coo.asnumpy().tolist() == [[0, 6], [2, 0]] and coo.dtype == np.float64
    assert sparse.csr_matrix((3, 4)).shape == (3, 4) and sparse.csr_matrix(DENSE).dtype == np.float32
    r = sparse.row_sparse_array(([[1, 2], [0, 0]], [3, 1]), shape=(5, 2))
    # not sorted, and the row of zeros is stored
    assert r.indices.asnumpy().tolist() == [3, 1] and r.asnumpy()[3].tolist() == [1, 2]
    assert sparse.row_sparse_array((5, 2)).shape == (5, 2) and sparse.row_sparse_array(
        (np.ones((1, 2)), [4])
    ).shape == (5, 2)
    assert nd.array(c).stype == "csr" and sparse.array(r, dtype="float64").dtype == np.float64
    scipy_sparse = pytest.importorskip("scipy.sparse")
    back = c.asscipy()
    assert isinstance(back, scipy_sparse.csr_matrix) and (back.toarray() == c.asnumpy()).all()
    assert nd.array(back).stype == "csr" and (sparse.csr_matrix(back).asnumpy() == c.asnumpy()).all()


def test_storage_types_of_results():
    c, r, d = csr(), rows(), nd.ones((3, 3))
    expected = {
        "csr": [c + c, c - c, c * c, c * 2, 2 * c, c / 2, -c, c.copy(), c.detach(), c.astype("float64"), c[1:3], c[0]],
        "row_sparse": [
            r + r,
            r * r,
            r * 2,
            r * d,
            sparse.square(r),
            sparse.retain(r, nd.array([2])),
            r.copyto(mx.cpu(1)),
        ],
        "default": [c + 1, 1 - c, c + d, d + c, r + c, c / c, r - d, nd.exp(c), nd.dot(c, d), sparse.dot(c, d)],
    }
    for stype, results in expected.items():
        assert [x.stype for x in results] == [stype] * len(results)
    np.testing.assert_allclose((1 - c).asnumpy(), 1 - DENSE)
    np.testing.assert_allclose((r * d - c).asnumpy(), 0)
    np.testing.assert_allclose(nd.dot(c, d).asnumpy(), DENSE @ np.ones((3, 3)))
    kept = sparse.retain(r, nd.array([2, 1]))
    assert kept.indices.asnumpy().tolist() == [1, 2] and kept.asnumpy()[0].tolist() == [0, 0, 0]
    c += c
    assert c.stype == "csr" and c.asnumpy()[2, 2] == -6


def test_storage_types_of_operators():
    """Storage types of results for a row_sparse and for a csr array, recorded from MXNet 1.9.1."""
    names, dense = ("row_sparse", "csr"), nd.array(DENSE)
    both = [
        nd.relu, nd.sqrt, nd.rint, nd.round, nd.degrees, nd.cbrt, nd.zeros_like, nd.negative,
        lambda x: nd.clip(x, -1, 1), lambda x: nd.elemwise_mul(x, dense), lambda x: nd.elemwise_mul(dense, x),
        lambda x: nd._internal._scatter_plus_scalar(x, scalar=2), lambda x: nd._internal._mul_scalar(x, scalar=2),
    ]  # fmt: skip
    matrix = [
        lambda x: nd.take(x, nd.array([0, 1, 1])), lambda x: nd.slice(x, begin=(0,), end=(1,)),
        lambda x: nd.concat(x, x, dim=0), lambda x: nd.contrib.quadratic(x, a=1, b=2, c=0),
    ]  # fmt: skip
    neither = [nd.sigmoid, nd.gamma, lambda x: nd.elemwise_div(x, dense), lambda x: nd.maximum(x, x),
               lambda x: nd.broadcast_add(x, x), lambda x: nd.sum(x, axis=1),
               lambda x: nd.sqrt(x, out=nd.zeros((3, 3)))]  # fmt: skip
    for functions, expected in ((both, names), (matrix, ("default", "csr")), (neither, ("default", "default"))):
        for f in functions:
            assert (f(rows()).stype, f(csr()).stype) == expected
    square_sum = nd._internal._square_sum(rows(), axis=1, keepdims=True)
    assert square_sum.stype == "row_sparse" and square_sum.asnumpy()[:, 0].tolist() == [2.25, 0, 13]
    assert nd._internal._square_sum(rows(), axis=0, keepdims=True).stype == "default"


def test_storage_types_in_graphs():
    x, y = mx.sym.var("x"), mx.sym.var("y")
    dense = nd.array(DENSE)
    for s, expected in ((mx.sym.relu(x) * 2, "row_sparse"), (mx.sym.elemwise_mul(x, y), "row_sparse"),
                        (mx.sym._internal._maximum(x, y), "default"), (x + 1, "default"),
                        (mx.sym.sparse.retain(x, mx.sym.var("i")), "row_sparse")):  # fmt: skip
        arrays = {"x": rows(), "y": dense, "i": nd.array([0, 2])}
        executor = s.bind(mx.cpu(), {n: arrays[n] for n in s.list_arguments()})
        assert executor.forward()[0].stype == expected
    assert mx.sym.sparse.retain(x, mx.sym.var("i")).list_arguments() == ["x", "i"]
    for sparse_grad, expected in ((True, "row_sparse"), (False, "default")):
        w = mx.sym.var("w", stype="row_sparse")
        s = mx.sym.sparse.Embedding(mx.sym.var("i"), w, input_dim=4, output_dim=2, sparse_grad=sparse_grad)
        executor = s.simple_bind(mx.cpu(), grad_req={"i": "null", "w": "write"}, i=(3,))
        assert executor.grad_dict["w"].stype == expected and executor.arg_dict["w"].stype == "row_sparse"


def test_scattered_arithmetic():
    """Only stored numbers take part: rows of a row_sparse array, elements of a csr matrix."""
    np.testing.assert_array_equal(nd._internal._scatter_plus_scalar(rows(), scalar=2).asnumpy(),
                                  [[2, 3.5, 2], [0, 0, 0], [4, 2, -1]])  # fmt: skip
    np.testing.assert_array_equal(nd._internal._scatter_minus_scalar(csr(), scalar=2).asnumpy(),
                                  [[0, -0.5, 0], [0, 0, 0], [0, 0, -5]])  # fmt: skip
    quotient = nd._internal._scatter_elemwise_div(rows(), nd.full((3, 3), 2))
    assert quotient.stype == "row_sparse" and quotient.asnumpy().tolist() == (DENSE / 2).tolist()


def test_arrays_that_check_format_refuses():
    """As in MXNet such arrays can be created; elements outside their shape are ignored."""
    wrong = [
        (([7, 8, 9], [0, 2, 1], [0, 5, 2, 3]), "indptr must rise"),
        (([7, 8, 9], [1, 2, 1], [0, 2, 2, 4]), "indptr must rise"),
        (([7, 8, 9], [2, 1, 1], [0, 2, 2, 3]), "indices must rise"),
        (([7, 8, 9], [0, 4, 1], [0, 2, 2, 3]), "indices must be in 0..3"),
    ]
    for parts, words in wrong:
        x = sparse.csr_matrix(parts, shape=(3, 4))
        with pytest.raises(MXNetError, match=words):
            x.check_format()
        given = x.data.asnumpy(), x.indices.asnumpy(), x.indptr.asnumpy()
        assert [list(v) for v in given] == [list(v) for v in parts]
    assert sparse.csr_matrix(wrong[3][0], shape=(3, 4)).asnumpy().tolist() == [[7, 0, 0, 0], [0] * 4, [0, 9, 0, 0]]
    for indices, words in (([1, 4], "in 0..2"), ([1, 0], "must rise"), ([1, -2], "in 0..2")):
        x = sparse.row_sparse_array(([[1, 2], [3, 4]], indices), shape=(3, 2))
        with pytest.raises(MXNetError, match=words):
            x.check_format()
        assert x.asnumpy()[1].tolist() == [1, 2] and x.data.asnumpy().tolist() == [[1, 2], [3, 4]]
    x[:] = 0
    x.check_format()


def test_batch_normalization_with_a_fixed_scale_refuses_sparse_arrays():
    s = nd.ones((3,))
    with pytest.raises(MXNetError, match="fix_gamma"):
        nd.BatchNorm(rows(), s, s, s.copy(), s.copy())
    assert nd.BatchNorm(rows(), s, s, s.copy(), s.copy(), fix_gamma=False).shape == (3, 3)


def test_writing():
    r = nd.zeros((3, 3), stype="row_sparse")
    r[:] = rows()
    assert r.indices.asnumpy().tolist() == [0, 2]
    r[:] = 1
    assert r.indices.asnumpy().tolist() == [0, 1, 2]
    r[:] = DENSE
    rows().copyto(r)
    assert (r.asnumpy() == DENSE).all()
    d = nd.zeros((3, 3))
    csr().copyto(d)
    assert (d.asnumpy() == DENSE).all()


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_gradients(stype):
    x = nd.array(DENSE).tostype(stype)
    x.attach_grad()
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    assert x.grad.stype == stype and (x.grad.asnumpy() == 2 * DENSE).all()
    w = nd.ones((3, 3))
    w.attach_grad(stype=stype)
    with autograd.record():
        z = w.tostype("row_sparse") * 3
    z.backward(nd.array(DENSE))
    assert w.grad.stype == stype and (w.grad.asnumpy() == 3 * DENSE).all()


def test_sparse_gradient_of_an_embedding():
    net = mx.gluon.nn.Embedding(6, 2, sparse_grad=True)
    net.initialize(mx.init.One())
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    with autograd.record():
        y = net(nd.array([1, 4, 4])).sum()
    y.backward()
    grad = net.weight.grad()
    assert grad.stype == "row_sparse" and grad.indices.asnumpy().tolist() == [1, 4]
    assert grad.data.asnumpy().tolist() == [[1, 1], [2, 2]]
    trainer.step(1)
    assert net.weight.data().asnumpy()[:, 0].tolist() == [1, 0, 1, 1, -1, 1]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nd.ones((2, 2, 2)).tostype("csr"), ValueError, "2 dimensions can become csr"),
        (lambda: nd.ones((2, 2)).tostype("coo"), MXNetError, "stype must be one of"),
        (lambda: csr().tostype("row_sparse"), ValueError, "from csr to row_sparse"),
        (lambda: rows().tostype("csr"), ValueError, "from row_sparse to csr"),
        (lambda: csr().reshape((9,)), NotSupportedForSparseNDArray, "reshape"),
        (lambda: csr()[0:1, 1], ValueError, "several dimensions"),
        (lambda: csr()[5], IndexError, "out of bounds"),
        (lambda: csr()[::2], ValueError, "continuous slicing"),
        (lambda: rows()[0], TypeError, r"only supports \[:\]"),
        (lambda: csr().__setitem__(slice(None), 1), ValueError, "numeric"),
        (lambda: rows().__setitem__(0, 1), TypeError, r"only supports \[:\]"),
        (lambda: csr().copyto(rows()), TypeError, "destination NDArray stype row_sparse"),
        (lambda: sparse.csr_matrix(([1.0], ([0], [5])), shape=(1, 3)), ValueError, "outside of 0..2"),
        (lambda: sparse.csr_matrix((1, 2, 3, 4)), ValueError, "unexpected length"),
        (lambda: sparse.csr_matrix(DENSE, shape=(2, 2)), ValueError, "Shape mismatch"),
        (
            lambda: sparse.row_sparse_array((np.ones((2, 2)), [1]), shape=(3, 2)),
            ValueError,
            "2 rows of values, 1 indices",
        ),
        (lambda: sparse.row_sparse_array((1,)), ValueError, "unexpected length"),
        (lambda: sparse.retain(csr(), nd.ones((1,))), MXNetError, "must be row_sparse"),
        (lambda: sparse.retain(rows(), nd.array([9])), MXNetError, "indices must be in 0..2"),
        (lambda: sparse.array(DENSE), ValueError, "see nd.array"),
        (lambda: sparse.zeros("coo", (2, 2)), ValueError, "unknown storage type"),
        (lambda: sparse.no_such_operator, AttributeError, "no_such_operator"),
    ],
)
def test_wrong_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("stype", ["default", "row_sparse", "csr"])
def test_tostype_copies(stype):
    x = mx.nd.ones((2, 3)).tostype(stype)
    y = x.tostype("default")
    y[:] = 7
    assert x.asnumpy().tolist() == np.ones((2, 3)).tolist()
    assert x.tostype(stype) is not x
