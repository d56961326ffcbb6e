"""Layers, blocks and Trainer against numbers of the real MXNet 1.9.1 (tests/golden/mxnet_gluon.py)."""

import warnings

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import nd
from tests.golden import files
from tests.golden import mxnet_gluon as golden

NUMBERS = np.load(golden.GOLDEN)
FACTS = files.read(golden.FACTS)
# messages that differ from the original's: a space that it lacks, the name of a class
REWORDED = {"set int", "hybrid child"}
# layers whose gradient in the original is not the derivative of its values
WRONG_GRADIENT = {"selu", "avgpool2d_full"}


def compare(kind, name, found, wrong=frozenset(), rtol=2e-5, atol=2e-6):
    prefix = f"{kind}/{name}/"
    expected = {key[len(prefix) :]: NUMBERS[key] for key in NUMBERS.files if key.startswith(prefix)}
    assert set(found) == set(expected)
    for key in expected.keys() - wrong:
        np.testing.assert_allclose(found[key], expected[key], rtol=rtol, atol=atol, err_msg=key)


@pytest.mark.parametrize("name", golden.LAYERS)
def test_layer_has_the_original_values_and_gradients(name):
    compare("layer", name, golden.layer(mx, name), {"gx"} if name in WRONG_GRADIENT else set(), rtol=1e-4, atol=5e-6)


@pytest.mark.parametrize("name", golden.TRAININGS)
def test_training_goes_as_in_the_original(name):
    compare("train", name, golden.train(mx, name), rtol=5e-4, atol=2e-5)


@pytest.fixture(scope="module")
def facts():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return golden.facts(mx)


@pytest.mark.parametrize("key", FACTS)
def test_names_and_text_are_the_originals(facts, key):
    expected, found = FACTS[key], facts[key]
    if key in REWORDED:
        assert found[0] == expected[0]
    else:
        assert found == expected


@pytest.mark.parametrize("kind", ["paths", "names"])
def test_parameter_files_of_the_original(kind):
    net = golden.network(mx)
    net.load_parameters(str(golden.HERE / f"mxnet_gluon_{kind}.params"))
    other = golden.network(mx)
    other.initialize()
    other(nd.zeros((1, 2, 4, 4)))
    golden.fill(mx, other.collect_params())
    for key, param in other.collect_params().items():
        np.testing.assert_array_equal(net.collect_params()[key].data().asnumpy(), param.data().asnumpy())
    x = nd.array(golden.numbers((2, 2, 4, 4)))
    np.testing.assert_array_equal(net(x).asnumpy(), other(x).asnumpy())
    assert net(x).context == mx.cpu()
