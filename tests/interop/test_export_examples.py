"""The example programs' networks as exported graphs give the programs' numbers, at two batch sizes and after changes
of the parameters and running statistics."""

import argparse
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import _pytree

import compatgrad.chainer as chainer
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
from compatgrad import interop
from tests.interop import example_programs

pytest.importorskip("sklearn", reason="the examples learn from scikit-learn's data")
BATCH, OTHER = 4, 9


@functools.cache
def load(folder: str, name: str, *frontends: str) -> Any:
    """Load a program as a module. `frontends`: those that it imports (default: the one named like the folder)."""
    return example_programs.load(folder, name, *(frontends or (folder,)))


def eager(frontend: str, target: Callable, inputs: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """The results of the program's own, eager network."""
    arrays = [x.numpy() for x in inputs]
    if frontend == "chainer":
        with chainer.using_config("train", False):
            return [y.array for y in _pytree.tree_leaves(target(*map(chainer.Variable, arrays)))]
    if frontend == "nnabla":
        with nn.auto_forward():
            return [y.d.copy() for y in _pytree.tree_leaves(target(*map(nn.Variable.from_numpy_array, arrays)))]
    given = [mx.nd.array(a, dtype=a.dtype) for a in arrays]
    return [y.asnumpy() for y in _pytree.tree_leaves(target(*given))]


def check(frontend: str, target: Callable, make: Callable, parameters: Any = None, dynamic: Any = True) -> None:
    """Compare the exported and the eager network. `make(batch)` returns inputs."""
    options = {} if parameters is None else {"parameters": parameters, "frontend": frontend}
    graph = interop.export(target, make(BATCH), dynamic=dynamic, **options)
    state = [t for t in graph.state_dict().values() if t.is_floating_point()]
    assert state
    torch.manual_seed(1)
    with torch.no_grad():  # writes to the network's own memory
        for t in state:
            t.copy_(0.05 + 0.2 * torch.rand_like(t))
    for batch in (BATCH, OTHER):
        inputs = make(batch)
        expected = eager(frontend, target, inputs)
        found = [y.detach().numpy() for y in _pytree.tree_leaves(graph(*inputs))]
        assert len(found) == len(expected)
        for a, b in zip(expected, found, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype and a.any()
            np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-6)


def images(batch: int) -> tuple[torch.Tensor]:
    return (torch.rand(batch, 1, 8, 8),)


def rows(width: int) -> Callable[[int], tuple[torch.Tensor]]:
    return lambda batch: (torch.randn(batch, width),)


def characters(vocabulary: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, vocabulary, shape, dtype=torch.int32)


# ---- Chainer ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "program, build, make",
    [
        ("train_digits_mlp", lambda m: m.MLP(12, 10), rows(64)),
        ("train_digits_cnn", lambda m: m.CNN(4, 10), images),
        ("train_digits_wgan_gp", lambda m: m.Generator(6, 4), rows(6)),
        ("train_digits_wgan_gp", lambda m: m.Critic(4), images),
        ("train_digits_trpo", lambda m: m.Policy(8, 10), rows(64)),
    ],
    ids=["mlp", "cnn", "wgan generator", "wgan critic", "trpo policy"],
)
def test_chainer(program, build, make):
    check("chainer", build(load("chainer", program)), make)


def test_chainer_lstm_reads_a_sequence():
    model = load("chainer", "train_text_lstm").CharLSTM(7, 5)

    def read(x):
        model.reset_state()
        return [model(x[:, k]) for k in range(x.shape[1])]

    check("chainer", read, lambda batch: (characters(7, batch, 3),), parameters=model)


def test_chainer_norm_of_the_critics_gradient():
    """The norm of the gradient, of which WGAN's penalty is made."""
    critic = load("chainer", "train_digits_wgan_gp").Critic(4)

    def norm(x):
        (g,) = chainer.grad([critic(x)], [x], enable_double_backprop=True)
        return chainer.functions.sqrt(chainer.functions.sum(g * g, axis=(1, 2, 3)) + 1e-8)

    check("chainer", norm, images, parameters=critic)


# ---- nnabla ----------------------------------------------------------------------------------------------------------
def latent(batch: int) -> tuple[torch.Tensor]:
    return (torch.randn(batch, 6),)


