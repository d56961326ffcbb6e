"""Every kernel against the same computation by torch's own operations in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn.functional import grid_sample

import compatgrad
from compatgrad import _C
from compatgrad.core import Variable

Tensor = torch.Tensor
_DTYPES = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-5, torch.float64: 1e-12}
_SIGNS = ("lion", "mx_signum")  # rules that take the sign of a sum, which may round to the other side of zero


class Wrong(Exception):
    """A kernel computed something else than its reference."""


def _compare(kernel: str, found: Tensor, expected: Tensor, tolerance: float, allowed: int = 0) -> None:
    found, expected = found.detach().double().cpu().reshape(-1), expected.detach().double().cpu().reshape(-1)
    wrong = ~torch.isclose(found, expected, rtol=tolerance, atol=tolerance)
    if int(wrong.sum()) > allowed:
        k = int(torch.where(wrong, (found - expected).abs().nan_to_num(torch.inf), -1).argmax())
        raise Wrong(
            f"{kernel}: {int(wrong.sum())} of {len(found)} numbers differ; number {k} is {found[k].item()!r}, expected "
            f"{expected[k].item()!r} within {tolerance}"
        )


def rules(device: str) -> list[str]:
    """The update rules of optimizers, which torch's operations evaluate where tensors have gaps."""
    names = _C.optim_rules()
    for rule, (states, hypers) in names.items():
        numbers = tuple(sorted((0.2 + 0.3 * torch.rand(hypers, dtype=torch.float64)).tolist()))
        for dtype, tolerance in _DTYPES.items():
            values = [torch.randn(1003), torch.randn(1003), *(2 - k / 2 + torch.rand(1003) for k in range(states))]
            found = [v.to(dtype).to(device) for v in values]
            exact = [torch.stack([v.to(dtype).double()] * 2, -1)[..., 0] for v in values]
            _C.optim_step(rule, [exact[0]], [exact[1]], [exact[2:]], numbers)
            _C.run_kernel(rule, [[t] for t in found], numbers)
            for got, right in zip(found, exact, strict=True):
                _compare(f"{rule}, {dtype}", got, right, tolerance, 1 if rule in _SIGNS else 0)
    return list(names)


def sums(device: str) -> list[str]:
    for dtype, tolerance in _DTYPES.items():
        xs = [torch.randn(1003).to(dtype).to(device) for _ in range(8)]
        wide = [x.double() for x in xs]
        for n in (1, 2, 5, 8):
            y = torch.empty_like(xs[0])
            _C.run_kernel("sum_n", [y, *xs[:n]], (0.5,))
            _compare(f"sum_n of {n}, {dtype}", y, sum(wide[:n], torch.zeros_like(wide[0])) * 0.5, tolerance * 8)
        squares = torch.stack([x.square().sum() for x in wide])
        _compare(f"sum_of_squares, {dtype}", _C.run_kernel("sum_of_squares", [xs], sums=True), squares, 1e-5)
        factor = torch.tensor([0.375], dtype=torch.float64, device=device)
        if device != "cpu":
            torch.cuda.synchronize()
        y = xs[0].clone()
        _C.run_kernel("scale_by", [[y]], (), (factor.data_ptr(),))
        _compare(f"scale_by, {dtype}", y, wide[0] * 0.375, tolerance)
        xs[1][[3, 700]] = torch.inf
        xs[2][1002] = torch.nan
        bad = torch.tensor([0, 2, 1, 0, 0, 0, 0, 0])
        _compare(f"count_not_finite, {dtype}", _C.run_kernel("count_not_finite", [xs], sums=True), bad, 0)
    # the norms of gradients after 0.5 times the parameter has been added: the kernel calls weight decay 2
    weights, gradients = [[torch.randn(1003, device=device) for _ in range(3)] for _ in range(2)]
    after = torch.stack(
        [(g.double() + 0.5 * w.double()).square().sum() for w, g in zip(weights, gradients, strict=True)]
    )
    found = _C.run_kernel("sum_of_squares_after", [gradients, weights], (2, 0.5, 0.0), sums=True)
    _compare("sum_of_squares_after", found, after, 1e-5)
    return ["sum_n", "sum_of_squares", "sum_of_squares_after", "scale_by", "count_not_finite"]


