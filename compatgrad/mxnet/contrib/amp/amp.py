"""Automatic mixed precision: some operators in float16, losses scaled so that their gradients stay in its range."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ... import optimizer as opt
from ...base import MXNetError
from ...context import gpu
from ...gluon import HybridBlock, SymbolBlock, Trainer
from ...module import BucketingModule
from ...symbol import Symbol
from . import lists
from ._convert import with_casts
from ._functions import wrap_losses, wrap_operators
from .loss_scaler import LossScaler

__all__ = [
    "convert_bucketing_module",
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "scale_loss",
    "unscale",
]

_amp_initialized = False
_amp_loss_scale_initialized = False
_loss_scaler: LossScaler | None = None


def _check_half(target_dtype: Any) -> None:
    if isinstance(target_dtype, str) and target_dtype == "bfloat16":
        raise MXNetError("amp: NDArrays have no type bfloat16; use target_dtype='float16'")
    assert target_dtype in ("float16", np.float16), "AMP currently supports only float16 as a target_dtype"


# ---- training ----


def init(
    target_dtype: Any = "float16",
    target_precision_ops: Any = None,
    conditional_fp32_ops: Any = None,
    fp32_ops: Any = None,
) -> None:
    """Has operators cast from now on; call it first, and `init_trainer` for each Trainer.

    Arrays on a GPU and symbols are cast, arrays on the CPU stay as they are. The lists of operators' names go in the
    place of `list_lp16_ops()`, `list_conditional_fp32_ops()` and `list_fp32_ops()`. MXNetError for bfloat16.
    """
    global _amp_initialized, _loss_scaler
    if _amp_initialized:
        return
    _check_half(target_dtype)
    _amp_initialized = True
    logging.info("Using AMP")

    def chosen(given: Any, default: Any) -> Any:
        return default(target_dtype) if given is None else given

    wrap_operators(
        np.float16,
        {
            "half": chosen(target_precision_ops, list_lp16_ops),
            "single": chosen(fp32_ops, list_fp32_ops),
            "conditional": chosen(conditional_fp32_ops, list_conditional_fp32_ops),
            "widest": list_widest_type_cast(target_dtype),
        },
    )
    _loss_scaler = LossScaler()
    wrap_losses(list_loss_output_functions(target_dtype), _loss_scaler)


def _check_trainer(trainer: Any) -> None:
    if isinstance(trainer, opt.Optimizer):
        raise TypeError("AMP is currently only compatible with Gluon Trainer")
    if not isinstance(trainer, Trainer):
        raise TypeError(f"optimizer_or_trainer should be a Gluon Trainer or an optimizer, instead is {type(trainer)}")


def init_trainer(optimizer_or_trainer: Any) -> None:
    """Gives a Trainer its LossScaler: steps whose gradients overflow change nothing. TypeError for anything else."""
    global _amp_loss_scale_initialized
    assert _amp_initialized, "AMP not initialized, did you forget to call amp.init()?"
    # the first Trainer has the scaler that the losses know
    scaler = LossScaler() if _amp_loss_scale_initialized else _loss_scaler
    _amp_loss_scale_initialized = True
    _check_trainer(optimizer_or_trainer)
    optimizer_or_trainer._amp_loss_scaler = scaler
    optimizer_or_trainer._amp_original_scale = optimizer_or_trainer._scale


@contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Any) -> Iterator[Any]:
    """`with` the loss (or list of losses) times the scaler's factor; the Trainer divides gradients by it."""
    trainer = optimizer_or_trainer
    assert getattr(trainer, "_amp_loss_scaler", None) is not None, (
        "Loss scaler is not initialized, did you forget to call amp.init_trainer()?"
    )
    factor = trainer._amp_loss_scaler.loss_scale
    trainer._scale = trainer._amp_original_scale / factor
    yield [x * factor for x in loss] if isinstance(loss, (list, tuple)) else loss * factor


def unscale(optimizer_or_trainer: Any) -> None:
    """Divides the gradients by the factor now, so that they can be looked at or clipped before `step`."""
    _check_trainer(optimizer_or_trainer)
    for param in optimizer_or_trainer._params:
        for grad in param._grad or ():
            grad *= optimizer_or_trainer._scale
    optimizer_or_trainer._scale = 1.0


# ---- conversion ----


