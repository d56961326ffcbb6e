"""The example programs learn on compatgrad as they do on MXNet 1.9.1 (recorded by
tests/golden/record_mxnet.py).
"""

import importlib.util
import json
import pathlib
import re
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import compatgrad.mxnet as mx
from tests.golden import programs

pytest.importorskip("sklearn", reason="the examples learn from scikit-learn's data")
TOLERANCE = 1e-4
RUN = [sys.executable, "-m", "compatgrad", "run"]


def assert_same_curve(values, wants, name, atol=0.0):
    for step, (value, want) in enumerate(zip(values, wants, strict=True)):
        assert abs(value - want) <= atol + TOLERANCE * abs(want), f"{name} at step {step}: {value} instead of {want}"


@pytest.mark.parametrize("name", programs.MXNET_PROGRAMS)
def test_loss_curve(name):
    golden = json.loads((programs.GOLDEN / f"mxnet_{name}.json").read_text())["curves"]
    curves, _ = programs.run_mxnet(name, RUN)
    assert curves.keys() == golden.keys()
    for curve, expected in golden.items():
        assert len(curves[curve]) == len(expected) == programs.MXNET_STEPS
        assert_same_curve(curves[curve], expected, curve)


def test_programs_do_not_mention_compatgrad():
    for path in programs.MXNET_EXAMPLES.glob("*.py"):
        text = path.read_text()
        assert "mxnet" in text
        assert not re.search("compatgrad|torch", text), path


def test_options_of_files(tmp_path):
    """Parameters are saved and loaded; the loss curve is written to a file and plotted."""
    saved, curve, plot = (str(tmp_path / name) for name in ("p.params", "curve.json", "curve.png"))
    program = [*RUN, str(programs.MXNET_EXAMPLES / "train_digits_mlp.py"), "--curve", curve]
    drawn = importlib.util.find_spec("matplotlib") is not None
    options = ["--steps", "50", "--log-interval", "25", "--save", saved, *(["--plot", plot] if drawn else [])]
    printed = programs.execute([*program, *options])
    assert "[update 25] loss " in printed and "test: accuracy 0." in printed
    first = json.loads(pathlib.Path(curve).read_text())
    assert len(first) == 50
    assert not drawn or pathlib.Path(plot).read_bytes().startswith(b"\x89PNG")
    programs.execute([*program, "--steps", "2", "--init", saved])
    second = json.loads(pathlib.Path(curve).read_text())
    assert second[0]["loss"] < first[0]["loss"] / 2


class Adam:
    """Adam in MXNet's form: the bias corrections are part of the learning rate."""

    def __init__(self, parameters, lr, beta1, beta2, epsilon=1e-8):
        self.parameters = parameters
        self.lr, self.beta1, self.beta2, self.epsilon = lr, beta1, beta2, epsilon
        self.t = 0
        self.m = [torch.zeros_like(p) for p in parameters]
        self.v = [torch.zeros_like(p) for p in parameters]

    def step(self, loss):
        self.t += 1
        lr = self.lr * (1 - self.beta2**self.t) ** 0.5 / (1 - self.beta1**self.t)
        for p, g, m, v in zip(self.parameters, torch.autograd.grad(loss, self.parameters), self.m, self.v, strict=True):
            m.mul_(self.beta1).add_(g, alpha=1 - self.beta1)
            v.mul_(self.beta2).addcmul_(g, g, value=1 - self.beta2)
            p.data -= lr * m / (v.sqrt() + self.epsilon)


def wgan_gp_in_torch(values, images, steps, batch_size=50, latent=32, lr=0.0005, n_critic=3, lam=10.0):
    """The losses of examples/mxnet/train_digits_wgan_gp.py in torch, from the parameters `values` and the seed 0."""
    p = {name: torch.tensor(value, requires_grad=True) for name, value in values.items() if "running" not in name}

    def normalized(h, name):
        return F.relu(F.batch_norm(h, None, None, p[f"{name}.gamma"], p[f"{name}.beta"], training=True))

    def generator(z):
        h = normalized(F.linear(z, p["generator.0.weight"]), "generator.1").reshape(len(z), -1, 2, 2)
        h = normalized(F.conv_transpose2d(h, p["generator.4.weight"], stride=2, padding=1), "generator.5")
        h = F.conv_transpose2d(h, p["generator.7.weight"], p["generator.7.bias"], stride=2, padding=1)
        return torch.sigmoid(h)

    def critic(x):
        for layer in (0, 2):
            weight, bias = p[f"critic.{layer}.weight"], p[f"critic.{layer}.bias"]
            x = F.leaky_relu(F.conv2d(x, weight, bias, stride=2, padding=1), 0.2)
        return F.linear(x.flatten(1), p["critic.5.weight"])

    optimizers = {
        part: Adam([x for name, x in p.items() if name.startswith(part)], lr, 0.0, 0.9)
        for part in ("generator", "critic")
    }
    order, rng, queue, curve = np.random.RandomState(0), np.random.RandomState(0), [], []

    def noise():
        return torch.tensor(rng.randn(batch_size, latent).astype("f"))

    for i in range(steps):
        if not queue:
            index = np.arange(len(images))
            order.shuffle(index)
            queue = list(index.reshape(-1, batch_size))
        real = torch.tensor(images[queue.pop(0)])
        fake = generator(noise()).detach()
        eps = torch.tensor(rng.uniform(size=(batch_size, 1, 1, 1)).astype("f"))
        x = (eps * real + (1 - eps) * fake).requires_grad_()
        (gradient,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        penalty = (((gradient**2).sum((1, 2, 3)) + 1e-12).sqrt() - 1).square().mean()
        distance = critic(fake).mean() - critic(real).mean()
        loss = distance + lam * penalty
        optimizers["critic"].step(loss)
        curve.append({"critic": loss.item(), "penalty": penalty.item()})
        if (i + 1) % n_critic == 0:
            optimizers["generator"].step(-critic(generator(noise())).mean())
    return curve


@pytest.mark.semantics("M05")
def test_gradient_penalty_as_in_torch(tmp_path):
    """The reference is the same program in torch, because MXNet cannot differentiate the penalty."""
    from sklearn.datasets import load_digits

    path = programs.MXNET_EXAMPLES / "train_digits_wgan_gp.py"
    init, steps = str(tmp_path / "init.params"), 40
    programs.write_initial_parameters(path, ["--seed", "0"], init, RUN)
    values = {name: x.asnumpy() for name, x in mx.nd.load(init).items()}
    arguments, curve = ["--init", init, "--steps", str(steps)], tmp_path / "curve.json"
    programs.execute([*RUN, str(path), "--seed", "0", *arguments, "--curve", str(curve)])
    records = json.loads(curve.read_text())
    found = {name: [record[name] for record in records] for name in ("critic", "penalty")}
    images = (load_digits().images / 16).astype("f").reshape(-1, 1, 8, 8)[:1500]
    wanted = wgan_gp_in_torch(values, images, steps)
    for name in ("critic", "penalty"):
        # the gradient of a leaky unit jumps where its input is zero to rounding, which one image of a batch may meet
        assert_same_curve(found[name], [record[name] for record in wanted], name, atol=2e-3)
    assert found["penalty"][-1] < found["penalty"][0] / 2
