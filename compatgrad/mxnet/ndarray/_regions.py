"""Regions of images (`rois`) for operators that pool them: checks, rounding, bins."""

from __future__ import annotations

import torch

from ..base import MXNetError
from ._arguments import require_ndim, require_shape
from .ndarray import NDArray

__all__ = ["bins_of", "check_regions", "rounded"]


def check_regions(name: str, data: NDArray, rois: NDArray) -> torch.Tensor:
    """The number of each region's image; a negative one stands for no image. MXNetError if shapes do not fit."""
    require_ndim(name, "data", data, 4)
    require_ndim(name, "rois", rois, 2)
    require_shape(name, "rois", rois.shape, (rois.shape[0], 5))
    images = rois.tensor[:, 0].to(torch.int64)
    if images.numel() and int(images.max()) >= data.shape[0]:
        raise MXNetError(f"{name}: rois: image {int(images.max())} does not exist, data has {data.shape[0]}")
    return images


def rounded(x: torch.Tensor) -> torch.Tensor:
    """Rounds to whole numbers, halves away from 0."""
    return torch.sign(x) * torch.floor(x.abs() + 0.5)


def bins_of(start: torch.Tensor, length: torch.Tensor, out: int) -> list[torch.Tensor]:
    """For each region: the first pixel of each of `out` bins, and the pixel after its last one."""
    width, places = (length / out)[:, None], torch.arange(out, device=start.device)
    start = start[:, None]
    return [torch.floor(places * width + start), torch.ceil((places + 1) * width + start)]