def convert_symbol(
    sym: Any,
    target_dtype: str = "float16",
    target_dtype_ops: Any = None,
    fp32_ops: Any = None,
    conditional_fp32_ops: Any = None,
    excluded_sym_names: Any = None,
    data_names: Any = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """A copy of a symbol with casts in it.

    The lists are as in `init`. excluded_sym_names: operators that stay in float32. data_names: variables that are no
    parameters. cast_optional_params: parameters that only float16 operators read are declared float16.
    AssertionError for operators in two lists or in none.
    """
    assert isinstance(sym, Symbol), "First argument to convert_symbol should be Symbol"
    _check_half(target_dtype)
    half = _checked_list("target_dtype_ops", target_dtype_ops, list_lp16_ops)
    single = _checked_list("fp32_ops", fp32_ops, list_fp32_ops)
    conditional = _checked_list("conditional_fp32_ops", conditional_fp32_ops, list_conditional_fp32_ops)
    for entry in conditional:
        assert isinstance(entry[0], str) and isinstance(entry[1], str) and isinstance(entry[2], list), (
            "conditional_fp32_ops should be a list of (str, str, list of str)"
        )
    names = [entry[0] for entry in conditional]
    _check_disjoint(half, single, names)
    assert excluded_sym_names is None or isinstance(excluded_sym_names, list), (
        "excluded_sym_names should be a list of strs"
    )
    excluded = set(excluded_sym_names or ())  # names that the graph lacks mean nothing, as in MXNet
    if data_names is None:
        attrs = sym.attr_dict()
        data_names = [name for name in sym.list_inputs() if "__dtype__" not in attrs.get(name, {})]
    params = set(sym.list_inputs()) - set(data_names)
    return with_casts(
        sym,
        set(half),
        set(single),
        set(list_widest_type_cast(target_dtype)),
        [(op, key, values) for op, key, values in conditional],
        excluded,
        params,
        cast_optional_params,
    )


def _checked_list(what: str, given: Any, default: Any) -> list[Any]:
    assert given is None or isinstance(given, list), f"{what} should be a list"
    return default("float16") if given is None else given


def _check_disjoint(half: list[str], single: list[str], conditional: list[str]) -> None:
    lists_ = {"target_dtype_ops": set(half), "fp32_ops": set(single), "conditional_fp32_ops": set(conditional)}
    for a, b in (("target_dtype_ops", "fp32_ops"), ("target_dtype_ops", "conditional_fp32_ops"),
                 ("fp32_ops", "conditional_fp32_ops")):  # fmt: skip
        common = lists_[a] & lists_[b]
        if b == "conditional_fp32_ops":  # one that is there under some condition may be there without
            common -= {entry[0] for entry in list_conditional_fp32_ops("float16")}
        assert not common, f"Ops cannot be in two or more lists. Common ops in {a} and {b} {sorted(common)}"
    known = {*list_lp16_ops("float16"), *list_fp32_ops("float16"), *list_lp16_fp32_ops("float16")}
    known |= {entry[0] for entry in list_conditional_fp32_ops("float16")}
    illegal = set.union(*lists_.values()) - known
    assert not illegal, (
        "Can only choose ops from amp.list_lp16_ops, list_fp32_ops, list_lp16_fp32_ops and "
        f"list_conditional_fp32_ops. Ops {sorted(illegal)} not in any of them"
    )


def _declared(sym: Symbol, name: str, x: Any) -> Any:
    """A parameter in the type that the symbol declares."""
    return x.astype("float16") if sym.attr_dict().get(name, {}).get("__dtype__") == "2" else x


def convert_model(
    sym: Any,
    arg_params: dict[str, Any],
    aux_params: dict[str, Any],
    target_dtype: str = "float16",
    target_dtype_ops: Any = None,
    fp32_ops: Any = None,
    conditional_fp32_ops: Any = None,
    excluded_sym_names: Any = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, Any], dict[str, Any]]:
    """`convert_symbol` of a symbol with its parameters and states, which are cast as it declares."""
    if excluded_sym_names is not None and not isinstance(excluded_sym_names, list):
        raise ValueError(
            "excluded_sym_names must be a list of strings representing the names of the symbols that should not be "
            f"casted, while received type {type(excluded_sym_names)}"
        )
    assert isinstance(sym, Symbol), "First argument to convert_model should be Symbol"
    assert isinstance(arg_params, dict), "Second argument to convert_model should be a dict of name to ndarray"
    assert isinstance(aux_params, dict), "Third argument to convert_model should be a dict of name to ndarray"
    data = [name for name in sym.list_inputs() if name not in arg_params and name not in aux_params]
    sym = convert_symbol(
        sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, data,
        cast_optional_params,
    )  # fmt: skip
    for params in (arg_params, aux_params):
        params.update({name: _declared(sym, name, x) for name, x in params.items()})
    return sym, arg_params, aux_params


