# Written by `make stubs` from the registry of ops; do not edit. Inputs that are tensors have no names.

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Literal, TypeAlias, overload

import numpy.typing as npt
import torch

from compatgrad import _C
from compatgrad.core.variable import Variable as _Variable
from compatgrad.ops._parameters import describe as describe

_Input: TypeAlias = _C.Variable | torch.Tensor | npt.NDArray[Any]
_Ints: TypeAlias = int | Sequence[int]
_DType: TypeAlias = torch.dtype | npt.DTypeLike
_Index: TypeAlias = (
    int
    | slice
    | EllipsisType
    | Sequence[int]
    | Sequence[bool]
    | torch.Tensor
    | npt.NDArray[Any]
    | _C.Variable
    | tuple[int | slice | EllipsisType | Sequence[int] | torch.Tensor | npt.NDArray[Any] | _C.Variable | None, ...]
    | None
)

__all__ = [
    "abs",
    "abs_or_nan",
    "abs_right",
    "absolute_error",
    "absolute_error_right",
    "add",
    "add_active",
    "add_along",
    "add_apart",
    "add_n",
    "add_scalar",
    "affine",
    "affine_grid",
    "affine_grid_grad",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "assign",
    "attention",
    "attention_grad",
    "average_pooling",
    "batch_normalization",
    "batch_normalization_grad",
    "batch_normalization_late",
    "batch_normalization_statistics",
    "binary_cross_entropy",
    "binary_sigmoid",
    "binary_tanh",
    "binary_weights",
    "bipartite_matching",
    "bit_shift",
    "bool_fill",
    "bool_gather",
    "bool_scatter",
    "border_coordinate",
    "border_coordinate_grad",
    "box_decode",
    "box_encode",
    "box_iou",
    "box_nms",
    "box_suppression",
    "broadcast_to",
    "cast",
    "categorical_cross_entropy",
    "cbrt",
    "ceil",
    "celu",
    "cholesky",
    "clip",
    "clip_between",
    "clip_grad_by_norm",
    "clip_grad_by_value",
    "clipped_relu",
    "col2im",
    "concat",
    "confusion_matrix",
    "conj",
    "constant_of",
    "convert",
    "convolution",
    "convolution_grad_w",
    "copy",
    "cos",
    "cosh",
    "crelu",
    "crf_log_partition",
    "crf_path",
    "crf_score",
    "ctc_loss",
    "cumprod",
    "cumsum",
    "deconvolution",
    "deform_columns",
    "deform_columns_grad",
    "deform_factors_grad",
    "depthwise_convolution",
    "depthwise_deconvolution",
    "describe",
    "det",
    "diagonal",
    "diagonal_grad",
    "digamma",
    "div",
    "div_scalar",
    "draw",
    "dropout",
    "dropout_apply",
    "dropout_drawn",
    "dropout_hashed",
    "dropout_mask",
    "edges",
    "eigen_symmetric",
    "einsum",
    "elu",
    "elu_grad",
    "elu_right",
    "embed",
    "embedding",
    "embedding_grad",
    "equal",
    "equal_scalar",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "extreme",
    "eye_like",
    "fix",
    "fixed_batch_normalization",
    "fixed_point_quantize",
    "flip",
    "floor",
    "fmod",
    "fourier_transform",
    "gamma",
    "gather",
    "gather_along",
    "gather_nd",
    "gelu",
    "gelu_grad",
    "get_item",
    "get_item_grad",
    "greater",
    "greater_equal",
    "greater_equal_scalar",
    "greater_scalar",
    "group_normalization",
    "group_normalization_grad",
    "gru",
    "gru_grad",
    "gru_reset",
    "gru_reset_grad",
    "gru_update",
    "gru_update_grad",
    "hard_sigmoid",
    "hard_sigmoid_closed",
    "hardtanh_grad",
    "huber_error",
    "huber_loss",
    "identity",
    "im2col",
    "image_augmentation",
    "inference_only",
    "inq_weights",
    "inverse",
    "inverse_root",
    "isinf",
    "isnan",
    "istft",
    "layer_normalization",
    "layer_normalization_grad",
    "leaky_relu",
    "leaky_relu_grad",
    "less",
    "less_equal",
    "less_equal_scalar",
    "less_scalar",
    "lgamma",
    "lgamma_infinite",
    "linear",
    "linear_scan",
    "local_response_normalization",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_abs_det",
    "log_ndtr",
    "log_sigmoid",
    "log_softmax",
    "log_softmax_grad",
    "logaddexp",
    "logical_and",
    "logical_and_scalar",
    "logical_not",
    "logical_or",
    "logical_or_scalar",
    "logical_xor",
    "logical_xor_scalar",
    "logistic_loss",
    "logsumexp",
    "loss_output",
    "lstm",
    "lstm_grad",
    "lstm_parts",
    "matmul",
    "max",
    "max_pooling",
    "max_pooling_at",
    "max_pooling_grad",
    "maximum",
    "maximum_last",
    "maximum_product",
    "maximum_scalar",
    "mean",
    "mean_absolute_error",
    "mean_squared_error",
    "mean_subtraction",
    "mgu_reset",
    "mgu_reset_grad",
    "mgu_update",
    "mgu_update_grad",
    "min",
    "min_max_quantize",
    "minimum",
    "minimum_last",
    "minimum_scalar",
    "mish",
    "mod",
    "mul",
    "mul_active",
    "mul_scalar",
    "multibox_detection",
    "multibox_prior",
    "multibox_target",
    "ndtr",
    "ndtri",
    "neg",
    "new_generator",
    "nms_detection2d",
    "nonzero",
    "normalize",
    "not_equal",
    "not_equal_scalar",
    "one_hot",
    "onnx_non_max_suppression",
    "pack_padded_sequence",
    "pad",
    "pad_packed_sequence",
    "pad_sequence",
    "partial_argsort",
    "peephole_cell",
    "peephole_cell_grad",
    "peephole_output",
    "peephole_output_grad",
    "pick_cross_entropy",
    "pixels",
    "pixels_grad",
    "polygamma",
    "polygamma_infinite",
    "pow",
    "pow2_quantize",
    "pow_scalar",
    "prelu",
    "prod",
    "prune",
    "random_choice",
    "random_crop",
    "random_erase",
    "random_flip",
    "random_shift",
    "rdiv_scalar",
    "reciprocal",
    "region_proposals",
    "relu",
    "relu_grad",
    "repeat",
    "repeat_blocks",
    "repeat_grad",
    "resample",
    "resample_grad",
    "reset_inf",
    "reset_nan",
    "reshape",
    "resize",
    "resize_bytes",
    "resize_grad",
    "rint",
    "rnn_layer",
    "roi_align",
    "roi_align_grad",
    "roi_average",
    "roi_average_grad",
    "roi_max",
    "roi_max_align",
    "roi_max_align_at",
    "roi_max_align_grad",
    "roi_max_at",
    "roi_max_grad",
    "rpow_scalar",
    "rsqrt",
    "rsub_scalar",
    "running_sum",
    "sample_grid",
    "sample_normalization",
    "scatter_add",
    "scatter_add_along",
    "scatter_along",
    "scatter_nd",
    "searchsorted",
    "select_along",
    "select_item",
    "sigmoid",
    "sigmoid_cross_entropy",
    "sigmoid_grad",
    "sign",
    "silu",
    "silu_grad",
    "sin",
    "sinc",
    "sinh",
    "sink",
    "slstm",
    "slstm_grad",
    "softmax",
    "softmax_cross_entropy",
    "softmax_cross_entropy_along",
    "softmax_grad",
    "softplus",
    "softplus_grad",
    "softsign",
    "solve_triangular",
    "sort",
    "spectral_norm",
    "split",
    "sqrt",
    "square",
    "squared_error",
    "squeeze",
    "stack",
    "ste_ceil",
    "ste_floor",
    "ste_round",
    "ste_sign",
    "stft",
    "stop_gradient",
    "straight_through",
    "sub",
    "sum",
    "sum_pooling",
    "sum_to",
    "swish",
    "sylvester_symmetric",
    "tan",
    "tanh",
    "tanh_grad",
    "tanh_shrink",
    "tie",
    "tile",
    "to_device",
    "top_k",
    "top_k_grad",
    "top_k_mask",
    "top_n_error",
    "transpose",
    "transposed_convolution",
    "tree_lstm",
    "tree_lstm_grad",
    "tril",
    "triu",
    "unique",
    "unlink",
    "unpooling",
    "unstack",
    "var",
    "vat_noise",
    "where",
    "window_pooling",
    "zeta",
]

def abs(x0: _Input, /) -> _Variable:
    """|x|; the gradient at 0 is 0."""

def abs_or_nan(x0: _Input, /) -> _Variable:
    """|x|; the gradient at 0 is 0, that at NaN is NaN."""

def abs_right(x0: _Input, /) -> _Variable:
    """|x|; the gradient at 0 is 1."""

def absolute_error(x0: _Input, x1: _Input, /) -> _Variable:
    """|a - b|; the gradient is 0 where a and b are equal, NaN where a - b is."""

def absolute_error_right(x0: _Input, x1: _Input, /) -> _Variable:
    """|a - b|; where a and b are equal, the gradient of b is 1."""

def add(x0: _Input, x1: _Input, /) -> _Variable:
    """a + b"""

def add_active(tensors: Sequence[_Input], /, active: _Input | None = None) -> _Variable:
    """Sum of tensors of one shape, without those for which active is 0.

    Args:
        active: tensor or None
    """

def add_along(x0: _Input, x1: _Input, /, axis: int, size: int) -> _Variable:
    """Zeros with the given size along axis, to which the slices of gy are added at the positions in a
    one-dimensional index.

    Args:
        axis: int
        size: int
    """

def add_apart(x0: _Input, x1: _Input, /) -> _Variable:
    """a + b, for example of the two biases of a gate; the gradients of a and b do not share memory."""

def add_n(tensors: Sequence[_Input], /) -> _Variable:
    """Sum of any number of tensors, left to right, with broadcasting."""

def add_scalar(x0: _Input, /, value: complex) -> _Variable:
    """x + value

    Args:
        value: number
    """

def affine(x0: _Input, x1: _Input, x2: _Input | None = None, /, base_axis: int = 1) -> _Variable:
    """x @ w + b for w (in, *out), b (*out): the axes of x from base_axis on are joined to one of length in, and
    become *out.

    Args:
        base_axis: int
    """

def affine_grid(x0: _Input, /, size: _Ints, align_corners: bool = False) -> _Variable:
    """The grid of the unit cube of shape `size`, transformed by theta (batch, axes, axes + 1), the last axis first.

    Args:
        size: int or tuple of ints
        align_corners: bool; the centres of the corner pixels keep their places; else the image's outer edges do
    """

def affine_grid_grad(x0: _Input, /, size: _Ints, align_corners: bool = False) -> _Variable:
    """The gradient of affine_grid.

    Args:
        size: int or tuple of ints; as in affine_grid
        align_corners: bool; as in affine_grid
    """

def arccos(x0: _Input, /) -> _Variable:
    """Inverse cosine, in [0, pi]."""

def arccosh(x0: _Input, /) -> _Variable:
    """Inverse hyperbolic cosine, for x >= 1."""

def arcsin(x0: _Input, /) -> _Variable:
    """Inverse sine, in [-pi/2, pi/2]."""

def arcsinh(x0: _Input, /) -> _Variable:
    """Inverse hyperbolic sine."""

def arctan(x0: _Input, /) -> _Variable:
    """Inverse tangent, in [-pi/2, pi/2]."""

def arctan2(x0: _Input, x1: _Input, /) -> _Variable:
    """Angle of the point (b, a), in [-pi, pi]."""

def arctanh(x0: _Input, /) -> _Variable:
    """Inverse hyperbolic tangent, for |x| < 1."""

def assign(x0: _Input, x1: _Input, /) -> _Variable:
    """Writes the second input into the first and returns a copy; the first input gets the gradient."""

def attention(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input | None = None,
    /,
    scale: float = 1.0,
    causal: bool = False,
) -> _Variable:
    """softmax(scale q kᵀ + mask) v over the last two axes of q (..., n, d), k (..., m, d) and v (..., m, e),
    without an array of the scores: backward computes them again. The mask is added to the scores; with causal, row
    i of q sees rows 0 to i of k and v.

    Args:
        scale: float
        causal: bool
    """

def attention_grad(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input,
    x4: _Input | None = None,
    /,
    scale: float = 1.0,
    causal: bool = False,
) -> tuple[_Variable, ...]:
    """Gradients of q, k and v of attention from that of the result, q, k, v and the mask.

    Args:
        scale: float; as in attention
        causal: bool; as in attention
    """

def average_pooling(
    x0: _Input,
    /,
    ksize: _Ints,
    stride: _Ints = (),
    pad: _Ints = (),
    pad_value: float | None = 0.0,
) -> _Variable:
    """Mean of each window over the axes after the first two. pad_value 0: the padding counts as zeros; None: it
    does not count.

    Args:
        ksize: int or tuple of ints; the size of a window, for each axis; one number is used for all
        stride: int or tuple of ints; steps between windows, for each axis; () means ksize
        pad: int or tuple of ints; padding before and after each axis; () means 0
        pad_value: float or None
    """

def batch_normalization(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    /,
    eps: float = 2e-05,
    axis: _Ints | None = None,
    running_mean: _Input | None = None,
    running_var: _Input | None = None,
    decay: float = 0.9,
) -> _Variable:
    """gamma (x - mean) / std + beta with the mean and std of x over axis (None: the first axis and those that gamma
    does not have). Running statistics become decay * running + (1 - decay) * new, in place.

    Args:
        eps: float; a number that is added to the variance
        axis: int, tuple of ints or None
        running_mean: tensor or None; tensor of gamma's shape that is updated in place
        running_var: tensor or None; tensor of gamma's shape that is updated in place
        decay: float
    """

def batch_normalization_grad(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input | None = None,
    x4: _Input | None = None,
    /,
    eps: float = 2e-05,
    axis: _Ints | None = None,
) -> tuple[_Variable, ...]:
    """Gradients of x, gamma and beta of batch_normalization from x, gamma and the gradient of the result; mean and
    1 / std of x may be given.

    Args:
        eps: float; as in batch_normalization
        axis: int, tuple of ints or None; as in batch_normalization
    """

