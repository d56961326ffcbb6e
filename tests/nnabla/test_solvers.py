"""Solvers: results recorded from nnabla, and the behavior of the methods."""

import json

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.solvers as S
from tests.golden import nnabla_solvers

RECORDED = json.loads(nnabla_solvers.GOLDEN.read_text())["solvers"]


def param(value, grad=None):
    v = nn.Variable.from_numpy_array(np.array(value, np.float32))
    v.need_grad = True
    if grad is not None:
        v.g = np.array(grad, np.float32)
    return v


def check_same(ours, real):
    if isinstance(real, dict):
        assert ours.keys() == real.keys()
        for key in real:
            check_same(ours[key], real[key])
    elif isinstance(real, list):
        assert len(ours) == len(real)
        for a, b in zip(ours, real, strict=True):
            check_same(a, b)
    elif isinstance(real, float):
        assert ours == pytest.approx(real, rel=1e-5, abs=1e-6)
    else:
        assert ours == real


@pytest.mark.parametrize("i", range(len(nnabla_solvers.SOLVERS)))
def test_real_numbers(i):
    name, kwargs = nnabla_solvers.SOLVERS[i]
    check_same(nnabla_solvers.train(nn, S, name, kwargs), RECORDED[i])


def test_zeroed_gradients_are_left_alone():
    p, q = param([1.0]), param([1.0], [1.0])
    p.grad.zero()
    solver = S.Adam()
    solver.set_parameters({"p": p, "q": q})
    solver.weight_decay(1.0)
    solver.clip_grad_by_norm(0.5)
    solver.scale_grad(3.0)
    assert not solver.check_inf_or_nan_grad()
    solver.update()
    assert p.grad.zeroing and p.d == [1]
    assert [state.t for state in solver.get_states().values()] == [0, 1]
    np.testing.assert_allclose(q.g, [1.5])


def test_zero_grad_marks():
    p = param([1.0], [2.0])
    solver = S.Sgd()
    solver.set_parameters({"p": p})
    solver.zero_grad()
    assert p.grad.zeroing
    assert p.g == [0]


def test_a_fused_decay_lasts_for_one_update():
    p, q = param([1.0], [0.0]), param([1.0], [0.0])
    lion, adamw = S.Lion(lr=0.5), S.AdamW(alpha=0.5, wd=0.25)
    lion.set_parameters({"p": p})
    adamw.set_parameters({"q": q})
    for solver in (lion, adamw):
        solver.weight_decay(0.5)
        assert solver.weight_decay_is_fused()
    assert p.g == [0] and p.d == [1]
    for solver in (lion, adamw):
        solver.update()
    assert p.d == [0.75] and q.d == [0.5]
    for solver in (lion, adamw):
        solver.update()
    assert p.d == [0.75]
    np.testing.assert_allclose(q.d, [0.375])  # the default rate again


def test_norms_are_clipped_one_by_one():
    small, large, bad = param([0, 0], [0.3, 0.4]), param([0, 0], [3.0, 4.0]), param([0, 0], [np.nan, 5])
    solver = S.Sgd()
    solver.set_parameters({"small": small, "large": large, "bad": bad})
    solver.clip_grad_by_norm(0)
    solver.clip_grad_by_norm(1)
    np.testing.assert_allclose(small.g, [0.3, 0.4])
    np.testing.assert_allclose(large.g, [0.6, 0.8])
    np.testing.assert_allclose(bad.g, [np.nan, 5])


