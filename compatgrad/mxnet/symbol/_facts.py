"""What MXNet's graph knows of its operators: their names, inputs, states and numbers of outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._custom_op import prop_of
from ..ndarray._distributions import DISTRIBUTIONS
from ..ndarray._operator import operators, parse
from ..ndarray._scalars import PAIRS

__all__ = [
    "CONTROL",
    "GRAPH_NAMES",
    "aux_inputs",
    "canonical",
    "inputs_of",
    "is_variadic",
    "n_outputs",
    "n_visible",
    "needed_inputs",
    "takes_optional",
]

# other names of operators -> the name in a graph
GRAPH_NAMES = {
    "ElementWiseSum": "add_n", "Softmax": "SoftmaxOutput", "_Div": "elemwise_div", "_Minus": "elemwise_sub",
    "_Mul": "elemwise_mul", "_Plus": "elemwise_add", "_add": "elemwise_add", "_div": "elemwise_div",
    "_minus": "elemwise_sub", "_mul": "elemwise_mul", "_plus": "elemwise_add", "_sub": "elemwise_sub",
    "broadcast_axes": "broadcast_axis", "broadcast_minus": "broadcast_sub", "broadcast_plus": "broadcast_add",
    "cast": "Cast", "choose_element_0index": "pick", "concat": "Concat", "crop": "slice", "ctc_loss": "CTCLoss",
    "flatten": "Flatten", "flip": "reverse", "identity": "_copy", "max_axis": "max", "min_axis": "min",
    "normal": "_random_normal", "pad": "Pad", "ravel_multi_index": "_ravel_multi_index", "reshape": "Reshape",
    "retain": "_sparse_retain",
    "shuffle": "_shuffle", "split": "SliceChannel", "stop_gradient": "BlockGrad", "sum_axis": "sum",
    "swapaxes": "SwapAxis", "uniform": "_random_uniform", "unravel_index": "_unravel_index", "zeros": "_zeros",
    "ones": "_ones", "full": "_full", "arange": "_arange", "eye": "_eye", "linspace": "_linspace",
    "split_v2": "_split_v2", "_contrib_CTCLoss": "CTCLoss", "_contrib_ctc_loss": "CTCLoss",
    "_contrib_box_non_maximum_suppression": "_contrib_box_nms", "cumsum": "_np_cumsum",
}  # fmt: skip

CONTROL = ("_foreach", "_while_loop", "_cond")  # loops and branches, which hold graphs
_PAIR = ("lhs", "rhs")
_INPUTS: dict[str, tuple[str, ...]] = {
    "BatchNorm": ("data", "gamma", "beta", "moving_mean", "moving_var"), "BilinearSampler": ("data", "grid"),
    "CTCLoss": ("data", "label", "data_lengths", "label_lengths"), "Convolution": ("data", "weight", "bias"),
    "Correlation": ("data1", "data2"), "Deconvolution": ("data", "weight", "bias"), "Embedding": ("data", "weight"),
    "FullyConnected": ("data", "weight", "bias"), "GroupNorm": ("data", "gamma", "beta"),
    "InstanceNorm": ("data", "gamma", "beta"), "LayerNorm": ("data", "gamma", "beta"), "LeakyReLU": ("data", "gamma"),
    "LinearRegressionOutput": ("data", "label"), "LogisticRegressionOutput": ("data", "label"),
    "MAERegressionOutput": ("data", "label"), "ROIPooling": ("data", "rois"), "SVMOutput": ("data", "label"),
    "RNN": ("data", "parameters", "state", "state_cell", "sequence_length"),
    "SequenceLast": ("data", "sequence_length"), "SequenceMask": ("data", "sequence_length"),
    "SequenceReverse": ("data", "sequence_length"), "SoftmaxOutput": ("data", "label"),
    "SpatialTransformer": ("data", "loc"), "_sparse_retain": ("data", "indices"), "batch_take": ("a", "indices"),
    "gather_nd": ("data", "indices"), "one_hot": ("indices",), "pick": ("data", "index"),
    "scatter_nd": ("data", "indices"), "slice_like": ("data", "shape_like"), "softmax": ("data", "length"),
    "softmax_cross_entropy": ("data", "label"), "take": ("a", "indices"), "where": ("condition", "x", "y"),
    "_linalg_gemm": ("A", "B", "C"), "_linalg_gemm2": ("A", "B"), "_linalg_trmm": ("A", "B"),
    "_linalg_trsm": ("A", "B"), "_contrib_ROIAlign": ("data", "rois"), "_contrib_box_iou": _PAIR,
    "_contrib_PSROIPooling": ("data", "rois"),
    "_contrib_SyncBatchNorm": ("data", "gamma", "beta", "moving_mean", "moving_var"),
    "_contrib_index_copy": ("old_tensor", "index_vector", "new_tensor"), "_sample_uniform": ("low", "high"),
    "_sample_normal": ("mu", "sigma"), "_sample_gamma": ("alpha", "beta"), "_sample_exponential": ("lam",),
    "_sample_poisson": ("lam",), "_sample_negative_binomial": ("k", "p"),
    "_sample_generalized_negative_binomial": ("mu", "alpha"), "dot": _PAIR, "batch_dot": _PAIR,
    "broadcast_like": _PAIR, "reshape_like": _PAIR, "_contrib_MultiBoxDetection": ("cls_prob", "loc_pred", "anchor"),
    "_contrib_MultiBoxTarget": ("anchor", "label", "cls_pred"), "_contrib_box_encode": ("samples", "matches",
    "anchors", "refs", "means", "stds"), "_contrib_box_decode": ("data", "anchors"),
    "_contrib_boolean_mask": ("data", "index"), "_contrib_quadratic": ("data",),
    "_contrib_interleaved_matmul_selfatt_qk": ("queries_keys_values",),
    "_contrib_interleaved_matmul_selfatt_valatt": ("queries_keys_values", "attention"),
    "_contrib_interleaved_matmul_encdec_qk": ("queries", "keys_values"),
    "_contrib_interleaved_matmul_encdec_valatt": ("keys_values", "attention"), "_contrib_allclose": ("a", "b"),
    "_contrib_BatchNormWithReLU": ("data", "gamma", "beta", "moving_mean", "moving_var"),
    "BatchNorm_v1": ("data", "gamma", "beta", "moving_mean", "moving_var"),
    "_contrib_SparseEmbedding": ("data", "weight"),
    "fill_element_0index": ("lhs", "mhs", "rhs"), "_slice_assign": _PAIR,
    "_contrib_DeformableConvolution": ("data", "offset", "weight", "bias"),
    "_contrib_ModulatedDeformableConvolution": ("data", "offset", "mask", "weight", "bias"),
    "_contrib_BilinearResize2D": ("data", "like"), "_identity_with_attr_like_rhs": _PAIR, "_grad_add": _PAIR,
}  # fmt: skip
_DRAWN = frozenset(f"_random_{name}" for name in DISTRIBUTIONS)
_NO_INPUTS = frozenset("_arange _eye _full _linspace _ones _zeros _sample_unique_zipfian".split())
_VARIADIC = frozenset(
    "Concat add_n stack khatri_rao UpSampling amp_multicast Crop multi_all_finite multi_sum_sq _contrib_foreach "
    "_rnn_param_concat".split()
)
_AUX = dict.fromkeys(("BatchNorm", "BatchNorm_v1", "_contrib_SyncBatchNorm", "_contrib_BatchNormWithReLU"), (3, 4))


def canonical(name: str) -> str:
    """The name that an operator has in a graph."""
    if name in GRAPH_NAMES:
        return GRAPH_NAMES[name]
    if name.startswith(("linalg_", "random_", "sample_")):
        return f"_{name}"
    return name


def _declared(op: str, fact: str, default: Any) -> Any:
    """What the declaration of an operator says of it, where it has one."""
    return getattr(operators.get(op), fact, default)


def is_variadic(op: str) -> bool:
    """Whether the operator takes any number of inputs."""
    return op in _VARIADIC or op in CONTROL or _declared(op, "variadic", False)


def inputs_of(op: str) -> tuple[str, ...]:
    """Names of the inputs, optional ones too."""
    if op in _INPUTS:
        return _INPUTS[op]
    if op in _NO_INPUTS or op in _DRAWN or op == "_random_randint":
        return ()
    if op.startswith("_linalg_"):
        return ("A",)
    if op.startswith(("broadcast_", "elemwise_")) and op not in ("broadcast_to", "broadcast_axis"):
        return _PAIR
    if op[:1] == "_" and op[1:] in PAIRS:
        return _PAIR
    return _declared(op, "inputs", ("data",))


def _flag(params: dict[str, str], name: str, default: Any = False) -> Any:
    return parse(params[name]) if name in params else default


_OPTIONAL: dict[str, dict[str, Callable[[dict[str, str]], Any]]] = {
    # input -> whether the parameters ask for it
    "FullyConnected": {"bias": lambda p: not _flag(p, "no_bias")},
    "Convolution": {"bias": lambda p: not _flag(p, "no_bias")},
    "Deconvolution": {"bias": lambda p: not _flag(p, "no_bias", True)},
    "_contrib_DeformableConvolution": {"bias": lambda p: not _flag(p, "no_bias")},
    "_contrib_ModulatedDeformableConvolution": {"bias": lambda p: not _flag(p, "no_bias")},
    "LeakyReLU": {"gamma": lambda p: p.get("act_type") == "prelu"},
    "RNN": {
        "state_cell": lambda p: p.get("mode") == "lstm",
        "sequence_length": lambda p: _flag(p, "use_sequence_length"),
    },
    "CTCLoss": {
        "data_lengths": lambda p: _flag(p, "use_data_lengths"),
        "label_lengths": lambda p: _flag(p, "use_label_lengths"),
    },
    "softmax": {"length": lambda p: _flag(p, "use_length")},
    "_contrib_BilinearResize2D": {"like": lambda p: p.get("mode", "size") == "like"},
    "_contrib_box_encode": {"means": lambda p: False, "stds": lambda p: False},
    **{name: {"sequence_length": lambda p: _flag(p, "use_sequence_length")}
       for name in ("SequenceLast", "SequenceMask", "SequenceReverse")},
}  # fmt: skip


def takes_optional(op: str) -> bool:
    """Whether a node may have inputs that its parameters do not tell of: those that were given, in their order."""
    return op not in _OPTIONAL and op not in _INPUTS and bool(_declared(op, "optional", ()))


def needed_inputs(op: str, params: dict[str, str]) -> list[str]:
    """Names of the inputs that the operator has with these parameters; what is not given becomes a variable."""
    if op == "Custom":
        prop = prop_of(params)
        return [*prop.list_arguments(), *prop.list_auxiliary_states()]
    optional = _OPTIONAL.get(op, {})
    inputs = inputs_of(op)
    left_out = frozenset() if optional or op in _INPUTS else _declared(op, "optional", frozenset())
    return [n for n in inputs if n not in left_out and (n not in optional or optional[n](params))]


def aux_inputs(op: str, params: dict[str, str] | None = None) -> tuple[int, ...]:
    """Places of the inputs that the operator writes to."""
    if op == "Custom" and params:
        prop = prop_of(params)
        n = len(prop.list_arguments())
        return tuple(range(n, n + len(prop.list_auxiliary_states())))
    return _AUX.get(op, ())


def n_visible(op: str, params: dict[str, str]) -> int:
    """How many outputs users see."""
    if op == "Custom":
        return len(prop_of(params).list_outputs())
    if op in CONTROL:
        return int(parse(params["num_outputs"]))
    if op == "SliceChannel":
        return int(_flag(params, "num_outputs", 1))
    if op == "_split_v2":
        sections = _flag(params, "sections", 0)
        return int(sections) if sections else len(_flag(params, "indices", ()))
    if op == "topk":
        return 2 if params.get("ret_typ") == "both" else 1
    if op == "RNN":
        if not _flag(params, "state_outputs"):
            return 1
        return 3 if params.get("mode") == "lstm" else 2
    if op in (
        "BatchNorm", "BatchNorm_v1", "LayerNorm", "GroupNorm", "_contrib_SyncBatchNorm", "_contrib_BatchNormWithReLU",
    ):  # fmt: skip
        return 3 if _flag(params, "output_mean_var") else 1
    if op == "sample_multinomial" or op == "_sample_multinomial":
        return 2 if _flag(params, "get_prob") else 1
    if op in ("_contrib_Proposal", "_contrib_MultiProposal"):
        return 2 if _flag(params, "output_score") else 1
    if op == "amp_multicast":
        return int(_flag(params, "num_outputs", 1))
    visible = _declared(op, "visible", None)
    if visible is not None:
        return visible(params) if callable(visible) else visible
    return _SEVERAL.get(op, 1)


_SEVERAL = {"moments": 2, "_histogram": 2, "_linalg_gelqf": 2, "_linalg_slogdet": 2, "_linalg_syevd": 2,
            "_contrib_MultiBoxTarget": 3, "_contrib_box_encode": 2, "_contrib_bipartite_matching": 2,
            "_contrib_hawkesll": 2,
            "_sample_unique_zipfian": 2, **dict.fromkeys((
            f"_contrib_{name}" for name in "quantize quantize_v2 quantize_asym requantize quantized_fully_connected "
            "quantized_conv quantized_pooling quantized_act quantized_flatten quantized_embedding quantized_concat "
            "quantized_elemwise_add quantized_elemwise_mul quantized_batch_norm".split()), 3)}  # fmt: skip
_HIDDEN = {"BatchNorm": 3, "BatchNorm_v1": 3,
           "LayerNorm": 3, "InstanceNorm": 3, "GroupNorm": 3, "_contrib_SyncBatchNorm": 3,
           "_contrib_BatchNormWithReLU": 4, "Dropout": 2,
           "LRN": 2, "L2Normalization": 2, "Pooling": 2, "CTCLoss": 2, "SpatialTransformer": 3,
           "BilinearSampler": 2, "Correlation": 3, "_contrib_Proposal": 2, "_contrib_MultiProposal": 2,
           "_contrib_DeformablePSROIPooling": 2}  # fmt: skip


def n_outputs(op: str, params: dict[str, str]) -> int:
    """How many outputs the operator has, those for its own gradient too."""
    return max(_HIDDEN.get(op, 1), n_visible(op, params))


_NORMALIZED = ("output", "mean", "var")
_OUTPUTS = {
    **dict.fromkeys(("BatchNorm", "BatchNorm_v1", "_contrib_SyncBatchNorm", "_contrib_BatchNormWithReLU"), _NORMALIZED),
    "LayerNorm": ("output", "mean", "std"), "GroupNorm": ("output", "mean", "std"),
    "RNN": ("output", "state_output", "statecell_output"), "_contrib_Proposal": ("output", "score"),
    "_contrib_MultiProposal": ("output", "score"),
    "_contrib_MultiBoxTarget": ("loc_target", "loc_mask", "cls_target"),
    **dict.fromkeys((f"_contrib_quantized_{name}" for name in
                     "act batch_norm concat conv elemwise_add elemwise_mul flatten fully_connected embedding pooling"
                     .split()), ("output", "min_output", "max_output")),
}  # fmt: skip


def output_suffixes(op: str, params: dict[str, str]) -> list[str]:
    """What the names of the outputs that users see have after that of their node."""
    if op == "Custom":
        return prop_of(params).list_outputs()
    n = n_visible(op, params)
    if op in _OUTPUTS:
        return list(_OUTPUTS[op][:n])
    return ["output"] if n == 1 else [f"output{i}" for i in range(n)]
