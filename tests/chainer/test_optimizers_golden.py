"""Every optimizer against its formula, computed here in float64, and bitwise against the original."""

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, chainer
from tests.golden import files

O = chainer.optimizers  # noqa: E741
SHAPES = ((3, 4), (5,), (), (2, 1, 3))
STEPS = 7
GOLDEN = files.GOLDEN / "optimizers.json"


def sgd(p, g, s, t, lr):
    return p - lr * g


def momentum(p, g, s, t, lr, momentum):
    s["v"] = momentum * s["v"] - lr * g
    return p + s["v"]


def corrected(p, g, s, t, lr, momentum):
    s["v"] = momentum * s["v"] - g
    return p + lr * s["v"]


def nesterov(p, g, s, t, lr, momentum):
    s["v"] = momentum * s["v"] - lr * g
    return p + momentum**2 * s["v"] - (1 + momentum) * lr * g


def ada_grad(p, g, s, t, lr, eps):
    s["h"] = s["h"] + g**2
    return p - lr * g / (np.sqrt(s["h"]) + eps)


def ada_delta(p, g, s, t, rho, eps):
    s["msg"] = rho * s["msg"] + (1 - rho) * g**2
    dx = np.sqrt((s["msdx"] + eps) / (s["msg"] + eps)) * g
    s["msdx"] = rho * s["msdx"] + (1 - rho) * dx**2
    return p - dx


def rmsprop(p, g, s, t, lr, alpha, eps, eps_inside_sqrt):
    s["ms"] = alpha * s["ms"] + (1 - alpha) * g**2
    denominator = np.sqrt(s["ms"] + eps) if eps_inside_sqrt else np.sqrt(s["ms"]) + eps
    return p - lr * g / denominator


def graves(p, g, s, t, lr, alpha, momentum, eps):
    s["n"] = alpha * s["n"] + (1 - alpha) * g**2
    s["g"] = alpha * s["g"] + (1 - alpha) * g
    s["delta"] = momentum * s["delta"] - lr * g / np.sqrt(s["n"] - s["g"] ** 2 + eps)
    return p + s["delta"]


def smorms3(p, g, s, t, lr, eps):
    r = 1 / (s["mem"] + 1)
    s["g"] = (1 - r) * s["g"] + r * g
    s["g2"] = (1 - r) * s["g2"] + r * g**2
    x = s["g"] ** 2 / (s["g2"] + eps)
    s["mem"] = 1 + s["mem"] * (1 - x)
    return p - g * np.minimum(lr, x) / (np.sqrt(s["g2"]) + eps)


def adam(p, g, s, t, alpha, beta1, beta2, eps, eta=1, weight_decay_rate=0, final_lr=None, gamma=1e-3):
    s["m"] = beta1 * s["m"] + (1 - beta1) * g
    s["v"] = beta2 * s["v"] + (1 - beta2) * g**2
    v = s["v"]
    if "vhat" in s:
        v = s["vhat"] = np.maximum(s["vhat"], v)
    step = alpha * np.sqrt(1 - beta2**t) / (1 - beta1**t) / (np.sqrt(v) + eps)
    if final_lr is not None:
        step = np.clip(step, final_lr * (1 - 1 / (gamma * t + 1)), final_lr * (1 + 1 / (gamma * t)))
    return p - eta * (step * s["m"] + weight_decay_rate * p)


def msvag(p, g, s, t, lr, beta, eta, weight_decay_rate):
    s["m"] = beta * s["m"] + (1 - beta) * g
    s["v"] = beta * s["v"] + (1 - beta) * g**2
    correction = 1 - beta**t
    m, v = s["m"] / correction, s["v"] / correction
    rho = min((1 - beta) ** 2 * (1 - beta ** (2 * t)) / (correction**2 * (1 - beta**2)), 0.9999)
    with np.errstate(invalid="ignore"):
        factor = np.clip(m**2 / (m**2 + rho * (v - m**2) / (1 - rho)), 0, 1)
    return p - eta * (lr * m * np.where(np.isnan(factor), 0, factor) + weight_decay_rate * p)


