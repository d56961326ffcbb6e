"""Names in the modules where MXNet defines them, and parameters by their names."""

import importlib
import pickle

import pytest

import compatgrad.mxnet as mx


@pytest.mark.parametrize(
    "module, name",
    [
        ("image.image", "CreateAugmenter"),
        ("io.io", "CSVIter"),
        ("ndarray.ndarray", "zeros"),
        ("symbol.symbol", "ones"),
    ],
)
def test_home_modules(module, name):
    package = module.partition(".")[0]
    home = importlib.import_module(f"compatgrad.mxnet.{module}")
    assert getattr(home, name) is getattr(importlib.import_module(f"compatgrad.mxnet.{package}"), name)
    with pytest.raises(AttributeError, match=rf"mxnet\.{module}' has no attribute 'unheard_of'"):
        home.unheard_of  # noqa: B018


@pytest.mark.parametrize(
    "known",
    [
        mx.gluon.Block, mx.gluon.Constant, mx.gluon.Parameter, mx.gluon.ParameterDict, mx.gluon.SymbolBlock,
        mx.gluon.parameter.DeferredInitializationError, mx.model.FeedForward, mx.model.load_checkpoint,
        mx.nd.NDArray.backward, mx.operator.CustomOp, mx.operator.NumpyOp, mx.sym.Symbol.infer_shape,
    ],
    ids=lambda known: known.__qualname__,
)  # fmt: skip
def test_pickles_name_the_modules_of_mxnet(known):
    assert pickle.loads(pickle.dumps(known)) is known
    assert not any(part.startswith("_") for part in known.__module__.split("."))


def test_power():
    x = mx.nd.array([2, 3])
    assert mx.nd.power(base=x, exp=2).asnumpy().tolist() == [4, 9]
    assert mx.nd.power(exp=x, base=2).asnumpy().tolist() == [4, 8]
    assert mx.nd.power(base=2, exp=3) == 8
    for power in (mx.sym.power, mx.sym.pow):
        y = power(base=mx.sym.var("x"), exp=2).eval(x=x)[0]
        assert y.asnumpy().tolist() == [4, 9]
