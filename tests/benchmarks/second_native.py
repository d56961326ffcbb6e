"""Programs that differentiate twice on compatgrad's own API: the parameters, modules and optimizers are those of the
torch programs, the functions are ops, and `compatgrad.grad` replaces torch's."""

import torch

import compatgrad
import compatgrad.ops as ops
from tests.benchmarks import second, second_torch
from tests.benchmarks.steps_torch import training_step
from tests.benchmarks.worker import THREADS, serve


class Leaves(dict):
    """tensor -> its Variable, made at the first use."""

    def __missing__(self, tensor):
        self[tensor] = compatgrad.Variable(tensor)
        return self[tensor]


def penalty():
    model = second_torch.resnet18()
    stem, fc = model[:2], model[-1]
    blocks = [layer for layer in model if isinstance(layer, second_torch.Block)]
    images, t = torch.rand(second.BATCH, 3, second.SIDE, second.SIDE), torch.randint(0, second.CLASSES, (second.BATCH,))

    def normalized(v, conv, bn, x):
        h = ops.convolution(x, v[conv.weight], stride=conv.stride, pad=conv.padding)
        statistics = {"running_mean": bn.running_mean, "running_var": bn.running_var}
        return ops.batch_normalization(h, v[bn.weight], v[bn.bias], bn.eps, **statistics)

    def network(v, x):
        h = ops.max_pooling(ops.relu(normalized(v, *stem, x)), 3, 2, 1, cover_all=False)
        for block in blocks:
            inner = ops.relu(normalized(v, block.conv1, block.bn1, h))
            straight = isinstance(block.short, torch.nn.Identity)
            h = ops.relu(
                normalized(v, block.conv2, block.bn2, inner) + (h if straight else normalized(v, *block.short, h))
            )
        return ops.linear(ops.mean(h, (2, 3)), v[fc.weight], v[fc.bias])

    def lossfun():
        x = compatgrad.Variable(images)
        loss = ops.softmax_cross_entropy(network(Leaves(), x), t)
        (g,) = compatgrad.grad(loss, x, enable_double_backprop=True)
        return loss + second.PENALTY * ops.sum(g * g)

    return training_step(torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), lossfun)


def hessian():
    model = second_torch.Transformer()
    x, t = torch.randint(0, second.VOCABULARY, (2, second.BATCH, second.LENGTH))
    v = {p: compatgrad.Variable(p.detach()) for p in model.parameters()}
    vector = [torch.randn_like(p) for p in v]

    def linear(layer, x):
        return ops.linear(x, v[layer.weight], v[layer.bias])

    def norm(layer, x):
        return ops.layer_normalization(x, v[layer.weight], v[layer.bias], layer.eps)

    def network(tokens):
        h = ops.embedding(v[model.embed.weight], tokens) + v[model.places.weight]
        h = ops.reshape(h, (-1, second.UNITS))
        for layer in model.layers:
            qkv = ops.reshape(
                linear(layer.qkv, norm(layer.norm1, h)),
                (-1, second.LENGTH, 3, second.HEADS, second.UNITS // second.HEADS),
            )
            q, k, values = ops.unstack(ops.transpose(qkv, (2, 0, 3, 1, 4)))
            weights = ops.softmax(ops.matmul(q, k, transb=True) * (second.UNITS // second.HEADS) ** -0.5, -1)
            attended = ops.transpose(ops.matmul(weights, values), (0, 2, 1, 3))
            h = h + linear(layer.out, ops.reshape(attended, (-1, second.UNITS)))
            h = h + linear(layer.down, ops.relu(linear(layer.up, norm(layer.norm2, h))))
        return linear(model.out, norm(model.norm, h))

    def step():
        loss = ops.softmax_cross_entropy(network(x), t.view(-1))
        gradient = compatgrad.grad(loss, list(v.values()), enable_double_backprop=True)
        return compatgrad.grad(gradient, list(v.values()), vector)

    return step


def maml(model, forward, lossfun, tasks, n_steps):
    """A step of Adam on the losses after `n_steps` steps of gradient descent in each task."""

    def outer():
        params = [compatgrad.Variable(p) for p in model.parameters()]
        total = 0
        for x, t, new_x, new_t in tasks:
            fast = params
            for _ in range(n_steps):
                gradient = compatgrad.grad(lossfun(forward(fast, x), t), fast, enable_double_backprop=True)
                fast = [p - second.INNER_RATE * g for p, g in zip(fast, gradient, strict=True)]
            total = total + lossfun(forward(fast, new_x), new_t)
        return total / len(tasks)

    return training_step(torch.optim.Adam(model.parameters()), outer)


def sine(n_steps):
    def forward(p, x):
        h = ops.relu(ops.linear(x, p[0], p[1]))
        return ops.linear(ops.relu(ops.linear(h, p[2], p[3])), p[4], p[5])

    return maml(second_torch.perceptron(), forward, ops.mean_squared_error, second_torch.sines(), n_steps)


def images(n_steps):
    def forward(p, h):
        for i in range(0, 16, 4):
            h = ops.convolution(h, p[i], p[i + 1], stride=2, pad=1)
            h = ops.relu(ops.batch_normalization(h, p[i + 2], p[i + 3], 1e-5))
        return ops.linear(ops.mean(h, (2, 3)), p[16], p[17])

    return maml(second_torch.convolutions(), forward, ops.softmax_cross_entropy, second_torch.characters(), n_steps)


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    serve(second.programs(penalty, hessian, sine, images))
