"""Descriptions of ops' parameters; a parameter with the same meaning in every op is described once, here."""

from __future__ import annotations

import re
from typing import Any

from compatgrad import _C
from compatgrad.core.signatures import signature_of

__all__ = ["describe", "parameters_of"]

_KINDS = {
    "ints": "int or tuple of ints",
    "ints?": "int, tuple of ints or None",
    "int": "int",
    "int?": "int or None",
    "float": "float",
    "float?": "float or None",
    "bool": "bool",
    "str": "str",
    "scalar": "number",
    "tensor": "tensor",
    "tensor?": "tensor or None",
    "dtype": "dtype of torch or NumPy",
    "index": "an index expression, as in x[...]",
}
_SAME = {
    "abs": "order elements by their absolute values",
    "align_corners": "the centres of the corner pixels keep their places; else the image's outer edges do",
    "axis": "the axis, or the axes, along which the op works; a negative one counts from the end",
    "base_axis": "the first axis of a sample; the axes before it number the samples",
    "cover_all": "use windows that reach beyond the end, too, so that every element is in a window",
    "dilate": "distance between the elements of a filter, for each axis; () means 1",
    "eps": "a small number that is added to avoid a division by 0",
    "groups": "the number of groups of channels, which the op processes separately",
    "insize": "the sizes of the images, without batch and channels",
    "keepdims": "keep the axes that are reduced, with length 1",
    "ksize": "the size of a window, for each axis; one number is used for all",
    "mode": "the method of interpolation, or of filling beyond the border",
    "only_index": "return only the positions, as int64",
    "output_size": "rows and columns of a region's map",
    "outsize": "the sizes of the result's axes after the first two; None: as many windows as fit",
    "pad": "padding before and after each axis; () means 0",
    "rng": "the state of a generator, made by `compatgrad.nnabla.random.new_generator()`; it is advanced",
    "shape": "the shape of the result",
    "size": "the sizes of the result's axes, without batch and channels",
    "ste_fine_grained": "the gradient is 0 where the result is limited; else it is passed on everywhere",
    "stride": "steps between windows, for each axis; () means 1",
    "update": "update the inputs that store states; False for a forward pass that is repeated",
    "with_index": "also return the positions, as int64",
}
_POOLED = "steps between windows, for each axis; () means ksize"
_OWN = {
    ("batch_normalization", "eps"): "a number that is added to the variance",
    ("batch_normalization", "running_mean"): "tensor of gamma's shape that is updated in place",
    ("batch_normalization", "running_var"): "tensor of gamma's shape that is updated in place",
    ("binary_weights", "quantize_zero_to"): "the sign of 0",
    ("bit_shift", "direction"): '"LEFT" or "RIGHT"',
    ("celu", "alpha"): "as in elu_right",
    ("cholesky", "upper"): "return the upper triangle, else the lower one",
    ("crf_log_partition", "sizes"): "how many rows each step has, i.e. how many sequences have this step",
    ("crf_path", "sizes"): "as in crf_log_partition",
    ("crf_score", "sizes"): "as in crf_log_partition",
    ("ctc_loss", "blank"): "the class that means no label",
    ("ctc_loss", "lowest"): "the number for log(0) in losses of impossible labels; None: these losses are 0",
    ("ctc_loss", "reduce"): '"mean", or "no" for the losses of all samples',
    ("diagonal", "offset"): "how many columns to the right of the main diagonal",
    ("draw", "device"): 'the device of the result, such as "cpu" or "cuda:0"',
    ("edges", "mode"): '"repeat" the element at the edge, "reflect" at its centre, or "symmetric": at its outer side',
    ("inq_weights", "num_bits"): "the number of bits of a quantized weight",
    ("leaky_relu_grad", "is_result"): "x is the result of leaky_relu, not its input",
    ("matmul", "transa"): "exchange the last two axes of the first input",
    ("matmul", "transb"): "exchange the last two axes of the second input",
    ("max_pooling_at", "flat"): "as in max_pooling_grad",
    ("batch_normalization_late", "axis"): "the axis of channels",
    ("batch_normalization_late", "moving_mean"): "tensor of gamma's shape that is updated in place",
    ("batch_normalization_late", "moving_var"): "tensor of gamma's shape that is updated in place",
    ("batch_normalization_statistics", "batch_stat"): "use the statistics of x, else the running ones",
    ("border_coordinate_grad", "size"): "as in border_coordinate",
    ("partial_argsort", "reverse"): "largest first",
    ("one_hot", "shape"): "the sizes of the axes that the positions refer to",
    ("pad", "value"): "the number with which x is padded",
    ("sample_grid", "axis"): "the grid's axis of coordinates, 1 or -1",
    ("sample_grid", "flow"): "the grid says by how many pixels positions are shifted",
    ("sample_grid", "padding"): '"zero", or positions are limited to the border ("repeat") or reflected ("reflect")',
    ("sample_grid", "rim"): "positions are rounded as counted from a pixel before the image, whose gradient is 0",
    ("resize", "mode"): '"bilinear" or "nearest"',
    ("roi_align", "scale_x"): "factor of the boxes' x",
    ("roi_align", "scale_y"): "factor of the boxes' y",
    ("roi_max_align_grad", "insize"): "the shape of the images",
    ("roi_max_grad", "insize"): "the shape of the images",
    ("running_sum", "exclusive"): "without the element itself",
    ("running_sum", "reverse"): "sum from the end of the axis",
    ("scatter_nd", "add"): "add to the old values, else replace them",
    ("searchsorted", "right"): "insert after equal elements, else before them",
    ("sigmoid_cross_entropy", "normalize"): "the mean is over the labels that are not -1, else over the batch",
    ("sigmoid_cross_entropy", "reduce"): '"mean", or "no" for the losses of all elements',
    ("softmax_cross_entropy", "reduce"): '"mean", or "no" for the losses of all labels',
    ("solve_triangular", "transpose"): "transpose a",
    ("sort", "reverse"): "largest first",
    ("top_k", "reduce"): "return k elements; else an array like x with the others set to 0",
    ("unique", "with_counts"): "also return how often each occurs",
    ("unique", "with_index"): "also return where each occurs first",
    ("unique", "with_inverse"): "also return each element's index among the distinct ones",
    **{
        (op, "stride"): _POOLED
        for op in ("average_pooling", "max_pooling", "sum_pooling", "unpooling", "window_pooling")
    },
    **{(op, "stride"): _POOLED for op in ("max_pooling_at", "max_pooling_grad")},
    **{(op, "stride"): "samples between frames" for op in ("stft", "istft")},
}
# parameters that an op's text does not describe have the meaning that they have in this op or function of a frontend
_AS = {
    "deform_columns_grad": "deform_columns",
    "deform_factors_grad": "deform_columns",
    "gelu_grad": "gelu",
    "image_augmentation": "nnabla.functions.image_augmentation",
    "min_max_quantize": "nnabla.functions.min_max_quantize",
    "istft": "nnabla.functions.istft",
    "nms_detection2d": "nnabla.functions.nms_detection2d",
    "onnx_non_max_suppression": "nnabla.functions.onnx_non_max_suppression",
    "spectral_norm": "nnabla.functions.spectral_norm",
    "stft": "nnabla.functions.stft",
    "pad_packed_sequence": "pack_padded_sequence",
    "random_choice": "nnabla.functions.random_choice",
    "random_erase": "nnabla.functions.random_erase",
    "random_shift": "nnabla.functions.random_shift",
    "roi_max": "roi_align",
    "roi_max_at": "roi_align",
    "roi_max_align": "roi_align",
    "roi_max_align_at": "roi_align",
    "roi_max_align_grad": "roi_align",
    "roi_max_grad": "roi_align",
}


