"""Functions of no inputs: constants are computed once, and random numbers at each forward pass."""

import numpy as np
import pytest

from compatgrad import nnabla as nn
from compatgrad.nnabla import _declare
from compatgrad.nnabla import functions as F
from compatgrad.nnabla.ext_utils import get_extension_context

CONSTANTS = {
    "constant": lambda: F.constant(2.5, (2, 3)),
    "arange": lambda: F.arange(1, 3, 0.5),
    "linspace": lambda: F.linspace(0, 1, 5),
    "many": lambda: F.constant(1.5, (100, 100)),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_program_may_write_into_constants(name):
    y = CONSTANTS[name]()
    y.forward()
    first, data = y.d.copy(), y.d
    data[...] = 7
    y.forward()
    np.testing.assert_array_equal(y.d, first)
    y.d[...] = 8
    y.forward()
    np.testing.assert_array_equal(y.d, first)
    np.testing.assert_array_equal(data, 7)


def test_constants_in_a_graph_have_half_precision_where_the_context_has():
    with nn.context_scope(get_extension_context("cpu", type_config="half")):
        y = F.constant(1 / 3, (3,))
        for _ in range(3):
            y.forward()
            np.testing.assert_array_equal(y.d.astype("f"), np.float16(1 / 3))


def test_random_numbers_are_new_in_each_pass_and_those_of_the_seed():
    y, z = F.rand(shape=(5,), seed=3), F.rand(shape=(5,), seed=3)
    drawn = []
    for _ in range(3):
        y.forward()
        z.forward()
        np.testing.assert_array_equal(y.d, z.d)
        drawn.append(y.d.copy())
    assert not np.array_equal(drawn[0], drawn[1]) and not np.array_equal(drawn[1], drawn[2])


def test_bodies_of_functions_that_draw_and_have_no_inputs_return_what_was_drawn():
    """`Composite` does not run them."""
    found = [s for s in _declare.specs.values() if s.draws and not s.inputs]
    assert len(found) >= 5
    for spec in found:
        drawn = object()
        assert spec.body(drawn) is drawn
