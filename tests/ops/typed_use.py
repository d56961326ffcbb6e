"""What a type checker knows of the native API. Nothing runs this: `make types` checks it.

mypy warns of an ignored error that is none, so that each `type: ignore` below proves that mypy finds the mistake.
"""

from __future__ import annotations

import numpy as np
import torch
from typing_extensions import assert_type

import compatgrad
from compatgrad import ops

x = compatgrad.Variable(torch.ones(2, 3), name="x")

assert_type(ops.sin(x), compatgrad.Variable)
assert_type(ops.add(torch.ones(2), np.ones(2)), compatgrad.Variable)
assert_type(ops.concat([x, torch.ones(2, 3)], axis=0), compatgrad.Variable)
assert_type(ops.sum(x, (0, 1), keepdims=True), compatgrad.Variable)
assert_type(ops.eigen_symmetric(x), tuple[compatgrad.Variable, ...])
assert_type(ops.sort(x), compatgrad.Variable)
assert_type(ops.sort(x, with_index=True), tuple[compatgrad.Variable, ...])
assert_type(ops.split(x, [1]), compatgrad.Variable | tuple[compatgrad.Variable, ...])
assert_type(ops.get_item(x, (0, slice(None))), compatgrad.Variable)
assert_type(ops.describe("sin"), str)
assert_type(ops.sin.__doc__, str | None)

ops.sine(x)  # type: ignore[attr-defined]  # no such op
ops.sum(x, axes=0)  # type: ignore[call-arg]  # no such parameter
ops.sum(x, axis="rows")  # type: ignore[arg-type]  # a parameter of another type
ops.sin(1.0)  # type: ignore[arg-type]  # a number is no input
ops.sin()  # type: ignore[call-arg]  # an input is missing
ops.concat(x, axis=0)  # type: ignore[arg-type]  # one tensor instead of a list
ops.sin(x0=x)  # type: ignore[call-arg]  # inputs have no names
ops.sort(x, with_indices=True)  # type: ignore[call-overload]  # no such parameter

assert_type(compatgrad.grad([x], [x]), list[compatgrad.Variable | None])
assert_type(compatgrad.grad(x, x, enable_double_backprop=True), list[compatgrad.Variable | None])
compatgrad.grad([x], [x], torch.ones(2, 3), loss_scale=2.0)
compatgrad.grad([x])  # type: ignore[call-overload]  # no inputs
compatgrad.grad([x], [x], enable_double=True)  # type: ignore[call-overload]  # no such argument
compatgrad.grad([1.0], [x])  # type: ignore[list-item]  # a number is no output
compatgrad.backward([x], torch.ones(2, 3))
assert_type(x.sum(axis=0), compatgrad.Variable)
assert_type(x.grad, torch.Tensor | None)