def batch_normalization_late(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    /,
    eps: float = 0.001,
    momentum: float = 0.9,
    axis: int = 1,
    fix_gamma: bool = True,
    moving_mean: _Input | None = None,
    moving_var: _Input | None = None,
) -> _Variable:
    """gamma (x - mean) / std + beta with the mean and std of each channel of x. When its gradients are computed,
    the moving statistics are updated in place by momentum * old + (1 - momentum) * new. fix_gamma: the gradient of
    gamma is 0.

    Args:
        eps: float; a small number that is added to avoid a division by 0
        momentum: float
        axis: int; the axis of channels
        fix_gamma: bool
        moving_mean: tensor or None; tensor of gamma's shape that is updated in place
        moving_var: tensor or None; tensor of gamma's shape that is updated in place
    """

@overload
def batch_normalization_statistics(
    x0: _Input,
    x1: _Input | None = None,
    x2: _Input | None = None,
    x3: _Input | None = None,
    x4: _Input | None = None,
    x5: _Input | None = None,
    /,
    axes: _Ints = (1,),
    decay: float = 0.9,
    eps: float = 1e-05,
    batch_stat: bool = True,
    stats: Literal[False] = False,
    rectify: bool = False,
    update: bool = True,
) -> _Variable:
    """relu(gamma (x - mean) / std + beta + z) of x, beta, gamma, running mean, running variance, z (all but x may
    be left out). batch_stat: mean and std are those of x over all axes but `axes`, and if `update`, the running
    ones become decay * running + (1 - decay) * batch; otherwise the running ones are used. stats: mean and variance
    of x are results too. Without `rectify` there is no ReLU.

    Args:
        axes: int or tuple of ints
        decay: float
        eps: float; a small number that is added to avoid a division by 0
        batch_stat: bool; use the statistics of x, else the running ones
        stats: bool
        rectify: bool
        update: bool
    """

@overload
def batch_normalization_statistics(
    x0: _Input,
    x1: _Input | None = None,
    x2: _Input | None = None,
    x3: _Input | None = None,
    x4: _Input | None = None,
    x5: _Input | None = None,
    /,
    axes: _Ints = (1,),
    decay: float = 0.9,
    eps: float = 1e-05,
    batch_stat: bool = True,
    *,
    stats: Literal[True],
    rectify: bool = False,
    update: bool = True,
) -> tuple[_Variable, ...]: ...
@overload
def batch_normalization_statistics(
    x0: _Input,
    x1: _Input | None = None,
    x2: _Input | None = None,
    x3: _Input | None = None,
    x4: _Input | None = None,
    x5: _Input | None = None,
    /,
    axes: _Ints = (1,),
    decay: float = 0.9,
    eps: float = 1e-05,
    batch_stat: bool = True,
    stats: bool = False,
    rectify: bool = False,
    update: bool = True,
) -> _Variable | tuple[_Variable, ...]: ...
def binary_cross_entropy(x0: _Input, x1: _Input, /) -> _Variable:
    """-t log(p) - (1 - t) log(1 - p), element by element; the arguments of both logarithms are at least the
    smallest positive number.
    """

def binary_sigmoid(x0: _Input, /) -> _Variable:
    """1 where x > 0, else 0; the gradient is that of x / 2 between -1 and 1, else 0."""

def binary_tanh(x0: _Input, /) -> _Variable:
    """1 where x > 0, else -1; the gradient is that of x between -1 and 1, else 0."""

def binary_weights(
    x0: _Input,
    x1: _Input,
    x2: _Input | None = None,
    /,
    quantize_zero_to: float = 1.0,
    axis: _Ints = (),
) -> _Variable:
    """The signs of w, which are also written into the second input. With a third input, the signs are multiplied by
    the mean of |w| over axis, which is written into that input. The gradient is passed on to w unchanged.

    Args:
        quantize_zero_to: float; the sign of 0
        axis: int or tuple of ints
    """

def bipartite_matching(
    x0: _Input,
    /,
    threshold: float,
    smallest: bool = False,
    topk: int = -1,
) -> tuple[_Variable, ...]:
    """Pairs of rows and columns of scores x (batch, n, m) above threshold (smallest: below it), the best first,
    with each row and column in at most one pair: the column of each row (batch, n), and the row of each column
    (batch, m); -1: none. With topk > 0 it ends after topk + 1 pairs. Not differentiated.

    Args:
        threshold: float
        smallest: bool
        topk: int
    """

def bit_shift(x0: _Input, x1: _Input, /, direction: str = "LEFT") -> _Variable:
    """x with its bits moved by shift places to the LEFT or RIGHT; unsigned integers, no gradient.

    Args:
        direction: str; "LEFT" or "RIGHT"
    """

def bool_fill(x0: _Input, x1: _Input, /, value: float = 0.0) -> _Variable:
    """x with value where mask is not zero.

    Args:
        value: float
    """

def bool_gather(x0: _Input, x1: _Input, /) -> _Variable:
    """The slices of x at which mask is not zero, each as a row."""

def bool_scatter(x0: _Input, x1: _Input, x2: _Input | None = None, /) -> _Variable:
    """Zeros, or `out`, with the rows of x where mask is not zero."""

def border_coordinate(x0: _Input, /, size: int, mode: str = "repeat", align_corners: bool = False) -> _Variable:
    """Coordinates mapped to the range of an axis of `size` pixels: mode 'repeat' limits them to its ends, 'reflect'
    mirrors them there (at the centres of the outermost pixels with align_corners, else at their outer edges).

    Args:
        size: int
        mode: str
        align_corners: bool
    """

def border_coordinate_grad(
    x0: _Input,
    x1: _Input,
    /,
    size: int,
    mode: str = "repeat",
    align_corners: bool = False,
) -> _Variable:
    """gy times the slope of border_coordinate at s.

    Args:
        size: int; as in border_coordinate
        mode: str; as in border_coordinate
        align_corners: bool; as in border_coordinate
    """

def box_decode(
    x0: _Input,
    x1: _Input,
    /,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    centered: bool = True,
) -> _Variable:
    """The boxes, as corners, that network outputs x (batch, n, 4), multiplied by std0, std1, std2 and std3, encode
    for anchors (1, n, 4), which are centered or corners; clip > 0 limits the logarithms of sizes. Not
    differentiated.

    Args:
        std0: float
        std1: float
        std2: float
        std3: float
        clip: float
        centered: bool
    """

def box_encode(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input,
    x4: _Input | None = None,
    x5: _Input | None = None,
    /,
) -> tuple[_Variable, ...]:
    """The network outputs (batch, n, 4) that lead from anchors (batch, n, 4) to their boxes, 0 for anchors whose
    samples (batch, n) are not above 0.5; and a mask (batch, n, 4) that is 1 for the other anchors. matches (batch,
    n): which of refs (batch, m, 4) is the box of an anchor; all boxes are corners. The outputs are normalized by
    means and stds (4). Not differentiated.
    """

def box_iou(x0: _Input, x1: _Input, /, centered: bool = False) -> _Variable:
    """Intersection over union of all boxes of lhs (..., 4) with all of rhs (..., 4): as corners, or with centered:
    x and y of the center, width, height. Not differentiated.

    Args:
        centered: bool
    """

def box_nms(
    x0: _Input,
    /,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    centered_in: bool = False,
    centered_out: bool = False,
) -> _Variable:
    """Boxes x (batch, boxes, width) sorted by decreasing scores, without boxes that overlap a better one by more
    than overlap_thresh; the removed ones are replaced by rows of -1 at the end. coord_start, score_index and
    id_index: the columns of the four coordinates (corners, or with centered_in center and size), of the score and,
    unless negative, of the class. Boxes whose score is not above valid_thresh, boxes of class background_id and all
    but the best topk are removed, too; a box does not suppress boxes of other classes, unless force_suppress.
    centered_out: return centers and sizes.

    Args:
        overlap_thresh: float
        valid_thresh: float
        topk: int
        coord_start: int
        score_index: int
        id_index: int
        background_id: int
        force_suppress: bool
        centered_in: bool
        centered_out: bool
    """

def box_suppression(x0: _Input, x1: _Input | None = None, /, threshold: float = 0.5) -> _Variable:
    """Which of boxes (n, 4), corners, sorted from best to worst, are kept: a box is removed if it overlaps a better
    kept box of the same class by more than threshold. Not differentiated.

    Args:
        threshold: float
    """

def broadcast_to(x0: _Input, /, shape: _Ints) -> _Variable:
    """A view of x with NumPy's broadcasting to shape.

    Args:
        shape: int or tuple of ints
    """

def cast(x0: _Input, /, dtype: _DType) -> _Variable:
    """x in another dtype.

    Args:
        dtype: dtype of torch or NumPy
    """

def categorical_cross_entropy(x0: _Input, x1: _Input, /, axis: int = 1) -> _Variable:
    """-log(p)[t] along axis, where t has length 1, with p at least the smallest positive number; 0 for labels below
    0.

    Args:
        axis: int
    """

def cbrt(x0: _Input, /) -> _Variable:
    """The cube root, of negative numbers too."""

def ceil(x0: _Input, /) -> _Variable:
    """Smallest integer >= x; its gradient is 0."""

def celu(x0: _Input, /, alpha: float = 1.0, axis: int = 1) -> _Variable:
    """elu_right of x and of -x, joined along axis.

    Args:
        alpha: float; as in elu_right
        axis: int
    """

def cholesky(x0: _Input, /, upper: bool = False) -> _Variable:
    """The triangular factors of positive definite matrices.

    Args:
        upper: bool; return the upper triangle, else the lower one
    """

def clip(x0: _Input, /, min: float | None = None, max: float | None = None, product: bool = True) -> _Variable:
    """x limited to [min, max]; the gradient on a limit is 1. product: beyond the limits the gradient is multiplied
    by 0.

    Args:
        min: float or None
        max: float or None
        product: bool
    """

def clip_between(x0: _Input, x1: _Input, x2: _Input, /) -> _Variable:
    """x limited to at most `high`, then to at least `low`, element by element."""

def clip_grad_by_norm(x0: _Input, /, *, norm: float = 1.0, axes: _Ints) -> _Variable:
    """x; its gradient is scaled to the L2 norm `norm` over `axes`.

    Args:
        norm: float
        axes: int or tuple of ints
    """

def clip_grad_by_value(x0: _Input, x1: _Input, x2: _Input, /) -> _Variable:
    """x; its gradient is limited to the range from the second to the third input."""

def clipped_relu(x0: _Input, /, z: float = 20.0, product: bool = True) -> _Variable:
    """min(max(x, 0), z); the gradient at 0 and at z is 0. product: as in clip.

    Args:
        z: float
        product: bool
    """

def col2im(
    x0: _Input,
    /,
    ksize: _Ints,
    insize: _Ints,
    stride: _Ints = (1, 1),
    pad: _Ints = (0, 0),
    dilate: _Ints = (1, 1),
) -> _Variable:
    """Sum of overlapping patches, the gradient of im2col: to images of height and width `insize`.

    Args:
        ksize: int or tuple of ints; the size of a window, for each axis; one number is used for all
        insize: int or tuple of ints
        stride: int or tuple of ints; steps between windows, for each axis; () means 1
        pad: int or tuple of ints; padding before and after each axis; () means 0
        dilate: int or tuple of ints; distance between the elements of a filter, for each axis; () means 1
    """

def concat(tensors: Sequence[_Input], /, axis: int = 1) -> _Variable:
    """Joins tensors along an axis.

    Args:
        axis: int
    """

def confusion_matrix(x0: _Input, x1: _Input, /, axis: int = 1) -> _Variable:
    """How often label t (row) occurred together with the largest class of x along axis (column), as int32; no
    gradient.

    Args:
        axis: int
    """

def conj(x0: _Input, /) -> _Variable:
    """The complex conjugate."""

def constant_of(x0: _Input, x1: _Input, /) -> _Variable:
    """y, recorded as a result of x; the gradient of x is 0."""

def convert(x0: _Input, /, dtype: _DType) -> _Variable:
    """x in another dtype; integer dtypes have gradients, too, truncated to integers.

    Args:
        dtype: dtype of torch or NumPy
    """

def convolution(
    x0: _Input,
    x1: _Input,
    x2: _Input | None = None,
    /,
    stride: _Ints = (),
    pad: _Ints = (),
    dilate: _Ints = (),
    groups: int = 1,
    outsize: _Ints | None = None,
) -> _Variable:
    """Cross-correlation of x (batch, in, *size) with w (out, in / groups, *filter), plus b (out,).

    Args:
        stride: int or tuple of ints; steps between windows, for each axis; () means 1
        pad: int or tuple of ints; padding before and after each axis; () means 0
        dilate: int or tuple of ints; distance between the elements of a filter, for each axis; () means 1
        groups: int
        outsize: int, tuple of ints or None; the sizes of the result's axes after the first two; None: as many
            windows as fit
    """

def convolution_grad_w(
    x0: _Input,
    x1: _Input,
    /,
    ksize: _Ints,
    stride: _Ints = (),
    pad: _Ints = (),
    dilate: _Ints = (),
    groups: int = 1,
) -> _Variable:
    """The gradient of convolution(x, w) with respect to w, from x and the gradient of the result.

    Args:
        ksize: int or tuple of ints; the size of a window, for each axis; one number is used for all
        stride: int or tuple of ints; as in convolution
        pad: int or tuple of ints; as in convolution
        dilate: int or tuple of ints; as in convolution
        groups: int; as in convolution
    """

def copy(x0: _Input, /) -> _Variable:
    """A copy of x."""

def cos(x0: _Input, /) -> _Variable:
    """Cosine of x in radians."""

def cosh(x0: _Input, /) -> _Variable:
    """Hyperbolic cosine."""

def crelu(x0: _Input, /, axis: int = 1) -> _Variable:
    """max(x, 0) and max(-x, 0), joined along axis; at 0 only the second one has a gradient.

    Args:
        axis: int
    """

def crf_log_partition(x0: _Input, x1: _Input, /, sizes: _Ints) -> _Variable:
    """log of the sum, over all label sequences, of exp(score), for each sequence; a score is the sum of x (rows,
    labels) over the labels and of cost (from, to) over the pairs. sizes: how many rows each step has.

    Args:
        sizes: int or tuple of ints; how many rows each step has, i.e. how many sequences have this step
    """

def crf_path(x0: _Input, x1: _Input, /, sizes: _Ints) -> _Variable:
    """The labels (rows,) with the best score for each sequence, the first of equal ones; the score is that of
    crf_score. sizes: how many rows each step has.

    Args:
        sizes: int or tuple of ints; as in crf_log_partition
    """