@pytest.mark.parametrize(
    "program, build, make",
    [
        ("train_digits_classifier", lambda m: lambda x: m.network(x, 4, 0.2, test=True), images),
        ("train_digits_dcgan", lambda m: lambda z: m.generator(z, 4, test=True), latent),
        ("train_digits_dcgan", lambda m: lambda x: m.discriminator(x, 4, test=True), images),
        ("train_digits_wgan_gp", lambda m: lambda z: m.generator(z, 4), latent),
        ("train_digits_wgan_gp", lambda m: lambda x: m.critic(x, 4), images),
    ],
    ids=["classifier", "dcgan generator", "dcgan discriminator", "wgan generator", "wgan critic"],
)
def test_nnabla(program, build, make):
    nn.clear_parameters()
    network = build(load("nnabla", program))
    network(nn.Variable(make(BATCH)[0].shape))
    check("nnabla", network, make, parameters=nn.get_parameters(grad_only=False))


def test_nnabla_siren(monkeypatch):
    """The program's sine runs in NumPy, so the error names its class; with nnabla's sine the network is exported."""
    nn.clear_parameters()
    module = load("nnabla", "train_digits_siren")

    def siren(x):
        return module.siren(x, 6, 2, 5.0)

    siren(nn.Variable((BATCH, 2)))
    parameters = nn.get_parameters()
    with pytest.raises(interop.ExportError, match="a value is read.*forward_impl of ScaledSine reads NumPy"):
        interop.export(siren, rows(2)(BATCH), parameters=parameters, frontend="nnabla")
    monkeypatch.setattr(module, "scaled_sine", lambda x, omega: nn.functions.sin(omega * x))
    check("nnabla", siren, rows(2), parameters=parameters)


# ---- MXNet -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "program, build, make",
    [
        ("train_digits_mlp", lambda m: m.build(argparse.Namespace(units=12, dropout=0.3)), images),
        ("train_digits_cnn", lambda m: m.ResNet(4, 10), images),
        ("train_digits_wgan_gp", lambda m: m.build_generator(6, 4), rows(6)),
        ("train_digits_wgan_gp", lambda m: m.build_critic(4), images),
        ("train_digits_function", lambda m: m.Network(8), images),
    ],
    ids=["mlp", "cnn", "wgan generator", "wgan critic", "function"],
)
def test_mxnet(program, build, make):
    net = build(load("mxnet", program))
    net.initialize()
    net(mx.nd.array(make(1)[0].numpy()))
    check("mxnet", net, make)


@pytest.mark.parametrize("tied", [True, False])
def test_mxnet_lstm(tied):
    model = load("mxnet", "train_text_lstm").CharLM(7, 5, 2, 0.2, tied)
    model.initialize()

    def read(x, h, c):
        y, state = model(x, [h, c])
        return [y, *state]

    def make(batch):
        return characters(7, 3, batch), torch.randn(2, batch, 5), torch.randn(2, batch, 5)

    check("mxnet", read, make, parameters=model, dynamic=[{1: "batch"}] * 3)


def test_mxnet_gradient_penalty():
    module = load("mxnet", "train_digits_wgan_gp")
    critic = module.build_critic(4)
    critic.initialize()

    def penalty(real, fake, eps):
        with mx.autograd.record():
            return module.gradient_penalty(critic, real, fake, eps)

    check("mxnet", penalty, lambda n: (*images(n), *images(n), torch.rand(n, 1, 1, 1)), parameters=critic)


# ---- programs of several frameworks ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "program, build, make",
    [
        ("train_chainer_network_in_torch", lambda m: m.Network(4, 0.2), images),
        ("convert_chainer_snapshot", lambda m: m.Network(), images),
        ("train_gan_torch_critic", lambda m: m.Generator(6, 4), rows(6)),
        ("train_gan_torch_critic", lambda m: interop.as_chainer_link(m.Critic(4)), images),
    ],
    ids=["network in torch", "snapshot", "gan generator", "gan critic"],
)
def test_chainer_with_torch(program, build, make):
    check("chainer", build(load("mixed", program, "chainer")), make)


def test_four_frameworks():
    nn.clear_parameters()
    module = load("mixed", "train_four_frameworks", "chainer", "nnabla", "mxnet").build().eval()
    graph = interop.export(module, images(BATCH))
    for batch in (BATCH, OTHER):
        (x,) = images(batch)
        torch.testing.assert_close(graph(x), module(x), rtol=1e-6, atol=1e-6)