# ---- gates ----------------------------------------------------------------------------------------------------------

_s, _tanh = torch.sigmoid, torch.tanh


def _lstm(c: Tensor, a: Tensor, i: Tensor, f: Tensor, o: Tensor) -> tuple[Tensor, ...]:
    new = _tanh(a) * _s(i) + _s(f) * c
    return new, _s(o) * _tanh(new)


def _slstm(c: Tensor, d: Tensor, *gates: Tensor) -> tuple[Tensor, ...]:
    a, i, f, o, a2, i2, f2, o2 = gates
    new = _tanh(a) * _s(i) + _tanh(a2) * _s(i2) + _s(f) * c + _s(f2) * d
    return new, _s(o + o2) * _tanh(new)


def _tree(c: Tensor, d: Tensor, *gates: Tensor) -> tuple[Tensor, ...]:
    a, i, o, f, g = gates
    new = _tanh(a) * _s(i) + _s(f) * c + _s(g) * d
    return new, _s(o) * _tanh(new)


def _gru(h: Tensor, *gates: Tensor) -> tuple[Tensor, ...]:
    r, z, n, r2, z2, n2 = gates
    new = _tanh(n + _s(r + r2) * n2)
    return (new + _s(z + z2) * (h - new),)


# the cell's formula, how many numbers of a unit each input has, integers before the sizes
_CELLS: dict[str, tuple[Callable[..., tuple[Tensor, ...]], tuple[int, ...], tuple[int, ...]]] = {
    "lstm": (_lstm, (1, 4), ()),
    "slstm": (_slstm, (1, 1, 4, 4), ()),
    "tree_lstm": (_tree, (1, 1, 5), (2,)),
    "peephole_cell": (lambda c, a, i, f, o, p, q: (_tanh(a) * _s(i + p) + _s(f + q) * c, o * 1), (1, 4, 1, 1), ()),
    "peephole_output": (lambda c, o, p: (_s(o + p) * _tanh(c),), (1, 1, 1), ()),
    "gru": (_gru, (1, 3, 3), ()),
    "gru_reset": (lambda a, b, h: (_s(a + b) * h,), (1, 1, 1), ()),
    "gru_update": (lambda z, y, n, m, h: (_s(z + y) * _tanh(n + m) + (1 - _s(z + y)) * h,), (1,) * 5, ()),
    "mgu_reset": (lambda f, h: (_s(f) * h,), (1, 1), ()),
    "mgu_update": (lambda f, n, h: (_s(f) * _tanh(n) + (1 - _s(f)) * h,), (1, 1, 1), ()),
}


def gates(device: str) -> list[str]:
    """Cells of recurrent networks, their gradients, and the gradients of these."""
    for name, (cell, widths, leading) in _CELLS.items():
        for dtype, tolerance in _DTYPES.items():
            _gate(name, cell, widths, leading, dtype, tolerance, device)
    return [name + suffix for name in _CELLS for suffix in ("", "_grad", "_grad_grad")]


