"""MXNet's names of the engine's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["CONVERT", "LAYERS", "NAMES", "operator_name"]

# op of the engine -> operator of MXNet
NAMES = {
    "add": "broadcast_add", "sub": "broadcast_sub", "mul": "broadcast_mul", "div": "broadcast_div",
    "pow": "broadcast_power", "mod": "broadcast_mod", "maximum_product": "broadcast_maximum",
    "minimum": "broadcast_minimum", "equal": "broadcast_equal", "not_equal": "broadcast_not_equal",
    "greater": "broadcast_greater", "less": "broadcast_lesser", "greater_equal": "broadcast_greater_equal",
    "less_equal": "broadcast_lesser_equal", "neg": "negative", "lgamma": "gammaln", "copy": "_copy",
    "identity": "_copy", "stop_gradient": "BlockGrad",
}  # fmt: skip
# likewise, for functions whose parameters in MXNet (num_hidden, kernel and so on) follow from the inputs' shapes
LAYERS = {
    "linear": "FullyConnected", "split": "SliceChannel", "convolution": "Convolution", "deconvolution": "Deconvolution",
}  # fmt: skip


def _scalar(name: str, key: str = "value") -> Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]:
    return lambda p: (name, {"scalar": float(p[key])})


def _renamed(name: str, **keys: str) -> Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]:
    """The operator `name`, whose parameters are renamed by `keys`; parameters that are None are left out."""
    return lambda p: (name, {keys.get(k, k): v for k, v in p.items() if v is not None and keys.get(k, k)})


def _window(p: dict[str, Any]) -> dict[str, Any]:
    full = p.get("cover_all") or p.get("ignore_border") is False
    more = {"pooling_convention": "full"} if full else {}
    return {"kernel": p["ksize"], "stride": p["stride"], "pad": p["pad"], **more}


CONVERT: dict[str, Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "add_scalar": _scalar("_plus_scalar"), "mul_scalar": _scalar("_mul_scalar"), "div_scalar": _scalar("_div_scalar"),
    "rsub_scalar": _scalar("_rminus_scalar"), "rdiv_scalar": _scalar("_rdiv_scalar"),
    "pow_scalar": _scalar("_power_scalar", "exponent"), "rpow_scalar": _scalar("_rpower_scalar", "base"),
    "maximum_scalar": _scalar("_maximum_scalar"), "minimum_scalar": _scalar("_minimum_scalar"),
    "equal_scalar": _scalar("_equal_scalar"), "not_equal_scalar": _scalar("_not_equal_scalar"),
    "greater_scalar": _scalar("_greater_scalar"), "less_scalar": _scalar("_lesser_scalar"),
    "greater_equal_scalar": _scalar("_greater_equal_scalar"), "less_equal_scalar": _scalar("_lesser_equal_scalar"),
    "reshape": _renamed("Reshape"), "concat": _renamed("Concat", axis="dim"), "convert": _renamed("Cast"),
    "matmul": _renamed("dot", transa="transpose_a", transb="transpose_b"),
    "clip": _renamed("clip", min="a_min", max="a_max", product=""), "flip": _renamed("reverse"),
    "dropout": _renamed("Dropout", ratio="p"), "relu": lambda p: ("relu", {}),
    "leaky_relu": lambda p: ("LeakyReLU", {"act_type": "leaky", "slope": p["slope"]}),
    "elu": lambda p: ("LeakyReLU", {"act_type": "elu", "slope": p["alpha"]}),
    "gelu": lambda p: ("LeakyReLU", {"act_type": "gelu"}), "prelu": lambda p: ("LeakyReLU", {"act_type": "prelu"}),
    "dropout_hashed": _renamed("Dropout"), "layer_normalization": _renamed("LayerNorm", begin_axis="axis"),
    "batch_normalization_late": _renamed("BatchNorm", moving_mean="", moving_var=""),
    "max_pooling": lambda p: ("Pooling", {**_window(p), "pool_type": "max"}),
    "window_pooling": lambda p: ("Pooling", {
        **_window(p), "pool_type": "avg", "count_include_pad": p.get("divisor") != "valid",
    }),
}  # fmt: skip


def operator_name(function: Any) -> str | None:
    """MXNet's name of the operator that a function of the engine runs; None for a function defined in Python."""
    name = function.op_name
    if name in CONVERT:
        return CONVERT[name](dict(function.op_params))[0]
    return LAYERS.get(name) or NAMES.get(name, name)
