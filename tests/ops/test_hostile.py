"""Inputs and parameters that do not belong together: an exception, or gradients of the inputs' shapes; never the end of
the process.

A crash stops pytest, and the op that it printed last is the one. Reading a few numbers beyond an array ends no process;
under AddressSanitizer it does (`python -m tests.sanitize address tests/ops/test_hostile.py`).
"""

import dataclasses

import numpy as np
import pytest
import torch

from tests.ops.all_samples import SAMPLES
from tests.ops.harness import constants, cotangents, gradients

SIZES = (0, 1, "doubled")
NUMBERS = (np.nan, np.inf, -np.inf, 1e30, -1.0, 1e6)
INDEXES = (-1, 10**6, -(10**6), 2**31 - 1, -(2**31))


def resized(a, axis, n):
    """`a` with another length of an axis; what has no such axis stays."""
    if not isinstance(a, np.ndarray) or a.ndim <= axis:
        return a
    if n == "doubled":
        return np.concatenate([a, a], axis)
    return a.take(range(min(n, a.shape[axis])), axis)


def lengths(a):
    """`a` with one slice less, and with one more, along each axis."""
    for axis in range(a.ndim if a.size else 0):
        yield a.take(range(a.shape[axis] - 1), axis)
        yield np.concatenate([a, a.take([0], axis)], axis)


def layouts(a):
    """Tensors of the same numbers that are not contiguous; one that has no numbers, only a shape."""
    t = torch.tensor(a)
    if t.ndim:
        yield t.repeat_interleave(2, -1)[..., ::2]
    if t.ndim > 1:
        yield t.mT.contiguous().mT
    yield t.to("meta")


def kinds(a):
    """`a` in other dtypes, and the largest byte at each place."""
    for dtype in ("bool", "int64", "float16", "float64"):
        yield a.astype(dtype)
    yield np.full(a.shape, 255, "uint8")


def filled(a, value):
    """Copies of `a`: full of a value, and with the value in the last place."""
    try:
        yield np.full_like(a, value)
    except OverflowError:  # not a number of that type
        return
    if a.size > 1:
        last = a.copy()
        last.flat[-1] = value
        yield last


def shapes(arrays):
    """Inputs of other shapes, all of them or one."""
    places = [i for i, a in enumerate(arrays) if isinstance(a, np.ndarray)]
    for n in SIZES:
        for axis in range(max((arrays[i].ndim for i in places), default=0)):
            yield [resized(a, axis, n) for a in arrays]
        for i in places:
            for axis in range(arrays[i].ndim):
                yield [*arrays[:i], resized(arrays[i], axis, n), *arrays[i + 1 :]]
    for i in places:
        fewer = arrays[i][0] if arrays[i].ndim and len(arrays[i]) else arrays[i]
        for other in (np.float32(1.5).reshape(()), arrays[i][None], fewer, None):
            yield [*arrays[:i], other, *arrays[i + 1 :]]


def values(arrays):
    """Inputs with other numbers, lengths, layouts or dtypes, one at a time."""
    for i, a in enumerate(arrays):
        if not isinstance(a, np.ndarray):
            continue
        floating = a.dtype.kind == "f"
        others = [b for v in (NUMBERS if floating else INDEXES) for b in filled(a, v)]
        for other in [*others, *lengths(a), *layouts(a), *kinds(a), a.astype("float32" if not floating else "uint8")]:
            yield [*arrays[:i], other, *arrays[i + 1 :]]


def parameters(params):
    """The parameters with one changed."""
    for name, value in params.items():
        if isinstance(value, bool):
            others = [not value]
        elif isinstance(value, int):
            others = [0, -1, -2, 1, 7, 2**40] if name in ("axis", "base_axis", "groups") else [0, -1, -2, 1, 7]
        elif isinstance(value, float):
            others = [0.0, -1.0, np.nan, np.inf, 1e30]
        elif isinstance(value, (list, tuple)) and value and all(isinstance(v, int) for v in value):
            whole = [[], [*value[1:]], [*value, 1], [0] * len(value), [-1] * len(value)]
            others = whole + [[*value[:k], v, *value[k + 1 :]] for k in range(len(value)) for v in (0, -1, 7)]
        elif torch.is_tensor(value):
            a = value.numpy()
            others = [torch.tensor(b) for b in (*lengths(a), *kinds(a), a[None], a[:0])] + list(layouts(a))
        else:
            continue
        for other in others:
            yield {**params, name: other}


def run(sample, arrays, params):
    """The result and its first two derivatives."""
    sample = dataclasses.replace(sample, params=params)
    xs = sample.variables(arrays)
    ys = [y for y in sample.run(xs) if y.tensor.is_floating_point() and y.requires_grad]
    targets = [xs[i] for i in sample.targets if xs[i] is not None]
    if not ys or not targets:
        return
    first = gradients(ys, targets, constants(cotangents(ys)), record=True)
    for x, g in zip(targets, first, strict=True):
        assert g is None or tuple(g.shape) == tuple(x.shape)
    second = [g for g in first if g is not None and g.requires_grad]
    if second:
        gradients(second, targets, constants(cotangents(second)))


def replaced(sample, arrays):
    """A program puts another array into an input, or other numbers into its array, after the function has run."""
    for i, a in enumerate(arrays):
        if not isinstance(a, np.ndarray):
            continue
        far = np.full_like(a, np.iinfo(a.dtype).max if a.dtype.kind in "iu" else -1)
        for other in (*lengths(a), a[None], *kinds(a), far):
            for record in (False, True):
                xs = sample.variables([b.copy() if isinstance(b, np.ndarray) else b for b in arrays])
                ys = [y for y in sample.run(xs) if y.tensor.is_floating_point() and y.requires_grad]
                targets = [xs[k] for k in sample.targets if xs[k] is not None]
                if not ys or not targets:
                    return
                if other is far:
                    xs[i].tensor.detach().copy_(torch.tensor(other))
                else:
                    xs[i].array = torch.tensor(other)
                yield lambda ys=ys, targets=targets, record=record: gradients(
                    ys, targets, constants(cotangents(ys)), record=record
                )


def numeric(arrays):
    return [np.asarray(a) if np.isscalar(a) else a for a in arrays]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_what_does_not_fit_raises(sample):
    arrays = numeric(sample.arrays("float32"))
    cases = [(other, sample.params) for search in (shapes, values) for other in search(arrays)]
    cases += [(arrays, other) for other in parameters(sample.params)]
    run(sample, arrays, sample.params)
    for inputs, params in cases:
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in inputs]  # some ops write into their inputs
        kept = {k: v.clone() if torch.is_tensor(v) else v for k, v in params.items()}
        try:
            run(sample, copies, kept)
        except AssertionError:
            raise
        except Exception as e:
            assert "INTERNAL ASSERT" not in str(e)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", [s for s in SAMPLES if "float32" in s.dtypes], ids=str)
def test_arrays_that_were_replaced_since_raise_or_are_read(sample):
    for backward in replaced(sample, numeric(sample.arrays("float32"))):
        try:
            backward()
        except Exception as e:
            assert "INTERNAL ASSERT" not in str(e)
