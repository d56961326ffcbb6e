"""Training steps as Chainer programs."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import optimizers

from tests.benchmarks.worker import BATCHES, serve

random = np.random.RandomState(0)


def floats(*shape):
    return random.rand(*shape).astype(np.float32)


def labels(n_classes, *shape):
    return random.randint(0, n_classes, shape).astype(np.int32)


def training_step(model, optimizer, lossfun):
    optimizer.setup(model)

    def step():
        loss = lossfun()
        model.cleargrads()
        loss.backward()
        optimizer.update()

    return step


class MLP(chainer.Chain):
    def __init__(self, n_in, n_units, n_out):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(n_in, n_units)
            self.l2 = L.Linear(n_units, n_units)
            self.l3 = L.Linear(n_units, n_out)

    def forward(self, x):
        return self.l3(F.relu(self.l2(F.relu(self.l1(x)))))


def mlp(n_in, n_units, n_out, batchsize):
    model = MLP(n_in, n_units, n_out)
    x, t = floats(batchsize, n_in), labels(n_out, batchsize)
    return training_step(model, optimizers.Adam(), lambda: F.softmax_cross_entropy(model(x), t))


class CNN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(1, 16, 3, pad=1)
            self.bn1 = L.BatchNormalization(16)
            self.conv2 = L.Convolution2D(16, 32, 3, pad=1)
            self.fc = L.Linear(32 * 7 * 7, 10)

    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.bn1(self.conv1(x))), 2)
        h = F.max_pooling_2d(F.relu(self.conv2(h)), 2)
        return self.fc(h)


def cnn():
    model = CNN()
    x, t = floats(32, 1, 28, 28), labels(10, 32)
    optimizer = optimizers.MomentumSGD(lr=0.01)
    return training_step(model, optimizer, lambda: F.softmax_cross_entropy(model(x), t))


class LanguageModel(chainer.Chain):
    def __init__(self, n_vocab, n_units):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units)
            self.lstm = L.LSTM(n_units, n_units)
            self.out = L.Linear(n_units, n_vocab)

    def forward(self, x):
        return self.out(self.lstm(self.embed(x)))


def lstm_lm():
    model = LanguageModel(200, 64)
    xs, ts = labels(200, 20, 16), labels(200, 20, 16)
    optimizer = optimizers.SGD(lr=0.1)

    def lossfun():
        model.lstm.reset_state()
        loss = 0
        for x, t in zip(xs, ts):  # noqa: B905
            loss += F.softmax_cross_entropy(model(x), t)
        return loss

    step = training_step(model, optimizer, lossfun)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(5))
    return step


class Critic(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 16, 4, 2, 1)
            self.conv2 = L.Convolution2D(16, 32, 4, 2, 1)
            self.fc = L.Linear(32 * 8 * 8, 1)

    def forward(self, x):
        return self.fc(F.leaky_relu(self.conv2(F.leaky_relu(self.conv1(x)))))


def wgan_gp():
    model = Critic()
    images = floats(16, 3, 32, 32)

    def lossfun():
        x = chainer.Variable(images)
        y = model(x)
        (g,) = chainer.grad([y], [x], enable_double_backprop=True)
        norm = F.sqrt(F.sum(g * g, axis=(1, 2, 3)))
        return F.mean((norm - 1) ** 2) + F.mean(y)

    return training_step(model, optimizers.Adam(1e-4, beta1=0.0, beta2=0.9), lossfun)


if __name__ == "__main__":
    serve(
        {
            "mlp_tiny": lambda: mlp(32, 64, 10, 16),
            "mlp_mnist": lambda: mlp(784, 1000, 10, 100),
            "cnn": cnn,
            "lstm_lm": lstm_lm,
            "wgan_gp": wgan_gp,
            **{f"batch {n}": lambda n=n: mlp(784, 1000, 10, n) for n in BATCHES},
        }
    )
