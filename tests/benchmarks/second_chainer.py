"""Programs that differentiate twice, in Chainer: a gradient penalty, a Hessian-vector product, MAML.

With the argument `compiled` the steps of MAML are compiled by `interop.compile`, all but the optimizer's update.
"""

import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import optimizers

from tests.benchmarks import second
from tests.benchmarks.steps_chainer import floats, labels, training_step
from tests.benchmarks.worker import serve

COMPILED = sys.argv[1:] == ["compiled"]
MAML = "second sine", "second images"


def cross_entropy(y, t):
    return F.softmax_cross_entropy(y, t, enable_double_backprop=True)


class Block(chainer.Chain):
    """Two convolutions and what they are added to."""

    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.straight = stride == 1 and n_in == n_out
        with self.init_scope():
            self.conv1 = L.Convolution2D(n_in, n_out, 3, stride, 1, nobias=True)
            self.bn1 = L.BatchNormalization(n_out)
            self.conv2 = L.Convolution2D(n_out, n_out, 3, 1, 1, nobias=True)
            self.bn2 = L.BatchNormalization(n_out)
            if not self.straight:
                self.conv3 = L.Convolution2D(n_in, n_out, 1, stride, nobias=True)
                self.bn3 = L.BatchNormalization(n_out)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(h)) + (x if self.straight else self.bn3(self.conv3(x))))


class ResNet18(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(3, 64, 7, 2, 3, nobias=True)
            self.bn = L.BatchNormalization(64)
            self.blocks = chainer.Sequential()
            self.fc = L.Linear(512, second.CLASSES)
        n_in = 64
        for n_out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            self.blocks.append(Block(n_in, n_out, stride))
            self.blocks.append(Block(n_out, n_out, 1))
            n_in = n_out

    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.bn(self.conv(x))), 3, 2, 1, cover_all=False)
        return self.fc(F.average(self.blocks(h), axis=(2, 3)))


def penalty():
    model = ResNet18()
    images, t = floats(second.BATCH, 3, second.SIDE, second.SIDE), labels(second.CLASSES, second.BATCH)

    def lossfun():
        x = chainer.Variable(images)
        loss = cross_entropy(model(x), t)
        (g,) = chainer.grad([loss], [x], enable_double_backprop=True)
        return loss + second.PENALTY * F.sum(g * g)

    return training_step(model, optimizers.MomentumSGD(lr=0.01), lossfun)


class Layer(chainer.Chain):
    """Attention and two linear layers, each after a normalization."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.norm1, self.norm2 = L.LayerNormalization(second.UNITS), L.LayerNormalization(second.UNITS)
            self.qkv, self.out = L.Linear(second.UNITS, 3 * second.UNITS), L.Linear(second.UNITS, second.UNITS)
            self.up, self.down = L.Linear(second.UNITS, 4 * second.UNITS), L.Linear(4 * second.UNITS, second.UNITS)

    def forward(self, x):
        h = F.reshape(self.qkv(self.norm1(x)), (-1, second.LENGTH, 3, second.HEADS, second.UNITS // second.HEADS))
        q, k, v = F.separate(F.transpose(h, (2, 0, 3, 1, 4)))
        weights = F.softmax(F.matmul(q, k, transb=True) * (second.UNITS // second.HEADS) ** -0.5, axis=3)
        x = x + self.out(F.reshape(F.transpose(F.matmul(weights, v), (0, 2, 1, 3)), (-1, second.UNITS)))
        return x + self.down(F.relu(self.up(self.norm2(x))))


class Transformer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed, self.places = L.EmbedID(second.VOCABULARY, second.UNITS), L.EmbedID(second.LENGTH, second.UNITS)
            self.layers = chainer.Sequential(*(Layer() for _ in range(second.LAYERS)))
            self.norm, self.out = L.LayerNormalization(second.UNITS), L.Linear(second.UNITS, second.VOCABULARY)

    def forward(self, tokens):
        h = self.embed(tokens)
        h = h + F.broadcast_to(self.places.W, h.shape)
        return self.out(self.norm(self.layers(F.reshape(h, (-1, second.UNITS)))))


def hessian():
    model = Transformer()
    x, t = labels(second.VOCABULARY, 2, second.BATCH, second.LENGTH)
    params = list(model.params())
    vector = [chainer.Variable(floats(*p.shape)) for p in params]

    def step():
        loss = cross_entropy(model(x), t.reshape(-1))
        gradient = chainer.grad([loss], params, enable_double_backprop=True)
        return chainer.grad(gradient, params, vector)

    return step


def compiled_step(model, optimizer, lossfun, arrays):
    from compatgrad import interop

    optimizer.setup(model)

    def gradients(*arrays):
        loss = lossfun(*arrays)
        model.cleargrads()
        loss.backward()
        return loss

    compiled = interop.compile(gradients, parameters=model)

    def step():
        compiled(*arrays)
        optimizer.update()

    return step


def maml(model, forward, lossfun, tasks, n_steps):
    """A step of Adam on the losses after `n_steps` steps of gradient descent in each task."""
    params = [p for link in model for p in (link.W, link.b)]
    arrays = [a for task in tasks for a in task]

    def outer(*arrays):
        total = 0
        for x, t, new_x, new_t in zip(*[iter(arrays)] * 4):  # noqa: B905
            fast = params
            for _ in range(n_steps):
                gradient = chainer.grad([lossfun(forward(fast, x), t)], fast, enable_double_backprop=True)
                fast = [p - second.INNER_RATE * g for p, g in zip(fast, gradient)]  # noqa: B905
            total += lossfun(forward(fast, new_x), new_t)
        return total / len(tasks)

    if COMPILED:
        return compiled_step(model, optimizers.Adam(), outer, arrays)
    return training_step(model, optimizers.Adam(), lambda: outer(*arrays))


def sine(n_steps):
    model = chainer.ChainList(L.Linear(1, 40), L.Linear(40, 40), L.Linear(40, 1))

    def forward(p, x):
        h = F.relu(F.linear(x, p[0], p[1]))
        return F.linear(F.relu(F.linear(h, p[2], p[3])), p[4], p[5])

    return maml(model, forward, F.mean_squared_error, floats(second.TASKS, 4, second.SHOTS, 1), n_steps)


class Scale(chainer.Link):
    """The parameters of a batch normalization, named as those of other links."""

    def __init__(self, size):
        super().__init__()
        with self.init_scope():
            self.W, self.b = chainer.Parameter(1.0, size), chainer.Parameter(0.0, size)


def images(n_steps):
    model = chainer.ChainList()
    for n_in in (1, 64, 64, 64):
        model.append(L.Convolution2D(n_in, 64, 3))
        model.append(Scale(64))
    model.append(L.Linear(64, second.WAYS))
    t = np.arange(second.WAYS, dtype=np.int32)
    tasks = [(floats(second.WAYS, 1, 28, 28), t, floats(second.WAYS, 1, 28, 28), t) for _ in range(second.TASKS)]

    def forward(p, h):
        for i in range(0, 16, 4):
            h = F.convolution_2d(h, p[i], p[i + 1], 2, 1)
            h = F.relu(F.batch_normalization(h, p[i + 2], p[i + 3], eps=1e-5))
        return F.linear(F.average(h, axis=(2, 3)), p[16], p[17])

    return maml(model, forward, cross_entropy, tasks, n_steps)


if __name__ == "__main__":
    programs = second.programs(penalty, hessian, sine, images)
    serve({name: f for name, f in programs.items() if name.startswith(MAML) or not COMPILED})
