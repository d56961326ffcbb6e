"""Shapes and types along a graph, in both directions (expected values from MXNet 1.9.1)."""

import json

import numpy as np
import pytest

import compatgrad.mxnet as mx

S = mx.sym
X, Y = S.Variable("x"), S.Variable("y")


@pytest.mark.parametrize(
    ("a", "b", "combine", "expected"),
    [
        ((0, 10), (12, 0), lambda a: a, [(12, 10), (12, 10)]),
        ((0, 10), (5,), lambda a: S.SliceChannel(a, num_outputs=10, axis=1, squeeze_axis=True)[1], [(5, 10), (5,)]),
        ((0, 15, 0), (3, 5, 2), lambda a: S.SliceChannel(a, num_outputs=3)[1], [(3, 15, 2), (3, 5, 2)]),
        ((2, 3, 0), (2, 12), lambda a: a.reshape((0, -1)), [(2, 3, 4), (2, 12)]),
        ((0, 0, 4), (4, 3, 2), lambda a: a.transpose((2, 1, 0)), [(2, 3, 4), (4, 3, 2)]),
        ((0, 3), (3, 2), lambda a: S.SwapAxis(a, dim1=0, dim2=1), [(2, 3), (3, 2)]),
        ((0,), (1, 4), lambda a: S.expand_dims(a, axis=0), [(4,), (1, 4)]),
        ((0,), (4,), lambda a: S.arange(0, None, infer_range=True) + a, [(4,), (4,)]),
    ],
)
def test_shapes_are_inferred_backwards(a, b, combine, expected):
    total = combine(S.Variable("a", shape=a)) + S.Variable("b", shape=b)
    assert total.infer_shape()[0] == expected


@pytest.mark.parametrize(
    ("given", "options", "length"),
    [
        ((16,), {}, 16), ((0, 16), {"step": 3}, 6), ((0, 5), {"step": 0.3, "repeat": 2}, 34), ((5, 0), {"step": -2}, 3),
        ((1.5, 9), {"step": 2.5}, 3), ((0, 16), {"infer_range": True}, 16),
    ],
)  # fmt: skip
def test_ranges_know_their_length(given, options, length):
    numbers = S.arange(*given, **options)
    assert numbers.infer_shape() == ([], [(length,)], [])
    grid = S.broadcast_to(S.Reshape(numbers, shape=(1, length)), shape=(2, length))
    net = S.FullyConnected(S.concat(grid, X, dim=1), num_hidden=3, name="fc")
    assert net.infer_shape(x=(2, 1)) == ([(2, 1), (3, length + 1), (3,)], [(2, 3)], [])
    assert numbers.bind(mx.cpu(), {}).forward()[0].shape == (length,)


def test_layers_and_their_parameters():
    y = S.FullyConnected(S.Variable("a", shape=(0, 10)), num_hidden=21, name="fc") + S.Variable("c", shape=(5, 0))
    assert y.infer_shape()[0] == [(5, 10), (21, 10), (21,), (5, 21)]
    y = S.Convolution_v1(X, kernel=(1, 1), num_filter=2, name="n")
    assert y.infer_shape(x=(1, 3, 4, 4)) == ([(1, 3, 4, 4), (2, 3, 1, 1), (2,)], [(1, 2, 4, 4)], [])
    y = S.Convolution(S.Variable("a", shape=(0, 10, 0, 0)), num_filter=21, kernel=(3, 3), pad=(1, 1))
    y = y + S.Variable("c", shape=(5, 21, 32, 32))
    assert y.infer_shape()[0][0] == (5, 10, 32, 32)
    y = S.Concat(S.Variable("a", shape=(0, 10)), S.Variable("b", shape=(0, 5)), dim=1) + S.Variable("d", shape=(2, 0))
    assert y.infer_shape()[0] == [(2, 10), (2, 5), (2, 15)]
    up = S.UpSampling(X, S.Variable("w"), sample_type="bilinear", scale=2, num_filter=3, num_args=2)
    assert up.infer_shape(x=(1, 3, 4, 4))[0] == [(1, 3, 4, 4), (3, 1, 4, 4)]
    assert S.BatchNorm_v1(X, fix_gamma=False).infer_shape(x=(2, 3))[2] == [(3,), (3,)]
    w = S.Variable("w")
    shifted = S._internal._identity_with_attr_like_rhs(S.broadcast_add(w, S.Variable("s", shape=(1,))), w)
    net = S.FullyConnected(X, shifted, num_hidden=11, no_bias=True)
    assert dict(zip(net.list_arguments(), net.infer_shape(x=(7, 100))[0], strict=True))["w"] == (11, 100)


def test_labels_may_be_probabilities():
    y = S.SoftmaxOutput(X, S.Variable("l"))
    assert y.infer_shape(x=(1, 4))[0] == [(1, 4), (1,)]
    e = y.simple_bind(mx.cpu(), x=(1, 4), l=(1, 4))
    e.forward(is_train=True)
    e.backward()
    assert e.grad_dict["x"].asnumpy().tolist() == [[0.25] * 4]


