"""Parsing of the declarations that name a function's input arrays."""

import pytest

from compatgrad.core.declarations import Inputs, items_of


def test_inputs_are_named_in_order():
    inputs = Inputs("data, weight, bias? unless no_bias")
    assert inputs.names == ("data", "weight", "bias")
    assert inputs.optional == (False, False, True)
    assert not inputs.variadic
    assert Inputs("*args").variadic
    assert Inputs("*args").names == ("args",)
    assert Inputs("").names == ()


@pytest.mark.parametrize(
    ("text", "parameters", "holds"),
    [
        ("b? unless no_bias", {"no_bias": True}, False),
        ("b? unless no_bias", {"no_bias": False}, True),
        ("b? unless no_bias", {}, True),
        ("b? if mode=lstm", {"mode": "lstm"}, True),
        ("b? if mode=lstm", {"mode": "gru"}, False),
        ("b if several and mode=lstm", {"several": True, "mode": "gru"}, False),
        ("b if several and mode=lstm", {"several": True, "mode": "lstm"}, True),
    ],
)
def test_parameters_decide_about_an_optional_array(text, parameters, holds):
    (item,) = items_of(text)
    assert item.holds(parameters) is holds


@pytest.mark.parametrize("text", ["data weight", "data? when asked", "data, ?"])
def test_a_text_that_cannot_be_read_is_an_error(text):
    with pytest.raises(ValueError, match="cannot read"):
        items_of(text)
