"""Lists of the operators that run in float16, in float32, and in the dtype of their inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ...base import MXNetError
from . import lists

_F = TypeVar("_F", bound=Callable[..., Any])

_DOC = """{what}

    Args:
        target_dtype: "float16".
{returns}
    Raises:
        MXNetError: the dtype is "bfloat16".
        AssertionError: the dtype has another value.

    Example:
        >>> {example}

    Source: `mxnet.contrib.amp.{name}` of MXNet 1.9.1.
    """


def check_half(target_dtype: Any) -> None:
    """Raises for every target dtype but float16."""
    if isinstance(target_dtype, str) and target_dtype == "bfloat16":
        raise MXNetError("amp: NDArrays have no type bfloat16; use target_dtype='float16'")
    assert target_dtype in ("float16", np.float16), "AMP currently supports only float16 as a target_dtype"


def _of_half(example: str, found: str = "True", returns: str = "A list of names.") -> Callable[[_F], _F]:
    """Wraps a function, so that it checks `target_dtype`, and completes its docstring with the text all of them share.

    Args:
        example: an example in the documentation, `{}` stands for a call of the function.
        found: what the example gives.
        returns: what the function returns; empty if that is None.

    Returns:
        A decorator.
    """

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def checked(target_dtype: Any) -> Any:
            check_half(target_dtype)
            return function(target_dtype)

        call = f'mx.contrib.amp.{function.__name__}("float16")'
        lines = "\n        ".join(filter(None, (example.format(call), found)))
        checked.__doc__ = _DOC.format(
            what=function.__doc__,
            returns=f"\n    Returns:\n        {returns}\n" if returns else "",
            example=lines,
            name=function.__name__,
        )
        return checked  # type: ignore[return-value]

    return decorate


@_of_half('"Convolution" in {}')
def list_lp16_ops(target_dtype: Any) -> list[str]:
    """Operators that run in float16."""
    return lists.symbol_fp16.FP16_FUNCS


@_of_half('"softmax" in {}')
def list_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in float32."""
    return lists.symbol_fp16.FP32_FUNCS


@_of_half('"relu" in {}')
def list_lp16_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in the type of their inputs."""
    return lists.symbol_fp16.FP16_FP32_FUNCS


@_of_half("{}[0]", "('Activation', 'act_type', ['softrelu'])", "A list of (operator, parameter, values).")
def list_conditional_fp32_ops(target_dtype: Any) -> list[tuple[str, str, list[str]]]:
    """Operators that run in float32 for some values of a parameter."""
    return lists.symbol_fp16.CONDITIONAL_FP32_FUNCS


@_of_half('"broadcast_add" in {}')
def list_widest_type_cast(target_dtype: Any) -> list[str]:
    """Operators that run in float32 if one of their inputs is."""
    return lists.symbol_fp16.WIDEST_TYPE_CASTS


@_of_half('"SoftmaxOutput" in {}')
def list_loss_output_functions(target_dtype: Any) -> list[str]:
    """Losses that write their gradient themselves."""
    return lists.symbol_fp16.LOSS_OUTPUT_FUNCTIONS


@_of_half("{}", found="", returns="")
def list_lp16_use_fp32_params(target_dtype: Any) -> None:
    """Parameters of operators that stay in float32: None, as there are none for float16."""
