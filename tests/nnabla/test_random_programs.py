"""Random programs have the same results on compatgrad as on nnabla (see tests/golden/record_nnabla.py).

`python -m compatgrad run -m tests.random_programs.nnabla --show SEED` prints the program of a seed.

The programs do not contain the following, because nnabla's results are wrong or unpredictable:
- `nn.grad` of Tile and some others, which is zero without an error, and of functions that raise
  NotImplementedError (`operations.once` uses some of these with `backward` only); of Mean, Min and Max with a
  negative axis, which raises an error; of Pow2 with a broadcast exponent, whose gradient has the result's shape.
- Second derivatives in dynamic graphs directly after construction, because they read freed arrays. The programs
  execute the graph again first. Even then, the results of Pow2 and BatchDet are garbage.
- `x[i] = y`, which does not update the ranks, so that backward runs functions twice and out of order.
- `nn.grad` with respect to an unlinked variable together with other inputs, see `program._grads`.
- Sort, whose gradient is wrong.
- An output of Split that is cut by `need_grad = False`, a sibling of an output whose arrays are used
  elsewhere, and `get_unlinked_variable()` without `need_grad`: the results depend on when the graph was last
  executed.
- SigmoidCrossEntropy with labels between 0 and 1, which the function truncates to 0 and its `nn.grad` does not.
- The gradient of comparisons, which raises an error in nnabla, and the order of functions inside a gradient graph.
"""

import numpy as np
import pytest

from tests.golden import programs
from tests.random_programs import recorded

GOLDEN = recorded.read(programs.GOLDEN / "nnabla_random_programs.json.gz")
TOLERANCE = 2e-4  # relative to the largest absolute value of an array or 1: float32 and second derivatives


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return recorded.computed("tests.random_programs.nnabla", GOLDEN, tmp_path_factory.mktemp("random"))


def assert_same_array(value, want, what, zero_shape=False):
    if zero_shape and want["shape"] == [] and not any(want["values"]):
        # for an input without a path to the outputs, nnabla returns a scalar zero
        assert not any(value["values"]), f"{what}: should be zero"
        return
    assert value["shape"] == want["shape"], what
    value_, want_ = np.array(value["values"]), np.array(want["values"])
    scale = max(np.abs(want_).max(initial=0), 1)
    error = np.abs(value_ - want_).max(initial=0)
    assert error <= TOLERANCE * scale, f"{what}: differs by {error:.1e} at a scale of {scale:.1e}"
    if "sum" in want:
        error = abs(value["sum"] - want["sum"])
        assert error <= TOLERANCE * max(want["scale"], 1), f"{what}: the sum differs by {error:.1e}"


@pytest.mark.semantics("N05")
@pytest.mark.semantics("N12")
@pytest.mark.parametrize("seed", GOLDEN)
def test_random_program(results, seed):
    value, want = results[seed], GOLDEN[seed]
    assert "error" not in value, value.get("error")
    assert value["program"] == want["program"]
    for key in ("built", "values", "parameters", "backward", "again", "second_backward"):
        if key not in want:
            continue
        if key == "second_backward" and key not in value:
            # compatgrad may omit a second derivative that is zero
            assert not any(number for array in want[key].values() for number in array["values"])
        else:
            assert value[key].keys() == want[key].keys(), key
            for name in want[key]:
                assert_same_array(value[key][name], want[key][name], f"{key} of {name}")
    for key in ("grad_built", "grad", "second_grad"):
        if key in want and (key in value or key != "second_grad"):
            assert len(value[key]) == len(want[key])
            for name, a, b in zip(want["inputs"], value[key], want[key], strict=True):
                assert_same_array(a, b, f"{key} of {name}", zero_shape=True)


@pytest.mark.semantics("N11")
@pytest.mark.parametrize("seed", GOLDEN)
def test_order(results, seed):
    value, want = results[seed], GOLDEN[seed]
    assert "error" not in value, value.get("error")
    for key in ("forward_order", "backward_order", "same_after"):
        assert value.get(key) == want.get(key), key


@pytest.mark.semantics("N09")
@pytest.mark.semantics("N10")
@pytest.mark.parametrize("seed", [seed for seed, want in GOLDEN.items() if want.get("grad_order")])
def test_order_of_registered_functions(results, seed):
    order = results[seed]["grad_order"]
    if not order:
        # Without a path to an input, compatgrad calls no backward function; nnabla starts the traversal (N11).
        assert not any(number for g in GOLDEN[seed]["grad"] for number in g["values"])
        return
    assert order == GOLDEN[seed]["grad_order"]


def test_programs_cover_the_promised_operators():
    text = "\n".join(line for result in GOLDEN.values() for line in result["program"])
    assert len(GOLDEN) >= 250
    for word in (
        "F.convolution",
        "PF.convolution",
        "PF.affine",
        "F.max_pooling",
        "F.batch_normalization",
        "F.softmax_cross_entropy",
        "F.split",
        "nodes.mix",
        "nodes.gate",
        "inplace=True",
        "need_grad = False",
        "persistent = True",
        "get_unlinked_variable",
        " @ ",
    ):
        assert text.count(word) >= 5, word
    functions = {word.split("(")[0] for word in text.split() if word.startswith("F.")}
    assert len(functions) >= 60
    results = GOLDEN.values()
    assert sum("built" in result for result in results) >= 125
    assert sum("second_grad" in result for result in results) >= 150
    assert sum(bool(result.get("grad_order")) for result in results) >= 30
    assert all(result.get("same_after", True) for result in results)
