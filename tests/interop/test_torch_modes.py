"""Frontends under torch's modes: autocast changes no dtype, torch.func is refused, observers change no numbers."""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import compatgrad
import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import interop


class Watch(TorchDispatchMode):
    def __torch_dispatch__(self, f, types, args=(), kwargs=None):
        return f(*args, **(kwargs or {}))


X = np.linspace(-1, 1, 6, dtype="f").reshape(2, 3)


def of_chainer():
    np.random.seed(0)
    x, link = chainer.Variable(X.copy()), chainer.Sequential(L.Linear(3, 4), F.dropout, L.BatchNormalization(4))
    loss = F.sum(link(x) ** 3)
    (g,) = chainer.grad([loss], [x], enable_double_backprop=True)
    (loss + F.sum(g * g)).backward()
    return [loss.array, x.grad, *(p.grad for p in link.params())]


def of_mxnet():
    mx.random.seed(0)
    net = mx.gluon.nn.Sequential()
    net.add(mx.gluon.nn.Dense(4), mx.gluon.nn.Dropout(0.5), mx.gluon.nn.BatchNorm())
    net.initialize(mx.init.One())
    x = mx.nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        loss = (net(x) ** 3).sum()
    loss.backward()
    return [loss.asnumpy(), x.grad.asnumpy(), *(p.grad().asnumpy() for p in net[0].collect_params().values())]


def of_nnabla():
    nn.clear_parameters()
    nn.seed(0)
    x = nn.Variable.from_numpy_array(X.copy(), need_grad=True)
    x.grad.zero()
    loss = NF.sum(PF.batch_normalization(NF.dropout(PF.affine(x, 4, w_init=np.ones((3, 4))), 0.5, seed=3)) ** 3)
    loss.forward()
    for p in nn.get_parameters().values():
        p.grad.zero()
    loss.backward()
    found = [np.array(loss.d), np.array(x.g), *(np.array(p.g) for p in nn.get_parameters().values())]
    return [*found, NF.randn(seed=5, shape=(2,)), NF.nonzero(nn.NdArray.from_numpy_array(X)).data]


def of_native():
    x = compatgrad.Variable(torch.from_numpy(X.copy()))
    loss = compatgrad.ops.matmul(x, x.T).sum()
    loss.backward()
    return [loss.tensor, x.grad]


def numbers(values):
    for v in values:
        if isinstance(v, nn.Variable):
            v.forward()
            v = v.d
        yield v.numpy() if isinstance(v, torch.Tensor) else np.array(v)


@pytest.mark.parametrize("program", [of_chainer, of_mxnet, of_nnabla, of_native])
@pytest.mark.parametrize("mode", [
    lambda: torch.autocast("cpu", dtype=torch.bfloat16), lambda: torch.autocast("cpu", dtype=torch.float16),
    lambda: FlopCounterMode(display=False), Watch,
], ids=["bfloat16", "float16", "flops", "watch"])  # fmt: skip
def test_numbers_and_dtypes_are_those_without_the_mode(program, mode):
    expected = list(numbers(program()))
    with mode():
        got = list(numbers(program()))
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-4)  # under some modes other kernels run


def test_flops_of_a_frontend_are_counted():
    with FlopCounterMode(display=False) as plain:
        torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4))
    with FlopCounterMode(display=False) as counter:
        L.Linear(3, 4)(F.dropout(X))
    assert counter.get_total_flops() == plain.get_total_flops() == 48


def test_a_module_of_torch_inside_casts_as_outside():
    layer, v = torch.nn.Linear(3, 3), chainer.Variable(X.copy())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert interop.call(layer, v).tensor.dtype == torch.bfloat16
        assert interop.call(torch.matmul, v, v.T).tensor.dtype == torch.bfloat16 and F.matmul(v, v.T).dtype == "f"
    assert interop.call(layer, v).tensor.dtype == torch.float32


@pytest.mark.parametrize("make", [
    compatgrad.Variable, chainer.Variable, lambda t: interop.to("nnabla", t), lambda t: interop.to("mxnet", t),
])  # fmt: skip
@pytest.mark.parametrize("transform", [
    lambda f, t: torch.func.grad(f)(t), lambda f, t: torch.func.vjp(f, t), lambda f, t: torch.func.jvp(f, (t,), (t,)),
    lambda f, t: torch.vmap(f)(t[None]), lambda f, t: torch.func.jacrev(f)(t), lambda f, t: torch.func.hessian(f)(t),
], ids=["grad", "vjp", "jvp", "vmap", "jacrev", "hessian"])  # fmt: skip
def test_tensors_of_transforms_are_refused(make, transform):
    def f(t):
        v = make(t)
        return (v.data.tensor if isinstance(v, nn.Variable) else v.tensor).sum()

    with pytest.raises(RuntimeError, match="transforms of torch.func do not"):
        transform(f, torch.ones(2))


def test_dual_numbers_are_refused():
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(RuntimeError, match="forward-mode differentiation"):
            compatgrad.Variable(dual)
