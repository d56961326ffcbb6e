"""Random programs give the same results on compatgrad as on MXNet (see tests/golden/record_mxnet.py).

`python -m compatgrad run -m tests.random_programs.mxnet --show SEED` prints the program of a seed.

The programs leave out cases in which MXNet's results are wrong or unpredictable:
- `grad_req="add"` of an input of linalg's operators, mean, split or casts: they overwrite the gradient.
- `SequenceLast` without lengths, which writes out of bounds (some programs of other kinds crash MXNet, too).
- An unused output of an `autograd.Function`: its gradient is uninitialized memory.
- A Function of an input that needs no gradient, or whose `grad_req` is "add".
- The gradient of selu; the second derivative of radians; negative axes of cumsum; concatenate while recording.
"""

import json

import numpy as np
import pytest

from compatgrad.mxnet import autograd, nd
from tests.golden import programs
from tests.random_programs import recorded

GOLDEN = recorded.read(programs.GOLDEN / "mxnet_random_programs.json.gz")
# relative to the largest number of an array, or to 1 if that is larger
TOLERANCE = {"float32": 3e-4, "float64": 1e-6}
BEYOND = 80


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return recorded.computed("tests.random_programs.mxnet", GOLDEN, tmp_path_factory.mktemp("random"))


def assert_same(value, want, what):
    """Compare nested results: arrays within a tolerance, errors by class."""
    if isinstance(want, dict) and "values" in want and "dtype" in want:
        assert value is not None and "dtype" in value, f"{what}: {value} instead of an array"
        assert (value["shape"], value["dtype"]) == (want["shape"], want["dtype"]), what
        tolerance = TOLERANCE[want["dtype"]]
        a, b = np.array(value["values"]), np.array(want["values"])
        scale = max(np.abs(b).max(initial=0), 1)
        error = np.abs(a - b).max(initial=0)
        assert error <= tolerance * scale, f"{what} differs by {error:.1e} at a scale of {scale:.1e}"
        if "sum" in want:
            error = abs(value["sum"] - want["sum"])
            assert error <= tolerance * max(want["scale"], 1), f"the sum of {what} differs by {error:.1e}"
    elif "raised" in (want or ()) and "values" in (value or ()):
        # MXNet raises where the first derivative does not depend on the array, so that the second one is zero.
        assert what.endswith(" of second") and not any(value["values"]), f"{what}: {value}, should raise"
    elif isinstance(want, dict):
        assert isinstance(value, dict) and value.keys() == want.keys(), f"{what}: {value} instead of {want}"
        for key, item in want.items():
            assert_same(value[key], item, f"{key} of {what}")
    elif isinstance(want, list):
        assert isinstance(value, list) and len(value) == len(want), f"{what}: {value} instead of {want}"
        for i, (a, b) in enumerate(zip(value, want, strict=True)):
            assert_same(a, b, f"{what}[{i}]")
    elif want is None and value is not None:
        # In its first backward, MXNet drops the gradient (zeros) of an array with grad_req='null'.
        assert "values" in value and not any(value["values"]), f"{what} should be None"
    else:
        assert value == want, what


@pytest.mark.semantics("M02")
@pytest.mark.semantics("M03")
@pytest.mark.semantics("M04")
@pytest.mark.parametrize("seed", GOLDEN)
def test_random_program(results, seed):
    value, want = results[seed], GOLDEN[seed]
    assert "error" not in value, value.get("error")
    assert value["program"] == want["program"]
    for key, item in want.items():
        found = value[key]
        if key == "third":  # MXNet lacks some third derivatives
            found = {name: third for name, third in found.items() if name in item}
        assert_same(found, item, key)


def test_programs_cover_the_promised_operators():
    results = GOLDEN.values()
    text = "\n".join(line for result in results for line in result["program"])
    assert len(GOLDEN) >= 300
    for word in (
        "grad_req='add'",
        "grad_req='null'",
        "mark_variables",
        "nd.Convolution",
        "nd.Pooling",
        "nd.FullyConnected",
        "nd.BatchNorm",
        "nd.LayerNorm",
        "nd.softmax_cross_entropy",
        "nd.split",
        "nodes.mix",
        "nodes.straight",
        "autograd.pause",
        "autograd.predict_mode",
        "train_mode=False",
        "detach()",
        "[:] =",
        "nd.batch_dot",
    ):
        assert text.count(word) >= 5, word
    functions = {word.split("(")[0] for word in text.split() if word.startswith("nd.")}
    assert len(functions) >= 120
    assert sum("second_backward" in result for result in results) >= 80
    assert sum("third" in result for result in results) >= 40
    assert sum(len(result["heads"]) > 1 for result in results) >= 80
    assert sum("raised" in (result["again"] or ()) for result in results) == len(GOLDEN)


@pytest.fixture(scope="module")
def beyond():
    return json.loads(recorded.output_of(["tests.random_programs.mxnet.beyond", str(BEYOND)]))


@pytest.mark.semantics("M05")
@pytest.mark.parametrize("seed", range(BEYOND))
def test_derivatives_that_mxnet_lacks(beyond, seed):
    """First and second derivatives of operators that MXNet differentiates only once, by finite differences."""
    result = beyond[str(seed)]
    assert "error" not in result, result.get("error")
    for order, (computed, difference, scale) in zip(("first", "second"), result["pairs"], strict=True):
        error = abs(computed - difference)
        assert error <= 1e-5 * max(scale, 1), f"{order} derivative of {result['program']}: {error:.1e}"


@pytest.mark.semantics("M02")
@pytest.mark.parametrize(
    "function",
    [
        lambda x: nd.linalg.gemm2(x, nd.ones((3, 2))),
        lambda x: nd.mean(x),
        lambda x: nd.split_v2(x, (1,), axis=0)[1],
        lambda x: x.astype("float64"),
        lambda x: nd.SequenceLast(x.expand_dims(axis=2)),
        lambda x: Cube()(x),
    ],
    ids=["gemm2", "mean", "split", "cast", "sequence", "function"],
)
def test_add_accumulates_where_mxnet_overwrites(function):
    """grad_req="add" accumulates, also for operators that ignore the request in MXNet."""
    x = nd.array([[0.5, -1, 2], [1, 3, -0.25]])
    x.attach_grad()
    with autograd.record():
        y = function(x)
    y.backward()
    once = x.grad.asnumpy()
    assert once.any()
    x.attach_grad("add")
    x.grad[:] = 1
    for _ in range(2):
        with autograd.record():
            y = function(x)
        y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 1 + 2 * once, rtol=1e-6)


class Cube(autograd.Function):
    """x ** 3, and a second output that the test leaves unused."""

    def forward(self, x):
        self.save_for_backward(x)
        return x**3, x + 1

    def backward(self, dy, dz):
        assert not dz.asnumpy().any()
        (x,) = self.saved_tensors
        return 3 * x * x * dy + dz

    def __call__(self, x):
        return super().__call__(x)[0]
