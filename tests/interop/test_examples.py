"""The programs of examples/mixed compute what their descriptions say."""

import copy
import importlib.util
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
from compatgrad import interop
from tests.golden import programs
from tests.interop.example_programs import load

pytest.importorskip("sklearn", reason="the examples learn from scikit-learn's data")
EXAMPLES = programs.ROOT / "examples" / "mixed"
RUN = [sys.executable, "-m", "compatgrad", "run"]


def execute(name, *arguments):
    """The output of the program."""
    return programs.execute([*RUN, str(EXAMPLES / f"{name}.py"), *map(str, arguments)])


# ---- the Chainer GAN with a critic of torch's ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gan():
    return load("mixed", "train_gan_torch_critic", "chainer")


class TorchGenerator(torch.nn.Module):
    """The generator in torch, with the parameters of a given one."""

    def __init__(self, link):
        super().__init__()
        self.width = link.width
        self.p = {name: torch.from_numpy(p.array).clone().requires_grad_() for name, p in link.namedparams()}

    def forward(self, z):
        def normalized(h, name):
            gamma, beta = self.p[f"/{name}/gamma"], self.p[f"/{name}/beta"]
            return torch.relu(torch.nn.functional.batch_norm(h, None, None, gamma, beta, training=True, eps=2e-5))

        h = normalized(z @ self.p["/l0/W"].T, "bn0").reshape(len(z), 2 * self.width, 2, 2)
        deconvolution = torch.nn.functional.conv_transpose2d
        h = normalized(deconvolution(h, self.p["/dc1/W"], stride=2, padding=1), "bn1")
        return torch.sigmoid(deconvolution(h, self.p["/dc2/W"], self.p["/dc2/b"], stride=2, padding=1))


class ChainerCritic(chainer.Chain):
    """The critic in Chainer, with the parameters of a given one."""

    def __init__(self, module, width):
        super().__init__()
        with self.init_scope():
            self.c0 = L.Convolution2D(1, width, 4, 2, 1)
            self.c1 = L.Convolution2D(width, 2 * width, 4, 2, 1)
            self.norm = L.GroupNormalization(1, 2 * width)
            self.out = L.Linear(8 * width, 1, nobias=True)
        links = [self.c0.W, self.c0.b, self.c1.W, self.c1.b, self.norm.gamma, self.norm.beta, self.out.W]
        self.pairs = list(zip(links, module.parameters(), strict=True))
        for own, p in self.pairs:
            own.array = p.detach().numpy().copy()

    def forward(self, x):
        h = self.c0(x)
        h = self.norm(self.c1(h * F.sigmoid(h)))
        return self.out(h * F.sigmoid(h))


def networks(gan, width=4):
    """Generator and critic in double precision."""
    np.random.seed(0)
    torch.manual_seed(0)
    with chainer.using_config("dtype", np.dtype("d")):
        return gan.Generator(6, width), gan.Critic(width).double()


def assert_same(gradient, expected):
    assert np.abs(expected).max() > 1e-5, "nothing to compare"
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


def test_penalty_is_that_of_torch_and_of_chainer(gan):
    _, module = networks(gan)
    own, twin = copy.deepcopy(module), ChainerCritic(module, 4)
    x = np.random.rand(7, 1, 8, 8)

    link = interop.as_chainer_link(module)
    penalty = gan.gradient_penalty(link, x)
    link.cleargrads()
    penalty.backward()

    t = torch.from_numpy(x).requires_grad_()
    (gradient,) = torch.autograd.grad(own(t).sum(), t, create_graph=True)
    expected = (((gradient**2).sum((1, 2, 3)) + 1e-8).sqrt() - 1).square().mean()
    expected.backward()

    other = gan.gradient_penalty(twin, x)
    twin.cleargrads()
    other.backward()

    assert 0 < penalty.array == pytest.approx(expected.item(), rel=1e-12) == pytest.approx(other.array, rel=1e-12)
    gradients = dict(link.namedparams())
    for (name, p), (in_chainer, _) in zip(own.named_parameters(), twin.pairs, strict=True):
        gradient = gradients[f"/_{name.replace('.', '/')}"].grad
        assert_same(gradient, p.grad.numpy())
        assert_same(gradient, in_chainer.grad)


