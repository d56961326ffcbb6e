"""Mistakes of people who port a program: each error names the argument and what was expected."""

import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda x: F.max_pooling(x, 2), "kernel"),
        (lambda x: F.max_pooling(x, (2, 2), 2), "stride"),
        (lambda x: PF.convolution(x, 4, (3, 3), pad=1, name="pad"), "pad"),
        (lambda x: F.reshape(x, 6), "shape"),
        (lambda x: nn.Variable(5), "shape"),
        (lambda x: x.reset_shape(5), "shape"),
    ],
    ids=["kernel", "stride", "pad", "reshape", "Variable", "reset_shape"],
)
def test_a_number_in_place_of_a_tuple_is_named(call, name):
    with pytest.raises(TypeError, match=rf"{name}.* tuple of integers"):
        call(nn.Variable((2, 3, 8, 8)))


def test_a_parameter_of_another_shape_is_named_with_its_scopes():
    nn.clear_parameters()
    with nn.parameter_scope("net"):
        PF.affine(nn.Variable((5, 3)), 4, name="fc")
        with pytest.raises(ValueError, match="parameter 'net/fc/affine/W' has shape"):
            PF.affine(nn.Variable((5, 7)), 4, name="fc")
    nn.clear_parameters()


def test_a_name_in_place_of_a_context_is_refused_in_words():
    with pytest.raises(AttributeError, match="expected a Context, such as get_extension_context"):
        nn.set_default_context("cpu")


def test_a_variable_in_place_of_parameters_is_refused_in_words():
    with pytest.raises(AttributeError, match=r"expected a dict of Variables, such as nn\.get_parameters\(\)"):
        S.Adam().set_parameters(nn.Variable((2,)))
