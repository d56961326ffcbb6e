"""Pictures list the tensors that functions keep for backward."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import _C, core, interop
from tests.interop.graphs import caption, label, var


@pytest.fixture(autouse=True)
def own_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


def test_sizes():
    x, w = core.Variable(torch.ones(8, 16)), core.Variable(torch.ones(16, 32, dtype=torch.float32))
    y = _C.op("tanh")(_C.op("matmul")(x, w))
    g = interop.graph(y, names={x: "x", w: "w"})
    assert label(g, "matmul") == ["matmul", "keeps x (8, 16): 512 B", "keeps w (16, 32): 2.0 KiB"]
    assert label(g, "tanh") == ["tanh", "keeps output (8, 32): 1.0 KiB"]
    assert caption(g) == "kept for backward: 3.5 KiB in 3 tensors, 2.5 KiB of it leaves"


def test_each_function_shows_what_it_reads_itself():
    x = var(4, name="x")
    h = F.tanh(x)
    g = interop.graph(F.exp(h) + (h + 1))
    assert label(g, "Tanh") == ["Tanh", "keeps output (4,): 16 B"]
    assert label(g, "_ + 1") == ["_ + 1"] and label(g, "_ + _") == ["_ + _"]
    y = x * 2 + F.square(x)  # x is kept by the square, not by the product
    assert not any("keeps" in line for line in label(interop.graph(y), "_ * 2"))


def test_shared_memory_counts_once():
    x = var(4, 4, name="x")
    assert caption(interop.graph(x * x * x)).startswith("kept for backward: 128 B in 2 tensors")
    y = core.Variable(torch.ones(4, 4))
    z = y.reshape((16,)) * y.reshape((16,))
    assert caption(interop.graph(_C.op("exp")(z) + _C.op("square")(y).reshape((16,)))).startswith(
        "kept for backward: 128 B in "
    )


def test_many_tensors_in_few_lines():
    xs = [core.Variable(torch.ones(2)) for _ in range(9)]

    class Keeper(core.FunctionNode):
        def forward(self, inputs):
            self.retain_inputs(range(len(inputs)))
            return (inputs[0] * 1,)

    (y,) = Keeper().apply(xs)
    lines = label(interop.graph(y), "Keeper")
    assert len(lines) == 5 and lines[-1] == "and 6 more: 48 B"


def test_tensors_stored_in_ops():
    x = mx.nd.ones((2, 3, 4, 4))
    x.attach_grad()
    gamma, beta, mean, variance = (mx.nd.ones(3) for _ in range(4))
    with mx.autograd.record():
        h = mx.nd.BatchNorm(mx.nd.Dropout(x), gamma, beta, mean, variance)
        y = mx.nd.Pooling(h, kernel=(2, 2), stride=(2, 2), pool_type="max")
    g = interop.graph(y)
    assert "keeps mask (2, 3, 4, 4): 96 B" in label(g, "Dropout")
    assert {"keeps mean (3,): 12 B", "keeps inv_std (3,): 12 B"} <= set(label(g, "BatchNorm"))
    assert "keeps indexes (2, 3, 2, 2): 24 B" in label(g, "Pooling")


def test_tensors_of_nnablas_ops_after_a_pass():
    x = nn.Variable((2, 3), need_grad=True)
    y = NF.dropout(x, 0.5)
    assert "reads mask (2, 3): 24 B" in label(interop.graph(y), "Dropout")
    y.forward()
    assert "keeps mask (2, 3): 24 B" in label(interop.graph(y), "Dropout")
    z = PF.batch_normalization(x, name="bn")
    z.forward()
    assert {"keeps mean (3,): 12 B", "keeps inv_std (3,): 12 B"} <= set(label(interop.graph(z), "BatchNormalization"))


def test_an_index_is_kept():
    x = var(4, 3, name="x")
    assert "keeps index (2,): 16 B" in label(interop.graph(x[np.array([0, 2])]), "GetItem")


def test_every_member_that_a_backward_reads_is_listed():
    files = Path(_C.__file__).parent.parents[1] / "csrc" / "ops"
    read = [
        (file.name, name) for file in files.glob("*.cpp") for name in re.findall(r"c\.saved\((\w+)\)", file.read_text())
    ]
    assert len(read) > 20
    assert not [(file, name) for file, name in read if f'param("{name}", &' not in (files / file).read_text()]


def test_attributes_of_functions_in_python():
    class Masked(chainer.Function):
        def forward(self, inputs):
            self.retain_inputs(())
            self.mask = inputs[0] > 0
            return (inputs[0] * self.mask,)

    assert label(interop.graph(Masked()(var(4, 4))), "Masked") == ["Masked", "keeps mask (4, 4): 16 B"]


def test_a_mask_that_is_a_parameter_is_kept():
    with chainer.using_config("train", True):
        y = F.dropout(var(4, 4))
    assert any(line.startswith("keeps mask (4, 4): 64 B") for line in label(interop.graph(y), "Dropout"))


def test_large_shapes():
    x = core.Variable(torch.empty(1 << 11, 1 << 11))
    g = interop.graph(_C.op("tanh")(x))
    assert label(g, "tanh") == ["tanh", "keeps output (2048, 2048): 16.0 MiB"]