def _gate(
    name: str,
    cell: Callable[..., tuple[Tensor, ...]],
    widths: Sequence[int],
    leading: Sequence[int],
    dtype: torch.dtype,
    tolerance: float,
    device: str,
) -> None:
    rows, inner = 5, 37

    def draw(width: int) -> Tensor:
        return torch.randn(rows, width, inner).to(dtype).to(device)

    outputs = len(cell(*[torch.zeros(1)] * sum(widths)))
    xs, gys, ws = ([draw(w) for w in many] for many in (widths, [1] * outputs, widths))
    wide = [x.double().clone().requires_grad_() for x in xs]
    given = [g.double().clone().requires_grad_() for g in gys]
    ys = cell(*(x[:, k : k + 1] for x in wide for k in range(x.shape[1])))
    gxs = torch.autograd.grad(ys, wide, given, create_graph=True)
    again = torch.autograd.grad(gxs, [*wide, *given], [w.double() for w in ws], allow_unused=True)
    second = [torch.zeros_like(t) if g is None else g for g, t in zip(again, [*wide, *given], strict=True)]
    more: list[list[Tensor]] = [[], gys, [*gys, *ws]]
    for suffix, extra, expected in zip(("", "_grad", "_grad_grad"), more, (ys, gxs, second), strict=True):
        results = [torch.full(e.shape, torch.nan, dtype=dtype, device=device) for e in expected]
        _C.run_kernel(name + suffix, [*xs, *extra, *results], (), (*leading, rows, inner))
        for got, right in zip(results, expected, strict=True):
            _compare(f"{name}{suffix}, {dtype}", got, right, tolerance)


# ---- windows and regions of images ----------------------------------------------------------------------------------


def windows(device: str) -> list[str]:
    """Windows of 2 x 3 elements that overlap, in three images of 6 x 9."""
    sizes = [3, *(1, 6, 9), *(1, 5, 4), *(1, 2, 3), *(1, 1, 2), *(0, 0, 0), 0]
    for dtype, tolerance in _DTYPES.items():
        x, gy = torch.randn(3, 54).to(dtype).to(device), torch.randn(3, 20).to(dtype).to(device)
        image = x.double().reshape(3, 6, 9).requires_grad_()
        parts = image.unfold(1, 2, 1).unfold(2, 3, 2).reshape(3, 20, 6)
        places = torch.randint(0, 6, (3, 20), dtype=torch.int32, device=device)
        picks = parts.gather(2, places[..., None].long())[..., 0]
        for forward, backward, y, more, numbers in (
            ("window_sums", "window_spread", parts.sum(2) / 3, [], (3.0,)),
            ("window_picks", "window_scatter", picks, [places], ()),
        ):
            found, gx = torch.empty_like(gy), torch.empty_like(x)
            _C.run_kernel(forward, [found, x, *more], numbers, sizes)
            _compare(f"{forward}, {dtype}", found, y, tolerance * 4)
            _C.run_kernel(backward, [gx, gy, *more], numbers, sizes)
            (right,) = torch.autograd.grad(y, image, gy.double(), retain_graph=True)
            _compare(f"{backward}, {dtype}", gx, right, tolerance * 4)
    return ["window_sums", "window_spread", "window_picks", "window_scatter"]


