"""Layers on images: sampling along grids, pooling of regions, cropping."""

from __future__ import annotations

import torch

from compatgrad.core.kept_tensors import keep

from ..base import MXNetError
from ._arguments import as_ints, choice, pair, public_names, require_ndim, require_shape, required
from ._operator import op, operator
from ._regions import bins_of, check_regions, rounded
from .ndarray import NDArray


# ---- along a grid ----------------------------------------------------------------------------------------------------
@operator("data, grid", outputs="output, kept?")
def BilinearSampler(data, grid, cudnn_off=None):
    """Samples data (batch, channels, height, width) bilinearly at the places of grid (batch, 2, height', width').

    The grid holds x, then y; -1 and 1 are the centres of the outermost pixels, and 0 is read outside of the image.
    MXNetError if shapes do not fit.

    Args:
        data: floating point, shape (batch, channels, height, width).

    Example:
        >>> x = nd.array([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> nd.BilinearSampler(x, nd.zeros((1, 2, 1, 1))).asnumpy()
        array([[[[2.5]]]], dtype=float32)
    """
    name = "BilinearSampler"
    require_ndim(name, "data", data, 4)
    require_shape(name, "grid", grid.shape, (data.shape[0], 2, *(grid.shape[2:] if grid.ndim == 4 else (1, 1))))
    return op.sample_grid(data, grid, axis=1, nan=True)


