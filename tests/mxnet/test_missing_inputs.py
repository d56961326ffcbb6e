"""Missing inputs, ranges without numbers and shapes that do not fit raise MXNet's exceptions."""

import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import nd, sym
from compatgrad.mxnet.base import MXNetError

X = nd.ones((2, 3))


@pytest.mark.parametrize("call, text", [
    (lambda: nd.relu(), "Operator relu: the input data is missing"),
    (lambda: nd.relu(None), "Operator relu: the input data is missing"),
    (lambda: nd.dot(X), "Operator dot: the input rhs is missing"),
    (lambda: nd.broadcast_add(X), "Operator broadcast_add: the input rhs is missing"),
    (lambda: nd.FullyConnected(X, num_hidden=2), "Operator FullyConnected: the input weight is missing"),
    (lambda: nd.BatchNorm(X), "Operator BatchNorm: the input gamma is missing"),
    (lambda: nd.one_hot(X), "Required parameter depth is not presented, in operator one_hot"),
    (lambda: nd.slice(X), "Required parameter begin is not presented, in operator slice"),
    (lambda: nd.arange(3, 0), r"arange: invalid range \(start, stop, step\) = \(3, 0, 1.0\)"),
    (lambda: nd.arange(0), r"arange: invalid range \(start, stop, step\) = \(0, 0, 1.0\)"),
    (lambda: nd.arange(0, 3, -1), "arange: invalid range"),
])  # fmt: skip
def test_a_missing_input_or_a_range_without_numbers(call, text):
    with pytest.raises(MXNetError, match=text):
        call()


def test_ranges_with_numbers():
    assert nd.arange(3, 0, -1).asnumpy().tolist() == [3, 2, 1]
    assert mx.np.arange(0).shape == (0,)  # NumPy's


def test_what_is_no_array_is_another_error():
    for call in (lambda: nd.relu(3), lambda: nd.concat(X, None, dim=0), lambda: nd.dot(X, "a")):
        with pytest.raises(AssertionError, match="must have NDArray type"):
            call()


def test_an_unknown_storage_type_of_a_gradient():
    x = nd.ones((2, 3))
    with pytest.raises(ValueError, match="unknown storage type 'foo'"):
        x.attach_grad(stype="foo")
    assert x.grad is None
    x.attach_grad(stype="row_sparse")
    assert x.grad.stype == "row_sparse"


@pytest.mark.parametrize("make, shapes, text", [
    (lambda x, y: sym.dot(x, y), {"x": (2, 3), "y": (2, 3)}, "dot0|Error in operator"),
    (lambda x, y: sym.dot(x, y, transpose_a=True), {"x": (2, 3), "y": (3, 2)}, "Error in operator"),
    (lambda x, y: sym.batch_dot(x, y), {"x": (2, 3, 4), "y": (2, 3, 4)}, "Error in operator"),
    (lambda x, y: sym.pick(x, y), {"x": (2, 3), "y": (4,)}, "Error in operator"),
    (lambda x, y: sym.expand_dims(x, axis=5) + y, {"x": (2, 3)}, "Error in operator"),
])  # fmt: skip
def test_shapes_that_do_not_fit_are_found_before_the_run(make, shapes, text):
    with pytest.raises(MXNetError, match=text):
        make(sym.var("x"), sym.var("y")).infer_shape(**shapes)


def test_shapes_that_fit():
    x, y = sym.var("x"), sym.var("y")
    assert sym.dot(x, y, transpose_b=True).infer_shape(x=(2, 3), y=(4, 3))[1] == [(2, 4)]
    assert sym.dot(x, y).infer_shape(x=(2, 3), y=(3,))[1] == [(2,)]
    assert sym.batch_dot(x, y, transpose_b=True).infer_shape(x=(2, 3, 4), y=(2, 5, 4))[1] == [(2, 3, 5)]
    assert sym.pick(x, y, axis=0).infer_shape(x=(2, 3), y=(3,))[1] == [(3,)]
    assert sym.pick(x, y, keepdims=True).infer_shape(x=(2, 3), y=(2, 1))[1] == [(2, 1)]
    assert sym.expand_dims(x, axis=-3).infer_shape(x=(2, 3))[1] == [(1, 2, 3)]