NO, V = {}, {"v": 0}
MV, MVV = {"m": 0, "v": 0}, {"m": 0, "v": 0, "vhat": 0}
ADAM = dict(alpha=0.01, beta1=0.8, beta2=0.95, eps=1e-6)
BOUND = dict(ADAM, final_lr=0.03, gamma=0.2)
CASES = {
    "SGD": (O.SGD, sgd, dict(lr=0.1), NO),
    "MomentumSGD": (O.MomentumSGD, momentum, dict(lr=0.1, momentum=0.7), V),
    "CorrectedMomentumSGD": (O.CorrectedMomentumSGD, corrected, dict(lr=0.1, momentum=0.7), V),
    "NesterovAG": (O.NesterovAG, nesterov, dict(lr=0.1, momentum=0.7), V),
    "AdaGrad": (O.AdaGrad, ada_grad, dict(lr=0.1, eps=1e-4), {"h": 0}),
    "AdaDelta": (O.AdaDelta, ada_delta, dict(rho=0.9, eps=1e-3), {"msg": 0, "msdx": 0}),
    "RMSprop": (O.RMSprop, rmsprop, dict(lr=0.1, alpha=0.9, eps=1e-4, eps_inside_sqrt=False), {"ms": 0}),
    "RMSprop inside": (
        O.RMSprop,
        rmsprop,
        dict(lr=0.1, alpha=0.9, eps=1e-4, eps_inside_sqrt=True),
        {"ms": 0},
    ),
    "RMSpropGraves": (
        O.RMSpropGraves,
        graves,
        dict(lr=0.1, alpha=0.9, momentum=0.8, eps=1e-3),
        {"n": 0, "g": 0, "delta": 0},
    ),
    "SMORMS3": (O.SMORMS3, smorms3, dict(lr=0.05, eps=1e-16), {"mem": 1, "g": 0, "g2": 0}),
    "Adam": (O.Adam, adam, ADAM, MV),
    "AdamW": (O.AdamW, adam, dict(ADAM, eta=0.5, weight_decay_rate=0.1), MV),
    "AMSGrad": (O.AMSGrad, adam, dict(ADAM, eta=0.5), MVV),
    "AdaBound": (O.AdaBound, adam, BOUND, MV),
    "AMSBound": (O.AMSBound, adam, BOUND, MVV),
    "MSVAG": (O.MSVAG, msvag, dict(lr=0.1, beta=0.7, eta=0.9, weight_decay_rate=0.05), MV),
}
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 2e-2}


def model(dtype, shapes=SHAPES, order="C"):
    rng = np.random.RandomState(0)
    link = chainer.Link()
    with link.init_scope():
        for i, shape in enumerate(shapes):
            array = np.asarray(rng.randint(-2000, 2000, shape) / 1000, dtype=dtype, order=order)
            setattr(link, f"p{i}", chainer.Parameter(array))
    return link


def gradients(step, dtype, shapes=SHAPES):
    # the first step has zero gradients
    rng = np.random.RandomState(step)
    return [np.asarray(rng.randint(-2000, 2000, shape) * (step > 0) / 1000, dtype=dtype) for shape in shapes]