@keep(64)
def _mesh(size: tuple[int, int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """The column and the row of each pixel, (2, height, width)."""
    rows, columns = torch.meshgrid(*[torch.arange(n, dtype=dtype, device=device) for n in size], indexing="ij")
    return torch.stack([columns, rows])


@operator("data")
def GridGenerator(data, transform_type=None, target_shape=(0, 0)):
    """A grid for `BilinearSampler`, (batch, 2, height, width).

    transform_type "affine": data (batch, 6) are matrices that map the target's coordinates, -1 ... 1, to the source's;
    target_shape is (height, width). "warp": data (batch, 2, height, width) is the offset of each pixel, in pixels.
    MXNetError otherwise.

    Args:
        data: six numbers of an affine map, shape (batch, 6), or a flow in pixels, shape (batch, 2, height, width).

    Returns:
        Where to read: x, then y, from -1 to 1; shape (batch, 2, height, width).

    Example:
        >>> same = nd.array([[1.0, 0, 0, 0, 1, 0]])
        >>> nd.GridGenerator(same, transform_type="affine", target_shape=(2, 3)).asnumpy()[0, 0]
        array([[-1.,  0.,  1.],
               [-1.,  0.,  1.]], dtype=float32)
    """
    name = "GridGenerator"
    choice(name, "transform_type", required(name, "transform_type", transform_type))
    if transform_type == "affine":
        require_shape(name, "data", data.shape, (data.shape[0], 6))
        size = pair(name, "target_shape", target_shape)
        grid = op.affine_grid(op.reshape(data, shape=(data.shape[0], 2, 3)), size=size, align_corners=True)
        return op.transpose(grid, axes=(0, 3, 1, 2))
    require_ndim(name, "data", data, 4)
    require_shape(name, "data", data.shape, (data.shape[0], 2, *data.shape[2:]))
    t = data.tensor
    size = torch.tensor(data.shape[:1:-1], dtype=t.dtype, device=t.device).reshape(2, 1, 1)
    place = op.add(data, NDArray(_mesh(tuple(data.shape[2:]), t.dtype, t.device)))
    # Rounded as in the original, because a place that rounding moves to the other side of a pixel has another gradient.
    return op.add_scalar(op.div(place, NDArray((size - 1).clamp(min=1) / 2)), value=-1)


@operator("data, loc", outputs="output, grid?, kept?")
def SpatialTransformer(
    data, loc, target_shape=(0, 0), transform_type="affine", sampler_type="bilinear", cudnn_off=None
):
    """Samples data (batch, channels, height, width) at the affine grids of loc (batch, 6), of size target_shape.

    MXNetError if shapes do not fit.

    Args:
        data: floating point, shape (batch, channels, height, width).

    Example:
        >>> x, same = nd.array([[[[1.0, 2.0], [3.0, 4.0]]]]), nd.array([[1.0, 0, 0, 0, 1, 0]])
        >>> options = {"target_shape": (2, 2), "transform_type": "affine", "sampler_type": "bilinear"}
        >>> nd.SpatialTransformer(x, same, **options).asnumpy()
        array([[[[1., 2.],
                 [3., 4.]]]], dtype=float32)
    """
    choice("SpatialTransformer", "transform_type", transform_type)
    choice("SpatialTransformer", "sampler_type", sampler_type)
    size = tuple(as_ints("SpatialTransformer", "target_shape", target_shape))
    grid = GridGenerator.body(loc, "affine", size if any(size) else tuple(data.shape[2:]))
    return BilinearSampler.body(data, grid)


# ---- regions ---------------------------------------------------------------------------------------------------------
@operator("data, rois")
def ROIPooling(data, rois, pooled_size=None, spatial_scale=None):
    """Maxima of pooled_size (height, width) bins of regions of images: (regions, channels, *pooled_size).

    data: (batch, channels, height, width); rois: (regions, 5), each the number of an image, x1, y1, x2, y2, with both
    corners inside, times `spatial_scale`. Empty bins, and regions with a negative number of the image, give 0. Regions
    get no gradient.
    MXNetError if shapes do not fit.

    Args:
        data: floating point, shape (batch, channels, height, width).

    Example:
        >>> x = nd.arange(16).reshape((1, 1, 4, 4))
        >>> nd.ROIPooling(x, nd.array([[0, 0, 0, 3, 3]]), pooled_size=(2, 2), spatial_scale=1.0).asnumpy()
        array([[[[ 5.,  7.],
                 [13., 15.]]]], dtype=float32)
    """
    name = "ROIPooling"
    images = check_regions(name, data, rois)
    out = pair(name, "pooled_size", pooled_size)
    required(name, "spatial_scale", spatial_scale)
    left, top, right, bottom = rounded(rois.tensor[:, 1:] * spatial_scale).to(torch.float32).unbind(1)
    rows = bins_of(top, (bottom - top + 1).clamp(min=1), out[0])
    columns = bins_of(left, (right - left + 1).clamp(min=1), out[1])
    bins = torch.cat([images[:, None], *rows, *columns], 1).to(torch.int64)
    return op.roi_max(data, NDArray(bins), output_size=out)[0]


@operator("*data")
def Crop(data, num_args=None, offset=(0, 0), h_w=(0, 0), center_crop=False):
    """A part of an image (batch, channels, height, width) in size h_w, or in that of a second image.

    The part begins at `offset`, or lies in the middle with `center_crop`. MXNetError if it does not fit.

    Args:
        data: one array, or two (the second determines height and width), of shape (batch, channels, height, width).
        offset: the first row and column.

    Example:
        >>> nd.Crop(nd.arange(9).reshape((1, 1, 3, 3)), h_w=(1, 2), offset=(1, 1)).asnumpy()
        array([[[[4., 5.]]]], dtype=float32)
    """
    if len(data) not in (1, 2):
        raise MXNetError(f"Crop: expected one or two images, got {len(data)}")
    require_ndim("Crop", "data", data[0], 4)
    size = tuple(data[1].shape[2:]) if len(data) == 2 else pair("Crop", "h_w", h_w)
    whole = data[0].shape[2:]
    start = tuple((n - m) // 2 for n, m in zip(whole, size, strict=True)) if center_crop else tuple(offset)
    if any(a < 0 or a + m > n for a, m, n in zip(start, size, whole, strict=True)):
        raise MXNetError(f"Crop: a part of size {size} at {start} exceeds data of shape {data[0].shape}")
    rows, columns = (slice(a, a + m) for a, m in zip(start, size, strict=True))
    return op.copy(op.get_item(data[0], index=(slice(None), slice(None), rows, columns)))


__all__ = public_names(globals())
