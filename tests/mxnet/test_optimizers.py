"""Optimizers and update operators give the numbers recorded from MXNet, also in uses by whole programs."""

import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import MXNetError, nd
from tests.golden import mxnet_optimizers as golden

RECORDED = np.load(golden.GOLDEN)


@pytest.mark.parametrize("name", golden.CASES)
def test_training_as_recorded(name):
    found = np.concatenate([x.ravel() for x in golden.train(mx, name).values()])
    half = name.endswith("_half")
    np.testing.assert_allclose(found, RECORDED[name], rtol=2e-3 if half else 2e-6, atol=1e-3 if half else 1e-6)


@pytest.mark.parametrize("number", range(len(golden.OPERATORS)))
def test_operators_as_recorded(number):
    found = np.concatenate([x.ravel() for x in golden.run_operator(mx, number)])
    recorded = RECORDED[f"{golden.OPERATORS[number][0]}_{number}"]
    np.testing.assert_allclose(found, recorded, rtol=2e-6, atol=1e-6)


def test_operators_on_lists_as_recorded():
    for name, values in golden.run_lists(mx).items():
        found = np.concatenate([x.ravel() for x in values])
        half = "mp_" in name
        np.testing.assert_allclose(
            found, RECORDED[f"lists_{name}"], rtol=2e-3 if half else 2e-6, atol=1e-3 if half else 1e-6, err_msg=name
        )


def test_out_and_states_change_in_place():
    w, g, m = nd.ones((2, 3)), nd.ones((2, 3)), nd.zeros((2, 3))
    y = nd.sgd_mom_update(w, g, m, lr=0.1, momentum=0.9)
    assert w.asnumpy().max() == 1 and np.allclose(y.asnumpy(), 0.9) and np.allclose(m.asnumpy(), -0.1)
    assert nd.sgd_mom_update(w, g, m, lr="0.1", momentum="0.9", out=w) is w
    assert np.allclose(w.asnumpy(), 0.81)
    other = nd.zeros((2, 3))
    assert nd.sgd_update(w, g, lr=0.5, out=other) is other
    assert np.allclose(other.asnumpy(), 0.31) and np.allclose(w.asnumpy(), 0.81)


def test_lists_of_any_length_and_one_weight():
    weights = [nd.ones((3,)), nd.ones((2, 2))]
    single = nd.multi_sgd_update(weights[0], nd.ones((3,)), lrs=(0.5,), wds=(0,), num_weights=1)
    assert np.allclose(single.asnumpy(), 0.5)
    updater = mx.optimizer.get_updater(mx.optimizer.create("Adam", learning_rate=0.1))
    updater((), (), ())
    updater(("a", "b"), (nd.ones((3,)), nd.ones((2, 2))), weights)
    assert np.allclose(weights[1].asnumpy(), 0.9) and list(updater.states) == ["a", "b"]


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: nd.sgd_update(nd.ones(2), nd.ones(2)), MXNetError, "parameter lr.*sgd_update"),
        (lambda: nd.sgd_update(nd.ones(2), nd.ones(3), lr=1), MXNetError, r"sgd_update.*grad.*\(2,\).*\(3,\)"),
        (lambda: nd.sgd_update(nd.ones(2), nd.ones(2, dtype="float64"), lr=1), MXNetError, "grad.*float32.*float64"),
        (lambda: nd.sgd_update(nd.ones(2, dtype="int32"), nd.ones(2), lr=1), MXNetError, "weight.*floating.*int32"),
        (lambda: nd.sgd_update(nd.ones(2), np.ones(2), lr=1), AssertionError, "sgd_update.*grad.*NDArray"),
        (lambda: nd.sgd_update(nd.ones(2), nd.ones(2), lr="fast"), MXNetError, "lr.*'fast'"),
        (lambda: nd.ftml_update(*[nd.ones(2)] * 5, lr=1), MXNetError, "parameter t .*ftml_update"),
        (lambda: nd.sgd_update(nd.ones(2), nd.ones(2), lr=1, out=nd.ones(3)), MXNetError, r"out.*\(2,\).*\(3,\)"),
        (lambda: nd.multi_sgd_update(nd.ones(2), nd.ones(2), lrs=(1,), wds=(0, 0)), MXNetError, "wds.*1.*2"),
        (lambda: nd.multi_sgd_update(nd.ones(2), lrs=(1,), wds=(0,)), MXNetError, "multi_sgd_update.* 2 .* 1"),
        (lambda: mx.optimizer.create("foo"), ValueError, "Cannot find optimizer foo"),
        (lambda: mx.optimizer.Adam().update(0, nd.ones(2), np.ones(2), None), AssertionError, "grad.*ndarray"),
        (lambda: _update(nd.ones(2), nd.ones(3)), MXNetError, r"Adam.*\[2\].*\[3\]"),
        (lambda: mx.optimizer.Optimizer(param_idx2name=[1]), AssertionError, "param_idx2name"),
        (lambda: mx.optimizer.Optimizer().update(0, 1, 2, 3), NotImplementedError, "Optimizer.*update"),
    ],
)
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()


