"""A hook that marks functions for NVIDIA's profilers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.cuda import nvtx

from compatgrad.chainer.backends import cuda
from compatgrad.chainer.function_hook import FunctionHook

if TYPE_CHECKING:
    from compatgrad.chainer.function_node import FunctionNode


class CUDAProfileHook(FunctionHook):
    """Marks every function as an NVTX range, `label.forward` or `label.backward`, which NVIDIA's profilers show.

    Raises:
        RuntimeError: CUDA is not available.

    Example:
        with chainer.function_hooks.CUDAProfileHook():
            y = model(x)

    Source: `chainer.function_hooks.CUDAProfileHook` of Chainer 7.8.1.
    """

    name = "CUDAProfileHook"

    def __init__(self) -> None:
        cuda.check_cuda_available()

    def forward_preprocess(self, function: FunctionNode, in_data: tuple[Any, ...]) -> None:
        """Begins a range."""
        nvtx.range_push(f"{function.label}.forward")

    def forward_postprocess(self, function: FunctionNode, in_data: tuple[Any, ...]) -> None:
        """Ends the range."""
        nvtx.range_pop()

    def backward_preprocess(self, function: FunctionNode, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Begins a range."""
        nvtx.range_push(f"{function.label}.backward")

    def backward_postprocess(self, function: FunctionNode, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Ends the range."""
        nvtx.range_pop()
