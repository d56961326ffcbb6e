"""Which operators run in which type."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import MXNetError
from . import lists


def check_half(target_dtype: Any) -> None:
    """Refuses other types than float16."""
    if isinstance(target_dtype, str) and target_dtype == "bfloat16":
        raise MXNetError("amp: NDArrays have no type bfloat16; use target_dtype='float16'")
    assert target_dtype in ("float16", np.float16), "AMP currently supports only float16 as a target_dtype"


def list_lp16_ops(target_dtype: Any) -> list[str]:
    """Operators that run in float16.

    Args:
        target_dtype: "float16".

    Returns:
        A list of names.

    Raises:
        MXNetError: the dtype is "bfloat16".
        AssertionError: the dtype is another one.

    Example:
        >>> "Convolution" in mx.contrib.amp.list_lp16_ops("float16")
        True

    Source: `mxnet.contrib.amp.list_lp16_ops` of MXNet 1.9.1.
    """
    check_half(target_dtype)
    return lists.symbol_fp16.FP16_FUNCS


def list_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in float32.

    Args:
        target_dtype: "float16".

    Returns:
        A list of names.

    Raises:
        MXNetError: the dtype is "bfloat16".
        AssertionError: the dtype is another one.

    Example:
        >>> "softmax" in mx.contrib.amp.list_fp32_ops("float16")
        True

    Source: `mxnet.contrib.amp.list_fp32_ops` of MXNet 1.9.1.
    """
    check_half(target_dtype)
    return lists.symbol_fp16.FP32_FUNCS


def list_lp16_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in the type of their inputs.

    Args:
        target_dtype: "float16".

    Returns:
        A list of names.

    Raises:
        MXNetError: the dtype is "bfloat16".
        AssertionError: the dtype is another one.

    Example:
        >>> "relu" in mx.contrib.amp.list_lp16_fp32_ops("float16")
        True

    Source: `mxnet.contrib.amp.list_lp16_fp32_ops` of MXNet 1.9.1.
    """
    check_half(target_dtype)
    return lists.symbol_fp16.FP16_FP32_FUNCS


def list_conditional_fp32_ops(target_dtype: Any) -> list[tuple[str, str, list[str]]]:
    """Operators that run in float32 for some values of a parameter.

    Args:
        target_dtype: "float16".

    Returns:
        A list of (operator, parameter, values).

    Raises:
        MXNetError: the dtype is "bfloat16".
        AssertionError: the dtype is another one.

    Example:
        >>> mx.contrib.amp.list_conditional_fp32_ops("float16")[0]
        ('Activation', 'act_type', ['softrelu'])

    Source: `mxnet.contrib.amp.list_conditional_fp32_ops` of MXNet 1.9.1.
    """
    check_half(target_dtype)
    return lists.symbol_fp16.CONDITIONAL_FP32_FUNCS


def list_widest_type_cast(target_dtype: Any) -> list[str]:
    """Operators that run in float32 where one of their inputs is.

    Args:
        target_dtype: "float16".

    Returns:
        A list of names.

    Raises:
        MXNetError: the dtype is "bfloat16".
        AssertionError: the dtype is another one.

    Example:
        >>> "broadcast_add" in mx.contrib.amp.list_widest_type_cast("float16")
        True

    Source: `mxnet.contrib.amp.list_widest_type_cast` of MXNet 1.9.1.
    """
    check_half(target_dtype)
    return lists.symbol_fp16.WIDEST_TYPE_CASTS


def list_loss_output_functions(target_dtype: Any) -> list[str]:
    """Losses that write their gradient themselves.

    Args:
        target_dtype: "float16".

    Returns:
        A list of names.

    Raises:
        MXNetError: the dtype is "bfloat16".
        AssertionError: the dtype is another one.

    Example:
        >>> "SoftmaxOutput" in mx.contrib.amp.list_loss_output_functions("float16")
        True

    Source: `mxnet.contrib.amp.list_loss_output_functions` of MXNet 1.9.1.
    """
    check_half(target_dtype)
    return lists.symbol_fp16.LOSS_OUTPUT_FUNCTIONS


def list_lp16_use_fp32_params(target_dtype: Any) -> None:
    """Parameters of operators that stay in float32: None, as there are none for float16.

    Args:
        target_dtype: "float16".

    Raises:
        MXNetError: the dtype is "bfloat16".
        AssertionError: the dtype is another one.

    Example:
        >>> mx.contrib.amp.list_lp16_use_fp32_params("float16")

    Source: `mxnet.contrib.amp.list_lp16_use_fp32_params` of MXNet 1.9.1.
    """
    check_half(target_dtype)