def _update(weight, grad, optimizer="adam"):
    optimizer = mx.optimizer.create(optimizer)
    optimizer.update(0, weight, grad, optimizer.create_state(0, weight))


def test_multipliers_names_and_counts():
    optimizer = mx.optimizer.SGD(param_idx2name={0: "a_weight", 1: "a_bias", 2: "a_gamma"}, wd=0.1, learning_rate=1)
    assert optimizer.wd_mult == {"a_bias": 0.0} and optimizer._get_wds([0, 1, 2, 9]) == [0.1, 0.0, 0.1, 0.1]
    optimizer.set_lr_mult({"a_bias": 2, 2: 3})
    assert optimizer._get_lrs([0, 1, 2]) == [1, 2, 3]

    class Parameter:
        lr_mult, wd_mult = 0.5, 0.0

    optimizer.param_dict = {0: Parameter()}
    assert optimizer._get_lr(0) == 0.5 and optimizer._get_wd(0) == 0
    optimizer._update_count([0, 1])
    optimizer._update_count(0)
    assert optimizer.num_update == 2 and optimizer._index_update_count == {0: 2, 1: 1}
    optimizer._set_current_context(1)
    assert optimizer._index_update_count == {}
    assert pickle.loads(pickle.dumps(optimizer)).param_dict == {}


def test_scheduler_and_learning_rate(capsys):
    scheduler = mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.3)
    optimizer = mx.optimizer.create("sgd", lr_scheduler=scheduler, learning_rate=0.8)
    assert "0.8" in capsys.readouterr().out and scheduler.base_lr == 0.8 and optimizer.learning_rate == 0.8
    with pytest.raises(UserWarning, match="LRScheduler"):
        optimizer.set_learning_rate(1)
    plain = mx.optimizer.SGD()
    plain.set_learning_rate(3)
    assert plain.learning_rate == 3 and mx.optimizer.SGD().learning_rate == 0.01


def test_scheduler_sees_counts_in_order():
    # index 2 has had more updates: weights before it in a list get the learning rate of the largest count so far
    def rates(size):
        scheduler = mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=1.0)
        optimizer = mx.optimizer.create("sgd", lr_scheduler=scheduler)
        optimizer.aggregate_num = size
        updater = mx.optimizer.get_updater(optimizer)
        weights = [nd.zeros(1) for _ in range(3)]
        updater(2, nd.ones(1), weights[2])
        for w in weights:
            w[:] = 0
        updater((0, 1, 2), (nd.ones(1),) * 3, tuple(weights))
        return [-w.asscalar() for w in weights]

    assert rates(2) == [1, 1, 0.5] and rates(4) == [0.5, 0.5, 0.5]


class Plain(mx.optimizer.Optimizer):
    """A user's optimizer, with create_state and update only."""

    def create_state(self, index, weight):
        return nd.zeros(weight.shape, weight.context)

    def update(self, index, weight, grad, state):
        state[:] += grad * self.rescale_grad
        weight[:] -= self._get_lr(index) * state


