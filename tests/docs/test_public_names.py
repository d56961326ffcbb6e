"""Public names have types and a docstring: arguments, results, errors, an example that runs, the source."""

import doctest
import inspect

import pytest

from tests.docs import public_names

# Modules, with all below them, whose public names are documented and typed.
DOCUMENTED: list[str] = [
    "compatgrad.chainer.functions.activation",
    "compatgrad.chainer.initializers",
    "compatgrad.chainer.iterators",
    "compatgrad.chainer.links.activation",
    "compatgrad.chainer.links.connection",
    "compatgrad.chainer.links.loss",
    "compatgrad.chainer.links.model",
    "compatgrad.chainer.links.normalization",
    "compatgrad.chainer.links.rnn",
    "compatgrad.chainer.links.theano",
    "compatgrad.chainer.optimizer_hooks",
    "compatgrad.chainer.optimizers",
    "compatgrad.chainer.serializers",
    "compatgrad.chainer.training.extensions.exponential_shift",
    "compatgrad.chainer.training.extensions.fail_on_nonnumber",
    "compatgrad.chainer.training.extensions.inverse_shift",
    "compatgrad.chainer.training.extensions.linear_shift",
    "compatgrad.chainer.training.extensions.multistep_shift",
    "compatgrad.chainer.training.extensions.polynomial_shift",
    "compatgrad.chainer.training.extensions.step_shift",
    "compatgrad.chainer.training.extensions.value_observation",
    "compatgrad.chainer.training.extensions.warmup_shift",
    "compatgrad.chainer.training.triggers",
    "compatgrad.mxnet.gluon.loss",
    "compatgrad.mxnet.lr_scheduler",
    "compatgrad.nnabla.auto_forward",
    "compatgrad.nnabla.callback",
    "compatgrad.nnabla.context",
    "compatgrad.nnabla.contrib",
    "compatgrad.nnabla.core.graph_optimizer",
    "compatgrad.nnabla.core.modules",
    "compatgrad.nnabla.experimental",
    "compatgrad.nnabla.ext_utils",
    "compatgrad.nnabla.functions.activation",
    "compatgrad.nnabla.functions.arithmetic",
    "compatgrad.nnabla.functions.elementwise",
    "compatgrad.nnabla.functions.logical",
    "compatgrad.nnabla.functions.loss",
    "compatgrad.nnabla.logger",
    "compatgrad.nnabla.models",
    "compatgrad.nnabla.monitor",
    "compatgrad.nnabla.random",
    "compatgrad.nnabla.recompute",
    "compatgrad.nnabla.testing",
    "compatgrad.nnabla.utils.audio_utils",
    "compatgrad.nnabla.utils.callback",
    "compatgrad.nnabla.utils.communicator_util",
    "compatgrad.nnabla.utils.converter.nnabla",
    "compatgrad.nnabla.utils.converter.utils",
    "compatgrad.nnabla.utils.create_cache",
    "compatgrad.nnabla.utils.data_iterator",
    "compatgrad.nnabla.utils.data_source",
    "compatgrad.nnabla.utils.data_source_implements",
    "compatgrad.nnabla.utils.data_source_loader",
    "compatgrad.nnabla.utils.dlpack",
    "compatgrad.nnabla.utils.download",
    "compatgrad.nnabla.utils.function_profile",
    "compatgrad.nnabla.utils.get_file_handle",
    "compatgrad.nnabla.utils.image_utils",
    "compatgrad.nnabla.utils.inspection",
    "compatgrad.nnabla.utils.learning_rate_scheduler",
    "compatgrad.nnabla.utils.load",
    "compatgrad.nnabla.utils.nnabla_pb2",
    "compatgrad.nnabla.utils.nnp_format",
    "compatgrad.nnabla.utils.nnp_graph",
    "compatgrad.nnabla.utils.profiler",
    "compatgrad.nnabla.utils.progress",
    "compatgrad.nnabla.utils.rnn",
    "compatgrad.nnabla.utils.save",
]

NAMES = {name: value for module in DOCUMENTED for name, value in public_names.public(module).items()}


@pytest.mark.parametrize("module", DOCUMENTED)
def test_nothing_is_lacking(module):
    found = {name: public_names.lacks(value) for name, value in public_names.public(module).items()}
    assert {name: missing for name, missing in found.items() if missing} == {}


@pytest.mark.parametrize("name", [name for name, value in NAMES.items() if ">>>" in (inspect.getdoc(value) or "")])
def test_example(name, tmp_path, monkeypatch):
    frontend = name.split(".")[1]
    globs = public_names.names_of_examples(frontend)
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(NAMES[name]), globs, name, None, 0)
    said: list[str] = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    try:
        doctest.DocTestRunner(optionflags=flags).run(test, out=said.append)
    finally:
        if frontend == "nnabla":
            globs["nn"].clear_parameters()
    assert not said, "".join(said)