def _meaning(op: str, name: str) -> str | None:
    if (op, name) in _OWN:
        return _OWN[op, name]
    base = op.partition("_grad")[0]
    for other in (base if base != op else "", _AS.get(op, "")):
        if "." in other and name not in _SAME:
            return f"as in {other}"
        if other in _C.op_names() and any(name == p[0] for p in _C.op_info(other)["params"]):
            return f"as in {other}"
    return _SAME.get(name)


def parameters_of(info: dict[str, Any]) -> list[str]:
    """A line for each parameter of an op from `_C.op_info`: its type, and its meaning if the op's text does not give
    it."""
    lines = []
    for name, kind, _ in info["params"]:
        told = re.search(rf"\b{name}\b", info["doc"]) and (info["name"], name) not in _OWN
        meaning = None if told else _meaning(info["name"], name)
        lines.append(f"{name}: {_KINDS[kind]}" + (f"; {meaning}" if meaning else ""))
    return lines


def describe(name: str) -> str:
    """The op's signature, what it computes and what its parameters mean, as text.

    Args:
        name: the name of an op, one of `compatgrad.ops.__all__`.

    Returns:
        Several lines. In the signature, tensor inputs are before the slash.

    Raises:
        ValueError: there is no op `name`.

    Example:
        >>> import compatgrad
        >>> print(compatgrad.ops.describe("sum"))
        sum(x0, /, axis=None, keepdims=False)
            Sum over axis (None: all).
            axis: int, tuple of ints or None
            keepdims: bool; keep the axes that are reduced, with length 1

    Source: `compatgrad/ops/_parameters.py`; the ops themselves are in `csrc/ops`.
    """
    op = _C.op(name)
    info = _C.op_info(name)
    return "\n    ".join([f"{name}{signature_of(op)}", info["doc"], *parameters_of(info)])
