"""Sizes that are no integers: booleans and fractions, which MXNet's operators cannot read, and when they say so."""

import pytest

import compatgrad.mxnet as mx

nd, np, sym = mx.nd, mx.np, mx.sym
X, W, A = nd.zeros((1, 3, 8, 8)), nd.zeros((4, 3, 3, 3)), np.zeros((2,))
LENGTHS = {
    "nd.zeros": nd.zeros,
    "nd.ones": nd.ones,
    "nd.random.uniform": lambda s: nd.random.uniform(shape=s),
    "nd.broadcast_to": lambda s: nd.zeros((1, 1)).broadcast_to(s) if isinstance(s, tuple) else nd.zeros(s),
    "nd.tile": lambda s: nd.tile(nd.zeros(2), s),
    "np.full": lambda s: np.full(s, 1.0),
    "np.full of an array": lambda s: np.full(s, np.array([1.0])),
    "np.ones": np.ones,
    "np.reshape": lambda s: np.reshape(A, s),
    "np.random.uniform": lambda s: np.random.uniform(size=s),
    "np.eye": np.eye,
    "nd.eye": nd.eye,
    "nd.one_hot": lambda s: nd.one_hot(nd.zeros(1), depth=s),
    "nd.FullyConnected": lambda s: nd.FullyConnected(nd.zeros((1, 2)), nd.zeros((1, 2)), num_hidden=s, no_bias=True),
    "sym.zeros": sym.zeros,
    "sym.Convolution": lambda s: sym.Convolution(sym.var("x"), kernel=s, num_filter=4),
}


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("size", [True, (True, 2), (2.5, 2), 2.5])
def test_sizes_that_are_no_integers(name, size):
    with pytest.raises(mx.MXNetError):
        LENGTHS[name](size)


def test_sizes_that_mxnet_converts_in_python():
    assert nd.full((True, 2), 1).shape == nd.empty((True, 2)).shape == np.zeros((True, 2)).shape == (1, 2)
    assert np.empty(True).shape == (1,) and nd.zeros((2,)).reshape((True, 2)).shape == (1, 2)
    for make in (nd.empty, np.empty, lambda s: nd.full(s, 1)):
        with pytest.raises(TypeError):
            make((2.5, 2))


@pytest.mark.parametrize("number", [4.0, 4.5, True, "x", None, 0])
def test_symbols_are_refused_when_they_are_made(number):
    x = sym.var("x")
    for call in (
        lambda n: sym.Convolution(x, kernel=(3, 3), num_filter=n), lambda n: sym.FullyConnected(x, num_hidden=n),
        lambda n: sym.Embedding(x, input_dim=n, output_dim=3),
        lambda n: sym.Deconvolution(x, kernel=(3, 3), num_filter=n),
    ):  # fmt: skip
        with pytest.raises(mx.MXNetError, match="num_filter|num_hidden|input_dim"):
            call(number)
    if number not in (None, 0):
        with pytest.raises(mx.MXNetError, match="axis"):
            sym.softmax(x, axis=number)


WRONG = {
    "pool_type": lambda F, x: F.Pooling(x, kernel=(2, 2), pool_type="median"),
    "pooling_convention": lambda F, x: F.Pooling(x, kernel=(2, 2), pool_type="avg", pooling_convention="some"),
    "act_type": lambda F, x: F.Activation(x, act_type="step"),
    "mode": lambda F, x: F.pad(x, mode="some", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)),
    "sample_type": lambda F, x: F.UpSampling(x, scale=2, sample_type="cubic"),
    "p": lambda F, x: F.Dropout(x, p=2),
    "p of a boolean": lambda F, x: F.Dropout(x, p=True),
    "p of a word": lambda F, x: F.Dropout(x, p="a"),
    "axis of softmax": lambda F, x: F.softmax(x, axis=True),
    "axis of expand_dims": lambda F, x: F.expand_dims(x, axis=True),
    "axis of split": lambda F, x: F.split(x, num_outputs=1, axis=True),
    "dim of concat": lambda F, x: F.concat(x, x, dim=True),
    "dim1 of swapaxes": lambda F, x: F.swapaxes(x, dim1=True, dim2=0),
    "axes of transpose": lambda F, x: F.transpose(x, axes=(0, True, 2, 3)),
    "kernel of Pooling": lambda F, x: F.Pooling(x, kernel=(2.0, 2), stride=(1, 1)),
}


@pytest.mark.parametrize("name", WRONG)
def test_values_that_a_parameter_does_not_have(name):
    for F, x in ((nd, X), (sym, sym.var("x"))):
        with pytest.raises(mx.MXNetError, match=name.partition(" ")[0]):
            WRONG[name](F, x)


@pytest.mark.parametrize("wrong", ["kernel", "stride", "dilate", "pad"])
@pytest.mark.parametrize("size", [(1.0, 1), (True, 1)])
def test_arrays_under_filters_of_sizes_that_are_no_integers(wrong, size):
    sizes = {"kernel": (1, 1), wrong: size}
    for call in (nd.Convolution, nd.Deconvolution):
        with pytest.raises(mx.MXNetError, match=wrong):
            call(nd.zeros((1, 1, 4, 4)), nd.zeros((1, 1, 1, 1)), num_filter=1, no_bias=True, **sizes)


def test_symbols_of_sizes_as_text_and_without_sizes():
    y = sym.Convolution(sym.var("x"), kernel="(3, 3)", num_filter="4", stride=[1, 1], pad=())
    assert y.infer_shape(x=(1, 3, 8, 8))[1] == [(1, 4, 6, 6)]
    assert sym.sum(sym.var("x"), axis=None).infer_shape(x=(2, 3))[1] == [(1,)]
    assert sym.np.random.gamma(1.5, 2.0, (3,)).infer_shape()[1] == [(3,)]  # its parameter is called shape, too


def test_names_that_are_made_late_are_listed():
    names = set(dir(mx.npx)) | {f"image.{name}" for name in dir(mx.npx.image)}
    assert {"softmax", "relu", "batch_norm", "one_hot", "load", "reshape", "image.to_tensor", "image.resize"} <= names
    for name in names:
        home = mx.npx.image if name.startswith("image.") else mx.npx
        assert getattr(home, name.removeprefix("image.")) is not None or name.startswith("__")