def test_own_optimizers():
    mx.optimizer.register(Plain)
    updater = mx.optimizer.get_updater(mx.optimizer.create("plain", learning_rate=0.5, rescale_grad=2))
    weights = nd.ones(2), nd.ones(3, dtype="float32")
    for _ in range(2):
        updater((0, 1), (nd.ones(2), nd.ones(3)), weights)
    assert [w.asnumpy().tolist() for w in weights] == [[-2, -2], [-2, -2, -2]]

    class Halved(mx.optimizer.Adam):
        def update(self, index, weight, grad, state):
            seen.append(index)
            super().update(index, weight, grad, state)

    seen = []
    updater = mx.optimizer.get_updater(Halved(learning_rate=0.1))
    updater((0, 1), (nd.ones(2), nd.ones(3)), weights)
    assert seen == [0, 1] and np.allclose(weights[0].asnumpy(), -2.1)
    with pytest.warns(UserWarning, match="overriding"):
        mx.optimizer.register(type("Plain", (Plain,), {}))


def test_states_are_saved_and_restored():
    def train(updater, weights, steps, rng):
        for _ in range(steps):
            updater((0, 1), tuple(nd.array(rng.randn(*w.shape)) for w in weights), weights)

    rng = np.random.RandomState(0)
    weights = nd.ones((2, 3)), nd.ones((4,))
    updater = mx.optimizer.get_updater(mx.optimizer.Nadam())
    train(updater, weights, 3, rng)
    saved, copies = updater.get_states(dump_optimizer=True), tuple(w.copy() for w in weights)
    train(updater, weights, 3, rng)
    again = mx.optimizer.get_updater(mx.optimizer.SGD())
    again.set_states(saved)
    assert again.optimizer.num_update == 3 and isinstance(again.optimizer, mx.optimizer.Nadam)
    rng = np.random.RandomState(0)
    train(mx.optimizer.get_updater(mx.optimizer.SGD()), (nd.ones((2, 3)), nd.ones((4,))), 3, rng)
    train(again, copies, 3, rng)
    for a, b in zip(weights, copies, strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    again.set_states(updater.get_states())
    assert isinstance(again.states[0], tuple) and again.states_synced == {0: False, 1: False}


LOAD = """
import sys
import mxnet as mx
import numpy as np
from tests.golden import mxnet_optimizers as golden

recorded = np.load(golden.GOLDEN)
_, weight = golden.saved(mx)
updater = mx.optimizer.get_updater(mx.optimizer.SGD())
updater.set_states(recorded["saved"].tobytes())
updater(0, mx.nd.array([1, 2, 3]), weight)
np.testing.assert_allclose(weight.asnumpy(), recorded["saved_next"], rtol=1e-6)
print(type(updater.optimizer).__module__, updater.optimizer.num_update)
"""


def test_states_of_the_original(tmp_path):
    (tmp_path / "load.py").write_text(LOAD)
    root = pathlib.Path(golden.__file__).resolve().parents[2]
    paths = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, "-m", "compatgrad", "run", tmp_path / "load.py"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert run.stdout.split()[-2:] == ["mxnet.optimizer.optimizer", "4"], run.stderr


@pytest.mark.parametrize("name", ["sgd", "adam", "adagrad"])
def test_row_sparse_gradients_leave_other_rows(name):
    kwargs = {"momentum": 0.9} if name == "sgd" else {}
    optimizer = mx.optimizer.create(name, learning_rate=0.1, wd=0.1, **kwargs)
    updater = mx.optimizer.get_updater(optimizer)
    w = nd.ones((4, 2))
    g = nd.sparse.row_sparse_array((nd.ones((2, 2)), nd.array([0, 2])), shape=(4, 2))
    updater((0,), (g,), (w,))
    rows = w.asnumpy()
    assert np.all(rows[[1, 3]] == 1) and np.all(rows[[0, 2]] < 1)
    updater((0,), (nd.sparse.zeros("row_sparse", (4, 2)),), (w,))
    assert optimizer.num_update == 2 and np.array_equal(w.asnumpy(), rows)
    optimizer.lazy_update = False
    updater((0,), (g,), (w,))
    assert np.all(w.asnumpy()[[1, 3]] < 1)


def test_row_sparse_gradients_of_other_rules_are_dense():
    w = nd.ones((4, 2))
    g = nd.sparse.row_sparse_array((nd.ones((2, 2)), nd.array([0, 2])), shape=(4, 2))
    optimizer = mx.optimizer.create("nag", momentum=0.9, learning_rate=0.1, wd=0.1)
    optimizer.update(0, w, g, optimizer.create_state(0, w))
    assert np.all(w.asnumpy() < 1)
    w = nd.ones((4, 2))
    nd.sgd_update(w, g, lr=0.1, wd=0.1, out=w)
    assert np.all(w.asnumpy()[[1, 3]] == 1) and np.allclose(w.asnumpy()[[0, 2]], 0.89)
    nd.sgd_update(w, g, lr=0.1, wd=0.1, lazy_update=False, out=w)
    assert np.all(w.asnumpy() < 1)


def test_zero_gradients_and_calls_that_crash_the_original():
    w = nd.ones(3)
    _update(w, nd.zeros(3), "adamax")
    assert w.asnumpy().tolist() == [1, 1, 1]
    optimizer = mx.optimizer.DCASGD(momentum=0.5, learning_rate=0.1)
    state = optimizer.create_state(0, w)
    for _ in range(2):
        optimizer.update(0, w, nd.ones(3), state)
    np.testing.assert_allclose(w.asnumpy(), 1 - 0.1 - (0.05 + 0.1 * (1 - 0.04 * 0.1)), rtol=1e-6)
    grad = nd.ones(3)
    _update(w, grad, "adadelta")
    assert grad.asnumpy().tolist() == [1, 1, 1]


def test_noise_of_sgld():
    mx.random.seed(1)
    w = nd.zeros((2000,))
    mx.optimizer.SGLD(learning_rate=0.04).update(0, w, nd.ones((2000,)), None)
    assert abs(w.asnumpy().mean() + 0.02) < 0.02 and abs(w.asnumpy().std() - 0.2) < 0.02


def test_group_adagrad():
    w, g = nd.ones((2, 3)), nd.array([[1, 2, 3], [0, 0, 1]])
    optimizer = mx.optimizer.create("groupadagrad", learning_rate=0.1)
    state = optimizer.create_state(0, w)
    optimizer.update(0, w, g, state)
    squares = (g.asnumpy() ** 2).mean(1, keepdims=True)
    np.testing.assert_allclose(state.asnumpy(), squares, rtol=1e-6)
    np.testing.assert_allclose(w.asnumpy(), 1 - 0.1 * g.asnumpy() / np.sqrt(squares + 1e-5), rtol=1e-6)


def test_half_precision_warns():
    with pytest.warns(UserWarning, match="float16"):
        mx.optimizer.SGD(momentum=0.9).create_state_multi_precision(0, nd.ones(2, dtype="float16"))
    momentum, master = mx.optimizer.SGD(momentum=0.9, multi_precision=True).create_state_multi_precision(
        0, nd.ones(2, dtype="float16")
    )
    assert momentum.dtype == master.dtype == np.float32


@pytest.mark.parametrize("name", sorted({case[0].lower() for case in golden.CASES.values()}))
def test_weights_that_are_not_contiguous(name):
    # such weights are updated by single operations, as on other devices, instead of by a fused kernel
    rng = np.random.RandomState(0)
    values, grads = rng.randn(4, 6), [rng.randn(4, 6) for _ in range(3)]
    results = []
    for memory in (nd.zeros((4, 6)).tensor, nd.zeros((4, 12)).tensor[:, ::2]):
        weight = nd.NDArray(memory)
        weight[:] = nd.array(values)
        updater = mx.optimizer.get_updater(mx.optimizer.create(name, wd=0.01, clip_gradient=0.7, learning_rate=0.1))
        for g in grads:
            updater((0,), (nd.array(g),), (weight,))
        results.append(weight.asnumpy())
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)
    assert not np.allclose(results[0], values)


@pytest.mark.parametrize(("name", "first"), [("LAMB", 0.21439), ("SGD", 0.974)])
def test_rates_of_weights_with_different_counts(name, first):
    # LAMB asks the scheduler after counting each weight, SGD after counting all weights of a group
    scheduler = mx.lr_scheduler.MultiFactorScheduler(step=[2], factor=0.1, base_lr=0.2)
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.2, lr_scheduler=scheduler))
    weights = [nd.array([1.0, 2.0, 3.0]) + i for i in range(2)]
    grads = [nd.array([0.3, 0.2, 0.1]) + i for i in range(2)]
    for start in (0, 1, 0) if name == "LAMB" else (1, 1, 0):
        updater([0, 1][start:], grads[start:], weights[start:])
    if name == "SGD":
        first = 1 - 0.02 * 0.3
    np.testing.assert_allclose(weights[0].asnumpy()[0], first, rtol=2e-5)