def test_partly_known_shapes():
    out = S.elemwise_add(S.FullyConnected(X, num_hidden=8), S.FullyConnected(Y, num_hidden=8))
    with pytest.warns(UserWarning, match="cannot decide"):
        assert out.infer_shape(x=(10, 6)) == (None, None, None)
    assert out.infer_shape_partial(x=(10, 6)) == ([(10, 6), (8, 6), (8,), (), (), ()], [(10, 8)], [])
    assert S.dot(X, Y).infer_shape_partial(x=(0, 3, 4), y=(4, 5))[1] == [(0, 3, 5)]
    assert S.batch_dot(X, Y).infer_shape_partial(x=(0, 3, 4), y=(0, 0, 5))[1] == [()]
    embedded = S.Embedding(X, Y, input_dim=100, output_dim=10)
    assert embedded.infer_shape_partial(x=(0, 5))[1] == [(0, 5, 10)]
    with mx.np_shape(True):
        assert S.sin(X).infer_shape_partial() == ([None], [None], [])
        assert S.pick(X, Y, axis=1).infer_shape_partial(x=(-1, 3, 3), y=(-1, 3))[1] == [(-1, 3)]


def test_contradictions():
    with pytest.raises(mx.MXNetError, match=r"_plus.*Shape inconsistent, Provided = \[2, 3\], inferred shape=\[3, 2\]"):
        (X.transpose() + (Y + X)).simple_bind(mx.cpu(), y=(2, 3), x=(2, 3))
    with pytest.raises(mx.MXNetError, match="expected float16, got float32"):
        (X + Y).infer_type(x="float16", y="float32")


@pytest.mark.parametrize(
    ("symbol", "given", "arguments", "outputs", "states"),
    [
        (X + Y, {"y": "float16"}, ["float16"] * 2, ["float16"], []),
        (X * 2, {}, [None], [None], []),
        (S.Embedding(X, Y, input_dim=3, output_dim=4, dtype="float16"), {"x": "int32"}, ["int32", "float16"],
         ["float16"], []),
        (S.BatchNorm(X), {"x": "float16"}, ["float16", "float32", "float32"], ["float16"], ["float32"] * 2),
        (S.take(X, Y), {"y": "int32"}, [None, "int32"], [None], []),
        (S.where(X, Y, Y), {"y": "float16"}, [None, "float16"], ["float16"], []),
        (S.topk(X), {"x": "float16"}, ["float16"], ["float32"], []),
        (S.FullyConnected(S.Cast(X, dtype="float32"), num_hidden=3), {}, [None, "float32", "float32"], ["float32"], []),
        (S.softmax(X, dtype="float64"), {"x": "float16"}, ["float16"], ["float64"], []),
        (S.shape_array(X), {"x": "float16"}, ["float16"], ["int64"], []),
        (S.zeros((2,), dtype="int32") + X, {}, ["int32"], ["int32"], []),
        (S.batch_take(X, Y), {}, [None, "int32"], [None], []),
    ],
)  # fmt: skip
def test_types(symbol, given, arguments, outputs, states):
    expected = tuple([t and np.dtype(t).type for t in part] for part in (arguments, outputs, states))
    assert symbol.infer_type_partial(**given) == expected
    complete = all(t for part in expected for t in part)
    assert symbol.infer_type(**given) == (expected if complete else (None, None, None))


def test_files_of_either_kind_of_shape():
    net = S.FullyConnected(X, S.Variable("w", shape=(8, 0)), num_hidden=8)
    text = net.tojson()
    assert "is_np_shape" not in json.loads(text)["attrs"]
    for flag in (False, True):
        with mx.np_shape(flag):
            assert S.load_json(text).infer_shape(x=(10, 7))[0][1] == (8, 7)


def test_cut_axes_and_matrices():
    cut = S.slice(S.Variable("a", shape=(0, 10)), begin=(None, None), end=(None, 10), step=())
    assert cut.infer_shape_partial()[1] == [(0, 10)]
    cut = S.slice(S.Variable("a", shape=(0, 10)), begin=(1, 3), end=(4, None))
    assert cut.infer_shape_partial()[1] == [(0, 7)]
    cut = S.slice_axis(S.Variable("a", shape=(10, 0)), axis=0, begin=0, end=5)
    assert cut.infer_shape_partial()[1] == [(5, 0)]
    assert S.linalg.potrf(X).infer_shape(x=(2, 3, 3))[1] == [(2, 3, 3)]
    assert (S.ones((2, 3)) + S.ones((0, 0)).transpose()).infer_shape()[1] == [(2, 3)]


def test_weights_of_samples_broadcast_in_symbols():
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()(X, Y, S.Variable("w"))
    assert loss.infer_shape(x=(10, 2), y=(10,), w=(10, 1))[1] == [(10,)]
