"""Marks for NVIDIA's profilers."""

from torch.cuda import nvtx

from compatgrad.chainer.backends import cuda
from compatgrad.chainer.function_hook import FunctionHook


class CUDAProfileHook(FunctionHook):
    """Marks every function as an NVTX range, ``label.forward`` or ``label.backward``.

    Raises RuntimeError without CUDA.
    """

    name = "CUDAProfileHook"

    def __init__(self):
        cuda.check_cuda_available()

    def forward_preprocess(self, function, in_data):
        nvtx.range_push(f"{function.label}.forward")

    def forward_postprocess(self, function, in_data):
        nvtx.range_pop()

    def backward_preprocess(self, function, in_data, out_grad):
        nvtx.range_push(f"{function.label}.backward")

    def backward_postprocess(self, function, in_data, out_grad):
        nvtx.range_pop()
