"""Random programs compute on compatgrad what they compute on nnabla (see tests/golden/record_nnabla.py).

`python -m compatgrad run -m tests.random_programs.nnabla --show SEED` prints the program of a seed.

What the programs leave out, because nnabla is wrong or unpredictable there:
- `nn.grad` of Tile and others, a silent zero, and of many that raise NotImplementedError (`operations.once`
  has some, for `backward` alone); of Mean, Min and Max by a negative axis, an error; of Pow2 by an exponent
  that was broadcast, which gets a gradient of the result's shape.
- In dynamic graphs, second derivatives of what was computed while the graph was built: what they read has
  been freed. The graph is executed once more before they are taken. Pow2 and BatchDet give garbage
  nevertheless.
- `x[i] = y`, which leaves the ranks as they were, so that functions run backward twice and out of order.
- `nn.grad` by an unlinked variable together with other inputs, see `program._grads`. Sort, whose gradient is wrong.
- An output of Split that is cut by `need_grad = False`, a sibling of an output whose arrays are used
  elsewhere, and `get_unlinked_variable()` without `need_grad`: what they give hangs on when the graph was
  last executed.
- SigmoidCrossEntropy of labels between 0 and 1, which its function takes for 0 and its `nn.grad` does not.
- The gradient of comparisons, which is an error in nnabla; the order inside of a gradient's own graph.
"""

import numpy as np
import pytest

from tests.golden import programs
from tests.random_programs import recorded

GOLDEN = recorded.read(programs.GOLDEN / "nnabla_random_programs.json.gz")
TOLERANCE = 2e-4  # float32, and second derivatives; relative to the largest number of an array, at least 1


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return recorded.computed("tests.random_programs.nnabla", GOLDEN, tmp_path_factory.mktemp("random"))


def assert_same_array(value, want, what, zero_shape=False):
    if zero_shape and want["shape"] == [] and not any(want["values"]):
        # nnabla's zero for an input that nothing leads to has no shape.
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
            # A second derivative that is zero is not always part of the graph here.
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
        # No path leads to an input. nnabla starts all the same, here no function is asked (N11).
        assert not any(number for g in GOLDEN[seed]["grad"] for number in g["values"])
        return
    assert order == GOLDEN[seed]["grad_order"]


def test_programs_cover_what_is_promised():
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
