"""Programs that differentiate twice, in torch: a gradient penalty, a Hessian-vector product, MAML."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.benchmarks import second
from tests.benchmarks.steps_torch import training_step
from tests.benchmarks.worker import THREADS, serve


class Block(nn.Module):
    """Two convolutions and what they are added to."""

    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False), nn.BatchNorm2d(n_out)
        self.conv2, self.bn2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False), nn.BatchNorm2d(n_out)
        self.short = nn.Identity()
        if stride > 1 or n_in != n_out:
            self.short = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(h)) + self.short(x))


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    n_in = 64
    for n_out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(n_in, n_out, stride), Block(n_out, n_out, 1)]
        n_in = n_out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, second.CLASSES))


def penalty():
    model = resnet18()
    images, t = torch.rand(second.BATCH, 3, second.SIDE, second.SIDE), torch.randint(0, second.CLASSES, (second.BATCH,))

    def lossfun():
        x = images.clone().requires_grad_()
        loss = F.cross_entropy(model(x), t)
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        return loss + second.PENALTY * (g * g).sum()

    return training_step(torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), lossfun)


class Layer(nn.Module):
    """Attention and two linear layers, each after a normalization."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(second.UNITS), nn.LayerNorm(second.UNITS)
        self.qkv, self.out = nn.Linear(second.UNITS, 3 * second.UNITS), nn.Linear(second.UNITS, second.UNITS)
        self.up, self.down = nn.Linear(second.UNITS, 4 * second.UNITS), nn.Linear(4 * second.UNITS, second.UNITS)

    def forward(self, x):
        n = len(x)
        h = self.qkv(self.norm1(x)).view(n, second.LENGTH, 3, second.HEADS, second.UNITS // second.HEADS)
        q, k, v = h.permute(2, 0, 3, 1, 4).unbind()
        # torch's fused attention has no second derivative
        weights = torch.softmax(q @ k.transpose(-1, -2) * (second.UNITS // second.HEADS) ** -0.5, -1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(n, second.LENGTH, second.UNITS))
        return x + self.down(F.relu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.places = (
            nn.Embedding(second.VOCABULARY, second.UNITS),
            nn.Embedding(second.LENGTH, second.UNITS),
        )
        self.layers = nn.Sequential(*(Layer() for _ in range(second.LAYERS)))
        self.norm, self.out = nn.LayerNorm(second.UNITS), nn.Linear(second.UNITS, second.VOCABULARY)

    def forward(self, tokens):
        return self.out(self.norm(self.layers(self.embed(tokens) + self.places.weight)))


def hessian():
    model = Transformer()
    x, t = torch.randint(0, second.VOCABULARY, (2, second.BATCH, second.LENGTH))
    params = list(model.parameters())
    vector = [torch.randn_like(p) for p in params]

    def step():
        loss = F.cross_entropy(model(x).view(-1, second.VOCABULARY), t.view(-1))
        gradient = torch.autograd.grad(loss, params, create_graph=True)
        return torch.autograd.grad(gradient, params, vector)

    return step


def maml(model, forward, lossfun, tasks, n_steps):
    """A step of Adam on the losses after `n_steps` steps of gradient descent in each task."""
    params = list(model.parameters())

    def outer():
        total = 0
        for x, t, new_x, new_t in tasks:
            fast = params
            for _ in range(n_steps):
                gradient = torch.autograd.grad(lossfun(forward(fast, x), t), fast, create_graph=True)
                fast = [p - second.INNER_RATE * g for p, g in zip(fast, gradient, strict=True)]
            total = total + lossfun(forward(fast, new_x), new_t)
        return total / len(tasks)

    return training_step(torch.optim.Adam(model.parameters()), outer)


def perceptron():
    return nn.Sequential(nn.Linear(1, 40), nn.Linear(40, 40), nn.Linear(40, 1))


def sines():
    """Tasks: examples, their labels, new examples and theirs."""
    return torch.rand(second.TASKS, 4, second.SHOTS, 1)


def sine(n_steps):
    def forward(p, x):
        h = F.relu(F.linear(x, p[0], p[1]))
        return F.linear(F.relu(F.linear(h, p[2], p[3])), p[4], p[5])

    return maml(perceptron(), forward, F.mse_loss, sines(), n_steps)


def convolutions():
    layers = nn.ModuleList()
    for n_in in (1, 64, 64, 64):
        layers.extend([nn.Conv2d(n_in, 64, 3), nn.BatchNorm2d(64)])
    layers.append(nn.Linear(64, second.WAYS))
    return layers


def characters():
    """Tasks: images, their labels, new images and theirs."""
    t = torch.arange(second.WAYS)
    return [(torch.rand(second.WAYS, 1, 28, 28), t, torch.rand(second.WAYS, 1, 28, 28), t) for _ in range(second.TASKS)]


def images(n_steps):
    def forward(p, h):
        for i in range(0, 16, 4):
            h = F.conv2d(h, p[i], p[i + 1], 2, 1)
            h = F.relu(F.batch_norm(h, None, None, p[i + 2], p[i + 3], training=True))
        return F.linear(h.mean((2, 3)), p[16], p[17])

    return maml(convolutions(), forward, F.cross_entropy, characters(), n_steps)


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    serve(second.programs(penalty, hessian, sine, images))
