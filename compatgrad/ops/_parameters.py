"""What ops' parameters mean: those that mean the same in every op are told once, here."""

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
    "index": "what stands in x[...]",
}
_SAME = {
    "abs": "order elements by their absolute values",
    "align_corners": "the first and the last pixel's centre keep their places; else the image's outer edges do",
    "axis": "the axis, or the axes, over which the op works; a negative one counts from the end",
    "base_axis": "the first axis of a sample; the axes before it count samples",
    "cover_all": "windows that reach beyond the end count too, so that every element is in one",
    "dilate": "distance between the elements of a filter, for each axis; () is 1",
    "eps": "what is added to a variance, so that nothing is divided by 0",
    "groups": "groups of channels, each of which the op treats by itself",
    "insize": "the sizes of the images, without batch and channels",
    "keepdims": "keep the axes that are reduced, with length 1",
    "ksize": "the size of a window, for each axis; one number stands for all",
    "mode": "how what lies between or beyond the pixels is found",
    "only_index": "give the positions alone, as int64",
    "output_size": "rows and columns of the maps that regions become",
    "outsize": "the sizes of the result's axes after the first two; None: as many windows as fit",
    "pad": "elements that are taken to lie before and after each axis; () is 0",
    "rng": "the state of a generator, as `compatgrad.nnabla.random.new_generator()` makes it; it moves on",
    "shape": "the shape of the result",
    "size": "the sizes of the axes that the op makes, without batch and channels",
    "ste_fine_grained": "the gradient is 0 where the result does not follow x; else it is handed on everywhere",
    "stride": "steps between windows, for each axis; () is 1",
    "update": "write to the inputs that are memory; False for a forward pass that is repeated",
    "with_index": "give the positions too, as int64",
}
_POOLED = "steps between windows, for each axis; () is ksize"
_OWN = {
    ("batch_normalization", "eps"): "what is added to the variance",
    ("batch_normalization", "running_mean"): "tensor of gamma's shape that is updated in place",
    ("batch_normalization", "running_var"): "tensor of gamma's shape that is updated in place",
    ("binary_weights", "quantize_zero_to"): "the sign of 0",
    ("bit_shift", "direction"): '"LEFT" or "RIGHT"',
    ("celu", "alpha"): "as in elu_right",
    ("cholesky", "upper"): "give the upper triangle, else the lower one",
    ("crf_log_partition", "sizes"): "how many rows each step has: the sequences that last so long",
    ("crf_path", "sizes"): "as in crf_log_partition",
    ("crf_score", "sizes"): "as in crf_log_partition",
    ("ctc_loss", "blank"): "the class of no label",
    ("ctc_loss", "lowest"): "the logarithm of no probability, for losses of impossible labels; None: they are 0",
    ("ctc_loss", "reduce"): '"mean", or "no" for the losses of all samples',
    ("diagonal", "offset"): "how many columns to the right of the main diagonal",
    ("draw", "device"): 'where the result is made, as "cpu" or "cuda:0"',
    ("edges", "mode"): '"repeat" the element at the edge, "reflect" around it, or "symmetric": around its outer side',
    ("inq_weights", "num_bits"): "bits of a quantized weight",
    ("leaky_relu_grad", "is_result"): "x is the result of leaky_relu, not its input",
    ("matmul", "transa"): "exchange the last two axes of the first input",
    ("matmul", "transb"): "exchange the last two axes of the second input",
    ("max_pooling_at", "flat"): "as in max_pooling_grad",
    ("batch_normalization_late", "axis"): "the axis of channels",
    ("batch_normalization_late", "moving_mean"): "tensor of gamma's shape that is updated in place",
    ("batch_normalization_late", "moving_var"): "tensor of gamma's shape that is updated in place",
    ("batch_normalization_statistics", "batch_stat"): "by the statistics of x, else by the running ones",
    ("border_coordinate_grad", "size"): "as in border_coordinate",
    ("one_hot", "shape"): "the sizes of the axes that the positions are in",
    ("pad", "value"): "the number that is put around x",
    ("sample_grid", "axis"): "the grid's axis of coordinates, 1 or -1",
    ("sample_grid", "flow"): "the grid tells by how many pixels places move",
    ("sample_grid", "padding"): '"zero", or places come back to the nearest ("repeat") or by reflection ("reflect")',
    ("sample_grid", "rim"): "places are rounded as counted from a pixel before the image, where the gradient is 0",
    ("resize", "mode"): '"bilinear" or "nearest"',
    ("roi_align", "scale_x"): "factor of the boxes' x",
    ("roi_align", "scale_y"): "factor of the boxes' y",
    ("roi_max_align_grad", "insize"): "the shape of the images",
    ("roi_max_grad", "insize"): "the shape of the images",
    ("running_sum", "exclusive"): "without the element itself",
    ("running_sum", "reverse"): "from the end of the axis",
    ("scatter_nd", "add"): "add to what is there, else replace it",
    ("searchsorted", "right"): "behind equal elements, else before them",
    ("sigmoid_cross_entropy", "normalize"): "the mean is over the labels that are not -1, else over the batch",
    ("sigmoid_cross_entropy", "reduce"): '"mean", or "no" for the losses of all elements',
    ("softmax_cross_entropy", "reduce"): '"mean", or "no" for the losses of all labels',
    ("solve_triangular", "transpose"): "transpose a",
    ("sort", "reverse"): "largest first",
    ("top_k", "reduce"): "give k elements; else an array like x with the others set to 0",
    ("unique", "with_counts"): "give how often each occurs, too",
    ("unique", "with_index"): "give where each occurs first, too",
    ("unique", "with_inverse"): "give each element's place among the distinct ones, too",
    **{
        (op, "stride"): _POOLED
        for op in ("average_pooling", "max_pooling", "sum_pooling", "unpooling", "window_pooling")
    },
    **{(op, "stride"): _POOLED for op in ("max_pooling_at", "max_pooling_grad")},
    **{(op, "stride"): "samples between frames" for op in ("stft", "istft")},
}
# parameters that an op does not tell mean what they mean in another op, or in a function of a frontend
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
    """A line for each parameter of an op, from what `_C.op_info` says of it: its kind, and what the text leaves out."""
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
        Several lines. The inputs that are tensors stand before the slash of the signature.

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
