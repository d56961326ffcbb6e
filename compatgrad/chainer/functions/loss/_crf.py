"""Nodes of conditional random fields over sequences."""

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class _OverChain(_native.NativeFunction):
    """A function of costs (K, K) and scores (rows, K); the rows of all steps follow each other, `sizes[i]` rows for
    step i."""

    def __init__(self, sizes):
        super().__init__(sizes=sizes)

    def check_type_forward(self, in_types):
        type_check._argname(in_types[:2], ("cost", "xs"))
        cost, xs = in_types[:2]
        type_check.expect(xs.dtype.kind == "f", xs.ndim == 2, cost.ndim == 2, cost.dtype == xs.dtype)
        type_check.expect(cost.shape[0] == xs.shape[1], cost.shape[1] == xs.shape[1])


class CRFLogPartition(_OverChain):
    op = "crf_log_partition"


class CRFScore(_OverChain):
    op = "crf_score"


class CRFPath(_OverChain):
    op = "crf_path"
