"""Random programs have the same results on compatgrad as on Chainer 7.8.1 (see tests/golden/record.py).

`python -m compatgrad run -m tests.random_programs --show SEED` prints the program of a seed.
"""

import numpy as np
import pytest

from tests.golden import programs
from tests.random_programs import recorded

GOLDEN = recorded.read(programs.GOLDEN / "random_programs.json.gz")
TOLERANCE = {"float64": 1e-9, "float32": 1e-5}
# Below this size, numbers are compared by absolute error, because zero gradients may contain rounding errors.
FLOOR = {"float64": 1e-2, "float32": 1.0}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return recorded.computed("tests.random_programs", GOLDEN, tmp_path_factory.mktemp("random"))


def assert_same_array(value, want, what, none_is_zero=False):
    if want is None or value is None:
        # A second derivative that is zero everywhere is None where the formula of the first is known to be
        # constant; the functions for which Chainer does so are not specified.
        zero = none_is_zero and not any((value or want or {"values": []})["values"])
        assert value is want or zero, f"{what}: one has no gradient"
        return
    assert (value["shape"], value["dtype"]) == (want["shape"], want["dtype"]), what
    value_, want_ = np.array(value["values"]), np.array(want["values"])
    scale = max(np.abs(want_).max(initial=0), FLOOR[want["dtype"]])
    error = np.abs(value_ - want_).max(initial=0)
    assert error <= TOLERANCE[want["dtype"]] * scale, f"{what}: differs by {error:.1e} at a scale of {scale:.1e}"


def requires_grad(program, i):
    return not any(line.startswith(f"x{i} = ") and "requires_grad=False" in line for line in program)


@pytest.mark.parametrize("seed", GOLDEN)
def test_random_program(results, seed):
    value, want = results[seed], GOLDEN[seed]
    assert "error" not in value, value.get("error")
    assert value["program"] == want["program"]
    assert value.keys() == want.keys()
    assert_same_array(value["y"], want["y"], "y")
    for key in ("values", "retained"):
        assert value[key].keys() == want[key].keys()
        for name in want[key]:
            assert_same_array(value[key][name], want[key][name], f"{key} of {name}")
    for key in ("grad", "backward", "second_grad", "second_backward"):
        if key in want:
            assert len(value[key]) == len(want[key])
            for i, (a, b) in enumerate(zip(value[key], want[key], strict=True)):
                second = key.startswith("second")
                if second and a is None and not requires_grad(value["program"], i):
                    continue  # docs/deviations.md: the second derivative of an input that requires no gradient
                assert_same_array(a, b, f"{key} of x{i}", none_is_zero=second)
    assert value["grad_leaves_alone"] is want["grad_leaves_alone"] is True
    for key in ("forward_order", "grad_order", "backward_order"):
        assert value[key] == want[key], key


def test_programs_cover_the_promised_operators():
    text = "\n".join(line for result in GOLDEN.values() for line in result["program"])
    assert len(GOLDEN) >= 250
    for word in (
        "convolution_2d",
        "max_pooling_2d",
        "batch_normalization",
        "softmax_cross_entropy",
        "nodes.mix",
        "nodes.old_pair",
        "no_backprop_mode",
        "requires_grad=False",
        "unchain_backward",
        "matmul",
    ):
        assert text.count(word) >= 5, word
    assert sum("second_grad" in result for result in GOLDEN.values()) >= 100
    assert sum(any(result["retained"].values()) for result in GOLDEN.values()) >= 50
