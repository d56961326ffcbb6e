"""Automatic mixed precision: some operators in float16, losses scaled so that their gradients stay in its range."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from compatgrad.core import notes

from ... import optimizer as opt
from ...context import gpu
from ...gluon import HybridBlock, SymbolBlock, Trainer
from ...module import BucketingModule
from ...symbol import Symbol
from . import lists  # noqa: F401  programs find it here, as in MXNet
from ._convert import with_casts
from ._functions import wrap_losses, wrap_operators
from ._op_lists import (
    check_half,
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_widest_type_cast,
)
from ._op_lists import list_lp16_use_fp32_params as list_lp16_use_fp32_params
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


# ---- training ----


def init(
    target_dtype: Any = "float16",
    target_precision_ops: Any = None,
    conditional_fp32_ops: Any = None,
    fp32_ops: Any = None,
) -> None:
    """Makes operators cast their inputs, in the whole process; call it first, then `init_trainer` for each Trainer.

    Arrays on a GPU and symbols are cast; arrays on the CPU stay unchanged. A second call changes nothing.

    Args:
        target_dtype: "float16".
        target_precision_ops: operators that run in float16, instead of `list_lp16_ops("float16")`.
        conditional_fp32_ops: instead of `list_conditional_fp32_ops("float16")`.
        fp32_ops: operators that run in float32, instead of `list_fp32_ops("float16")`.

    Raises:
        MXNetError: the dtype is "bfloat16".
        AssertionError: the dtype has another value.

    Example:
        In front of a program, since it changes `mx.nd` and `mx.sym`::

            from mxnet.contrib import amp
            amp.init()
            ...
            amp.init_trainer(trainer)
            with autograd.record():
                loss = loss_function(net(x), y)
                with amp.scale_loss(loss, trainer) as scaled:
                    autograd.backward(scaled)
            trainer.step(batch_size)

    Source: `mxnet.contrib.amp.init` of MXNet 1.9.1.
    """
    global _amp_initialized, _loss_scaler
    if _amp_initialized:
        return
    check_half(target_dtype)
    notes.note_difference("amp")
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
    """Gives a Trainer a LossScaler: its `step` then skips updates whose gradients overflow.

    Args:
        optimizer_or_trainer: the Trainer.

    Raises:
        AssertionError: `init` was not called.
        TypeError: it is no Trainer.

    Example:
        After `amp.init()`, which changes `mx.nd` and `mx.sym`::

            trainer = gluon.Trainer(net.collect_params(), "sgd")
            amp.init_trainer(trainer)

    Source: `mxnet.contrib.amp.init_trainer` of MXNet 1.9.1.
    """
    global _amp_loss_scale_initialized
    assert _amp_initialized, "AMP not initialized, did you forget to call amp.init()?"
    # The wrapped losses multiply by `_loss_scaler`, so that only the first Trainer may have it.
    scaler = LossScaler() if _amp_loss_scale_initialized else _loss_scaler
    _amp_loss_scale_initialized = True
    _check_trainer(optimizer_or_trainer)
    optimizer_or_trainer._amp_loss_scaler = scaler
    optimizer_or_trainer._amp_original_scale = optimizer_or_trainer._scale


@contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Any) -> Iterator[Any]:
    """A scope in which the loss is multiplied by the scaler's factor; the Trainer divides the gradients by it.

    Args:
        loss: an array or a list of them.
        optimizer_or_trainer: a Trainer that `init_trainer` has seen.

    Returns:
        A context manager, which gives the scaled loss, in the form of `loss`.

    Raises:
        AssertionError: the Trainer has no scaler, when the scope is entered.

    Example:
        >>> with mx.contrib.amp.scale_loss(nd.ones(1), None):
        ...     pass
        Traceback (most recent call last):
            ...
        AssertionError: Loss scaler is not initialized, did you forget to call amp.init_trainer()?

    Source: `mxnet.contrib.amp.scale_loss` of MXNet 1.9.1.
    """
    trainer = optimizer_or_trainer
    assert getattr(trainer, "_amp_loss_scaler", None) is not None, (
        "Loss scaler is not initialized, did you forget to call amp.init_trainer()?"
    )
    factor = trainer._amp_loss_scaler.loss_scale
    trainer._scale = trainer._amp_original_scale / factor
    yield [x * factor for x in loss] if isinstance(loss, (list, tuple)) else loss * factor


def unscale(optimizer_or_trainer: Any) -> None:
    """Divides the gradients by the scaler's factor, so that they can be read or clipped before `step`.

    Args:
        optimizer_or_trainer: a Trainer that `init_trainer` has seen.

    Raises:
        TypeError: it is no Trainer.

    Example:
        After the backward pass of a scaled loss::

            amp.unscale(trainer)
            gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values()], 1.0)
            trainer.step(batch_size)

    Source: `mxnet.contrib.amp.unscale` of MXNet 1.9.1.
    """
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
    """A copy of a symbol with casts in it, so that some of its operators run in float16.

    Args:
        sym: the symbol.
        target_dtype: "float16".
        target_dtype_ops, fp32_ops, conditional_fp32_ops: lists of operators, as in `init`; None for those of this
            module.
        excluded_sym_names: names of operators that stay in float32, a list.
        data_names: variables that are no parameters; None for those without a declared dtype.
        cast_optional_params: parameters that only float16 operators read are declared float16.

    Returns:
        The symbol; its outputs are float32.

    Raises:
        AssertionError: `sym` is no Symbol, the dtype another one, a list is none, or an operator is in two lists or
            none of this module.
        MXNetError: the dtype is "bfloat16".

    Example:
        >>> y = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
        >>> z = mx.contrib.amp.convert_symbol(mx.sym.softmax(y))
        >>> [name for name in z.get_internals().list_outputs() if name.startswith(("x", "fc_output"))]
        ['x', 'x_amp_cast_float16_output', 'fc_output', 'fc_output_amp_cast_float32_output']

    Source: `mxnet.contrib.amp.convert_symbol` of MXNet 1.9.1.
    """
    assert isinstance(sym, Symbol), "First argument to convert_symbol should be Symbol"
    check_half(target_dtype)
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
        if b == "conditional_fp32_ops":  # an operator may be listed with a condition and without one
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
    """A parameter, cast to the dtype that the symbol declares for it."""
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
    """`convert_symbol` of a symbol with its parameters and states, which are cast as it declares.

    Args:
        sym: the symbol.
        arg_params, aux_params: its arguments and auxiliary states by name; both dicts are changed.
        target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params: as in
            `convert_symbol`.

    Returns:
        The symbol and the two dicts.

    Raises:
        ValueError: `excluded_sym_names` is no list.
        AssertionError: another argument is of another type, or as in `convert_symbol`.
        MXNetError: the dtype is "bfloat16".

    Example:
        >>> y = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, no_bias=True, name="fc")
        >>> sym, arg_params, aux_params = mx.contrib.amp.convert_model(
        ...     y, {"fc_weight": nd.ones((2, 3))}, {}, cast_optional_params=True)
        >>> arg_params["fc_weight"].dtype
        <class 'numpy.float16'>

    Source: `mxnet.contrib.amp.convert_model` of MXNet 1.9.1.
    """
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
    """`convert_symbol` of a block.

    Args:
        block: a HybridBlock that was hybridized and called.
        target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params: as in
            `convert_symbol`.
        ctx: context of the new block's parameters.

    Returns:
        A SymbolBlock.

    Raises:
        RuntimeError: the block was not called since it was hybridized.
        AssertionError: it is no HybridBlock, or as in `convert_symbol`.
        MXNetError: the dtype is "bfloat16", or the context does not exist.

    Example:
        >>> net = gluon.nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> net.hybridize()
        >>> y = net(nd.ones((1, 3)))
        >>> mx.contrib.amp.convert_hybrid_block(net, ctx=mx.cpu())(nd.ones((1, 3))).dtype
        <class 'numpy.float32'>

    Source: `mxnet.contrib.amp.convert_hybrid_block` of MXNet 1.9.1.
    """
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
    """`convert_symbol` of the symbols of a BucketingModule.

    Args:
        bucketing_mod: the module, bound and with initialized parameters.
        target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params: as in
            `convert_symbol`.

    Returns:
        A new BucketingModule, with the parameters.

    Raises:
        AssertionError: it is no such module, or as in `convert_symbol`.
        MXNetError: the dtype is "bfloat16".

    Example:
        >>> def sym_gen(key):
        ...     y = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        ...     return mx.sym.SoftmaxOutput(y, name="softmax"), ["data"], ["softmax_label"]
        >>> mod = mx.mod.BucketingModule(sym_gen, default_bucket_key=3)
        >>> mod.bind([("data", (1, 3))], [("softmax_label", (1,))])
        >>> mod.init_params()
        >>> type(mx.contrib.amp.convert_bucketing_module(mod)).__name__
        'BucketingModule'

    Source: `mxnet.contrib.amp.convert_bucketing_module` of MXNet 1.9.1.
    """
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
