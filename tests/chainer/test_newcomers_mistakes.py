"""Typical mistakes in porting a program: each error names the mistake and the call that corrects it."""

import numpy as np
import pytest

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
from compatgrad.chainer import gradient_check, link_hooks


@pytest.mark.parametrize(
    "use",
    [lambda p: p + 1, lambda p: p + p, lambda p: -p, F.relu, F.sum, lambda p: F.linear(np.zeros((1, 3), "f"), p)],
    ids=["add a number", "add", "neg", "relu", "sum", "linear"],
)
def test_a_parameter_without_data_is_named_as_such(use):
    with pytest.raises(AttributeError, match=r"input \d has no data yet.*initialize\(shape\)"):
        use(chainer.Parameter(chainer.initializers.Normal()))


def test_an_optimizer_without_setup_says_so():
    with pytest.raises(AttributeError, match=r"Adam has no target: call setup\(link\)"):
        chainer.optimizers.Adam().update()


@pytest.mark.parametrize("kind", ["npz", "hdf5"])
def test_a_saved_array_of_another_shape_is_named(kind, tmp_path):
    if kind == "hdf5":
        pytest.importorskip("h5py")
    file = str(tmp_path / "model")
    getattr(chainer.serializers, "save_" + kind)(file, chainer.Sequential(L.Linear(3, 4, nobias=True)))
    with pytest.raises((TypeError, ValueError), match=r"0/W.*model.*\(4, ?3\).*\(5, ?3\)"):
        getattr(chainer.serializers, "load_" + kind)(file, chainer.Sequential(L.Linear(3, 5, nobias=True)))


def test_sequences_in_one_array_are_refused_in_words():
    with pytest.raises(AssertionError, match="NStepLSTM: xs must be a list of sequences"):
        L.NStepLSTM(1, 3, 4, 0.0)(None, None, np.zeros((2, 3), "f"))


X = np.ones((2, 3), "f")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: L.NaryTreeLSTM(3, 4, n_ary=0), "n_ary must be at least 1, not 0"),
        (lambda: L.NaryTreeLSTM(3, 4)(X), "2 cells, 2 outputs and x were expected; there are 1 arguments"),
        (lambda: L.ChildSumTreeLSTM(3, 4)(X, X), "as many cells as outputs; there are 2 arguments"),
        (lambda: F.connectionist_temporal_classification([X], X.astype("i"), 7), "one of 3 labels, not 7"),
        (lambda: F.crf1d(np.ones((4, 4), "f"), [X], [np.zeros(2, "i")]), "each of 4 labels, not 3"),
        (lambda: L.Bilinear(3, 3, 2, initialW=X), r"must have shape \(3, 3, 2\), not \(2, 3\)"),
        (lambda: L.MLPConvolution2D(3, (), 1), "out_channels is empty"),
        (lambda: link_hooks.SpectralNormalization(n_power_iteration=0), "must be at least 1, not 0"),
        (lambda: gradient_check.numerical_grad(lambda: None, X, ()), "a tuple or a list of arrays, not ndarray"),
    ],
)
def test_a_failed_assertion_says_what_was_expected(call, said):
    with pytest.raises(AssertionError, match=said):
        call()


@pytest.mark.parametrize("function", [lambda x: F.tile(x, 2), F.transpose, F.relu, F.sum, lambda x: F.reshape(x, (2,))])
def test_none_in_place_of_an_array_is_an_attribute_error_as_in_the_original(function):
    with pytest.raises(AttributeError):
        function(None)


def test_an_extension_names_itself_where_it_refuses_a_keyword():
    with pytest.raises(TypeError, match=r"snapshot\(\) got unexpected keyword argument\(s\) 'trigger'"):
        chainer.training.extensions.snapshot(trigger=(1, "epoch"))


@pytest.mark.parametrize(
    "optimizer, name",
    [
        (lambda: chainer.optimizers.SGD("0.1"), "SGDRule: hyperparameter lr"),
        (lambda: chainer.optimizers.MomentumSGD(0.1, momentum="0.9"), "MomentumSGDRule: hyperparameter momentum"),
        (lambda: chainer.optimizers.Adam(beta1="0.9"), "AdamRule: hyperparameter beta1"),
        (lambda: chainer.optimizers.RMSprop(eps=None), "RMSpropRule: hyperparameter eps"),
    ],
    ids=["lr", "momentum", "beta1", "None"],
)
@pytest.mark.parametrize("together", [True, False], ids=["all", "one by one"])
def test_a_hyperparameter_that_is_no_number_is_named(optimizer, name, together):
    link = L.Linear(2, 2)
    optimizer = optimizer().setup(link)
    if not together:
        for p in link.params():
            p.update_rule.add_hook(lambda rule, param: None)
    with pytest.raises(TypeError, match=f"{name} must be a number, got"):
        optimizer.update(lambda: F.sum(link(np.ones((1, 2), "f"))))


@pytest.mark.parametrize(
    "hook, name",
    [
        (lambda h: h.WeightDecay("1e-4"), "weight_decay"),
        (lambda h: h.GradientClipping("5"), "clip_norm"),
        (lambda h: h.GradientHardClipping(-1, "1"), "hard_clip"),
    ],
    ids=["decay", "clipping", "hard clipping"],
)
def test_a_hook_whose_number_is_a_string_is_named(hook, name):
    link = L.Linear(2, 2)
    optimizer = chainer.optimizers.SGD().setup(link)
    optimizer.add_hook(hook(chainer.optimizer_hooks))
    with pytest.raises(TypeError, match=f"optimizer hook {name}: expected a number, got '"):
        optimizer.update(lambda: F.sum(link(np.ones((1, 2), "f"))))