def test_gradient_by_the_noise_goes_through_both_networks(gan):
    generator, module = networks(gan)
    own, twin = copy.deepcopy(module), TorchGenerator(generator)
    z = np.random.randn(7, 6)

    link = interop.as_chainer_link(module)
    _, roughness = gan.value_and_roughness(generator, link, z)
    for network in (generator, link):
        network.cleargrads()
    roughness.backward()

    t = torch.from_numpy(z).requires_grad_()
    (gradient,) = torch.autograd.grad(own(twin(t)).sum(), t, create_graph=True)
    expected = (gradient**2).sum(1).mean()
    expected.backward()

    assert 0 < roughness.array == pytest.approx(expected.item(), rel=1e-12)
    for name, p in generator.namedparams():
        assert_same(p.grad, twin.p[name].grad.numpy())
    gradients = dict(link.namedparams())
    for name, p in own.named_parameters():
        assert_same(gradients[f"/_{name.replace('.', '/')}"].grad, p.grad.numpy())


def test_gan_learns_and_goes_on_from_its_snapshot(tmp_path):
    printed = execute("train_gan_torch_critic", "--epoch", 3, "--out", tmp_path)
    log = json.loads((tmp_path / "log").read_text())
    assert [entry["epoch"] for entry in log] == [1, 2, 3]
    energies = [entry["energy"] for entry in log]
    assert energies[2] < energies[0] / 1.5 and energies[2] < energies[1] < energies[0]
    assert all(0 < entry["critic/penalty"] < 0.05 for entry in log)
    assert "@" in printed.splitlines()[-4]
    execute("train_gan_torch_critic", "--epoch", 4, "--out", tmp_path, "--resume", tmp_path / "snapshot")
    log = json.loads((tmp_path / "log").read_text())
    assert [entry["epoch"] for entry in log] == [1, 2, 3, 4] and log[3]["energy"] < energies[2]


# ---- the Chainer network in a torch program --------------------------------------------------------------------------


def test_network_learns_in_torch_and_leaves_with_equal_outputs(tmp_path):
    printed = execute("train_chainer_network_in_torch", "--epoch", 2, "--out", tmp_path)
    first, second = ([float(v) for v in line.split()] for line in printed.splitlines()[1:3])
    assert second[2] < first[2] / 2 and second[4] > 0.85  # loss and accuracy
    found = re.findall(r"(\w+): at batch sizes \(50, 297, 1\) outputs differ by (\S+) at most", printed)
    assert [name for name, _ in found] == ["dict", "exported", "compiled"]
    assert all(float(difference) < 2e-5 for _, difference in found)
    assert "16 calls of ATen: convolution, " in printed
    state = torch.load(tmp_path / "model.pt")
    assert state["conv2.W"].shape == (32, 16, 3, 3) and state["norm1.avg_var"].shape == (16,)


# ---- the network of four frameworks ----------------------------------------------------------------------------------


@pytest.fixture
def four():
    program = load("mixed", "train_four_frameworks")
    np.random.seed(0)
    torch.manual_seed(0)
    mx.random.seed(0)
    nn.clear_parameters()
    nn.set_auto_forward(True)
    yield program
    nn.set_auto_forward(False)
    nn.clear_parameters()


def test_gradients_of_four_frameworks_are_those_of_finite_differences(tmp_path):
    drawn, plot = importlib.util.find_spec("matplotlib") is not None, tmp_path / "curves.png"
    printed = execute("train_four_frameworks", "--epoch", 3, *(["--plot", plot] if drawn else []))
    assert not drawn or plot.read_bytes().startswith(b"\x89PNG")
    rows = dict(re.findall(r"^(\S+\.\S+) +\d+ +\S+ +(\S+)$", printed, re.MULTILINE))
    assert {name.rsplit(".", 1)[0] for name in rows} == {"chainer", "nnabla.conv", "gluon.0", "gluon.1", "torch"}
    assert len(rows) == 10 and max(map(float, rows.values())) < 5e-4
    losses = [float(line.split()[1]) for line in printed.splitlines()[-3:]]
    assert losses[2] < losses[1] < losses[0] and losses[2] < 0.5


