"""`mx.runtime`: the features of this build, under the names of MXNet's build options."""

from __future__ import annotations

import collections

import torch

__all__ = ["Feature", "Features", "feature_list"]

_NAMES = (
    "CUDA CUDNN NCCL CUDA_RTC TENSORRT CPU_SSE CPU_SSE2 CPU_SSE3 CPU_SSE4_1 CPU_SSE4_2 CPU_SSE4A CPU_AVX CPU_AVX2 "
    "OPENMP SSE F16C JEMALLOC BLAS_OPEN BLAS_ATLAS BLAS_MKL BLAS_APPLE LAPACK MKLDNN OPENCV CAFFE PROFILER "
    "DIST_KVSTORE CXX14 INT64_TENSOR_SIZE SIGNAL_HANDLER DEBUG TVM_OP"
).split()


class Feature:
    """One build option.

    Args:
        name: its name, such as "CUDA".
        enabled: whether the build has it.

    Attributes:
        name, enabled: as given.

    Example:
        >>> mx.runtime.Feature("CUDA", False)
        ✖ CUDA

    Source: `mxnet.runtime.Feature` of MXNet 1.9.1.
    """

    def __init__(self, name: str, enabled: bool) -> None:
        self.name, self.enabled = name, enabled

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Feature]:
    """All build options of MXNet, each enabled or not, as PyTorch reports them where it does.

    Returns:
        A list of Feature.

    Example:
        >>> [f.name for f in mx.runtime.feature_list()][:2]
        ['CUDA', 'CUDNN']

    Source: `mxnet.runtime.feature_list` of MXNet 1.9.1.
    """
    known = {
        "CUDA": torch.cuda.is_available(),
        "CUDNN": torch.cuda.is_available() and torch.backends.cudnn.is_available(),
        "OPENMP": torch.backends.openmp.is_available(),
        "BLAS_MKL": torch.backends.mkl.is_available(),
        "BLAS_OPEN": not torch.backends.mkl.is_available(),
        "LAPACK": torch._C.has_lapack,
        "MKLDNN": torch.backends.mkldnn.is_available(),
        "INT64_TENSOR_SIZE": True,
        "CXX14": True,
    }
    return [Feature(name, bool(known.get(name, False))) for name in _NAMES]


class Features(collections.OrderedDict):
    """The build options by name, a dict; there is one object of this class.

    Example:
        >>> features = mx.runtime.Features()
        >>> features.is_enabled("int64_tensor_size"), features["TENSORRT"]
        (True, ✖ TENSORRT)

    Source: `mxnet.runtime.Features` of MXNet 1.9.1.
    """

    instance: Features | None = None

    def __new__(cls) -> Features:
        if cls.instance is None:
            cls.instance = super().__new__(cls)
            collections.OrderedDict.__init__(cls.instance, [(f.name, f) for f in feature_list()])
        return cls.instance

    def __init__(self) -> None:  # filled once, by __new__
        pass

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature, named in any case, is enabled; RuntimeError for an unknown name."""
        name = feature_name.upper()
        if name not in self:
            raise RuntimeError(f"Feature '{name}' is unknown; known are {list(self)}")
        return self[name].enabled
