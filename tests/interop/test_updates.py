"""After an update of parameters, the backward of torch graphs that saved a changed array fails; others work."""

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.solvers as S
from compatgrad import _C


def graph_of(t):
    """A torch result whose backward reads `t`, and the leaf to differentiate by."""
    leaf = torch.ones(t.shape, dtype=t.dtype, requires_grad=True)
    return (leaf * t).sum(), leaf


def stays(t, change):
    loss, leaf = graph_of(t)
    value = t.clone()
    change()
    loss.backward()
    assert torch.equal(leaf.grad, value)


def is_overwritten(t, change):
    loss, _ = graph_of(t)
    change()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def chainer_program(hook=None):
    link = chainer.Link()
    with link.init_scope():
        link.w = chainer.Parameter(np.ones(3, np.float32))
    optimizer = chainer.optimizers.MomentumSGD(0.1).setup(link)
    if hook:
        optimizer.add_hook(hook)
    link.w.grad = np.full(3, 2, np.float32)
    return link.w.tensor, link.w.grad_var.tensor, optimizer


def test_chainer_update():
    _, gradient, optimizer = chainer_program()
    stays(gradient, optimizer.update)
    parameter, _, optimizer = chainer_program()
    is_overwritten(parameter, optimizer.update)


def test_chainer_hook():
    decay = chainer.optimizer_hooks.WeightDecay(0.5)
    for change in ("update", "call_hooks"):
        _, gradient, optimizer = chainer_program(decay)
        is_overwritten(gradient, getattr(optimizer, change))
    parameter, _, optimizer = chainer_program(decay)
    stays(parameter, optimizer.call_hooks)


def nnabla_program():
    w = nn.Variable.from_numpy_array(np.ones(3, np.float32), need_grad=True)
    solver = S.Momentum(0.1)
    solver.set_parameters({"w": w})
    w.g = 2
    return w.data.tensor, w.grad.tensor, solver


def test_nnabla_update():
    _, gradient, solver = nnabla_program()
    stays(gradient, solver.update)
    parameter, _, solver = nnabla_program()
    is_overwritten(parameter, solver.update)


def test_nnabla_changes_of_gradients():
    for change in (
        lambda s: s.weight_decay(0.5) or s.update(),
        lambda s: s.scale_grad(0.5),
        lambda s: s.clip_grad_by_norm(1),
    ):
        parameter, gradient, solver = nnabla_program()
        is_overwritten(gradient, lambda: change(solver))  # noqa: B023
    parameter, _, solver = nnabla_program()
    stays(parameter, lambda: solver.scale_grad(0.5))


def mxnet_arrays():
    return mx.nd.ones(3), mx.nd.full(3, 2), mx.nd.zeros(3)


def test_mxnet_update():
    weight, gradient, state = mxnet_arrays()
    stays(gradient.tensor, lambda: mx.nd.sgd_mom_update(weight, gradient, state, lr=0.1, momentum=0.9, out=weight))
    for k in (0, 2):
        weight, gradient, state = arrays = mxnet_arrays()
        is_overwritten(
            arrays[k].tensor,
            lambda: mx.nd.sgd_mom_update(*arrays, lr=0.1, momentum=0.9, out=arrays[0]),  # noqa: B023
        )


def test_mxnet_update_of_two_precisions():
    """The rule updates the float32 master copy, and writes it to the float16 weight."""
    for k in (0, 2):
        weight, gradient, master = arrays = mxnet_arrays()
        weight, gradient = arrays = weight.astype("float16"), gradient.astype("float16")
        arrays = *arrays, master
        is_overwritten(arrays[k].tensor, lambda: mx.nd.mp_sgd_update(*arrays, lr=0.1, out=arrays[0]))  # noqa: B023
    weight, gradient, master = (a.astype("float16") for a in mxnet_arrays())
    stays(gradient.tensor, lambda: mx.nd.mp_sgd_update(weight, gradient, master.astype("float32"), lr=0.1, out=weight))


@pytest.mark.parametrize("change", ["update", "change_grads"])
def test_tensors(change):
    x, y = _C.Variable(torch.ones(3)), torch.full((3,), 2.0)
    x.grad_var = _C.Variable(y)
    if change == "update":
        stays(y, lambda: _C.optim_update("sgd", [x], [()], (0.1,)))
        is_overwritten(x.tensor, lambda: _C.optim_update("sgd", [x], [()], (0.1,)))
    else:
        stays(x.tensor, lambda: _C.optim_change_grads("weight_decay", [x], (0.5,)))
        is_overwritten(y, lambda: _C.optim_change_grads("weight_decay", [x], (0.5,)))