def test_a_wrong_gradient_is_seen(four):
    model, (x, t) = four.build(), four.digits.arrays()[0]
    x, t = torch.from_numpy(x[:5]), torch.from_numpy(t[:5]).long()
    four.loss_of(model, x, t).backward()
    p = model.nnabla.conv.b
    found = []
    for factor in (1, 1.01):
        p.grad *= factor
        found.append(four.deviation(p, lambda: four.loss_of(model, x, t).item(), step=0.005))
    assert found[0] < 1e-3 and found[1] == pytest.approx(0.01, abs=1e-3)


def test_the_backward_of_a_frontend_reaches_each_ones_own_gradients(four):
    model, x = four.build(), np.random.rand(5, 1, 8, 8).astype("f")
    network = model._target
    (model(torch.from_numpy(x)) ** 2).sum().backward()
    expected = {name: p.grad.numpy().copy() for name, p in model.named_parameters()}

    model.zero_grad()
    network.link.cleargrads()
    for v in nn.get_parameters().values():
        v.grad.zero()
    with mx.autograd.record():
        loss = (network(chainer.Variable(x)) ** 2).sum()
    loss.backward()
    found = {f"torch.{name}": p.grad.numpy() for name, p in network.layer.named_parameters()}
    for name, v in network.parameters().items():
        kind = name.partition("/")[0]
        found[name.replace("/", ".")] = v.g if kind == "nnabla" else v.grad if kind == "chainer" else v.grad.asnumpy()
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        np.testing.assert_allclose(found[name], gradient, rtol=1e-4, atol=1e-5 * np.abs(gradient).max())


def test_a_gradient_penalty_through_four_frameworks(four):
    model, x = four.build(), torch.rand(5, 1, 8, 8, requires_grad=True)

    def penalty():
        (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        return (gradient.double() ** 2).sum()

    penalty().backward()
    named = {name: p for name, p in model.named_parameters() if p.grad is not None and p.grad.any()}
    assert named.keys() == {
        "chainer.W", "chainer.b", "nnabla.conv.W", "nnabla.conv.b", "torch.weight", "torch.bias", "gluon.0.gamma",
        "gluon.1.weight",
    }  # fmt: skip
    for name in ("chainer.W", "nnabla.conv.b", "torch.bias", "gluon.0.gamma"):
        assert four.deviation(named[name], lambda: penalty().item(), step=0.005) < 1e-3


# ---- all of them can leave -------------------------------------------------------------------------------------------


def assert_exported(network, example, other, run):
    """Compare `network`, exported for `example`, with `run` on `other`, which has another batch size."""
    exported = interop.export(network, example)
    with torch.no_grad():
        found, expected = exported(other), run(other)
    assert found.shape == expected.shape and (found - expected).abs().max() <= 1e-6 * expected.abs().max()


def test_networks_of_the_examples_are_exported(gan, four):
    generator, critic = gan.Generator(6, 4), gan.Critic(4)
    with chainer.using_config("train", False):
        assert_exported(generator, torch.randn(3, 6), torch.randn(7, 6),
                        lambda z: generator(chainer.Variable(z.numpy())).tensor)  # fmt: skip
        assert_exported(interop.as_chainer_link(critic), torch.rand(3, 1, 8, 8), torch.rand(7, 1, 8, 8), critic)
    model = four.build()
    assert_exported(model, torch.rand(3, 1, 8, 8), torch.rand(7, 1, 8, 8), model)


# ---- missing packages are named --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "package, arguments, message",
    [
        ("sklearn", [], "the programs learn from scikit-learn's digits (none here): pip install scikit-learn\n"),
        ("matplotlib", ["--plot", "x.png"], "--plot needs matplotlib (none here): pip install matplotlib\n"),
    ],
)
def test_missing_packages(tmp_path, package, arguments, message):
    (tmp_path / f"{package}.py").write_text("raise ImportError('none here')")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(programs.ROOT)])}
    command = [*RUN, str(EXAMPLES / "train_gan_torch_critic.py"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, message)
