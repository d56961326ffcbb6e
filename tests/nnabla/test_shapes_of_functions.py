"""Functions tell the shapes of their results themselves, in a static graph as well as when they compute.

Torch's own answers import its compiler, its algebra of shapes or sympy: 30 MB and a second.
"""

import json
import subprocess
import sys

import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
from tests.nnabla.calls_of_functions import OF_VALUES, calls, shapes_of

MODULES = [m for name, m in sys.modules.items() if name.startswith(f"{F.__name__}.")]
FUNCTIONS = {n for m in MODULES for n in getattr(m, "__all__", ()) if callable(getattr(F, n, None))}


def test_each_function_is_called():
    assert {name for name, _ in calls()} == FUNCTIONS | {"dot"}


@pytest.fixture(scope="module")
def recorded():
    """What the calls in a static graph of a new process gave."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.nnabla.calls_of_functions"], capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_no_function_imports_torchs_compiler_or_sympy(recorded):
    assert [(name, loaded) for name, _, loaded in recorded if loaded] == []


def test_shapes_are_those_of_the_results(recorded):
    with nn.auto_forward():
        computed = [[name, shapes_of(call)] for name, call in calls() if name not in OF_VALUES]
    assert [[name, shapes] for name, shapes, _ in recorded] == computed


@pytest.mark.parametrize("name", sorted(OF_VALUES))
def test_shapes_that_depend_on_values(name):
    """Without values there is no shape: an error, or values that are read while the graph is recorded."""
    for call in [call for n, call in calls() if n == name]:
        with nn.auto_forward():
            computed = shapes_of(call)
        try:
            assert shapes_of(call) == computed
        except RuntimeError:
            continue


def test_axes_and_shapes_that_do_not_fit():
    x, rows = nn.Variable((2, 3, 4)), nn.Variable((3, 6))
    for call in (
        lambda: F.sort(x, axis=3), lambda: F.flip(x, (3,)), lambda: F.cumsum(x, axis=3), lambda: F.prod(x, 3),
        lambda: F.top_k_data(rows, 7), lambda: F.batch_inv(x), lambda: F.batch_cholesky(x), lambda: F.crelu(x, axis=3),
        lambda: F.categorical_cross_entropy(rows, nn.Variable((3, 2))), lambda: F.trilu(nn.Variable((3,))),
        lambda: F.einsum(rows, rows, equation="ij,jk->ik"), lambda: F.bool_fill(rows, nn.Variable((5, 6))),
        lambda: F.gather_nd(rows, nn.Variable((3, 2))), lambda: F.affine_grid(x, (4, 4)),
        lambda: F.searchsorted(rows, nn.Variable((2, 6))), lambda: F.assign(rows, x), lambda: F.softmax(x, axis=3),
    ):  # fmt: skip
        with pytest.raises((RuntimeError, ValueError, IndexError)):
            call()
