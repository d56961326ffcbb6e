"""Samples of ops, and how a test runs them.

A sample is one line: `sample("pad", reference, Floats(2, 3), pad_width=[1, 0, 2, 2])`. All tests of this
folder run for it. The reference gets float64 arrays and the same parameters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

from compatgrad import _C, Variable

STEP = 1e-5  # of finite differences


class Floats:
    """Distinct numbers of a shape, spread over (low, high) in random order: no ties, none on a kink."""

    def __init__(self, *shape: int, low: float = -1.0, high: float = 1.0):
        self.shape, self.low, self.high = shape, low, high

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        n = int(np.prod(self.shape))
        grid = (np.arange(n) + rng.uniform(0.3, 0.7, n)) / max(n, 1)
        return np.asarray(self.low + (self.high - self.low) * rng.permutation(grid)).reshape(self.shape)


@dataclass(frozen=True)
class Sample:
    op: str
    reference: Callable
    inputs: tuple
    params: dict = field(default_factory=dict)
    many: bool = False  # the op takes a list of tensors
    dtypes: tuple = ("float16", "float32", "float64")
    differentiable: tuple | None = None  # which inputs; None: all Floats
    tolerance: float = 1.0  # factor on the tolerance of low precision

    def __str__(self) -> str:
        shapes = ",".join(
            str(list(np.shape(x) if x is not None else []))
            if not isinstance(x, Floats)
            else "x".join(map(str, x.shape)) or "0d"
            for x in self.inputs
        )
        params = ",".join(f"{k}={v}" for k, v in self.params.items())
        return f"{self.op}({shapes}{';' if params else ''}{params})".replace("\n", " ")[:100]

    @property
    def targets(self) -> tuple:
        if self.differentiable is not None:
            return self.differentiable
        return tuple(i for i, x in enumerate(self.inputs) if isinstance(x, Floats))

    def arrays(self, dtype: str = "float64") -> list:
        """The inputs: Floats in `dtype`, anything else as it is."""
        rng = np.random.default_rng(0)
        return [x.draw(rng).astype(dtype) if isinstance(x, Floats) else x for x in self.inputs]

    def expected(self, arrays: Sequence) -> list:
        wide = [
            np.asarray(a, "float64") if isinstance(x, Floats) else a for a, x in zip(arrays, self.inputs, strict=True)
        ]
        y = self.reference(wide, **self.params) if self.many else self.reference(*wide, **self.params)
        return [np.asarray(v) for v in (y if isinstance(y, (tuple, list)) else [y])]

    def variables(self, arrays: Sequence, requires_grad: Sequence | None = None) -> list:
        """Variables of the inputs; `requires_grad` lists those that need a gradient (None: all targets)."""
        wanted = self.targets if requires_grad is None else requires_grad
        return [
            None if a is None else Variable(a if torch.is_tensor(a) else torch.tensor(a), i in wanted)
            for i, a in enumerate(arrays)
        ]

    def apply(self, xs: Sequence) -> Any:
        """What the op returns: a Variable, or a tuple of them."""
        op = _C.op(self.op)
        while not self.many and xs and xs[-1] is None:
            xs = xs[:-1]
        return op(list(xs), **self.params) if self.many else op(*xs, **self.params)

    def run(self, xs: Sequence) -> list:
        y = self.apply(xs)
        return list(y) if isinstance(y, tuple) else [y]


def sample(
    op: str,
    reference: Callable,
    *inputs: Any,
    dtypes: tuple = Sample.dtypes,
    tolerance: float = 1.0,
    differentiable: tuple | None = None,
    **params: Any,
) -> list:
    """Inputs are Floats, other arrays as they are, None, or one list of them for an op that takes a list."""
    many = len(inputs) == 1 and isinstance(inputs[0], list)
    inputs = tuple(inputs[0]) if many else inputs
    return [Sample(op, reference, inputs, params, many, dtypes, differentiable, tolerance)]


def unary(op: str, reference: Callable, low: float = -1.0, high: float = 1.0, **more: Any) -> list:
    """An elementwise op of one input, on a matrix, a scalar and nothing."""
    shapes = [(3, 4), (), (0, 3)]
    return [s for shape in shapes for s in sample(op, reference, Floats(*shape, low=low, high=high), **more)]


def binary(op: str, reference: Callable, low: float = -1.0, high: float = 1.0, **more: Any) -> list:
    """An elementwise op of two inputs, with every way of broadcasting."""
    pairs = [((3, 4), (3, 4)), ((3, 1), (1, 4)), ((), (2, 3)), ((3, 4), (4,)), ((), ()), ((0, 4), (1, 4))]
    return [
        s
        for a, b in pairs
        for s in sample(op, reference, Floats(*a, low=low, high=high), Floats(*b, low=low, high=high), **more)
    ]


def by_torch(f: Callable) -> Callable:
    """A reference that is written with torch."""

    def reference(*arrays: Any, **params: Any) -> Any:
        y = f(*(None if a is None else torch.as_tensor(a) for a in arrays), **params)
        return [v.numpy() for v in y] if isinstance(y, (tuple, list)) else y.numpy()

    return reference


def gradients(ys: Sequence, xs: Sequence, gys: Sequence, record: bool = False) -> list:
    """Gradients of `xs`, None where there is none; `record`: the pass is itself recorded."""
    return _C.grad(_C.native_frontend, list(ys), list(xs), list(gys), enable_double_backprop=record)


def cotangents(ys: Sequence, seed: int = 1) -> list:
    """An arbitrary tensor like each of `ys`."""
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.standard_normal(tuple(y.shape))).to(y.tensor.dtype) for y in ys]


def constants(tensors: Sequence) -> list:
    return [Variable(t, False) for t in tensors]


def strided(t: torch.Tensor) -> torch.Tensor:
    """The same values in another layout: reversed axes and gaps between elements."""
    if t.dim() == 0:
        return t
    wide = t.permute(*range(t.dim() - 1, -1, -1)).contiguous().repeat_interleave(2, 0)[::2]
    return wide.permute(*range(t.dim() - 1, -1, -1))


def numbers(v: Any) -> np.ndarray:
    return v.tensor.double().numpy()


def inner(a, b):
    """The sum of all products; a gradient that is missing counts as 0."""
    return sum(float((x * y).sum()) for x, y in zip(a, b, strict=True) if x is not None)


def tensors(variables):
    return [None if v is None else v.tensor for v in variables]


def assert_slope(f, at, slopes, what):
    """`slopes[i]` is the derivative of the number `f(at)` by `at[i]`: tried in a random direction."""
    rng = np.random.default_rng(2)
    for i, slope in enumerate(slopes):
        direction = torch.tensor(rng.standard_normal(tuple(at[i].shape)))

        def moved(step, i=i, direction=direction):
            return f([t + step * direction if k == i else t for k, t in enumerate(at)])

        numerical = (moved(STEP) - moved(-STEP)) / (2 * STEP)
        analytic = 0.0 if slope is None else float((slope * direction).sum())
        assert analytic == pytest.approx(numerical, rel=1e-5, abs=1e-6), f"{what} {i}"


class Problem:
    """A sample in float64, as functions of its differentiable inputs and of the gradients of its outputs."""

    def __init__(self, sample):
        self.sample = sample
        self.arrays = sample.arrays()
        self.inputs = [torch.tensor(self.arrays[i]) for i in sample.targets]
        ys = sample.run(sample.variables(self.arrays))
        self.outputs = [j for j, y in enumerate(ys) if y.tensor.dtype == torch.float64]
        self.gys = cotangents([ys[j] for j in self.outputs])

    def forward(self, inputs, requires_grad=None):
        arrays = list(self.arrays)
        for i, t in zip(self.sample.targets, inputs, strict=True):
            arrays[i] = t
        xs = self.sample.variables(arrays, requires_grad)
        ys = self.sample.run(xs)
        return [xs[i] for i in self.sample.targets], [ys[j] for j in self.outputs]

    def value(self, inputs):
        return inner(tensors(self.forward(inputs)[1]), self.gys)

    def first(self, inputs, gys, record=False):
        """Variables of the inputs, of the output gradients, and of the gradients that follow."""
        xs, ys = self.forward(inputs)
        gys = [Variable(g, True) for g in gys]
        gxs = gradients(ys, xs, gys, record)
        # The gradient of an addition is gy itself, for both inputs: a pass would take them for one output.
        return xs, gys, [g if g is None else _C.op("identity")(g) for g in gxs]

    def assert_first_derivative(self):
        _, _, gxs = self.first(self.inputs, self.gys)
        for x, gx in zip(self.inputs, gxs, strict=True):
            assert gx is None or (gx.tensor.shape == x.shape and gx.tensor.dtype == x.dtype)
        assert_slope(self.value, self.inputs, tensors(gxs), "gradient of input")

    def assert_second_derivative(self):
        xs, gys, gxs = self.first(self.inputs, self.gys, record=True)
        there = [k for k, g in enumerate(gxs) if g is not None]
        directions = cotangents([gxs[k] for k in there], seed=3)
        n = len(self.inputs)

        def projected(at):
            result = self.first(at[:n], at[n:])[2]
            return inner(tensors([result[k] for k in there]), directions)

        for record in (False, True):
            second = gradients([gxs[k] for k in there], xs + gys, constants(directions), record)
            what = f"second derivative (recorded: {record}) by argument"
            assert_slope(projected, self.inputs + self.gys, tensors(second), what)
