"""Base classes and shared code of the pooling of regions of interest."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING

from compatgrad.chainer import backend
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _composed, _spatial
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable

_OPS = ("roi_align", "roi_max_align", "roi_average", "roi_max")
_functions = {op: frontend.bind(op, dtype="any") for op in _OPS}
_gradients = {op: frontend.bind(f"{op}_grad", dtype="any") for op in _OPS}


class Regions(_composed.ComposedFunction):
    """Base class: a subclass defines the `op`, and `regions` and `params`, which are the op's arguments. Regions get no
    gradient.
    """

    empty = None  # value of an empty bin; None where the op computes means
    argmax_data = None  # positions of the maxima

    def regions(self, x: Variable, *rois: Variable) -> NdArray:
        """The regions in one array, in the op's format."""
        raise NotImplementedError

    @property
    def params(self):
        return {"output_size": (self.outh, self.outw)}

    def compose(self, x: Variable, *rois: Variable) -> Variable:
        regions = self.regions(x, *rois)
        if self.empty is None:
            return _functions[self.op](x, regions, **self.params)
        y, places = _functions[self.op](x, regions, empty=self.empty, **self.params)
        self.argmax_data = places.array
        return y

    def backward(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Variable | None, ...]
    ) -> tuple[Variable | None, ...]:
        inputs = self.get_retained_inputs()
        places = () if self.empty is None else (self.argmax_data,)
        gx = _composed.unobserved(
            lambda: _gradients[self.op](
                *grad_outputs, self.regions(*inputs), *places, insize=inputs[0].shape, **self.params
            )
        )
        return tuple(None if i else gx for i in target_input_indexes)


class ROIFunction(Regions, _composed.CallableFunction):
    """A function of images (N, C, H, W), regions (R, 4) as top, left, bottom, right, and each region's image
    (R,).
    """

    def __init__(self, outsize: IntOrInts, spatial_scale: float) -> None:
        super().__init__()
        outh, outw = _spatial.pair(outsize)
        for i, n in enumerate((outh, outw)):
            if not (isinstance(n, numbers.Integral) and n > 0):
                raise TypeError(f"outsize[{i}] must be positive integer: {type(n)}, {n}")
        if isinstance(spatial_scale, numbers.Integral):
            spatial_scale = float(spatial_scale)
        if not (isinstance(spatial_scale, numbers.Real) and spatial_scale > 0):
            raise TypeError(f"spatial_scale must be a positive float number: {type(spatial_scale)}, {spatial_scale}")
        self.outh, self.outw = int(outh), int(outw)
        self.spatial_scale = spatial_scale

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 3)
        x, rois, indices = in_types
        type_check.expect(
            x.dtype.kind == "f",
            x.ndim == 4,
            x.dtype == rois.dtype,
            rois.ndim == 2,
            rois.shape[1] == 4,
            indices.dtype == "int32",
            indices.ndim == 1,
            rois.shape[0] == indices.shape[0],
        )

    def regions(self, x: VariableOrArray, rois: VariableOrArray, indices: Variable) -> NdArray:
        """The regions as bins with integer bounds, for the ops that pool whole pixels."""
        edges = pixels(rois.array, self.spatial_scale)
        top, left, bottom, right = edges.T
        return bins(
            images(x, indices.array),
            integer_bins(top, bottom - top, self.outh, x.shape[2]),
            integer_bins(left, right - left, self.outw, x.shape[3]),
        )


class ROIAlign(ROIFunction):
    """Samples the images between pixels, at `sampling_ratio` points of each bin along each axis; None: as many points
    as the bin has pixels.
    """

    def __init__(self, outsize: IntOrInts, spatial_scale: float, sampling_ratio: IntOrInts | None = None) -> None:
        super().__init__(outsize, spatial_scale)
        sampling_ratio = _spatial.pair(sampling_ratio)
        if not all([s is None or (isinstance(s, numbers.Integral) and s >= 1) for s in sampling_ratio]):
            raise TypeError(f"sampling_ratio must be integer >= 1 or a pair of it: {sampling_ratio}")
        self.sampling_ratio = sampling_ratio

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        super().check_type_forward(in_types)
        type_check.expect(in_types[0].dtype == "float32")

    def regions(self, x: VariableOrArray, rois: VariableOrArray, indices: Variable) -> NdArray:
        """Rows of image, left, top, right and bottom in pixels, at least one pixel wide and high, for the ops on boxes,
        which put the centre of pixel i at i + 0.5.
        """
        xp = x.xp
        edges = rois.array.astype("float64") * self.spatial_scale
        if None in self.sampling_ratio:
            check_finite(edges)
        first, last = edges[:, 1::-1], edges[:, :1:-1]
        last = xp.maximum(last, first + 1)
        return xp.concatenate([images(x, indices.array)[:, None], first + 0.5, last + 0.5], axis=1)

    @property
    def params(self):
        rows, columns = (s or -1 for s in self.sampling_ratio)
        return {**super().params, "sampling_ratio": rows, "sampling_ratio_x": columns}


def check_finite(edges: NdArray) -> None:
    """Raises where an edge of a region cannot be a number of pixels: ValueError for NaN, OverflowError for infinity."""
    xp = backend.get_array_module(edges)
    if not xp.isfinite(edges).all():
        if xp.isnan(edges).any():
            raise ValueError("the edges of a region must be finite: one is NaN")
        raise OverflowError("the edges of a region must be finite: one is infinite")


def pixels(rois: NdArray, spatial_scale: float) -> NdArray:
    """Edges of regions in whole pixels, within 32 bits."""
    edges = (rois.astype("float64") * spatial_scale).round()
    check_finite(edges)
    return edges.clip(-(2**31), 2**31 - 1).astype(int)


def images(x: Variable, indices: NdArray) -> NdArray:
    """The index of each region's image, with negative ones counted from the end. Raises IndexError if one is out of
    range."""
    n = len(x)
    if not ((indices >= -n) & (indices < n)).all():
        raise IndexError(f"the image index of a region is out of range for {n} images")
    return indices % n if n else indices


def bins(images: NdArray, rows: tuple[NdArray, NdArray], columns: tuple[NdArray, NdArray]) -> NdArray:
    """One array of the image indices and of the bins' bounds (R, out) along both axes."""
    xp = backend.get_array_module(images)
    return xp.concatenate([images[:, None], *rows, *columns], axis=1)


def integer_bins(start: NdArray, length: NdArray, out: int, size: int) -> tuple[NdArray, NdArray]:
    """Bounds, (R, out) each, of the `out` bins of each region along an axis of `size` pixels: first pixel, and last
    pixel + 1.
    """
    xp = backend.get_array_module(start)
    stride = xp.maximum(length, 1)[:, None] / out
    places = xp.arange(out)
    first = xp.floor(places * stride).astype(int) + start[:, None]
    stop = xp.ceil((places + 1) * stride).astype(int) + start[:, None]
    return xp.clip(first, 0, size), xp.clip(stop, 0, size)
