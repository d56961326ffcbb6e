"""Checks of a node's parameters when it is made: MXNet reads them then, while `mx.nd` checks them in each call."""

from __future__ import annotations

from collections.abc import Mapping

from ..base import MXNetError
from ..ndarray._arguments import CHOICES, fraction, one_of
from ..ndarray._operator import AXES, parse
from ._facts import canonical

__all__ = ["check_parameters"]

_CHOICES = {canonical(op): choices for op, choices in CHOICES.items()}
_FRACTIONS = {"Dropout": ("p",), "RNN": ("p",)}
# Parameters that are integers, or tuples of them, in every operator of MXNet, which reads them when it makes a node.
_INTEGERS = frozenset((
    "block_size", "depth", "input_dim", "num_deformable_group", "num_filter", "nsize", "num_group", "num_hidden",
    "num_layers", "output_dim", "state_size",
))  # fmt: skip
_LENGTHS = frozenset((
    "adj", "axes", "dilate", "kernel", "pad", "pad_width", "reps", "shape", "stride", "target_shape", *AXES,
))  # fmt: skip
_POSITIVE = frozenset(("input_dim", "num_filter", "num_hidden", "output_dim"))
# Parameters with such names that are a number, or pairs of lengths.
_NEITHER = {("_npi_gamma", "shape"), ("_npi_pad", "pad_width")}


def check_parameters(op: str, hint: str, params: Mapping[str, str]) -> None:
    """MXNet's error for sizes that are no integers, and for values that a parameter does not have."""
    words, fractions = _CHOICES.get(op, {}), _FRACTIONS.get(op, ())
    for name in params:
        if name in words:
            one_of(hint, name, parse(params[name]), words[name])
        elif name in fractions:
            fraction(hint, name, parse(params[name]))
        if name not in _INTEGERS and name not in _LENGTHS or (op, name) in _NEITHER:
            continue
        value = parse(params[name])
        given = value if name in _LENGTHS and isinstance(value, (tuple, list)) else [value]
        if any(type(v) is not int for v in given) and not (value is None and name in _LENGTHS):
            wanted = "int" if name in _INTEGERS else "Shape(tuple)"
            raise MXNetError(
                f"Invalid Parameter format for {name} expect {wanted} but value='{params[name]}', in operator {hint}"
            )
        if name in _POSITIVE and value < 1:
            raise MXNetError(f"value {value} for Parameter {name} should be greater equal to 1, in operator {hint}")
