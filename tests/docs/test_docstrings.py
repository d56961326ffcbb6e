"""The docstrings of the native API and of `compatgrad.interop`: their examples run, and none lacks its parts."""

import doctest
import importlib
import inspect
import re

import pytest

import compatgrad
from compatgrad import _C, core, interop, ops
from tests.docs import public_names

MODULES = [
    "compatgrad._install",
    "compatgrad.core.backprop",
    "compatgrad.core.configuration",
    "compatgrad.core.function",
    "compatgrad.core.hooks",
    "compatgrad.core.passes",
    "compatgrad.core.registry",
    "compatgrad.core.variable",
    "compatgrad.core.crossing",
    "compatgrad.exporting.compile",
    "compatgrad.exporting.module",
    "compatgrad.interop._parametric",
    "compatgrad.core.torch_call",
    "compatgrad.interop._wrappers",
    "compatgrad.exporting.export",
    "compatgrad.interop.files",
    "compatgrad.drawing.graph",
    "compatgrad.ops",
]
FRONTENDS = [
    "compatgrad.chainer.function",
    "compatgrad.chainer.function_node",
    "compatgrad.chainer.link",
    "compatgrad.chainer.links.rnn.lstm",
    "compatgrad.chainer.links.rnn.n_step_lstm",
    "compatgrad.chainer.variable",
    "compatgrad.mxnet.autograd",
    "compatgrad.mxnet.gluon._hybrid",
    "compatgrad.mxnet.gluon.parameter",
    "compatgrad.mxnet.gluon.trainer",
    "compatgrad.mxnet.ndarray.ndarray",
    "compatgrad.nnabla._solver",
    "compatgrad.nnabla.function",
    "compatgrad.nnabla.grad",
    "compatgrad.nnabla.variable",
]


def examples(modules):
    return [
        pytest.param(test, id=test.name.removeprefix("compatgrad."))
        for name in modules
        for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))
        if test.examples
    ]


PUBLIC = {
    **{name: getattr(compatgrad, name) for name in compatgrad.__all__ if name not in ("__version__", "ops")},
    **{name: getattr(core, name) for name in core.__all__},
    **{f"interop.{name}": getattr(interop, name) for name in interop.__all__},
    "ops.describe": ops.describe,
}
# made by the function of a similar name, or raised by it, which has the example
MADE = {
    "interop.CudaGraph",
    "interop.ExportError",
    "interop.Graph",
    "interop.ParametricFunction",
    "interop.TorchModule",
}


@pytest.fixture
def legacy_names():
    """`import chainer`, `nnabla` and `mxnet` give compatgrad's."""
    compatgrad.install()
    yield
    compatgrad.uninstall()


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Examples write files."""
    monkeypatch.chdir(tmp_path)


def run(test, names):
    said = []
    test.globs = names
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)  # not as `pytest -v` says
    runner.run(test, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("test", examples(MODULES))
def test_example(test):
    run(test, {})  # what an example of the native API uses it imports


@pytest.mark.parametrize("test", examples(FRONTENDS))
def test_example_of_a_frontend(test, legacy_names):
    run(test, public_names.names_of_examples(test.name.split(".")[1]))


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - MADE))
def test_parts(name):
    text = inspect.getdoc(PUBLIC[name])
    assert "Source: `" in text
    assert ">>>" in text or name == "interop.cuda_graph", "an example"


@pytest.mark.parametrize("cls", [core.Variable, core.FunctionNode, core.Function, core.FunctionHook, interop.Graph])
def test_methods(cls):
    mine = {
        name
        for base in cls.__mro__
        if base.__module__.startswith(("compatgrad.core", "compatgrad.interop"))
        for name in vars(base)
    }
    public = [
        name
        for name in mine
        if not name.startswith("_") and (callable(f := getattr(cls, name)) or f.__class__ is property)
    ]
    assert [name for name in sorted(public) if not inspect.getdoc(getattr(cls, name))] == []


def test_ops():
    assert [name for name in ops.__all__ if not getattr(ops, name).__doc__] == []
    silent = []
    for name in _C.op_names():
        text, doc = ops.describe(name), _C.op_info(name)["doc"]
        assert doc in text
        for parameter, *_ in _C.op_info(name)["params"]:
            (line,) = re.findall(rf"^    ({parameter}: .*)$", text, re.M)
            if ";" not in line and not re.search(rf"\b{parameter}\b", doc):
                silent.append((name, parameter))
    assert silent == [], "parameters whose meaning is told nowhere: see compatgrad/ops/_parameters.py"
