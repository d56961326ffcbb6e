"""Benchmarks of kernels that read images in regions, windows and positions, for `tests.benchmarks.kernels`."""

from __future__ import annotations

from collections.abc import Callable

import torch

from compatgrad import _C

HEIGHT, WIDTH, REGIONS, BINS = 38, 50, 128, 7  # the feature map of a detector
OUT = REGIONS * BINS * BINS


def regions(name: str, kind: str, grad: bool = False):
    """Pools 128 regions of an image with as many channels as give about `elements` results."""

    def make(elements: int, device: str):
        channels = max(1, elements // OUT)
        generator = torch.Generator().manual_seed(0)
        low = torch.rand(REGIONS, 2, generator=generator) * torch.tensor([WIDTH, HEIGHT]) * 0.6
        high = low + torch.rand(REGIONS, 2, generator=generator) * torch.tensor([WIDTH, HEIGHT]) * 0.4 + 1
        boxes = torch.cat([torch.zeros(REGIONS, 1), low, high], 1).to(device)
        images = torch.zeros(REGIONS, dtype=torch.int32, device=device)
        tables, ranges = [], []
        for length, column in ((HEIGHT, 2), (WIDTH, 1)):
            weights = torch.empty(REGIONS, BINS, length, device=device)
            found = torch.empty(REGIONS, BINS, 2, dtype=torch.int32, device=device)
            _C.run_kernel("region_weights", [weights, found, boxes], (1.0,), (REGIONS, BINS, length, 2, column))
            tables += [weights, found]
            ranges.append(found)
        x = torch.randn(1, channels, HEIGHT, WIDTH, device=device)
        y = torch.randn(REGIONS, channels, BINS, BINS, device=device)
        places = torch.empty(y.shape, dtype=torch.int32, device=device)
        sizes = [REGIONS, 1, channels, HEIGHT, WIDTH, BINS, BINS, 1, 1, int(device == "cpu")]
        numbers: tuple[float, ...] = ()
        moved = 4 * channels * (HEIGHT * WIDTH + OUT)
        if kind == "sums":
            operands = [y, x, images, *tables]
        else:
            moved += 4 * channels * OUT
            given = ranges if kind == "region" else [boxes.double()]
            if kind == "sample":
                numbers, sizes = (1.0, 1.0), [*sizes, 2, 2]
            _C.run_kernel(f"{kind}_maxima", [y, places, x, images, *given], (*numbers, 0.0), sizes)
            operands = [y, places, x, images, *given]
            if name.endswith("maxima"):
                numbers = (*numbers, 0.0)

        def kernel():
            _C.run_kernel(name, operands, numbers, sizes)

        return kernel, None, moved, moved

    return make


def windows(name: str, ksize: int, stride: int, aten: Callable | None):
    """Windows of an image with about `elements` pixels. aten: a function of the image, the windows and their sizes."""

    def make(elements: int, device: str):
        side = 64
        planes = max(1, elements // (side * side))
        size = (side - ksize) // stride + 1
        x = torch.randn(planes, 1, side, side, device=device)
        y = torch.randn(planes, 1, size, size, device=device)
        places = torch.randint(0, ksize * ksize, y.shape, dtype=torch.int32, device=device)
        geometry = [1, side, side, 1, size, size, 1, ksize, ksize, 1, stride, stride, 0, 0, 0]
        sizes = [planes, *geometry, int(device == "cpu")]
        spreads, placed = name in ("window_spread", "window_scatter"), name in ("window_scatter", "window_picks")
        operands = [x, y] if spreads else [y, x]
        if placed:
            operands.append(places)

        def kernel():
            _C.run_kernel(name, operands, () if placed else (1.0,), sizes)

        moved = 4 * (x.numel() + y.numel() * (2 if placed else 1))
        return kernel, None if aten is None else lambda: aten(x, y, ksize, stride), moved, moved

    return make


def deformed(name: str):
    """About `elements` columns (im2col) of a deformable 3 x 3 kernel on an image of 38 x 50 pixels."""

    def make(elements: int, device: str):
        taps, places = 9, HEIGHT * WIDTH
        channels = max(1, elements // (taps * places))
        x = torch.randn(1, channels, HEIGHT, WIDTH, device=device)
        columns = torch.randn(1, channels * taps, HEIGHT, WIDTH, device=device)
        offset = torch.randn(1, taps * 2, HEIGHT, WIDTH, device=device)
        factors = torch.rand(1, taps, HEIGHT, WIDTH, device=device)
        on_cpu = int(device == "cpu")
        together = 8 if not on_cpu else 16 if name == "deform_columns_grad" else channels
        orders = [2, 1, 2, 0, 0] if name == "deform_factors_grad" else [1, 0, 0, 0, 0]
        sizes = [1, channels, HEIGHT, WIDTH, 1, 3, 3, HEIGHT, WIDTH, 1, 1, 1, 1, 1, 1, 0, *orders, together, on_cpu]
        if name == "deform_columns":
            operands = [columns, x, offset, factors]
        elif name == "deform_columns_grad":
            operands = [x, columns, offset, factors]
        else:
            operands = [torch.empty_like(offset), columns, x, offset]

        def kernel():
            _C.run_kernel(name, operands, (), sizes)

        moved = 4 * (x.numel() + columns.numel() + offset.numel() + operands[-1].numel())
        index = torch.randint(0, places, (1, 1, taps * places), device=device).expand(1, channels, -1)

        def aten():  # reads one of the four pixels around each position, without weights
            flat, many = x.view(1, channels, -1), columns.view(1, channels, -1)
            if name == "deform_columns_grad":
                return torch.zeros_like(flat).scatter_add_(2, index, many)
            return torch.gather(flat, 2, index)

        return kernel, aten, moved, 4 * moved

    return make


def pool_backward(x, y, ksize, stride):
    return torch.ops.aten.avg_pool2d_backward(y, x, [ksize] * 2, [stride] * 2, [0, 0], False, True, 1)


def pool(x, y, ksize, stride):
    return torch.ops.aten.avg_pool2d(x, [ksize] * 2, [stride] * 2, [0, 0], False, True, 1)


KERNELS: dict[str, Callable] = {
    "region_sums": regions("region_sums", "sums"),
    "region_sums_grad": regions("region_sums_grad", "sums"),
    **{f"{kind}_{what}": regions(f"{kind}_{what}", kind)
       for kind in ("region", "sample") for what in ("maxima", "picks", "picks_grad")},
    "window_spread, 2 by 2": windows("window_spread", 2, 2, pool_backward),
    "window_spread, 3 by 2": windows("window_spread", 3, 2, pool_backward),
    "window_sums, 2 by 2": windows("window_sums", 2, 2, pool),
    "window_sums, 3 by 2": windows("window_sums", 3, 2, pool),
    "window_scatter, 2 by 2": windows("window_scatter", 2, 2, None),
    "window_picks, 2 by 2": windows("window_picks", 2, 2, None),
    "deform_columns": deformed("deform_columns"),
    "deform_columns_grad": deformed("deform_columns_grad"),
    "deform_factors_grad": deformed("deform_factors_grad"),
}  # fmt: skip
