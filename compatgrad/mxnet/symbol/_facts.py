"""Facts on operators in graphs: names, inputs, auxiliary states, numbers and names of outputs."""

from __future__ import annotations

from collections.abc import Mapping

from .._custom_op import prop_of
from ..ndarray._declaration import Declaration, declarations, parse
from ..ndarray._internal import capitals
from ..ndarray._operator import operators
from ..ndarray._scalars import SCALARS

__all__ = [
    "CONTROL",
    "FUSED",
    "GRAPH_NAMES",
    "aux_inputs",
    "canonical",
    "flag",
    "inputs_of",
    "is_variadic",
    "n_outputs",
    "n_visible",
    "needed_inputs",
    "takes_optional",
]

# aliases of operators -> the name in graphs
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

# oneDNN's fused operators, which hold the graph that they replace -> names of their outputs; unquantized ones only
# have the first
FUSED = {
    "_sg_mkldnn_conv": ["output", "output_min", "output_max"],
    "_sg_mkldnn_fully_connected": ["output", "min_output", "max_output"],
}


def flag(params: Mapping[str, str], name: str, default: bool = False) -> bool:
    """A parameter that is true or false; oneDNN's operators write it without a capital."""
    return params[name] in ("True", "true", "1") if name in params else default


def canonical(name: str) -> str:
    """The name that an operator has in a graph."""
    if name in GRAPH_NAMES:
        return GRAPH_NAMES[name]
    if name.startswith(("linalg_", "random_", "sample_")):
        return f"_{name}"
    if name[:1] == "_" and name not in operators:
        older = capitals(name)  # of symbols before MXNet 0.9: _MulScalar, _Greater_Equal
        if older in SCALARS or older in operators or older[1:] in operators:
            return older
    return name


def _declared(op: str) -> Declaration:
    """The declaration of an operator; that of `x` serves for MXNet's `_x` where `_x` has none."""
    for function in (SCALARS.get(op), operators.get(op), operators.get(op[1:]) if op[:1] == "_" else None):
        if function in declarations:
            return declarations[function]
    return _ONE_ARRAY


_ONE_ARRAY = Declaration()


def is_variadic(op: str) -> bool:
    """Whether the operator takes any number of inputs."""
    return op in CONTROL or op in FUSED or _declared(op).inputs.variadic


def inputs_of(op: str) -> tuple[str, ...]:
    """Names of the inputs, optional ones too."""
    return _declared(op).inputs.names


def takes_optional(op: str) -> bool:
    """Whether inputs are optional by themselves, so that a node has those that were given, in their order."""
    return _declared(op).open


def needed_inputs(op: str, params: dict[str, str]) -> list[str]:
    """Names of the inputs that the operator has with these parameters."""
    if op == "Custom":
        prop = prop_of(params)
        return [*prop.list_arguments(), *prop.list_auxiliary_states()]
    return _declared(op).needed(params)


def aux_inputs(op: str, params: dict[str, str] | None = None) -> tuple[int, ...]:
    """Places of the inputs that the operator writes to."""
    if op == "Custom" and params:
        prop = prop_of(params)
        n = len(prop.list_arguments())
        return tuple(range(n, n + len(prop.list_auxiliary_states())))
    return _declared(op).written()


def n_visible(op: str, params: dict[str, str]) -> int:
    """The number of outputs that users see."""
    if op == "Custom":
        return len(prop_of(params).list_outputs())
    if op in CONTROL:
        return int(parse(params["num_outputs"]))
    if op in FUSED:  # 8-bit numbers, and the two ends of their range
        return 3 if flag(params, "quantized") and not flag(params, "enable_float_output") else 1
    return _declared(op).counts(params)[0]


def n_outputs(op: str, params: dict[str, str]) -> int:
    """The number of outputs, including those that only the gradient needs."""
    return n_visible(op, params) if op in ("Custom", *CONTROL, *FUSED) else _declared(op).counts(params)[1]


def output_suffixes(op: str, params: dict[str, str]) -> list[str]:
    """The suffixes that outputs which users see add to the name of their node."""
    if op in FUSED:
        return FUSED[op][: n_visible(op, params)]
    return prop_of(params).list_outputs() if op == "Custom" else _declared(op).suffixes(n_visible(op, params))