def _at(image: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Bilinear samples of (channels, height, width) at places between pixels."""
    height, width = image.shape[1:]
    grid = torch.stack([columns * 2 / (width - 1) - 1, rows * 2 / (height - 1) - 1], -1)
    return grid_sample(image[None], grid[None], "bilinear", "zeros", align_corners=True)[0]


def _op(
    name: str,
    y: Tensor,
    gx: Tensor,
    x: Tensor,
    dtype: torch.dtype,
    device: str,
    *more: Tensor | Variable,
    **params: Any,
) -> Variable:
    """Runs an op and its gradient in a dtype, and compares both with what torch computed from `x`."""
    tolerance = _DTYPES[dtype] * 20
    leaf = Variable(x.detach().to(dtype).to(device))
    result: Any = getattr(compatgrad.ops, name)(leaf, *more, **params)
    first: Variable = result[0] if isinstance(result, tuple) else result
    _compare(f"{name}, {dtype}", first.tensor, y, tolerance)
    _compare(f"gradient of {name}, {dtype}", _gradient(first, leaf), gx, tolerance)
    return first


def _gradient(y: Variable, x: Variable) -> Tensor:
    (gradient,) = compatgrad.grad([y], [x], [Variable(torch.ones_like(y.tensor))])
    assert gradient is not None
    values: Tensor = gradient.tensor
    return values


def regions(device: str) -> list[str]:
    """Regions of images: means and maxima of samples, or of whole pixels."""
    x = torch.randn(2, 3, 8, 10, dtype=torch.float16).double().requires_grad_()
    boxes = torch.tensor([[0, 1.0, 1.5, 7.0, 6.5], [1, 2.0, 0.5, 9.0, 7.5]])
    aligned = []
    for image, x1, y1, x2, y2 in boxes.double().tolist():
        step = torch.arange(4, dtype=torch.float64)  # two bins with two samples each
        rows, columns = y1 - 0.5 + (step + 0.5) * (y2 - y1) / 4, x1 - 0.5 + (step + 0.5) * (x2 - x1) / 4
        samples = _at(x[int(image)], rows[:, None].expand(4, 4), columns[None].expand(4, 4))
        aligned.append(samples.reshape(3, 2, 2, 2, 2).transpose(2, 3).flatten(3))
    bins = torch.tensor([[0, 1, 3, 4, 7, 0, 5, 4, 9], [1, 0, 2, 3, 8, 2, 3, 6, 10]])
    whole = []
    for image, r1, r2, e1, e2, c1, c2, f1, f2 in bins.tolist():
        cut = [[x[image, :, r:e, c:f].flatten(1) for c, f in ((c1, f1), (c2, f2))] for r, e in ((r1, e1), (r2, e2))]
        whole.append(cut)
    means = torch.stack([torch.stack([torch.stack([p.mean(1) for p in row], 1) for row in cut], 1) for cut in whole])
    maxima = torch.stack([torch.stack([torch.stack([p.amax(1) for p in row], 1) for row in cut], 1) for cut in whole])
    both = torch.stack(aligned)
    for name, y, more, params in (
        ("roi_align", both.mean(-1), boxes, {"sampling_ratio": 2}),
        ("roi_max_align", both.amax(-1), boxes, {"sampling_ratio": 2, "empty": -100.0}),
        ("roi_average", means, bins, {}),
        ("roi_max", maxima, bins, {"empty": -100.0}),
    ):
        (gx,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
        for dtype in (torch.float32, torch.float64):
            given = more.to(dtype) if more is boxes else more
            _op(name, y, gx, x, dtype, device, given.to(device), output_size=(2, 2), **params)
    names = ("maxima", "picks", "picks_grad", "sums", "sums_grad", "weights")
    return [*(f"region_{n}" for n in names), *(f"sample_{n}" for n in names[:3])]


def deformed(device: str) -> list[str]:
    """Columns of a deformable convolution: the samples of a 2 x 2 window at places that an offset moves."""
    x = torch.randn(2, 3, 6, 7, dtype=torch.float16).double().requires_grad_()
    offset = torch.randint(-24, 24, (2, 8, 4, 5)) / 16.0
    factors = torch.rand(2, 4, 4, 5, dtype=torch.float16).double().requires_grad_()
    taps = []
    for t in range(4):
        rows = torch.arange(4.0)[:, None] + t // 2 + offset[:, 2 * t]
        columns = torch.arange(5.0) + t % 2 + offset[:, 2 * t + 1]
        samples = [_at(x[n], rows[n].double(), columns[n].double()) for n in range(2)]
        taps.append(torch.stack(samples) * factors[:, t, None])
    y = torch.stack(taps, 2).flatten(1, 2)
    gx, gf = torch.autograd.grad(y.sum(), (x, factors))
    for dtype in (torch.float32, torch.float64):
        scales = Variable(factors.detach().to(dtype).to(device))
        result = _op("deform_columns", y, gx, x, dtype, device, offset.to(dtype).to(device), scales, ksize=(2, 2))
        found = _gradient(result, scales)
        _compare(f"gradient of the factors of deform_columns, {dtype}", found, gf, _DTYPES[dtype] * 20)
    return ["deform_columns", "deform_columns_grad", "deform_factors_grad"]


FAMILIES: dict[str, Callable[[str], list[str]]] = {
    "update rules": rules,
    "sums": sums,
    "recurrent cells": gates,
    "windows": windows,
    "regions": regions,
    "deformable convolution": deformed,
}