@pytest.mark.parametrize("value, inf, nan", [(np.inf, True, False), (-np.inf, True, False), (np.nan, False, True)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_checks(value, inf, nan, dtype):
    g = np.ones(10000, dtype)
    p, q = param(np.zeros(3), [1, 2, 3]), param(np.zeros(10000), g)
    solver = S.Sgd()
    solver.set_parameters({"p": p, "q": q})
    assert not (solver.check_inf_grad() or solver.check_nan_grad() or solver.check_inf_or_nan_grad())
    g[9000] = value
    q.g = g
    assert solver.check_inf_grad() is inf
    assert solver.check_nan_grad() is nan
    assert solver.check_inf_or_nan_grad() is True


def test_both_hooks_run_before_each_update():
    p, q = param([1.0], [1.0]), param([1.0], [1.0])
    solver = S.Sgd(1.0)
    solver.set_parameters({"p": p, "q": q})
    seen = []

    def hook(name):
        return lambda: seen.append((name, float(p.d[0]), float(q.d[0])))

    nn.solver.set_solver_pre_hook("k", hook("global"))
    try:
        solver.update(hook("pre"), hook("post"))
    finally:
        nn.solver.unset_solver_pre_hook("k")
    assert seen == [(name, p, 1.0) for p in (1.0, 0.0) for name in ("global", "pre", "post")]
    solver.update()
    assert len(seen) == 6
    with pytest.raises(TypeError, match="update: a hook must be callable"):
        solver.update(5)


def test_set_parameters():
    p, q = param([1.0], [1.0]), param([[1.0]], [[1.0]])
    solver = S.Momentum(1.0)
    solver.set_parameters({"p": p})
    solver.update()
    assert solver.get_states()["p"].t == 1
    solver.set_parameters({"p": p, "q": q}, reset=False, retain_state=True)
    assert [s.t for s in solver.get_states().values()] == [1, 0]
    assert solver.get_parameters()["q"] == q
    with pytest.raises(RuntimeError, match="could not retain the state of q.*previously"):
        solver.set_parameters({"q": param([1.0])}, reset=False, retain_state=True)
    solver.set_parameters({"p": p}, reset=False)
    assert solver.get_states()["p"].t == 0
    solver.remove_parameters(["p", "unknown"])
    assert list(solver.get_parameters()) == ["q"]
    solver.set_parameters({"p": p})
    assert list(solver.get_parameters()) == ["p"]
    solver.clear_parameters()
    assert not solver.get_parameters() and not solver.get_states()
    with pytest.raises(TypeError, match="expected Variable as 'p', got int"):
        solver.set_parameters({"p": 1})
    with pytest.raises(TypeError, match="expected str as key, got int"):
        solver.set_parameters({1: p})
    with pytest.raises(RuntimeError, match="Deprecated"):
        solver.setup({})


def test_states_are_the_solvers_own():
    p = param([0.0], [1.0])
    solver = S.Momentum(1.0, 0.5)
    solver.set_parameters({"p": p})
    state = solver.get_states()["p"]
    state.pstate["m"].d = [8.0]
    solver.update()
    assert p.d == [-5] and state.pstate["m"].d == [5] and state.t == 0
    other = S.Momentum(1.0, 0.5)
    other.set_parameters({"p": p})
    other.set_states(solver.get_states())
    other.update()
    assert p.d == [-8.5]
    assert other.get_states()["p"].t == 2


def test_set_states_checks_before_it_changes():
    solver, wrong = S.Adam(), S.Momentum()
    solver.set_parameters({"p": param([1.0])})
    wrong.set_parameters({"p": param([1.0])})
    with pytest.raises(RuntimeError, match="mean of p is missing; Adam needs shape"):
        solver.set_states(wrong.get_states())
    with pytest.raises(RuntimeError, match="Set weight parameter for q first"):
        solver.set_states({"q": solver.get_states()["p"]})
    state = solver.get_states()["p"]
    state.pstate["var"] = param([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"var of p has shape \(2,\)"):
        solver.set_states({"p": state})


@pytest.mark.parametrize("extension", ["h5", "protobuf"])
def test_files(tmp_path, extension):
    if extension == "h5":
        pytest.importorskip("h5py")
    path = str(tmp_path / f"states.{extension}")
    solver, loaded = S.Adam(), S.Adam()
    for s in (solver, loaded):
        conv = {"net/conv/W": param([[1.0, 2.0]], [[1.0, -1.0]]), "net/conv": param(1.0, 2.0)}
        s.set_parameters({**conv, "x": param([])})
    solver.update()
    solver.save_states(path)
    loaded.load_states(path)
    for (key, a), (other, b) in zip(solver.get_states().items(), loaded.get_states().items(), strict=True):
        assert key == other and a.t == b.t == 1
        for name in ("mean", "var"):
            np.testing.assert_array_equal(a.pstate[name].d, b.pstate[name].d)
    with pytest.raises(AssertionError, match="expected a .h5 or .protobuf file"):
        solver.save_states(str(tmp_path / "states.npz"))
    with pytest.raises(NotImplementedError):
        solver.load_states(str(tmp_path / "states.nnp"))


def test_parameters_become_single_precision():
    p = nn.Variable.from_numpy_array(np.ones(2))
    p.g = np.ones(2)
    solver = S.Sgd(0.5)
    solver.set_parameters({"p": p})
    solver.update()
    assert p.d.dtype == np.float32
    np.testing.assert_array_equal(p.d, [0.5, 0.5])


def test_arguments():
    assert S.Adam().info["alpha"] == np.float32(1e-3)
    assert S.Sgd(0.1).learning_rate() == float(np.float32(0.1))
    with pytest.raises(TypeError, match="must be real number, not str"):
        S.Adam("0.1")
    with pytest.raises(TypeError, match="lr"):
        S.Adam(lr=0.1)
    solver = S.Lars()
    solver.set_parameters({"p": param([1.0], [1.0])})
    solver.weight_decay(-2.0)
    with pytest.raises(RuntimeError, match="should be positive or zero"):
        solver.update()


def test_a_gradient_that_parameters_share_is_clipped_once():
    a = param([1.0, 2.0], [30.0, 40.0])
    b = a.get_unlinked_variable(need_grad=True)
    c = param([0.0, 0.0], [0.0, 5.0])
    solver = S.Sgd()
    solver.set_parameters({"a": a, "b": b, "c": c})
    solver.clip_grad_by_norm(1.0)
    np.testing.assert_allclose(a.g, [0.6, 0.8], rtol=1e-6)  # as if the gradients were clipped one after another
    np.testing.assert_allclose(c.g, [0.0, 1.0], rtol=1e-6)


def test_lion_leaves_a_weight_alone_whose_direction_is_no_number():
    w = param([1.0, 2.0, 3.0], [np.nan, 1.0, 0.0])
    solver = S.Lion(lr=0.5)
    solver.set_parameters({"w": w})
    solver.update()
    np.testing.assert_array_equal(w.d, [1.0, 1.5, 3.0])


@pytest.mark.parametrize("threshold", [0.1, 0.3, 1.0, 6.0, 30.0])
def test_clipping_at_any_threshold(threshold):
    given = [[3.0, 4.0], [0.3, 0.4], [30.0, 40.0], [0.0, 0.0]]
    params = {str(k): param([0.0, 0.0], g) for k, g in enumerate(given)}
    solver = S.Sgd()
    solver.set_parameters(params)
    solver.clip_grad_by_norm(threshold)
    for p, g in zip(params.values(), given, strict=True):
        norm = np.linalg.norm(g)
        np.testing.assert_allclose(p.g, np.multiply(g, min(1, threshold / norm) if norm else 1), rtol=1e-6)