def crf_score(x0: _Input, x1: _Input, x2: _Input, /, sizes: _Ints) -> _Variable:
    """The score of given labels (rows,), for each sequence: the sum of x (rows, labels) over the labels and of cost
    (from, to) over the pairs. sizes: how many rows each step has.

    Args:
        sizes: int or tuple of ints; as in crf_log_partition
    """

def ctc_loss(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input,
    /,
    blank: int = 0,
    lowest: float | None = None,
    reduce: str = "no",
) -> _Variable:
    """-log of the probability of labels (batch, length) given x (time, batch, classes) before softmax; inputs three
    and four: the numbers of steps (batch,) and of labels (batch,). If the labels need more steps than there are,
    the loss is 0, or with `lowest` the recursion's result with this number as the logarithm of 0; a sample of 0
    steps then has the loss of all steps and no gradient.

    Args:
        blank: int; the class that means no label
        lowest: float or None; the number for log(0) in losses of impossible labels; None: these losses are 0
        reduce: str; "mean", or "no" for the losses of all samples
    """

def cumprod(x0: _Input, /, axis: int | None = None) -> _Variable:
    """Cumulative product along axis (None: over all elements in C order).

    Args:
        axis: int or None
    """

def cumsum(x0: _Input, /, axis: int | None = None) -> _Variable:
    """Cumulative sum along axis (None: over all elements in C order).

    Args:
        axis: int or None
    """

def deconvolution(
    x0: _Input,
    x1: _Input,
    x2: _Input | None = None,
    /,
    stride: _Ints = (),
    pad: _Ints = (),
    dilate: _Ints = (),
    groups: int = 1,
    outsize: _Ints | None = None,
) -> _Variable:
    """Transposed convolution: x (batch, in, *size), w (in, out / groups, *filter), b (out,); the gradient of
    convolution with respect to its image.

    Args:
        stride: int or tuple of ints; steps between windows, for each axis; () means 1
        pad: int or tuple of ints; padding before and after each axis; () means 0
        dilate: int or tuple of ints; distance between the elements of a filter, for each axis; () means 1
        groups: int
        outsize: int, tuple of ints or None; the sizes of the result's axes after the first two; None: as many
            windows as fit
    """

def deform_columns(
    x0: _Input,
    x1: _Input,
    x2: _Input | None = None,
    /,
    *,
    ksize: _Ints,
    stride: _Ints = (),
    pad: _Ints = (),
    dilate: _Ints = (),
    groups: int = 1,
    clamp: bool = False,
    nan: bool = False,
    orders: _Ints = (0,),
) -> _Variable:
    """Columns (batch, channels * taps, *out) of images for deformable convolution: bilinear samples at row * stride
    - pad + tap * dilate + offset. offset (batch, groups * taps * 2, *out): rows before columns, for each group of
    channels. factors (batch, groups * taps, *out): what samples are multiplied by. Beyond the border samples
    decrease to 0 over one pixel; clamp: positions outside give 0, except that up to one pixel behind the centre of
    the last pixel they give that pixel. orders: each tap has several factors, for the sample (0) and its
    derivatives by row (1), column (2) and both (3), which are summed. nan: without clamp, samples at NaN are NaN,
    otherwise 0.

    Args:
        ksize: int or tuple of ints; the size of a window, for each axis; one number is used for all
        stride: int or tuple of ints
        pad: int or tuple of ints
        dilate: int or tuple of ints
        groups: int
        clamp: bool
        nan: bool
        orders: int or tuple of ints
    """

def deform_columns_grad(
    x0: _Input,
    x1: _Input,
    x2: _Input | None = None,
    /,
    *,
    insize: _Ints,
    ksize: _Ints,
    stride: _Ints = (),
    pad: _Ints = (),
    dilate: _Ints = (),
    groups: int = 1,
    clamp: bool = False,
    nan: bool = False,
    orders: _Ints = (0,),
) -> _Variable:
    """The gradient of deform_columns with respect to its images, which have the shape insize.

    Args:
        insize: int or tuple of ints
        ksize: int or tuple of ints; as in deform_columns
        stride: int or tuple of ints; as in deform_columns
        pad: int or tuple of ints; as in deform_columns
        dilate: int or tuple of ints; as in deform_columns
        groups: int; as in deform_columns
        clamp: bool; as in deform_columns
        nan: bool; as in deform_columns
        orders: int or tuple of ints; as in deform_columns
    """

def deform_factors_grad(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    /,
    ksize: _Ints,
    stride: _Ints = (),
    pad: _Ints = (),
    dilate: _Ints = (),
    groups: int = 1,
    clamp: bool = False,
    nan: bool = False,
    orders: _Ints = (0,),
) -> _Variable:
    """The gradient of deform_columns with respect to its factors, from the gradient of the columns, images and
    offset.

    Args:
        ksize: int or tuple of ints; as in deform_columns
        stride: int or tuple of ints; as in deform_columns
        pad: int or tuple of ints; as in deform_columns
        dilate: int or tuple of ints; as in deform_columns
        groups: int; as in deform_columns
        clamp: bool; as in deform_columns
        nan: bool; as in deform_columns
        orders: int or tuple of ints; as in deform_columns
    """

def depthwise_convolution(
    x0: _Input,
    x1: _Input,
    x2: _Input | None = None,
    /,
    *,
    stride: _Ints,
    pad: _Ints,
    dilate: _Ints,
) -> _Variable:
    """Cross-correlation of each channel of x (batch, channels, *size) with the channel's own kernels in w (channels
    * multiplier, *filter), plus b (channels * multiplier,).

    Args:
        stride: int or tuple of ints; steps between windows, for each axis; () means 1
        pad: int or tuple of ints; padding before and after each axis; () means 0
        dilate: int or tuple of ints; distance between the elements of a filter, for each axis; () means 1
    """

def depthwise_deconvolution(
    x0: _Input,
    x1: _Input,
    x2: _Input | None = None,
    /,
    *,
    stride: _Ints,
    pad: _Ints,
    dilate: _Ints,
    divisor: int = 1,
) -> _Variable:
    """Transposed convolution of each channel of x (batch, channels, *size) with its kernel in w (channels,
    *filter), summed over groups of divisor channels; plus b (channels / divisor,).

    Args:
        stride: int or tuple of ints; steps between windows, for each axis; () means 1
        pad: int or tuple of ints; padding before and after each axis; () means 0
        dilate: int or tuple of ints; distance between the elements of a filter, for each axis; () means 1
        divisor: int
    """

def det(x0: _Input, /) -> _Variable:
    """The determinants of square matrices."""

