"""Results for which the system has no memory: 256 TiB, more than a process can address."""

import numpy as np
import pytest
import torch

import compatgrad
import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import _C

N = 1 << 23
COLUMN, ROW = np.ones((N, 1), np.float32), np.ones((1, N), np.float32)
CHAINER = {
    "product": lambda x, y: x * y,
    "matmul": F.matmul,
    "sum of broadcast arrays": lambda x, y: F.broadcast_to(x, (N, N)) + 1,
    "tile": lambda x, y: F.tile(x, (1, N)),
    "maximum": F.maximum,
}


@pytest.mark.parametrize("name", CHAINER)
def test_chainer_raises_the_error_of_numpy(name):
    with pytest.raises(MemoryError):
        np.empty((N, N), np.float32)
    x, y = chainer.Variable(COLUMN), chainer.Variable(ROW)
    with pytest.raises(MemoryError, match="memory"):
        CHAINER[name](x, y)
    assert (x + 1).array[0, 0] == 2


def test_the_error_is_also_that_of_torch_and_nnabla():
    x, y = (compatgrad.Variable(torch.from_numpy(a)) for a in (COLUMN, ROW))
    for call in (
        lambda: torch.from_numpy(COLUMN) * torch.from_numpy(ROW),
        lambda: x * y,
        lambda: compatgrad.ops.matmul(x, y),
    ):
        with pytest.raises(RuntimeError, match="memory"):
            call()
    assert issubclass(_C.OutOfMemoryError, (MemoryError, RuntimeError)) and _C.OutOfMemoryError.__doc__
    a, b = (nn.Variable.from_numpy_array(v) for v in (COLUMN, ROW))
    for graph in (a * b, NF.affine(a, b)):
        with pytest.raises(RuntimeError, match="memory"):
            graph.forward()
    with pytest.raises(RuntimeError, match="memory"):
        nn.NdArray((N, N)).data  # noqa: B018


def test_an_operator_of_mxnet():
    with pytest.raises(mx.MXNetError, match="memory"):
        mx.nd.dot(mx.nd.array(COLUMN), mx.nd.array(ROW))
