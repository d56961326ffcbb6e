"""Public names have types and a docstring: arguments, results, errors, an example that runs, the source."""

import doctest
import inspect
import sys

import pytest
import torch

from compatgrad import chainer, mxnet, nnabla
from compatgrad.chainermn import global_except_hook
from tests.docs import public_names

# Packages, with all modules below them.
DOCUMENTED = [
    "compatgrad.chainer",
    "compatgrad.chainermn",
    "compatgrad.chainerx",
    "compatgrad.core",
    "compatgrad.drawing",
    "compatgrad.exporting",
    "compatgrad.formats",
    "compatgrad.horovod",
    "compatgrad.interop",
    "compatgrad.mxnet",
    "compatgrad.nnabla",
    "compatgrad.nnabla_ext",
    "compatgrad.onnx_chainer",
    "compatgrad.ops",
]
NAMES = {package: public_names.public(package) for package in DOCUMENTED}
EXAMPLES = {
    name: value for names in NAMES.values() for name, value in names.items() if ">>>" in (inspect.getdoc(value) or "")
}


@pytest.mark.parametrize("package", DOCUMENTED)
def test_nothing_is_lacking(package):
    assert NAMES[package]
    found = {name: public_names.lacks(value) for name, value in NAMES[package].items()}
    assert {name: missing for name, missing in found.items() if missing} == {}


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """An example's own folder. What an example sets for the whole process is set back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(global_except_hook, "_previous", None)
    before = modes()
    yield
    nnabla.clear_parameters()
    assert modes() == before


def modes():
    """Modes of the frontends and of torch that an example could leave behind."""
    return {
        "chainer's configuration": {k: getattr(chainer.config, k) for k in vars(chainer.global_config)},
        "chainer's hooks": list(chainer.get_function_hooks()),
        "nnabla's automatic forward": nnabla.get_auto_forward(),
        "nnabla's context": str(nnabla.get_current_context()),
        "nnabla's parameter scope": nnabla.parameter.current_scope is nnabla.parameter.root_scope,
        "MXNet's recording": (mxnet.autograd.is_recording(), mxnet.autograd.is_training()),
        "MXNet's arrays": (mxnet.util.is_np_shape(), mxnet.util.is_np_array()),
        "MXNet's context": str(mxnet.current_context()),
        "torch's defaults": (torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_num_threads()),
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, alone):
    globs = public_names.names_of_examples(name.split(".")[1])
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(EXAMPLES[name]), globs, name, None, 0)
    said: list[str] = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    doctest.DocTestRunner(verbose=False, optionflags=flags).run(test, out=said.append)  # not as `pytest -v` says
    assert not said, "".join(said)