def diagonal(x0: _Input, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> _Variable:
    """The diagonal of the matrices in axis1 and axis2, as the last axis.

    Args:
        offset: int; how many columns to the right of the main diagonal
        axis1: int
        axis2: int
    """

def diagonal_grad(x0: _Input, /, shape: _Ints, offset: int = 0, axis1: int = 0, axis2: int = 1) -> _Variable:
    """Zeros of shape, with gy on the diagonal.

    Args:
        shape: int or tuple of ints
        offset: int; as in diagonal
        axis1: int; as in diagonal
        axis2: int; as in diagonal
    """

def digamma(x0: _Input, /) -> _Variable:
    """Derivative of lgamma."""

def div(x0: _Input, x1: _Input, /) -> _Variable:
    """a / b"""

def div_scalar(x0: _Input, /, value: complex) -> _Variable:
    """x / value; computed by a division, not by a product with 1 / value.

    Args:
        value: number
    """

def draw(x0: _Input, /, kind: str, a: float, b: float, shape: _Ints, device: str = "cpu") -> _Variable:
    """Numbers of the distribution `kind` (uniform, normal, integer, binomial, gamma, beta) with parameters a and b,
    drawn from a generator's state, which is advanced.

    Args:
        kind: str
        a: float
        b: float
        shape: int or tuple of ints; the shape of the result
        device: str; the device of the result, such as "cpu" or "cuda:0"
    """

def dropout(x0: _Input, /, ratio: float = 0.5) -> _Variable:
    """Sets each element to 0 with probability ratio, by torch's generator, and divides the others by 1 - ratio.

    Args:
        ratio: float
    """

def dropout_apply(x0: _Input, x1: _Input, /, scale: float = 1.0) -> _Variable:
    """x * mask * scale; the mask is an input, of booleans or numbers.

    Args:
        scale: float
    """

def dropout_drawn(x0: _Input, /, *, p: float = 0.5, rng: _Input) -> _Variable:
    """Sets each element to 0 with probability p, drawn from a generator's state, and divides the others by 1 - p.

    Args:
        p: float
        rng: tensor; the state of a generator, made by `compatgrad.nnabla.random.new_generator()`; it is advanced
    """

def dropout_hashed(x0: _Input, /, p: float = 0.5) -> _Variable:
    """Sets each element to 0 with probability p and divides the others by 1 - p; seeded by torch's generator.

    Args:
        p: float
    """

def dropout_mask(x0: _Input, /, mask: _Input, scale: float = 1.0) -> _Variable:
    """x * mask * scale; the mask is a parameter, of booleans or numbers.

    Args:
        mask: tensor
        scale: float
    """

def edges(x0: _Input, /, before: _Ints, after: _Ints, mode: str) -> _Variable:
    """x extended by before[i] elements before and after[i] elements after its axes (the last ones, if there are
    more axes than numbers), copied from its edges.

    Args:
        before: int or tuple of ints
        after: int or tuple of ints
        mode: str; "repeat" the element at the edge, "reflect" at its centre, or "symmetric": at its outer side
    """

def eigen_symmetric(x0: _Input, /) -> tuple[_Variable, ...]:
    """Eigenvectors (as rows) and ascending eigenvalues of symmetric matrices, of which only the lower half is read."""

def einsum(tensors: Sequence[_Input], /, equation: str) -> _Variable:
    """Einstein summation with an explicit equation.

    Args:
        equation: str
    """

def elu(x0: _Input, /, alpha: float = 1.0, scale: float = 1.0, nan: bool = True) -> _Variable:
    """scale * x where x > 0, else scale * alpha * (exp(x) - 1). nan: as in elu_grad.

    Args:
        alpha: float
        scale: float
        nan: bool
    """

def elu_grad(
    x0: _Input,
    x1: _Input,
    /,
    alpha: float = 1.0,
    scale: float = 1.0,
    is_result: bool = False,
    nan: bool = True,
) -> _Variable:
    """gy * scale where x > 0, else gy * scale * alpha * exp(x). is_result: x is the output of elu. nan: NaN where x
    is NaN, otherwise gy * scale there.

    Args:
        alpha: float
        scale: float
        is_result: bool
        nan: bool
    """

def elu_right(x0: _Input, /, alpha: float = 1.0) -> _Variable:
    """x where x >= 0, else alpha * (exp(x) - 1); the gradient at 0 is 1.

    Args:
        alpha: float
    """

def embed(x0: _Input, x1: _Input, /) -> _Variable:
    """w[ids]: slices of w along its first axis. Negative ids count from the end."""

def embedding(x0: _Input, x1: _Input, /, ignore_index: int | None = None) -> _Variable:
    """Rows w[ids]; zeros where an id is ignore_index. Negative ids count from the end.

    Args:
        ignore_index: int or None
    """

def embedding_grad(x0: _Input, x1: _Input, /, rows: int, ignore_index: int | None = None) -> _Variable:
    """The gradient of embedding with respect to its table of `rows` rows, from the gradient of the result.

    Args:
        rows: int
        ignore_index: int or None; as in embedding
    """

def equal(x0: _Input, x1: _Input, /) -> _Variable:
    """1 where a == b, else 0; no gradient."""

def equal_scalar(x0: _Input, /, value: complex) -> _Variable:
    """1 where x == value, else 0; no gradient.

    Args:
        value: number
    """

def erf(x0: _Input, /) -> _Variable:
    """Error function."""

def erfc(x0: _Input, /) -> _Variable:
    """1 - erf(x), exact also for large x."""

def erfcinv(x0: _Input, /) -> _Variable:
    """Inverse of erfc."""

def erfcx(x0: _Input, /) -> _Variable:
    """exp(x * x) * erfc(x)"""

def erfinv(x0: _Input, /) -> _Variable:
    """Inverse of erf."""

def exp(x0: _Input, /) -> _Variable:
    """e ** x"""

def exp2(x0: _Input, /) -> _Variable:
    """2 ** x"""

def expand_dims(x0: _Input, /, axis: int) -> _Variable:
    """A new axis of length 1 at the given place.

    Args:
        axis: int
    """

def expm1(x0: _Input, /) -> _Variable:
    """exp(x) - 1, exact also near 0."""

@overload
def extreme(
    x0: _Input,
    /,
    axis: _Ints | None = None,
    keepdims: bool = False,
    smallest: bool = False,
    with_index: Literal[False] = False,
    only_index: bool = False,
) -> _Variable:
    """Largest (smallest) element over axis; of equal ones the first gets the gradient and is the position.

    Args:
        axis: int, tuple of ints or None
        keepdims: bool; keep the axes that are reduced, with length 1
        smallest: bool
        with_index: bool; also return the positions, as int64
        only_index: bool; return only the positions, as int64
    """

@overload
def extreme(
    x0: _Input,
    /,
    axis: _Ints | None = None,
    keepdims: bool = False,
    smallest: bool = False,
    *,
    with_index: Literal[True],
    only_index: Literal[False] = False,
) -> tuple[_Variable, ...]: ...
@overload
def extreme(
    x0: _Input,
    /,
    axis: _Ints | None = None,
    keepdims: bool = False,
    smallest: bool = False,
    with_index: bool = False,
    only_index: bool = False,
) -> _Variable | tuple[_Variable, ...]: ...
def eye_like(x0: _Input, /, k: int = 0) -> _Variable:
    """Ones on the k-th diagonal of a matrix of x's shape, zeros elsewhere; constant in x.

    Args:
        k: int
    """

def fix(x0: _Input, /) -> _Variable:
    """x rounded towards 0; its gradient is 0."""

def fixed_batch_normalization(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input,
    x4: _Input,
    /,
    eps: float = 2e-05,
    axis: _Ints | None = None,
) -> _Variable:
    """gamma (x - mean) / sqrt(var + eps) + beta with given statistics.

    Args:
        eps: float
        axis: int, tuple of ints or None; the axis, or the axes, along which the op works; a negative one counts
            from the end
    """

def fixed_point_quantize(
    x0: _Input,
    /,
    sign: bool = True,
    n: int = 8,
    delta: float = 0.0625,
    ste_fine_grained: bool = True,
) -> _Variable:
    """x rounded to multiples of delta, halves away from 0, and limited to the range of n bits (one of them for the
    sign).

    Args:
        sign: bool
        n: int
        delta: float
        ste_fine_grained: bool; the gradient is 0 where the result is limited; else it is passed on everywhere
    """

def flip(x0: _Input, /, axis: _Ints) -> _Variable:
    """x with the order of elements reversed along axis.

    Args:
        axis: int or tuple of ints
    """

def floor(x0: _Input, /) -> _Variable:
    """Largest integer <= x; its gradient is 0."""

def fmod(x0: _Input, x1: _Input, /) -> _Variable:
    """Remainder of a / b with the sign of a."""

def fourier_transform(x0: _Input, /, ndim: int, inverse: bool = False, norm: str = "backward") -> _Variable:
    """Fourier transform over the `ndim` axes before the last, which holds real and imaginary parts. norm:
    'backward' (inverse transforms are divided by the number of elements), 'forward', 'ortho' (by its square root).

    Args:
        ndim: int
        inverse: bool
        norm: str
    """

def gamma(x0: _Input, /) -> _Variable:
    """The gamma function; NaN at its poles, except at 0, where it is infinite."""

def gather(x0: _Input, x1: _Input, /, axis: int = 0, batch_dims: int = 0) -> _Variable:
    """The slices of x along axis at indices, which share their first batch_dims axes with x.

    Args:
        axis: int
        batch_dims: int
    """

def gather_along(x0: _Input, x1: _Input, /, axis: int = 0) -> _Variable:
    """x[i, index[i, j, k], k] along an axis, for an index with as many dimensions as x.

    Args:
        axis: int
    """

def gather_nd(x0: _Input, x1: _Input, /) -> _Variable:
    """x[indices[0], indices[1], ...]."""

def gelu(x0: _Input, /, approximate: bool = False) -> _Variable:
    """x times the normal distribution function at x. approximate: by tanh.

    Args:
        approximate: bool
    """

def gelu_grad(x0: _Input, x1: _Input, /, approximate: bool = False) -> _Variable:
    """gy times the derivative of gelu at x.

    Args:
        approximate: bool; as in gelu
    """

def get_item(x0: _Input, /, index: _Index) -> _Variable:
    """x[index] as NumPy reads it.

    Args:
        index: an index expression, as in x[...]
    """

def get_item_grad(x0: _Input, /, index: _Index, shape: _Ints) -> _Variable:
    """Zeros of shape, to which gy is added at index.

    Args:
        index: an index expression, as in x[...]
        shape: int or tuple of ints
    """

def greater(x0: _Input, x1: _Input, /) -> _Variable:
    """1 where a > b, else 0; no gradient."""

def greater_equal(x0: _Input, x1: _Input, /) -> _Variable:
    """1 where a >= b, else 0; no gradient."""

def greater_equal_scalar(x0: _Input, /, value: complex) -> _Variable:
    """1 where x >= value, else 0; no gradient.

    Args:
        value: number
    """

def greater_scalar(x0: _Input, /, value: complex) -> _Variable:
    """1 where x > value, else 0; no gradient.

    Args:
        value: number
    """

def group_normalization(x0: _Input, x1: _Input, x2: _Input, /, groups: int, eps: float = 1e-05) -> _Variable:
    """gamma (x - mean) / std + beta with the mean and std of each sample's `groups` groups of channels.

    Args:
        groups: int
        eps: float; a small number that is added to avoid a division by 0
    """

def group_normalization_grad(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input | None = None,
    x4: _Input | None = None,
    /,
    groups: int = 1,
    eps: float = 1e-05,
) -> tuple[_Variable, ...]:
    """Gradients of x, gamma and beta of group_normalization from x, gamma and that of the result; mean and 1 / std,
    where given, are those of x.

    Args:
        groups: int; as in group_normalization
        eps: float; as in group_normalization
    """

def gru(x0: _Input, x1: _Input, x2: _Input, /) -> _Variable:
    """One step of a GRU from h, the input's part x and the state's part y of the gates, each with r, z, n along the
    second axis: r = s(xr + yr), z = s(xz + yz), n = tanh(xn + r yn), h' = n + z (h - n).
    """

def gru_grad(x0: _Input, x1: _Input, x2: _Input, x3: _Input, /) -> tuple[_Variable, ...]:
    """Gradients of the inputs of gru, from the inputs and the gradients of its outputs."""

def gru_reset(x0: _Input, x1: _Input, x2: _Input, /) -> _Variable:
    """s(a + b) h: the operand of the matrix product in a GRU whose reset gate comes before it."""

def gru_reset_grad(x0: _Input, x1: _Input, x2: _Input, x3: _Input, /) -> tuple[_Variable, ...]:
    """Gradients of the inputs of gru_reset, from the inputs and the gradients of its outputs."""

def gru_update(x0: _Input, x1: _Input, x2: _Input, x3: _Input, x4: _Input, /) -> _Variable:
    """The state of a GRU from z and n, each of the input and of the state, and h: with z = s(zx + zh) it is z
    tanh(nx + nh) + (1 - z) h.
    """

def gru_update_grad(x0: _Input, x1: _Input, x2: _Input, x3: _Input, x4: _Input, x5: _Input, /) -> tuple[_Variable, ...]:
    """Gradients of the inputs of gru_update, from the inputs and the gradients of its outputs."""

def hard_sigmoid(x0: _Input, /, product: bool = True) -> _Variable:
    """0.2 * x + 0.5, limited to [0, 1]. product: as in clip.

    Args:
        product: bool
    """

def hard_sigmoid_closed(x0: _Input, /) -> _Variable:
    """0.2 * x + 0.5, limited to [0, 1]; the gradient on a limit is 0.2."""

def hardtanh_grad(x0: _Input, x1: _Input, /, lower: float, upper: float) -> _Variable:
    """gy where lower < x < upper, else 0; constant in x.

    Args:
        lower: float
        upper: float
    """

def huber_error(x0: _Input, x1: _Input, /, delta: float = 1.0) -> _Variable:
    """(a - b) ** 2 where |a - b| < delta, else delta (2 |a - b| - delta).

    Args:
        delta: float
    """

def huber_loss(x0: _Input, x1: _Input, /, delta: float = 1.0) -> _Variable:
    """(a - b) ** 2 / 2 where |a - b| <= delta, else delta (|a - b| - delta / 2).

    Args:
        delta: float
    """

def identity(x0: _Input, /) -> _Variable:
    """x itself, as the result of a function."""

def im2col(
    x0: _Input,
    /,
    ksize: _Ints,
    stride: _Ints = (1, 1),
    pad: _Ints = (0, 0),
    dilate: _Ints = (1, 1),
    cover_all: bool = False,
    outsize: _Ints | None = None,
) -> _Variable:
    """Patches of images: (batch, channels * height * width of a patch, rows, columns of patches).

    Args:
        ksize: int or tuple of ints; the size of a window, for each axis; one number is used for all
        stride: int or tuple of ints; steps between windows, for each axis; () means 1
        pad: int or tuple of ints; padding before and after each axis; () means 0
        dilate: int or tuple of ints; distance between the elements of a filter, for each axis; () means 1
        cover_all: bool; use windows that reach beyond the end, too, so that every element is in a window
        outsize: int, tuple of ints or None; the sizes of the result's axes after the first two; None: as many
            windows as fit
    """

def image_augmentation(
    x0: _Input,
    /,
    *,
    shape: _Ints,
    pad: _Ints = (0, 0),
    min_scale: float = 1.0,
    max_scale: float = 1.0,
    angle: float = 0.0,
    aspect_ratio: float = 1.0,
    distortion: float = 0.0,
    flip_lr: bool = False,
    flip_ud: bool = False,
    brightness: float = 0.0,
    brightness_each: bool = False,
    contrast: float = 1.0,
    contrast_center: float = 0.0,
    contrast_each: bool = False,
    noise: float = 0.0,
    rng: _Input,
) -> _Variable:
    """Images changed at random: scaled, rotated, stretched, bent, mirrored, made brighter or darker, and with
    random numbers added; drawn from a generator's state.

    Args:
        shape: int or tuple of ints; the shape of the result
        pad: int or tuple of ints; padding before and after each axis; () means 0
        min_scale: float; as in nnabla.functions.image_augmentation
        max_scale: float; as in nnabla.functions.image_augmentation
        angle: float; as in nnabla.functions.image_augmentation
        aspect_ratio: float; as in nnabla.functions.image_augmentation
        distortion: float; as in nnabla.functions.image_augmentation
        flip_lr: bool; as in nnabla.functions.image_augmentation
        flip_ud: bool; as in nnabla.functions.image_augmentation
        brightness: float; as in nnabla.functions.image_augmentation
        brightness_each: bool; as in nnabla.functions.image_augmentation
        contrast: float; as in nnabla.functions.image_augmentation
        contrast_center: float; as in nnabla.functions.image_augmentation
        contrast_each: bool; as in nnabla.functions.image_augmentation
        noise: float; as in nnabla.functions.image_augmentation
        rng: tensor; the state of a generator, made by `compatgrad.nnabla.random.new_generator()`; it is advanced
    """

def inference_only(x0: _Input, /) -> _Variable:
    """x; asking for its gradient raises an error."""

def inq_weights(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input,
    x4: _Input,
    x5: _Input,
    /,
    num_bits: int = 4,
    inq_iterations: _Ints = (),
    random: bool = False,
) -> _Variable:
    """One step of quantizing w in place: where indicators are 1, weights are powers of two and are not changed. At
    the steps in inq_iterations half of the other weights are quantized, those with the largest absolute values or
    random ones; at the last of these steps all are. The third and fourth input are memory of the caller for the old
    weights and indicators; steps are this step and the last executed one; then comes the state of a generator. The
    gradient is passed on to w unchanged.

    Args:
        num_bits: int; the number of bits of a quantized weight
        inq_iterations: int or tuple of ints
        random: bool
    """

def inverse(x0: _Input, /) -> _Variable:
    """The inverses of square matrices; not finite for singular matrices."""

def inverse_root(x0: _Input, /) -> _Variable:
    """p with p s p = 1, for the symmetric parts s of x, which must be positive definite: s to the power of -1/2."""

def isinf(x0: _Input, /) -> _Variable:
    """1 where x is infinite, else 0; no gradient."""

def isnan(x0: _Input, /) -> _Variable:
    """1 where x is NaN, else 0; no gradient."""

def istft(
    x0: _Input,
    x1: _Input,
    /,
    window_size: int,
    stride: int,
    fft_size: int,
    window_type: str = "hanning",
    center: bool = True,
    pad_mode: str = "reflect",
    transposed: bool = False,
    samples: int | None = None,
) -> _Variable:
    """The signal (batch, samples) of real and imaginary parts: overlapping frames over the sum of squared windows;
    transposed: the gradient of stft.

    Args:
        window_size: int; as in nnabla.functions.istft
        stride: int; samples between frames
        fft_size: int; as in nnabla.functions.istft
        window_type: str; as in nnabla.functions.istft
        center: bool; as in nnabla.functions.istft
        pad_mode: str; as in nnabla.functions.istft
        transposed: bool
        samples: int or None
    """

def layer_normalization(x0: _Input, x1: _Input, x2: _Input, /, eps: float = 1e-05) -> _Variable:
    """gamma (x - mean) / std + beta with the mean and std of each row of x.

    Args:
        eps: float; a small number that is added to avoid a division by 0
    """

def layer_normalization_grad(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input | None = None,
    x4: _Input | None = None,
    /,
    eps: float = 1e-05,
) -> tuple[_Variable, ...]:
    """Gradients of x, gamma and beta of layer_normalization from x, gamma and that of the result; mean and 1 / std,
    where given, are those of x.

    Args:
        eps: float; as in layer_normalization
    """

def leaky_relu(x0: _Input, /, slope: float = 0.2) -> _Variable:
    """x where x > 0, else slope * x.

    Args:
        slope: float
    """

def leaky_relu_grad(x0: _Input, x1: _Input, /, slope: float, is_result: bool = False) -> _Variable:
    """gy where x > 0, else slope * gy; constant in x.

    Args:
        slope: float
        is_result: bool; x is the result of leaky_relu, not its input
    """

def less(x0: _Input, x1: _Input, /) -> _Variable:
    """1 where a < b, else 0; no gradient."""

def less_equal(x0: _Input, x1: _Input, /) -> _Variable:
    """1 where a <= b, else 0; no gradient."""

def less_equal_scalar(x0: _Input, /, value: complex) -> _Variable:
    """1 where x <= value, else 0; no gradient.

    Args:
        value: number
    """

def less_scalar(x0: _Input, /, value: complex) -> _Variable:
    """1 where x < value, else 0; no gradient.

    Args:
        value: number
    """

def lgamma(x0: _Input, /) -> _Variable:
    """log(|gamma(x)|)"""

def lgamma_infinite(x0: _Input, /) -> _Variable:
    """log(|gamma(x)|); its derivative is +inf at the poles."""

def linear(x0: _Input, x1: _Input, x2: _Input | None = None, /) -> _Variable:
    """x @ w.T + b for x (batch, in), w (out, in), b (out,)."""

def linear_scan(x0: _Input, x1: _Input, /, axis: int = 0) -> _Variable:
    """y[0] = b[0], y[i] = a[i - 1] * y[i - 1] + b[i] along axis; a is one shorter than b.

    Args:
        axis: int
    """

def local_response_normalization(
    x0: _Input,
    /,
    n: int = 5,
    k: float = 2.0,
    alpha: float = 0.0001,
    beta: float = 0.75,
) -> _Variable:
    """x / (k + alpha * sum of squares over n neighbouring channels) ** beta

    Args:
        n: int
        k: float
        alpha: float
        beta: float
    """

def log(x0: _Input, /) -> _Variable:
    """Natural logarithm."""

def log10(x0: _Input, /) -> _Variable:
    """Logarithm to the base 10."""

def log1p(x0: _Input, /) -> _Variable:
    """log(1 + x), exact also near 0."""

def log2(x0: _Input, /) -> _Variable:
    """Logarithm to the base 2."""

def log_abs_det(x0: _Input, /) -> _Variable:
    """log|det x| of square matrices."""

def log_ndtr(x0: _Input, /) -> _Variable:
    """log(ndtr(x)), exact also for large negative x."""

def log_sigmoid(x0: _Input, /) -> _Variable:
    """log(sigmoid(x)) without overflow."""

def log_softmax(x0: _Input, /, axis: int = 1) -> _Variable:
    """Logarithm of softmax along axis.

    Args:
        axis: int
    """

def log_softmax_grad(x0: _Input, x1: _Input, /, axis: int = 1) -> _Variable:
    """gy - exp(y) sum(gy): the gradient of log_softmax from its result y.

    Args:
        axis: int; as in log_softmax
    """

def logaddexp(x0: _Input, x1: _Input, /) -> _Variable:
    """log(exp(a) + exp(b)) without overflow."""

def logical_and(x0: _Input, x1: _Input, /) -> _Variable:
    """1 where neither a nor b is 0, else 0; no gradient."""

def logical_and_scalar(x0: _Input, /, value: complex) -> _Variable:
    """1 where x is not 0 and value is true, else 0; no gradient.

    Args:
        value: number
    """

def logical_not(x0: _Input, /) -> _Variable:
    """1 where x is 0, else 0; no gradient."""

def logical_or(x0: _Input, x1: _Input, /) -> _Variable:
    """0 where a and b are 0, else 1; no gradient."""

def logical_or_scalar(x0: _Input, /, value: complex) -> _Variable:
    """1 where x is not 0 or value is true, else 0; no gradient.

    Args:
        value: number
    """

def logical_xor(x0: _Input, x1: _Input, /) -> _Variable:
    """1 where exactly one of a and b is 0, else 0; no gradient."""

def logical_xor_scalar(x0: _Input, /, value: complex) -> _Variable:
    """1 where either x is not 0 or value is true, else 0; no gradient.

    Args:
        value: number
    """

def logistic_loss(x0: _Input, x1: _Input, /) -> _Variable:
    """-t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)), element by element; constant in t."""

def logsumexp(x0: _Input, /, axis: _Ints | None = None, keepdims: bool = False) -> _Variable:
    """log(sum(exp(x))) over axis (None: all) without overflow.

    Args:
        axis: int, tuple of ints or None
        keepdims: bool; keep the axes that are reduced, with length 1
    """

def loss_output(x0: _Input, x1: _Input, x2: _Input, /, multiply: bool = False) -> _Variable:
    """y, the second input. The gradient of x is the third input, whatever the gradient of the result is; with
    multiply, the product of both.

    Args:
        multiply: bool
    """

def lstm(x0: _Input, x1: _Input, /, order: str = "") -> tuple[_Variable, ...]:
    """One step of an LSTM: c' = tanh(a) s(i) + c s(f) and h = s(o) tanh(c'), with a, i, f, o interleaved along the
    second axis of x, or with `order`, such as ifao, in four blocks in this order. If c has more samples than x, the
    sequences of the others have ended, and their c is copied.

    Args:
        order: str
    """

def lstm_grad(
    x0: _Input,
    x1: _Input,
    x2: _Input | None = None,
    x3: _Input | None = None,
    /,
    order: str = "",
) -> tuple[_Variable, ...]:
    """Gradients of c and x of lstm, from c, x and the gradients of c' and h.

    Args:
        order: str; as in lstm
    """

def lstm_parts(x0: _Input, x1: _Input, /) -> tuple[_Variable, ...]:
    """lstm for x (batch, 4, units) with the gates i, o, f, a along the second axis, by the arithmetic of single
    functions; a third output: tanh(c').
    """

def matmul(x0: _Input, x1: _Input, /, transa: bool = False, transb: bool = False) -> _Variable:
    """NumPy's matmul: vectors, matrices, batches with broadcasting.

    Args:
        transa: bool; exchange the last two axes of the first input
        transb: bool; exchange the last two axes of the second input
    """

def max(x0: _Input, /, axis: _Ints | None = None, keepdims: bool = False) -> _Variable:
    """Largest element over axis (None: all); all equal largest elements get the gradient.

    Args:
        axis: int, tuple of ints or None
        keepdims: bool; keep the axes that are reduced, with length 1
    """

@overload
def max_pooling(
    x0: _Input,
    /,
    ksize: _Ints,
    stride: _Ints = (),
    pad: _Ints = (),
    cover_all: bool = True,
    return_indices: Literal[False] = False,
) -> _Variable:
    """Maximum of each window over the axes after the first two; with return_indices also its position in the
    window.

    Args:
        ksize: int or tuple of ints; the size of a window, for each axis; one number is used for all
        stride: int or tuple of ints; steps between windows, for each axis; () means ksize
        pad: int or tuple of ints; padding before and after each axis; () means 0
        cover_all: bool; use windows that reach beyond the end, too, so that every element is in a window
        return_indices: bool
    """

@overload
def max_pooling(
    x0: _Input,
    /,
    ksize: _Ints,
    stride: _Ints = (),
    pad: _Ints = (),
    cover_all: bool = True,
    *,
    return_indices: Literal[True],
) -> tuple[_Variable, ...]: ...
@overload
def max_pooling(
    x0: _Input,
    /,
    ksize: _Ints,
    stride: _Ints = (),
    pad: _Ints = (),
    cover_all: bool = True,
    return_indices: bool = False,
) -> _Variable | tuple[_Variable, ...]: ...
def max_pooling_at(
    x0: _Input,
    x1: _Input,
    /,
    ksize: _Ints,
    stride: _Ints = (),
    pad: _Ints = (),
    flat: bool = False,
) -> _Variable:
    """The pixel of each window at the position in indexes; its gradient is max_pooling_grad.

    Args:
        ksize: int or tuple of ints; the size of a window, for each axis; one number is used for all
        stride: int or tuple of ints; steps between windows, for each axis; () means ksize
        pad: int or tuple of ints; padding before and after each axis; () means 0
        flat: bool; as in max_pooling_grad
    """

def max_pooling_grad(
    x0: _Input,
    x1: _Input,
    /,
    ksize: _Ints,
    insize: _Ints,
    stride: _Ints = (),
    pad: _Ints = (),
    flat: bool = False,
) -> _Variable:
    """Adds each element to the pixel of its window at the position in indexes: upsampling, and the gradient of
    max_pooling. flat: indexes are positions in the padded image.

    Args:
        ksize: int or tuple of ints; as in max_pooling
        insize: int or tuple of ints; the sizes of the images, without batch and channels
        stride: int or tuple of ints; steps between windows, for each axis; () means ksize
        pad: int or tuple of ints; as in max_pooling
        flat: bool
    """

def maximum(x0: _Input, x1: _Input, /) -> _Variable:
    """The larger of a and b; where they are equal, a gets the gradient."""

def maximum_last(x0: _Input, x1: _Input, /) -> _Variable:
    """a where a > b, else b, which then gets the gradient."""

def maximum_product(x0: _Input, x1: _Input, /) -> _Variable:
    """As maximum, but a gradient that is not finite reaches both inputs."""

def maximum_scalar(x0: _Input, /, value: float, product: bool = False) -> _Variable:
    """x where x > value, else value; the gradient is 0 unless x > value. product: there the gradient is multiplied
    by 0.

    Args:
        value: float
        product: bool
    """

def mean(x0: _Input, /, axis: _Ints | None = None, keepdims: bool = False) -> _Variable:
    """Arithmetic mean over axis (None: all).

    Args:
        axis: int, tuple of ints or None
        keepdims: bool; keep the axes that are reduced, with length 1
    """

def mean_absolute_error(x0: _Input, x1: _Input, /) -> _Variable:
    """Mean of |a - b|."""

def mean_squared_error(x0: _Input, x1: _Input, /) -> _Variable:
    """Mean of (a - b) ** 2."""

def mean_subtraction(
    x0: _Input,
    x1: _Input,
    x2: _Input | None = None,
    /,
    base_axis: int = 1,
    update: bool = True,
) -> _Variable:
    """x minus the running mean over the axes before base_axis. update: the mean of x enters the running mean with
    weight 1 / (t + 1), and t is increased, both in place.

    Args:
        base_axis: int
        update: bool
    """

def mgu_reset(x0: _Input, x1: _Input, /) -> _Variable:
    """s(f) h: the operand of the matrix product in a minimal gated unit."""

def mgu_reset_grad(x0: _Input, x1: _Input, x2: _Input, /) -> tuple[_Variable, ...]:
    """Gradients of the inputs of mgu_reset, from the inputs and the gradients of its outputs."""

def mgu_update(x0: _Input, x1: _Input, x2: _Input, /) -> _Variable:
    """The state of a minimal gated unit from f, n and h: s(f) tanh(n) + (1 - s(f)) h."""

def mgu_update_grad(x0: _Input, x1: _Input, x2: _Input, x3: _Input, /) -> tuple[_Variable, ...]:
    """Gradients of the inputs of mgu_update, from the inputs and the gradients of its outputs."""

def min(x0: _Input, /, axis: _Ints | None = None, keepdims: bool = False) -> _Variable:
    """Smallest element over axis (None: all); all equal smallest elements get the gradient.

    Args:
        axis: int, tuple of ints or None
        keepdims: bool; keep the axes that are reduced, with length 1
    """

def min_max_quantize(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input,
    x4: _Input,
    /,
    decay: float = 0.999,
    x_min_max: bool = False,
    ema: bool = False,
    ste_fine_grained: bool = True,
    eps: float = 0.01,
    update: bool = True,
) -> _Variable:
    """x rounded to a grid with the levels level_min to level_max, which spans [min, max]. update: min and max,
    inputs 1 and 2, are overwritten by the range that was used. The gradient of x is 1; with ste_fine_grained it is
    0 outside the range.

    Args:
        decay: float; as in nnabla.functions.min_max_quantize
        x_min_max: bool; as in nnabla.functions.min_max_quantize
        ema: bool; as in nnabla.functions.min_max_quantize
        ste_fine_grained: bool
        eps: float; a small number that is added to avoid a division by 0
        update: bool
    """

def minimum(x0: _Input, x1: _Input, /) -> _Variable:
    """The smaller of a and b; where they are equal, a gets the gradient."""

def minimum_last(x0: _Input, x1: _Input, /) -> _Variable:
    """a where a < b, else b, which then gets the gradient."""

def minimum_scalar(x0: _Input, /, value: float, product: bool = False) -> _Variable:
    """x where x < value, else value; the gradient is 0 unless x < value. product: there the gradient is multiplied
    by 0.

    Args:
        value: float
        product: bool
    """

def mish(x0: _Input, /) -> _Variable:
    """x * tanh(log(1 + exp(x)))"""

def mod(x0: _Input, x1: _Input, /, fmod: bool = False) -> _Variable:
    """Remainder of a / b, in the dtype of a; with the sign of a if a is a float or fmod is set, else with that of
    b.

    Args:
        fmod: bool
    """

def mul(x0: _Input, x1: _Input, /) -> _Variable:
    """a * b"""

def mul_active(tensors: Sequence[_Input], /, active: _Input | None = None) -> _Variable:
    """Product of tensors of one shape, without those for which active is 0.

    Args:
        active: tensor or None
    """

def mul_scalar(x0: _Input, /, value: complex) -> _Variable:
    """x * value

    Args:
        value: number
    """

def multibox_detection(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    /,
    variances: _Input,
    clip: bool = True,
    threshold: float = 0.01,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    topk: int = -1,
) -> _Variable:
    """Detections (batch, n, 6): class, score, corners, the best first; class -1: none. cls_prob (batch, classes,
    n), where class 0 is the background; loc_pred (batch, n * 4), which is multiplied by variances; anchor (1, n,
    4). Removed are detections with a score below threshold, all but the best topk, and, if nms_threshold is in (0,
    1], boxes that overlap a better one of the same class (with force_suppress: of any class) by nms_threshold.
    clip: limit boxes to [0, 1]. Not differentiated.

    Args:
        variances: tensor
        clip: bool
        threshold: float
        nms_threshold: float
        force_suppress: bool
        topk: int
    """

def multibox_prior(
    x0: _Input,
    /,
    sizes: _Input,
    ratios: _Input,
    clip: bool = False,
    step_y: float = -1.0,
    step_x: float = -1.0,
    offset_y: float = 0.5,
    offset_x: float = 0.5,
) -> _Variable:
    """Anchors around each pixel of x (batch, channels, height, width): (1, height * width * k, 4), corners. Each
    pixel has an anchor for each of sizes with the first of ratios (width / height), and one for each further ratio
    with the first size. step_y, step_x: the distance of pixels, 1 / size unless both are positive; offset_y,
    offset_x: where in a pixel the center is; clip: limit to [0, 1]. Not differentiated.

    Args:
        sizes: tensor
        ratios: tensor
        clip: bool
        step_y: float
        step_x: float
        offset_y: float
        offset_x: float
    """

def multibox_target(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    /,
    variances: _Input,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    mining_ratio: float = -1.0,
    mining_threshold: float = 0.5,
) -> tuple[_Variable, ...]:
    """Training targets of a single-shot detector: offsets divided by variances (batch, n * 4), their mask, and
    classes (batch, n). anchor (1, n, 4); label (batch, m, 5 or more): class, corners, terminated by a class -1;
    cls_pred (batch, classes, n). An anchor gets the box that it overlaps most, if by more than overlap_threshold,
    and each box gets its best anchor; class 0 means no box. With mining_ratio > 0, only the hardest anchors without
    a box are used, mining_ratio for each anchor with a box, among those that overlap no box by mining_threshold;
    the other anchors get ignore_label. Not differentiated.

    Args:
        variances: tensor
        overlap_threshold: float
        ignore_label: float
        mining_ratio: float
        mining_threshold: float
    """

def ndtr(x0: _Input, /) -> _Variable:
    """Distribution function of the standard normal distribution."""

def ndtri(x0: _Input, /) -> _Variable:
    """Inverse of ndtr."""

def neg(x0: _Input, /) -> _Variable:
    """-x"""

def new_generator(x0: _Input, /) -> _Variable:
    """The state of a random generator, seeded with an integer."""

def nms_detection2d(x0: _Input, /, thresh: float = 0.5, nms: float = 0.45, per_class: bool = True) -> _Variable:
    """Detections (batch, boxes, 5 + classes) with zero probability where they are below thresh or overlap a better
    one by more than nms. Not differentiated.

    Args:
        thresh: float
        nms: float
        per_class: bool; as in nnabla.functions.nms_detection2d
    """

def nonzero(x0: _Input, /) -> _Variable:
    """The positions of the elements that are not zero, one row per axis."""

def normalize(x0: _Input, /, eps: float = 1e-05, axis: _Ints = (1,)) -> _Variable:
    """x / (L2 norm of x along axis + eps)

    Args:
        eps: float
        axis: int or tuple of ints
    """

def not_equal(x0: _Input, x1: _Input, /) -> _Variable:
    """1 where a != b, else 0; no gradient."""

def not_equal_scalar(x0: _Input, /, value: complex) -> _Variable:
    """1 where x != value, else 0; no gradient.

    Args:
        value: number
    """

def one_hot(x0: _Input, /, shape: _Ints) -> _Variable:
    """Arrays of `shape`, with a one at the index that each row of x (..., len(shape)) holds, and zeros elsewhere.

    Args:
        shape: int or tuple of ints; the sizes of the axes that the positions refer to
    """

def onnx_non_max_suppression(
    x0: _Input,
    x1: _Input,
    /,
    center_point_box: bool = False,
    max_output_boxes: int = 0,
    iou_threshold: float = 0.0,
    score_threshold: float = 0.0,
) -> _Variable:
    """The indices (batch, class, box) of the boxes selected for each class, the best first; none overlaps a better
    one by more than iou_threshold. Not differentiated.

    Args:
        center_point_box: bool; as in nnabla.functions.onnx_non_max_suppression
        max_output_boxes: int; as in nnabla.functions.onnx_non_max_suppression
        iou_threshold: float
        score_threshold: float; as in nnabla.functions.onnx_non_max_suppression
    """

def pack_padded_sequence(x0: _Input, x1: _Input, /, batch_first: bool = False) -> tuple[_Variable, ...]:
    """The rows of x (time, batch, ...) that belong to the sequences of the given lengths (batch,), which must not
    increase, time step by time step; and the number of rows at each step. batch_first: x is (batch, time, ...).

    Args:
        batch_first: bool
    """

def pad(x0: _Input, /, pad_width: _Ints, value: float = 0.0) -> _Variable:
    """x with pad_width[2 * i] values before and pad_width[2 * i + 1] after its axes; the last ones, if there are
    more.

    Args:
        pad_width: int or tuple of ints
        value: float; the number with which x is padded
    """

def pad_packed_sequence(
    x0: _Input,
    x1: _Input,
    /,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int = -1,
) -> tuple[_Variable, ...]:
    """The inverse of pack_padded_sequence: missing rows are filled with padding_value, up to total_length steps;
    and the lengths.

    Args:
        batch_first: bool; as in pack_padded_sequence
        padding_value: float
        total_length: int
    """

def pad_sequence(tensors: Sequence[_Input], /, length: int | None = None, value: complex = 0) -> _Variable:
    """Sequences as the rows of one tensor, padded with value to length, or to the longest sequence.

    Args:
        length: int or None
        value: number
    """

def partial_argsort(x0: _Input, /, k: int, axis: int = -1, reverse: bool = False) -> _Variable:
    """The positions of the first k elements in sorted order along an axis; equal elements keep their order.

    Args:
        k: int
        axis: int
        reverse: bool; largest first
    """

def peephole_cell(x0: _Input, x1: _Input, x2: _Input, x3: _Input, /) -> tuple[_Variable, ...]:
    """The cell of a peephole LSTM from c, x (a, i, f, o interleaved along the second axis) and the peephole terms p
    and q of i and f: c' = tanh(a) s(i + p) + s(f + q) c, and o.
    """

def peephole_cell_grad(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input,
    x4: _Input | None = None,
    x5: _Input | None = None,
    /,
) -> tuple[_Variable, ...]:
    """Gradients of the inputs of peephole_cell, from the inputs and the gradients of its outputs."""

def peephole_output(x0: _Input, x1: _Input, x2: _Input, /) -> _Variable:
    """The output of a peephole LSTM from c', o and the peephole term p of o: s(o + p) tanh(c')."""

def peephole_output_grad(x0: _Input, x1: _Input, x2: _Input, x3: _Input, /) -> tuple[_Variable, ...]:
    """Gradients of the inputs of peephole_output, from the inputs and the gradients of its outputs."""

def pick_cross_entropy(x0: _Input, x1: _Input, /, axis: int = -1, keepdims: bool = False) -> _Variable:
    """-log(softmax(x)) at the labels t along axis. t has the shape of x without that axis (or with length 1 there)
    and any dtype; a label out of range counts as the nearest class.

    Args:
        axis: int
        keepdims: bool; keep the axes that are reduced, with length 1
    """

def pixels(x0: _Input, x1: _Input, /, offset: _Ints) -> _Variable:
    """Images (batch, channels, ...) read at integer positions (batch, ..., axes) + offset, the last axis first; 0
    beyond the border.

    Args:
        offset: int or tuple of ints
    """

def pixels_grad(x0: _Input, x1: _Input, /, offset: _Ints, size: _Ints) -> _Variable:
    """The gradient of pixels, for images whose axes have the sizes `size`.

    Args:
        offset: int or tuple of ints; as in pixels
        size: int or tuple of ints
    """

def polygamma(x0: _Input, /, n: int) -> _Variable:
    """n-th derivative of digamma.

    Args:
        n: int
    """

def polygamma_infinite(x0: _Input, /, n: int) -> _Variable:
    """n-th derivative of digamma; +inf at the poles.

    Args:
        n: int
    """

def pow(x0: _Input, x1: _Input, /) -> _Variable:
    """a ** b, elementwise."""

def pow2_quantize(
    x0: _Input,
    /,
    sign: bool = True,
    with_zero: bool = True,
    n: int = 8,
    m: int = 1,
    ste_fine_grained: bool = True,
) -> _Variable:
    """x rounded, on a logarithmic scale, to powers of two up to 2 ** m, as many as n bits can represent (one bit
    less each for sign and with_zero).

    Args:
        sign: bool
        with_zero: bool
        n: int
        m: int
        ste_fine_grained: bool; the gradient is 0 where the result is limited; else it is passed on everywhere
    """

def pow_scalar(x0: _Input, /, exponent: complex) -> _Variable:
    """x ** exponent

    Args:
        exponent: number
    """

def prelu(x0: _Input, x1: _Input, /, nan: bool = True) -> _Variable:
    """x where x >= 0, else w * x. nan: where x is NaN the gradient of w is NaN, else 0.

    Args:
        nan: bool
    """

def prod(x0: _Input, /, axis: _Ints | None = None, keepdims: bool = False) -> _Variable:
    """Product over axis (None: all).

    Args:
        axis: int, tuple of ints or None
        keepdims: bool; keep the axes that are reduced, with length 1
    """

def prune(x0: _Input, /, rate: float = 0.9) -> _Variable:
    """x with the fraction `rate` of its elements, those with the smallest absolute values, set to 0; the gradient
    passes unchanged.

    Args:
        rate: float
    """

def random_choice(x0: _Input, x1: _Input, /, *, shape: _Ints, replace: bool = True, rng: _Input) -> _Variable:
    """Elements of each row of x, drawn with probabilities proportional to w.

    Args:
        shape: int or tuple of ints; the shape of the result
        replace: bool; as in nnabla.functions.random_choice
        rng: tensor; the state of a generator, made by `compatgrad.nnabla.random.new_generator()`; it is advanced
    """

def random_crop(x0: _Input, /, *, shape: _Ints, base_axis: int = 1, rng: _Input) -> _Variable:
    """A part of x of the given shape (its last axes), at a random position for each sample.

    Args:
        shape: int or tuple of ints
        base_axis: int; the first axis of a sample; the axes before it number the samples
        rng: tensor; the state of a generator, made by `compatgrad.nnabla.random.new_generator()`; it is advanced
    """

def random_erase(
    x0: _Input,
    /,
    *,
    prob: float = 0.5,
    area_low: float = 0.02,
    area_high: float = 0.4,
    aspect_low: float = 0.3,
    aspect_high: float = 3.3333,
    low: float = 0.0,
    high: float = 255.0,
    n: int = 1,
    share: bool = True,
    base_axis: int = 1,
    channel_last: bool = False,
    ste_fine_grained: bool = True,
    rng: _Input,
) -> _Variable:
    """n rectangles of each image replaced by random numbers, each with probability prob; drawn from a generator's
    state.

    Args:
        prob: float
        area_low: float; as in nnabla.functions.random_erase
        area_high: float; as in nnabla.functions.random_erase
        aspect_low: float; as in nnabla.functions.random_erase
        aspect_high: float; as in nnabla.functions.random_erase
        low: float; as in nnabla.functions.random_erase
        high: float; as in nnabla.functions.random_erase
        n: int
        share: bool; as in nnabla.functions.random_erase
        base_axis: int; the first axis of a sample; the axes before it number the samples
        channel_last: bool; as in nnabla.functions.random_erase
        ste_fine_grained: bool; the gradient is 0 where the result is limited; else it is passed on everywhere
        rng: tensor; the state of a generator, made by `compatgrad.nnabla.random.new_generator()`; it is advanced
    """

def random_flip(x0: _Input, /, *, axes: _Ints, base_axis: int = 1, rng: _Input) -> _Variable:
    """x with the order on each of the axes reversed, or not, for each sample.

    Args:
        axes: int or tuple of ints
        base_axis: int; the first axis of a sample; the axes before it number the samples
        rng: tensor; the state of a generator, made by `compatgrad.nnabla.random.new_generator()`; it is advanced
    """

def random_shift(
    x0: _Input,
    /,
    *,
    shifts: _Ints,
    border_mode: str = "nearest",
    constant_value: float = 0.0,
    base_axis: int = 1,
    rng: _Input,
) -> _Variable:
    """x shifted by up to shifts[i] elements along its last axes, differently for each sample.

    Args:
        shifts: int or tuple of ints
        border_mode: str; as in nnabla.functions.random_shift
        constant_value: float; as in nnabla.functions.random_shift
        base_axis: int; the first axis of a sample; the axes before it number the samples
        rng: tensor; the state of a generator, made by `compatgrad.nnabla.random.new_generator()`; it is advanced
    """

def rdiv_scalar(x0: _Input, /, value: complex) -> _Variable:
    """value / x

    Args:
        value: number
    """

def reciprocal(x0: _Input, /) -> _Variable:
    """1 / x"""

def region_proposals(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    /,
    scales: _Input,
    ratios: _Input,
    before: int = 6000,
    after: int = 300,
    stride: int = 16,
    threshold: float = 0.7,
    min_size: float = 16.0,
    iou_loss: bool = False,
) -> tuple[_Variable, ...]:
    """The best regions of each image from a proposal network, (images * after, 5): the image's index and corners;
    and their scores (images * after, 1). cls_prob (images, 2 * kinds, height, width), whose second half are scores;
    bbox_pred (images, 4 * kinds, height, width): the offsets from the anchors, of corners with iou_loss; im_info
    (images, 3): height, width, scale. kinds: the anchors around each pixel, for each of ratios all scales; pixels
    are stride apart. Of the best `before` regions, those that overlap a better one by more than threshold are
    removed; regions smaller than min_size come last. Not differentiated.

    Args:
        scales: tensor
        ratios: tensor
        before: int
        after: int
        stride: int
        threshold: float
        min_size: float
        iou_loss: bool
    """

def relu(x0: _Input, /, rule: str = "product") -> _Variable:
    """max(x, 0); the gradient at 0 is 0. rule: as in relu_grad.

    Args:
        rule: str
    """

def relu_grad(x0: _Input, x1: _Input, /, rule: str = "product") -> _Variable:
    """gy where y > 0, else gy times 0; constant in y. rule: choice gives 0 instead, slope NaN where y is NaN.

    Args:
        rule: str
    """

def repeat(x0: _Input, /, repeats: _Ints, axis: int | None = None) -> _Variable:
    """Each element repeated: repeats[0] times, or repeats[i] times along axis.

    Args:
        repeats: int or tuple of ints
        axis: int or None
    """

def repeat_blocks(x0: _Input, /, kernel: _Ints) -> _Variable:
    """Each element repeated along the last axes, kernel[i] times.

    Args:
        kernel: int or tuple of ints
    """

def repeat_grad(x0: _Input, /, repeats: _Ints, axis: int | None, shape: _Ints) -> _Variable:
    """The gradient of `repeat` for an input of the given shape: sums the repetitions.

    Args:
        repeats: int or tuple of ints; as in repeat
        axis: int or None; as in repeat
        shape: int or tuple of ints
    """

def resample(x0: _Input, /, axis: int, index: _Input, weight: _Input | None = None) -> _Variable:
    """Element i along `axis` of the result is the sum of weight[k, i] times element index[k, i] of x.

    Args:
        axis: int
        index: tensor
        weight: tensor or None
    """

def resample_grad(x0: _Input, /, *, axis: int, index: _Input, weight: _Input | None = None, size: int) -> _Variable:
    """The gradient of resample, for `size` elements along the axis.

    Args:
        axis: int
        index: tensor; as in resample
        weight: tensor or None; as in resample
        size: int
    """

def reset_inf(x0: _Input, /, value: float = 0.0) -> _Variable:
    """value where x is infinite, else x; the gradient is 0 where x is infinite.

    Args:
        value: float
    """

def reset_nan(x0: _Input, /, value: float = 0.0) -> _Variable:
    """value where x is NaN, else x; the gradient is 0 where x is NaN.

    Args:
        value: float
    """

def reshape(x0: _Input, /, shape: _Ints) -> _Variable:
    """Same elements in C order, new shape; one entry may be -1.

    Args:
        shape: int or tuple of ints
    """

def resize(x0: _Input, /, size: _Ints, align_corners: bool = True, mode: str = "bilinear") -> _Variable:
    """Images (batch, channels, height, width) in another size. align_corners: the centres of the corner pixels keep
    their places; otherwise the image's outer edges do.

    Args:
        size: int or tuple of ints
        align_corners: bool
        mode: str; "bilinear" or "nearest"
    """

def resize_bytes(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input,
    x4: _Input,
    /,
    rounding: str = "whole",
    bits: int = 22,
) -> _Variable:
    """An image of bytes (height, width, channels) in another size, in OpenCV's whole-number arithmetic. Inputs: the
    image, and for the rows and the columns of the result the positions and the weights of the rows and columns that
    are summed, all int32 of shape (results, taps). rounding: how sums along columns are rounded, as in OpenCV's
    bilinear ('linear') or bicubic loop ('cubic'), or once ('whole'); bits: the sum's fraction.

    Args:
        rounding: str
        bits: int
    """

def resize_grad(
    x0: _Input,
    /,
    size: _Ints,
    insize: _Ints,
    align_corners: bool = True,
    mode: str = "bilinear",
) -> _Variable:
    """The gradient of resize: from images of `size` to those of shape `insize`.

    Args:
        size: int or tuple of ints
        insize: int or tuple of ints
        align_corners: bool; as in resize
        mode: str; as in resize
    """

def rint(x0: _Input, /) -> _Variable:
    """x rounded to the nearest integer, halves to the even one; its gradient is 0."""

def rnn_layer(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input,
    x4: _Input | None = None,
    /,
    mode: str = "lstm",
    order: str = "",
    reverse: bool = False,
) -> _Variable | tuple[_Variable, ...]:
    """States h (time, batch, units) of a recurrent layer; for an LSTM also its cells and the gates before
    activation; for a GRU also the state's part of the gates. Inputs: the input's part of the gates x (time, batch,
    gates), the first h, the first cells (LSTM), and the weight (gates, units) and bias of the state. mode: lstm
    (`order` as in the op lstm), gru, rnn_tanh, rnn_relu. reverse: from the last step to the first.

    Args:
        mode: str
        order: str
        reverse: bool
    """

def roi_align(
    x0: _Input,
    x1: _Input,
    /,
    output_size: _Ints,
    scale_y: float = 1.0,
    scale_x: float = 1.0,
    sampling_ratio: int = -1,
    sampling_ratio_x: int | None = None,
    group: _Ints = (),
) -> _Variable:
    """Regions of x (batch, channels, height, width) as maps of output_size: means of sampling_ratio ** 2 bilinear
    samples per element, or, if it is not positive, of about one sample per pixel; sampling_ratio_x: samples along
    columns. boxes (regions, 5): image, x1, y1, x2, y2, which are multiplied by the scales. group (rows, columns):
    each group of bins reads its own channel.

    Args:
        output_size: int or tuple of ints
        scale_y: float; factor of the boxes' y
        scale_x: float; factor of the boxes' x
        sampling_ratio: int
        sampling_ratio_x: int or None
        group: int or tuple of ints
    """

def roi_align_grad(
    x0: _Input,
    x1: _Input,
    /,
    insize: _Ints,
    output_size: _Ints,
    scale_y: float = 1.0,
    scale_x: float = 1.0,
    sampling_ratio: int = -1,
    sampling_ratio_x: int | None = None,
    group: _Ints = (),
) -> _Variable:
    """The gradient of roi_align with respect to its images, which have the shape insize.

    Args:
        insize: int or tuple of ints
        output_size: int or tuple of ints; as in roi_align
        scale_y: float; as in roi_align
        scale_x: float; as in roi_align
        sampling_ratio: int; as in roi_align
        sampling_ratio_x: int or None; as in roi_align
        group: int or tuple of ints; as in roi_align
    """

def roi_average(x0: _Input, x1: _Input, /, output_size: _Ints, group: _Ints = ()) -> _Variable:
    """Means of bins of whole pixels of x (batch, channels, height, width), 0 in empty ones. bins (regions, 1 + 2
    rows + 2 columns), integers: image, first row of each bin, row past its last one, and the same for columns.
    group: as in roi_align.

    Args:
        output_size: int or tuple of ints; rows and columns of a region's map
        group: int or tuple of ints
    """

def roi_average_grad(x0: _Input, x1: _Input, /, insize: _Ints, output_size: _Ints, group: _Ints = ()) -> _Variable:
    """The gradient of roi_average with respect to its images, which have the shape insize.

    Args:
        insize: int or tuple of ints
        output_size: int or tuple of ints; as in roi_average
        group: int or tuple of ints; as in roi_average
    """

def roi_max(
    x0: _Input,
    x1: _Input,
    /,
    output_size: _Ints,
    group: _Ints = (),
    empty: float = 0.0,
) -> tuple[_Variable, ...]:
    """As roi_average with maxima instead of means; empty: the value of bins without pixels. Also the place of each
    maximum, row * width + column; -1: none.

    Args:
        output_size: int or tuple of ints; as in roi_align
        group: int or tuple of ints; as in roi_align
        empty: float
    """

def roi_max_align(
    x0: _Input,
    x1: _Input,
    /,
    output_size: _Ints,
    scale_y: float = 1.0,
    scale_x: float = 1.0,
    sampling_ratio: int = -1,
    sampling_ratio_x: int | None = None,
    group: _Ints = (),
    empty: float = 0.0,
) -> tuple[_Variable, ...]:
    """As roi_align with maxima instead of means; empty: the value of bins without samples. Also the place of each
    maximum, row * columns + column among the samples of its bin; -1: none.

    Args:
        output_size: int or tuple of ints; as in roi_align
        scale_y: float; as in roi_align
        scale_x: float; as in roi_align
        sampling_ratio: int; as in roi_align
        sampling_ratio_x: int or None; as in roi_align
        group: int or tuple of ints; as in roi_align
        empty: float
    """

def roi_max_align_at(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    /,
    output_size: _Ints,
    scale_y: float = 1.0,
    scale_x: float = 1.0,
    sampling_ratio: int = -1,
    sampling_ratio_x: int | None = None,
    group: _Ints = (),
) -> _Variable:
    """The samples at the given places; its gradient is roi_max_align_grad.

    Args:
        output_size: int or tuple of ints; as in roi_align
        scale_y: float; as in roi_align
        scale_x: float; as in roi_align
        sampling_ratio: int; as in roi_align
        sampling_ratio_x: int or None; as in roi_align
        group: int or tuple of ints; as in roi_align
    """

def roi_max_align_grad(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    /,
    insize: _Ints,
    output_size: _Ints,
    scale_y: float = 1.0,
    scale_x: float = 1.0,
    sampling_ratio: int = -1,
    sampling_ratio_x: int | None = None,
    group: _Ints = (),
) -> _Variable:
    """Adds each element to the pixels of the sample at its place (input places).

    Args:
        insize: int or tuple of ints; the shape of the images
        output_size: int or tuple of ints; as in roi_max_align
        scale_y: float; as in roi_max_align
        scale_x: float; as in roi_max_align
        sampling_ratio: int; as in roi_max_align
        sampling_ratio_x: int or None; as in roi_max_align
        group: int or tuple of ints; as in roi_max_align
    """

def roi_max_at(x0: _Input, x1: _Input, x2: _Input, /, output_size: _Ints, group: _Ints = ()) -> _Variable:
    """The pixels at the given places; its gradient is roi_max_grad.

    Args:
        output_size: int or tuple of ints; as in roi_align
        group: int or tuple of ints; as in roi_align
    """

def roi_max_grad(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    /,
    insize: _Ints,
    output_size: _Ints,
    group: _Ints = (),
) -> _Variable:
    """Adds each element to the pixel at its place (input places).

    Args:
        insize: int or tuple of ints; the shape of the images
        output_size: int or tuple of ints; as in roi_max
        group: int or tuple of ints; as in roi_max
    """

def rpow_scalar(x0: _Input, /, base: complex) -> _Variable:
    """base ** x

    Args:
        base: number
    """

def rsqrt(x0: _Input, /) -> _Variable:
    """1 / sqrt(x)"""

def rsub_scalar(x0: _Input, /, value: complex) -> _Variable:
    """value - x

    Args:
        value: number
    """

def running_sum(x0: _Input, /, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> _Variable:
    """Cumulative sums along an axis, with or without the element itself, from either end.

    Args:
        axis: int
        exclusive: bool; without the element itself
        reverse: bool; sum from the end of the axis
    """

def sample_grid(
    x0: _Input,
    x1: _Input,
    /,
    mode: str = "linear",
    padding: str = "zero",
    align_corners: bool = True,
    channel_last: bool = False,
    flow: bool = False,
    rim: bool = False,
    nan: bool = False,
    axis: int = -1,
) -> _Variable:
    """Images (batch, channels, ...) of two or three axes (with channel_last the channels are the last axis),
    sampled at the positions in a grid (batch, ..., axes), or with axis=1 (batch, axes, ...), the image's last axis
    first. With align_corners -1 ... 1 is the range between the centres of the outermost pixels, else between the
    outer edges. flow: the grid says by how many pixels each position is shifted. mode: 'linear' or 'nearest'.
    padding: 'zero' beyond the border, or positions are mapped as by border_coordinate. nan: linear samples of an
    image at NaN are NaN, otherwise 0.

    Args:
        mode: str
        padding: str; "zero", or positions are limited to the border ("repeat") or reflected ("reflect")
        align_corners: bool
        channel_last: bool
        flow: bool; the grid says by how many pixels positions are shifted
        rim: bool; positions are rounded as counted from a pixel before the image, whose gradient is 0
        nan: bool
        axis: int; the grid's axis of coordinates, 1 or -1
    """

def sample_normalization(
    x0: _Input,
    x1: _Input | None = None,
    x2: _Input | None = None,
    /,
    lead: int = 1,
    eps: float = 1e-05,
) -> _Variable:
    """layer_normalization of samples, which the first `lead` axes of x count; beta and gamma may be left out.

    Args:
        lead: int
        eps: float; a small number that is added to avoid a division by 0
    """

def scatter_add(x0: _Input, x1: _Input, /, index: _Index) -> _Variable:
    """A copy of a, to which b is added at index.

    Args:
        index: an index expression, as in x[...]
    """

def scatter_add_along(x0: _Input, x1: _Input, x2: _Input, /, axis: int = 0) -> _Variable:
    """x0 to which x1 is added at indices along an axis.

    Args:
        axis: int
    """

def scatter_along(x0: _Input, x1: _Input, /, axis: int, shape: _Ints) -> _Variable:
    """Zeros of shape, to which gy is added at the elements that gather_along would read.

    Args:
        axis: int; the axis, or the axes, along which the op works; a negative one counts from the end
        shape: int or tuple of ints
    """

def scatter_nd(x0: _Input, x1: _Input, x2: _Input | None = None, /, *, shape: _Ints, add: bool = False) -> _Variable:
    """Zeros of shape, or `out`, into which data is written (or added) at indices.

    Args:
        shape: int or tuple of ints
        add: bool; add to the old values, else replace them
    """

def searchsorted(x0: _Input, x1: _Input, /, right: bool = False) -> _Variable:
    """The positions at which values can be inserted so that the sequence stays sorted; the gradient is 0.

    Args:
        right: bool; insert after equal elements, else before them
    """

def select_along(x0: _Input, x1: _Input, /, axis: int = 0) -> _Variable:
    """The slices of x along axis at the positions in a one-dimensional index.

    Args:
        axis: int
    """

def select_item(x0: _Input, x1: _Input, /) -> _Variable:
    """One element of each row: x[i, t[i]]."""

def sigmoid(x0: _Input, /) -> _Variable:
    """1 / (1 + exp(-x))"""

def sigmoid_cross_entropy(x0: _Input, x1: _Input, /, normalize: bool = True, reduce: str = "mean") -> _Variable:
    """-log(sigmoid(x)) where t is 1, -log(1 - sigmoid(x)) where it is 0, and 0 where it is -1.

    Args:
        normalize: bool; the mean is over the labels that are not -1, else over the batch
        reduce: str; "mean", or "no" for the losses of all elements
    """

def sigmoid_grad(x0: _Input, x1: _Input, /) -> _Variable:
    """gy * y * (1 - y)"""

def sign(x0: _Input, /) -> _Variable:
    """-1, 0 or 1; its gradient is 0."""

def silu(x0: _Input, /) -> _Variable:
    """x * sigmoid(x)"""

def silu_grad(x0: _Input, x1: _Input, /) -> _Variable:
    """gy times the derivative of silu at x."""

def sin(x0: _Input, /) -> _Variable:
    """Sine of x in radians."""

def sinc(x0: _Input, /, order: int = 0) -> _Variable:
    """sin(x) / x, 1 at 0; or its derivative of a given order.

    Args:
        order: int
    """

def sinh(x0: _Input, /) -> _Variable:
    """Hyperbolic sine."""

def sink(tensors: Sequence[_Input], /) -> _Variable:
    """A zero that depends on all inputs; each of them gets a gradient of ones."""

def slstm(x0: _Input, x1: _Input, x2: _Input, x3: _Input, /) -> tuple[_Variable, ...]:
    """One step of an S-LSTM from cells c1, c2 and inputs x1, x2, each a, i, f, o interleaved along the second axis:
    c = tanh(a1) s(i1) + tanh(a2) s(i2) + s(f1) c1 + s(f2) c2, h = s(o1 + o2) tanh(c).
    """

def slstm_grad(
    x0: _Input,
    x1: _Input,
    x2: _Input,
    x3: _Input,
    x4: _Input | None = None,
    x5: _Input | None = None,
    /,
) -> tuple[_Variable, ...]:
    """Gradients of the inputs of slstm, from the inputs and the gradients of its outputs."""

def softmax(x0: _Input, /, axis: int = 1) -> _Variable:
    """exp(x), scaled to sum 1 along axis.

    Args:
        axis: int
    """

def softmax_cross_entropy(
    x0: _Input,
    x1: _Input,
    x2: _Input | None = None,
    /,
    ignore_label: int = -1,
    normalize: bool = True,
    reduce: str = "mean",
) -> _Variable:
    """-log(softmax(x))[label] over the second axis, times class_weight[label]; 0 for ignore_label. The mean is over
    labels that are not ignored (normalize) or over the batch.

    Args:
        ignore_label: int
        normalize: bool
        reduce: str; "mean", or "no" for the losses of all labels
    """

def softmax_cross_entropy_along(x0: _Input, x1: _Input, /, axis: int = 1) -> _Variable:
    """-log(softmax(x))[t] along axis, where t has length 1; 0 for labels below 0.

    Args:
        axis: int
    """

def softmax_grad(x0: _Input, x1: _Input, /, axis: int = 1) -> _Variable:
    """y (gy - sum(gy y)): the gradient of softmax from its result y.

    Args:
        axis: int; as in softmax
    """

def softplus(x0: _Input, /, beta: float = 1.0) -> _Variable:
    """log(1 + exp(beta * x)) / beta

    Args:
        beta: float
    """

def softplus_grad(x0: _Input, x1: _Input, /, beta: float = 1.0) -> _Variable:
    """gy * sigmoid(beta * x)

    Args:
        beta: float
    """

def softsign(x0: _Input, /) -> _Variable:
    """x / (1 + |x|)"""

def solve_triangular(
    x0: _Input,
    x1: _Input,
    /,
    lower: bool = True,
    transpose: bool = False,
    right: bool = False,
) -> _Variable:
    """The solution x of a x = b (right: x a = b) for the lower or upper triangles of a, or their transpose.

    Args:
        lower: bool
        transpose: bool; transpose a
        right: bool
    """

@overload
def sort(
    x0: _Input,
    /,
    axis: int = -1,
    reverse: bool = False,
    with_index: Literal[False] = False,
    only_index: bool = False,
) -> _Variable:
    """x sorted along an axis, equal elements in their old order; optionally also the positions.

    Args:
        axis: int
        reverse: bool; largest first
        with_index: bool; also return the positions, as int64
        only_index: bool; return only the positions, as int64
    """

@overload
def sort(
    x0: _Input,
    /,
    axis: int = -1,
    reverse: bool = False,
    *,
    with_index: Literal[True],
    only_index: Literal[False] = False,
) -> tuple[_Variable, ...]: ...
@overload
def sort(
    x0: _Input,
    /,
    axis: int = -1,
    reverse: bool = False,
    with_index: bool = False,
    only_index: bool = False,
) -> _Variable | tuple[_Variable, ...]: ...
@overload
def spectral_norm(
    x0: _Input,
    x1: _Input,
    /,
    dim: int = 0,
    iterations: int = 1,
    eps: float = 1e-12,
    test: bool = False,
    output_u: Literal[False] = False,
    update: bool = True,
) -> _Variable:
    """w divided by its largest singular value, estimated by power iterations from u. Unless `test`, u is
    overwritten by the new left singular vector; backward writes it again. output_u: the given u is a result, too.

    Args:
        dim: int; as in nnabla.functions.spectral_norm
        iterations: int
        eps: float; a small number that is added to avoid a division by 0
        test: bool
        output_u: bool
        update: bool; update the inputs that store states; False for a forward pass that is repeated
    """

@overload
def spectral_norm(
    x0: _Input,
    x1: _Input,
    /,
    dim: int = 0,
    iterations: int = 1,
    eps: float = 1e-12,
    test: bool = False,
    *,
    output_u: Literal[True],
    update: bool = True,
) -> tuple[_Variable, ...]: ...
@overload
def spectral_norm(
    x0: _Input,
    x1: _Input,
    /,
    dim: int = 0,
    iterations: int = 1,
    eps: float = 1e-12,
    test: bool = False,
    output_u: bool = False,
    update: bool = True,
) -> _Variable | tuple[_Variable, ...]: ...
def split(x0: _Input, /, indices: _Ints, axis: int = 0) -> _Variable | tuple[_Variable, ...]:
    """Splits x along an axis before each of the indices.

    Args:
        indices: int or tuple of ints
        axis: int
    """

def sqrt(x0: _Input, /) -> _Variable:
    """Square root."""

def square(x0: _Input, /) -> _Variable:
    """x * x"""

def squared_error(x0: _Input, x1: _Input, /) -> _Variable:
    """(a - b) ** 2"""

def squeeze(x0: _Input, /, axis: _Ints | None = None) -> _Variable:
    """Without the given axes of length 1 (None: all of them).

    Args:
        axis: int, tuple of ints or None; the axis, or the axes, along which the op works; a negative one counts
            from the end
    """

def stack(tensors: Sequence[_Input], /, axis: int = 0) -> _Variable:
    """Joins tensors along a new axis.

    Args:
        axis: int
    """

def ste_ceil(x0: _Input, /) -> _Variable:
    """Smallest integer >= x; the gradient passes unchanged."""

def ste_floor(x0: _Input, /) -> _Variable:
    """Largest integer <= x; the gradient passes unchanged."""

def ste_round(x0: _Input, /) -> _Variable:
    """x rounded to the nearest integer, halves away from zero; the gradient passes unchanged."""

def ste_sign(x0: _Input, /, alpha: float = 1.0) -> _Variable:
    """-1, 1, or alpha where x is 0; the gradient passes unchanged.

    Args:
        alpha: float
    """

def stft(
    x0: _Input,
    /,
    window_size: int,
    stride: int,
    fft_size: int,
    window_type: str = "hanning",
    center: bool = True,
    pad_mode: str = "reflect",
    transposed: bool = False,
) -> tuple[_Variable, ...]:
    """Real and imaginary parts (batch, fft_size / 2 + 1, frames) of the windowed frames of x (batch, samples);
    transposed: the gradient of istft.

    Args:
        window_size: int; as in nnabla.functions.stft
        stride: int; samples between frames
        fft_size: int
        window_type: str; as in nnabla.functions.stft
        center: bool; as in nnabla.functions.stft
        pad_mode: str; as in nnabla.functions.stft
        transposed: bool
    """

def stop_gradient(x0: _Input, /) -> _Variable:
    """x as a constant: no gradient passes."""

def straight_through(x0: _Input, x1: _Input, /) -> _Variable:
    """The value of a, with the gradient that b would have."""

def sub(x0: _Input, x1: _Input, /) -> _Variable:
    """a - b"""

def sum(x0: _Input, /, axis: _Ints | None = None, keepdims: bool = False) -> _Variable:
    """Sum over axis (None: all).

    Args:
        axis: int, tuple of ints or None
        keepdims: bool; keep the axes that are reduced, with length 1
    """

def sum_pooling(
    x0: _Input,
    /,
    ksize: _Ints,
    stride: _Ints = (),
    pad: _Ints = (),
    cover_all: bool = False,
    outsize: _Ints | None = None,
    divisor: int = 1,
) -> _Variable:
    """Sum of each window over the axes after the first two, divided by divisor.

    Args:
        ksize: int or tuple of ints; the size of a window, for each axis; one number is used for all
        stride: int or tuple of ints; steps between windows, for each axis; () means ksize
        pad: int or tuple of ints; padding before and after each axis; () means 0
        cover_all: bool; use windows that reach beyond the end, too, so that every element is in a window
        outsize: int, tuple of ints or None; the sizes of the result's axes after the first two; None: as many
            windows as fit
        divisor: int
    """

def sum_to(x0: _Input, /, shape: _Ints) -> _Variable:
    """Sums x to shape, the transpose of broadcasting.

    Args:
        shape: int or tuple of ints
    """

def swish(x0: _Input, x1: _Input, /) -> _Variable:
    """x * sigmoid(beta * x)"""

def sylvester_symmetric(x0: _Input, x1: _Input, /) -> _Variable:
    """x of s x + x s = b, for the symmetric parts s of a, which must be positive definite."""

def tan(x0: _Input, /) -> _Variable:
    """Tangent of x in radians."""

def tanh(x0: _Input, /) -> _Variable:
    """Hyperbolic tangent."""

def tanh_grad(x0: _Input, x1: _Input, /) -> _Variable:
    """gy * (1 - y * y)"""

def tanh_shrink(x0: _Input, /) -> _Variable:
    """x - tanh(x)"""

def tie(x0: _Input, x1: _Input, /) -> _Variable:
    """x, recorded as a result of `to` as well, which gets no gradient."""

def tile(x0: _Input, /, reps: _Ints) -> _Variable:
    """x repeated reps[i] times along axis i.

    Args:
        reps: int or tuple of ints
    """

def to_device(x0: _Input, /, device: str) -> _Variable:
    """x on another device, such as "cpu" or "cuda:1"; x itself if it is already there.

    Args:
        device: str
    """

@overload
def top_k(
    x0: _Input,
    /,
    k: int,
    abs: bool = False,
    reduce: bool = True,
    base_axis: int = 1,
    largest: bool = True,
    with_index: Literal[False] = False,
) -> _Variable:
    """The k largest (smallest) elements of each sample, in order; optionally also the positions.

    Args:
        k: int
        abs: bool; order elements by their absolute values
        reduce: bool; return k elements; else an array like x with the others set to 0
        base_axis: int; the first axis of a sample; the axes before it number the samples
        largest: bool
        with_index: bool; also return the positions, as int64
    """

@overload
def top_k(
    x0: _Input,
    /,
    k: int,
    abs: bool = False,
    reduce: bool = True,
    base_axis: int = 1,
    largest: bool = True,
    *,
    with_index: Literal[True],
) -> tuple[_Variable, ...]: ...
@overload
def top_k(
    x0: _Input,
    /,
    k: int,
    abs: bool = False,
    reduce: bool = True,
    base_axis: int = 1,
    largest: bool = True,
    with_index: bool = False,
) -> _Variable | tuple[_Variable, ...]: ...
def top_k_grad(x0: _Input, /, k: int, abs: bool = False, base_axis: int = 1) -> _Variable:
    """x; only the k largest elements of each sample of its gradient are passed on.

    Args:
        k: int
        abs: bool; as in top_k
        base_axis: int; as in top_k
    """

def top_k_mask(x0: _Input, /, k: int, abs: bool = False, base_axis: int = 1) -> _Variable:
    """x with all but the k largest elements of each sample set to 0.

    Args:
        k: int
        abs: bool; order elements by their absolute values
        base_axis: int; the first axis of a sample; the axes before it number the samples
    """

def top_n_error(x0: _Input, x1: _Input, /, axis: int = 1, n: int = 1) -> _Variable:
    """1 where t is not among the n largest classes along axis, else 0; no gradient.

    Args:
        axis: int
        n: int
    """

def transpose(x0: _Input, /, axes: _Ints | None = None) -> _Variable:
    """Permutes the axes; reverses them when axes is None.

    Args:
        axes: int, tuple of ints or None
    """

def transposed_convolution(
    x0: _Input,
    x1: _Input,
    x2: _Input | None = None,
    /,
    *,
    stride: _Ints,
    pad: _Ints,
    dilate: _Ints,
    groups: int = 1,
    output_padding: _Ints = (),
) -> _Variable:
    """As deconvolution; the size of the result is the smallest possible one plus output_padding, which must be less
    than stride.

    Args:
        stride: int or tuple of ints
        pad: int or tuple of ints; padding before and after each axis; () means 0
        dilate: int or tuple of ints; distance between the elements of a filter, for each axis; () means 1
        groups: int; the number of groups of channels, which the op processes separately
        output_padding: int or tuple of ints
    """

def tree_lstm(tensors: Sequence[_Input], /) -> tuple[_Variable, ...]:
    """One step of a Tree-LSTM from the children's cells c1, ..., cn and x, which has a, i, o, f1, ..., fn in this
    order along the second axis: c' = tanh(a) s(i) + s(f1) c1 + ..., h = s(o) tanh(c').
    """

def tree_lstm_grad(tensors: Sequence[_Input], /) -> tuple[_Variable, ...]:
    """Gradients of the inputs of tree_lstm, from the inputs and the gradients of its outputs."""

def tril(x0: _Input, /, k: int = 0) -> _Variable:
    """x with zeros above the k-th diagonal of the last two axes.

    Args:
        k: int
    """

def triu(x0: _Input, /, k: int = 0) -> _Variable:
    """x with zeros below the k-th diagonal of the last two axes.

    Args:
        k: int
    """

@overload
def unique(
    x0: _Input,
    /,
    axis: int | None = None,
    sorted: bool = True,
    with_index: Literal[False] = False,
    with_inverse: Literal[False] = False,
    with_counts: Literal[False] = False,
) -> _Variable:
    """The distinct elements (slices along axis) of x, sorted or in the order of their first occurrence.

    Args:
        axis: int or None
        sorted: bool
        with_index: bool; also return where each occurs first
        with_inverse: bool; also return each element's index among the distinct ones
        with_counts: bool; also return how often each occurs
    """

@overload
def unique(
    x0: _Input,
    /,
    axis: int | None = None,
    sorted: bool = True,
    *,
    with_index: Literal[True],
    with_inverse: bool = False,
    with_counts: bool = False,
) -> tuple[_Variable, ...]: ...
@overload
def unique(
    x0: _Input,
    /,
    axis: int | None = None,
    sorted: bool = True,
    with_index: bool = False,
    *,
    with_inverse: Literal[True],
    with_counts: bool = False,
) -> tuple[_Variable, ...]: ...
@overload
def unique(
    x0: _Input,
    /,
    axis: int | None = None,
    sorted: bool = True,
    with_index: bool = False,
    with_inverse: bool = False,
    *,
    with_counts: Literal[True],
) -> tuple[_Variable, ...]: ...
@overload
def unique(
    x0: _Input,
    /,
    axis: int | None = None,
    sorted: bool = True,
    with_index: bool = False,
    with_inverse: bool = False,
    with_counts: bool = False,
) -> _Variable | tuple[_Variable, ...]: ...
def unlink(x0: _Input, /) -> _Variable:
    """x itself; its gradient is 0."""

def unpooling(
    x0: _Input,
    /,
    ksize: _Ints,
    stride: _Ints = (),
    pad: _Ints = (),
    outsize: _Ints | None = None,
    cover_all: bool = True,
    divisor: int = 1,
) -> _Variable:
    """Adds each element, divided by divisor, to all elements of its window: sum_pooling transposed.

    Args:
        ksize: int or tuple of ints; the size of a window, for each axis; one number is used for all
        stride: int or tuple of ints; steps between windows, for each axis; () means ksize
        pad: int or tuple of ints; padding before and after each axis; () means 0
        outsize: int, tuple of ints or None; the sizes of the result's axes after the first two; None: as many
            windows as fit
        cover_all: bool; use windows that reach beyond the end, too, so that every element is in a window
        divisor: int
    """

def unstack(x0: _Input, /, axis: int = 0) -> _Variable | tuple[_Variable, ...]:
    """All slices of x along an axis, without that axis.

    Args:
        axis: int
    """

def var(x0: _Input, /, axis: _Ints | None = None, ddof: float = 0.0, keepdims: bool = False) -> _Variable:
    """Variance over axis (None: all); divides by n - ddof.

    Args:
        axis: int, tuple of ints or None
        ddof: float
        keepdims: bool; keep the axes that are reduced, with length 1
    """

def vat_noise(x0: _Input, x1: _Input, /, base_axis: int = 1, eps: float = 1.0, update: bool = True) -> _Variable:
    """eps x / |x|, with the norm over the axes from base_axis on. x gets no gradient: backward writes eps times the
    gradient of the result into the second input.

    Args:
        base_axis: int
        eps: float
        update: bool; update the inputs that store states; False for a forward pass that is repeated
    """

def where(x0: _Input, x1: _Input, x2: _Input, /) -> _Variable:
    """a where condition is not zero, else b."""

def window_pooling(
    x0: _Input,
    /,
    ksize: _Ints,
    stride: _Ints = (),
    pad: _Ints = (),
    ignore_border: bool = True,
    divisor: str = "none",
) -> _Variable:
    """Sum of each window over as many of the last axes as ksize has entries; without ignore_border also of windows
    that begin in the image and reach beyond the padding. divisor: 'padded' divides by the number of elements of the
    padded image in the window, 'image' by that of the image.

    Args:
        ksize: int or tuple of ints
        stride: int or tuple of ints; steps between windows, for each axis; () means ksize
        pad: int or tuple of ints; padding before and after each axis; () means 0
        ignore_border: bool
        divisor: str
    """

def zeta(x0: _Input, x1: _Input, /) -> _Variable:
    """Hurwitz zeta function: the sum of (k + q) ** -s for k = 0, 1, ...; differentiable only with respect to q."""
