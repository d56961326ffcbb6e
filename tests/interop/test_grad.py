"""compatgrad.grad and compatgrad.backward accept each frontend's Variables and options."""

import numpy as np
import pytest
import torch

import compatgrad
import compatgrad.chainer as chainer
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import interop  # noqa: F401 - the package imports by itself
from compatgrad.mxnet import autograd, nd

A = np.float32([1, 2, 3])


def test_chainer():
    x = chainer.Variable(A.copy())
    y = x * x * x
    (g,) = compatgrad.grad([y], [x], [chainer.Variable(np.float32([1, 1, 2]))], enable_double_backprop=True)
    assert isinstance(g, chainer.Variable) and g.array.tolist() == [3, 12, 54]
    (h,) = compatgrad.grad(outputs=[g], inputs=[x])
    assert h.array.tolist() == [6, 12, 36]
    y.grad = np.ones_like(A)
    compatgrad.backward([y])
    assert x.grad.tolist() == [3, 12, 27]


def test_nnabla():
    x = nn.Variable.from_numpy_array(A.copy(), need_grad=True)
    y = x * x * x
    (g,) = compatgrad.grad([y], [x], [2], bind_grad_output=False)
    (h,) = compatgrad.grad(outputs=NF.sum(g), inputs=x)
    assert isinstance(h, nn.Variable)
    NF.sink(g, h).forward()
    assert g.d.tolist() == [6, 24, 54] and h.d.tolist() == [12, 24, 36]
    y.forward()
    x.grad.zero()
    compatgrad.backward(y, 2)
    assert x.g.tolist() == [6, 24, 54]
    x.grad.zero()
    compatgrad.backward([y, x * 2], [None, A])
    assert x.g.tolist() == [5, 16, 33]
    with pytest.raises(ValueError, match="grad_outputs must be as long as outputs: 1 != 2"):
        compatgrad.backward([y, y], [1])


def test_mxnet():
    x = nd.array(A)
    x.attach_grad()
    with autograd.record():
        y = x * x * x
        (g,) = compatgrad.grad(y, [x], create_graph=True)
        (h,) = compatgrad.grad(heads=g, variables=[x], head_grads=nd.array([1, 1, 2]), retain_graph=True)
    assert isinstance(h, nd.NDArray) and h.asnumpy().tolist() == [6, 12, 36]
    compatgrad.backward(y, nd.ones(3) * 2)
    assert x.grad.asnumpy().tolist() == [6, 24, 54]
    z = mx.np.array([1.0, 2.0])
    z.attach_grad()
    with autograd.record():
        y = z * z
    (g,) = compatgrad.grad(y, [z])
    assert isinstance(g, mx.np.ndarray) and g.asnumpy().tolist() == [2, 4]


def test_bind_grad_output_takes_only_nnablas_inputs():
    """Inputs of other frontends are an error; otherwise they would silently get no gradient."""
    x = chainer.Variable(A.copy())
    with pytest.raises(ValueError, match=r"bind_grad_output: inputs\[0\] is of chainer"):
        nn.grad([NF.sum(NF.mul_scalar(x, 2))], [x], bind_grad_output=True)


def test_torch_s_way_to_call_grad_is_explained():
    t = torch.tensor([1.0, 2.0])
    for outputs, inputs in ((t.sum(), [t]), ([t.sum()], t)):
        with pytest.raises(TypeError, match=r"must be a Variable.*; compute with compatgrad.Variable\(tensor\)"):
            compatgrad.grad(outputs, inputs)
    x = compatgrad.Variable(torch.ones(2))
    with pytest.raises(TypeError, match="create_graph is torch.*enable_double_backprop"):
        compatgrad.grad(x.sum(), x, create_graph=True)