def convert_hybrid_block(
    block: Any,
    target_dtype: str = "float16",
    target_dtype_ops: Any = None,
    fp32_ops: Any = None,
    conditional_fp32_ops: Any = None,
    excluded_sym_names: Any = None,
    ctx: Any = gpu(0),  # noqa: B008  (the original's signature shows it)
    cast_optional_params: bool = False,
) -> SymbolBlock:
    """A SymbolBlock on `ctx` of a block that was hybridized and called (else RuntimeError), converted."""
    assert isinstance(block, HybridBlock), "block input should be a HybridBlock"
    if not block._cached_graph:
        raise RuntimeError(
            "Please first call block.hybridize() and then run forward with this block at least once before calling "
            "export."
        )
    inputs, sym = block._cached_graph
    converted = convert_symbol(
        sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names,
        [x.name for x in inputs], cast_optional_params,
    )  # fmt: skip
    states = set(converted.list_auxiliary_states())
    values = {
        f"{'aux' if name in states else 'arg'}:{name}": _declared(converted, name, param._reduce())
        for name, param in block.collect_params().items()
    }
    result = SymbolBlock(converted, inputs)
    params = result.collect_params()
    for name, param in params.items():
        value = values.get(f"arg:{name}", values.get(f"aux:{name}"))
        if value is not None and param.dtype != value.dtype:
            param.cast(value.dtype)
    params.load_dict(values, ctx=ctx)
    return result


def convert_bucketing_module(
    bucketing_mod: Any,
    target_dtype: str = "float16",
    target_dtype_ops: Any = None,
    fp32_ops: Any = None,
    conditional_fp32_ops: Any = None,
    excluded_sym_names: Any = None,
    cast_optional_params: bool = False,
) -> BucketingModule:
    """A BucketingModule with the converted symbols of another one, whose parameters must be initialized."""
    assert isinstance(bucketing_mod, BucketingModule), "module should be instance of bucketing module"
    assert bucketing_mod._buckets, "Bucketing Module should not be empty"
    assert bucketing_mod.params_initialized, "bucketing_mod params should be initialized for mixed precision conversion"
    args, auxs = bucketing_mod.get_params()
    symbols = {}
    for key, module in bucketing_mod._buckets.items():
        symbols[key], new_args, new_auxs = convert_model(
            module._symbol, dict(args), dict(auxs), target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops,
            excluded_sym_names, cast_optional_params,
        )  # fmt: skip
    return BucketingModule.load_dict(
        symbols, bucketing_mod._sym_gen, bucketing_mod._default_bucket_key, new_args, new_auxs,
        **bucketing_mod._options,
    )  # fmt: skip


# ---- lists ----


def list_lp16_ops(target_dtype: Any) -> list[str]:
    """Operators that run in float16."""
    _check_half(target_dtype)
    return lists.symbol_fp16.FP16_FUNCS


def list_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in float32."""
    _check_half(target_dtype)
    return lists.symbol_fp16.FP32_FUNCS


def list_lp16_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in the type of their inputs."""
    _check_half(target_dtype)
    return lists.symbol_fp16.FP16_FP32_FUNCS


def list_conditional_fp32_ops(target_dtype: Any) -> list[tuple[str, str, list[str]]]:
    """(operator, parameter, values for which it runs in float32)."""
    _check_half(target_dtype)
    return lists.symbol_fp16.CONDITIONAL_FP32_FUNCS


def list_widest_type_cast(target_dtype: Any) -> list[str]:
    """Operators that run in float32 where one of their inputs is."""
    _check_half(target_dtype)
    return lists.symbol_fp16.WIDEST_TYPE_CASTS


def list_loss_output_functions(target_dtype: Any) -> list[str]:
    """Losses that write their gradient themselves."""
    _check_half(target_dtype)
    return lists.symbol_fp16.LOSS_OUTPUT_FUNCTIONS


def list_lp16_use_fp32_params(target_dtype: Any) -> None:
    """Parameters of operators that stay in float32; None for float16."""
    _check_half(target_dtype)