def run(case, dtype, order="C", grad_order=None, each=False):
    cls, formula, hyper, states = CASES[case]
    link = model(dtype, order=order)
    optimizer = cls(**hyper).setup(link)
    expected = [p.array.astype(np.float64) for p in link.params()]
    kept = [{name: np.full(shape, float(k)) for name, k in states.items()} for shape in SHAPES]
    for step in range(STEPS):
        grads = gradients(step, dtype)
        for p, g in zip(link.params(), grads, strict=True):
            p.grad = np.asarray(g, order=grad_order or order)
        if each:
            for p in link.params():
                p.update()
        else:
            optimizer.update()
        expected = [
            formula(p, g.astype(np.float64), s, step + 1, **hyper)
            for p, g, s in zip(expected, grads, kept, strict=True)
        ]
    return link, optimizer, expected, kept


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES)
def test_formula(case, dtype):
    link, optimizer, expected, kept = run(case, dtype)
    assert optimizer.t == STEPS
    for p, value, states in zip(link.params(), expected, kept, strict=True):
        assert p.array.dtype == dtype and p.update_rule.t == STEPS
        np.testing.assert_allclose(p.array, value, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
        for name, state in states.items():
            array = p.update_rule.state[name]
            if not ORIGINAL:  # in the original, scalar states become float64
                assert array.dtype == dtype and array.shape == p.shape
            np.testing.assert_allclose(array, state, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


# the excluded optimizers have an eps or squares that underflow in half precision
@pytest.mark.parametrize("case", [case for case in CASES if case not in ("SMORMS3", "MSVAG")])
def test_formula_in_half_precision(case):
    link, _, expected, _ = run(case, "float16")
    for p, value in zip(link.params(), expected, strict=True):
        assert p.array.dtype == np.float16
        np.testing.assert_allclose(p.array, value, rtol=TOLERANCE["float16"], atol=TOLERANCE["float16"])


@pytest.mark.parametrize("case", CASES)
def test_one_by_one_is_the_same_as_all_together(case):
    together = run(case, "float32")[0]
    others = [
        run(case, "float32", each=True),
        run(case, "float32", order="F"),
        run(case, "float32", grad_order="F"),
    ]
    for one_by_one, *_ in others:
        for p, q in zip(together.params(), one_by_one.params(), strict=True):
            np.testing.assert_array_equal(p.array, q.array)
            for name in p.update_rule.state:
                np.testing.assert_array_equal(p.update_rule.state[name], q.update_rule.state[name])


@pytest.mark.parametrize("case", CASES)
def test_nan_and_infinity_stay_where_they_are(case):
    link, _, _, _ = run(case, "float32")
    optimizer = CASES[case][0](**CASES[case][2]).setup(link)
    before = link.p1.array.copy()
    for p in link.params():
        p.grad = np.ones_like(p.array)
    link.p1.grad[1] = np.nan
    optimizer.update()
    # M-SVAG replaces a NaN factor by 0
    assert np.isnan(link.p1.array[1]) or case == "MSVAG"
    assert np.isfinite(np.delete(link.p1.array, 1)).all() and (np.delete(before - link.p1.array, 1) != 0).any()


@pytest.mark.parametrize("case", CASES)
def test_defaults(case):
    cls = CASES[case][0]
    optimizer = cls()
    expected = {
        "SGD": dict(lr=0.01),
        "MomentumSGD": dict(lr=0.01, momentum=0.9),
        "CorrectedMomentumSGD": dict(lr=0.01, momentum=0.9),
        "NesterovAG": dict(lr=0.01, momentum=0.9),
        "AdaGrad": dict(lr=0.001, eps=1e-8),
        "AdaDelta": dict(rho=0.95, eps=1e-6),
        "RMSprop": dict(lr=0.01, alpha=0.99, eps=1e-8, eps_inside_sqrt=False),
        "RMSpropGraves": dict(lr=1e-4, alpha=0.95, momentum=0.9, eps=1e-4),
        "SMORMS3": dict(lr=0.001, eps=1e-16),
        "MSVAG": dict(lr=0.1, beta=0.9, eta=1.0, weight_decay_rate=0),
    }.get(
        cls.__name__,
        dict(
            alpha=0.001,
            beta1=0.9,
            beta2=0.999,
            eps=1e-8,
            eta=1.0,
            weight_decay_rate=0,
            amsgrad=cls.__name__.startswith("AMS"),
            adabound=cls.__name__.endswith("Bound"),
            final_lr=0.1,
            gamma=1e-3,
        ),
    )
    assert optimizer.hyperparam.get_dict() == expected
    rule = optimizer.create_update_rule()
    for name, value in expected.items():
        assert getattr(optimizer, name) == getattr(rule.hyperparam, name) == value
        setattr(optimizer, name, 0.5)
        assert getattr(rule.hyperparam, name) == 0.5


def bits(case):
    """The float32 parameters after all steps, as hexadecimal bytes."""
    return [p.array.tobytes().hex() for p in run(case, "float32")[0].params() if p.array.ndim]


@pytest.mark.parametrize("case", CASES)
def test_bits_are_those_of_the_original(case):
    """The compiled loops round after each operation, in the order of the original's NumPy code."""
    assert bits(case) == files.read(GOLDEN)[case]


if __name__ == "__main__":  # records the results, with an interpreter that has the original
    assert ORIGINAL
    files.write(GOLDEN, {case: bits(case) for case in CASES}, files.versions("chainer"))
