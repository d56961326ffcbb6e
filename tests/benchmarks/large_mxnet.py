"""Large networks as MXNet programs, hybridized: some of Gluon's model zoo, and others that users write in Gluon."""

from functools import partial

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from mxnet.gluon.model_zoo import vision

from tests.benchmarks import large
from tests.benchmarks.worker import serve

random = np.random.RandomState(0)


def floats(*shape):
    return nd.array(random.rand(*shape))


def labels(n_classes, *shape):
    return nd.array(random.randint(0, n_classes, shape))


def hybridized(net):
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    return net


def adam(net, rate=1e-3, beta1=0.9):
    return gluon.Trainer(net.collect_params(), "adam", {"learning_rate": rate, "beta1": beta1})


def momentum(net):
    return gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": large.RATE, "momentum": 0.9})


def inference(net, *x):
    return lambda: net(*x).wait_to_read()


def supervised(mode, net, optimizer, x, t, axis=-1):
    """`x`: a tuple of the network's inputs. `axis`: that of the classes in the network's result."""
    net = hybridized(net)
    if mode == "infer":
        return inference(net, *x)
    trainer, loss_fn = optimizer(net), gluon.loss.SoftmaxCrossEntropyLoss(axis=axis)

    def step():
        with autograd.record():
            loss = loss_fn(net(*x), t)
        loss.backward()
        trainer.step(len(t))
        nd.waitall()

    return step


def classifier(mode, batch, network):
    x, t = floats(batch, 3, large.SIZE, large.SIZE), labels(large.CLASSES, batch)
    return supervised(mode, network(classes=large.CLASSES), momentum, (x,), t)


resnet18, resnet50 = (partial(classifier, network=net) for net in (vision.resnet18_v1, vision.resnet50_v1))
vgg16, mobilenet2 = (partial(classifier, network=net) for net in (vision.vgg16, vision.mobilenet_v2_1_0))


def conv_bn(channels, ksize, stride=1, pad=0, activation="relu"):
    """A convolution without bias, batch normalization and an activation."""
    layers = nn.HybridSequential()
    layers.add(nn.Conv2D(channels, ksize, stride, pad, use_bias=False), nn.BatchNorm())
    layers.add(nn.LeakyReLU(0.2) if activation == "leaky" else nn.Activation(activation))
    return layers


class UNet(nn.HybridBlock):
    def __init__(self, channels):
        super().__init__()
        self.down, self.up, self.back = nn.HybridSequential(), nn.HybridSequential(), nn.HybridSequential()
        for n in channels:
            self.down.add(self.twice(n))
        for n in channels[-2::-1]:
            self.up.add(nn.Conv2DTranspose(n, 2, 2))
            self.back.add(self.twice(n))
        self.pool, self.out = nn.MaxPool2D(), nn.Conv2D(large.SEGMENTS, 1)

    @staticmethod
    def twice(channels):
        layers = nn.HybridSequential()
        layers.add(conv_bn(channels, 3, pad=1), conv_bn(channels, 3, pad=1))
        return layers

    def hybrid_forward(self, F, x):
        kept = []
        for down in self.down:
            x = down(self.pool(kept[-1]) if kept else x)
            kept.append(x)
        kept.pop()
        for up, back in zip(self.up, self.back):  # noqa: B905
            x = back(F.concat(kept.pop(), up(x), dim=1))
        return self.out(x)


def unet(mode, batch):
    x, t = floats(batch, 3, large.SIZE, large.SIZE), labels(large.SEGMENTS, batch, large.SIZE, large.SIZE)
    return supervised(mode, UNet(large.UNET), adam, (x,), t, axis=1)


def generator(channels):
    net = nn.HybridSequential()
    net.add(nn.Dense(channels[0] * 16), nn.HybridLambda(lambda F, h: h.reshape((0, -1, 4, 4))))
    net.add(nn.BatchNorm(), nn.Activation("relu"))
    for n in channels[1:]:
        net.add(nn.Conv2DTranspose(n, 4, 2, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    net.add(nn.Conv2DTranspose(3, 4, 2, 1), nn.Activation("tanh"))
    return net


def discriminator(channels):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(channels[-1], 4, 2, 1), nn.LeakyReLU(0.2))
    for n in channels[-2::-1]:
        net.add(conv_bn(n, 4, 2, 1, "leaky"))
    net.add(nn.Dense(1))
    return net


def dcgan(mode, batch):
    x, z = floats(batch, 3, large.SIZE, large.SIZE), floats(batch, large.NOISE)
    gen = hybridized(generator(large.GENERATOR))
    if mode == "infer":
        return inference(gen, z)
    dis = hybridized(discriminator(large.GENERATOR))
    gen_trainer, dis_trainer = adam(gen, 2e-4, 0.5), adam(dis, 2e-4, 0.5)
    loss_fn, real, fake = gluon.loss.SigmoidBinaryCrossEntropyLoss(), nd.ones((batch, 1)), nd.zeros((batch, 1))

    def step():
        with autograd.record():
            made = gen(z)
            loss = loss_fn(dis(x), real) + loss_fn(dis(made.detach()), fake)
        loss.backward()
        dis_trainer.step(batch)
        with autograd.record():
            loss = loss_fn(dis(made), real)
        loss.backward()
        gen_trainer.step(batch)
        nd.waitall()

    return step


class GatedLayer(nn.HybridBlock):
    """A dilated convolution over the samples before each one, a gate, and convolutions to the next layer and out.

    `last`: there is no next layer. A Trainer refuses parameters that the loss does not depend on.
    """

    def __init__(self, units, skip, dilation, last):
        super().__init__()
        self.dilation, self.last = dilation, last
        self.conv = nn.Conv1D(2 * units, 2, padding=dilation, dilation=dilation)
        self.skip, self.on = nn.Conv1D(skip, 1), None if last else nn.Conv1D(units, 1)

    def hybrid_forward(self, F, x):
        h = F.slice_axis(self.conv(x), axis=2, begin=0, end=-self.dilation)
        a, b = F.split(h, num_outputs=2, axis=1)
        h = F.tanh(a) * F.sigmoid(b)
        return self.skip(h) if self.last else (self.skip(h), x + self.on(h))


class WaveNet(nn.HybridBlock):
    def __init__(self, units, skip, levels, dilations):
        super().__init__()
        self.first, self.layers = nn.Conv1D(units, 2, padding=1), nn.HybridSequential()
        for i, dilation in enumerate(dilations):
            self.layers.add(GatedLayer(units, skip, dilation, i == len(dilations) - 1))
        self.out1, self.out2 = nn.Conv1D(skip, 1, activation="relu"), nn.Conv1D(levels, 1)

    def hybrid_forward(self, F, x):
        h, skips = F.slice_axis(self.first(x), axis=2, begin=0, end=-1), []
        *layers, last = self.layers
        for layer in layers:
            skip, h = layer(h)
            skips.append(skip)
        return self.out2(self.out1(F.relu(F.add_n(*skips, last(h)))))


def wavenet(mode, batch):
    shape = dict(large.WAVENET)
    length, levels = shape.pop("length"), shape["levels"]
    x = nd.one_hot(labels(levels, batch, length), levels).transpose((0, 2, 1))
    t = labels(levels, batch, length)
    return supervised(mode, WaveNet(**shape), lambda net: adam(net, 1e-4), (x,), t, axis=1)


class Attention(nn.HybridBlock):
    """Attention with a projection for each of q, k and v, like GluonNLP's MultiHeadAttentionCell."""

    def __init__(self, units, heads, mask):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Dense(units, flatten=False, in_units=units) for _ in range(4))
        self.mask = None if mask is None else self.params.get_constant("mask", mask)

    def hybrid_forward(self, F, x, mask=None):
        q, k, v = (
            part(x).reshape((0, 0, self.heads, -1)).transpose((0, 2, 1, 3)).reshape((-1, 0, 0), reverse=True)
            for part in (self.q, self.k, self.v)
        )
        scores = F.batch_dot(F.contrib.div_sqrt_dim(q), k, transpose_b=True)
        if mask is not None:
            scores = F.broadcast_add(scores, mask)
        h = F.batch_dot(F.softmax(scores, axis=-1), v)
        h = h.reshape((-1, self.heads, 0, 0), reverse=True).transpose((0, 2, 1, 3))
        return self.out(h.reshape((0, 0, -1)))


class Layer(nn.HybridBlock):
    """A layer of a transformer: `first`: normalize what attention and perceptron read, not the sums."""

    def __init__(self, units, heads, activation, mask=None, first=False):
        super().__init__()
        self.first = first
        self.attention, self.perceptron = Attention(units, heads, mask), nn.HybridSequential()
        self.perceptron.add(nn.Dense(4 * units, flatten=False, in_units=units), activation)
        self.perceptron.add(nn.Dense(units, flatten=False, in_units=4 * units))
        self.norm1, self.norm2 = nn.LayerNorm(in_channels=units), nn.LayerNorm(in_channels=units)

    def hybrid_forward(self, F, x):
        if self.first:
            x = x + self.attention(self.norm1(x))
            return x + self.perceptron(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.perceptron(x))


def transformer(mode, batch):
    vocabulary, length, units, heads, layers = large.TRANSFORMER.values()
    mask = np.triu(np.full((1, length, length), -1e9, np.float32), 1)
    net = nn.HybridSequential()
    net.add(nn.Embedding(vocabulary, units))
    for _ in range(layers):
        net.add(Layer(units, heads, nn.Activation("relu"), mask, True))
    net.add(nn.Dense(vocabulary, flatten=False))
    return supervised(mode, net, adam, (labels(vocabulary, batch, length),), labels(vocabulary, batch, length))


class Bert(nn.HybridBlock):
    def __init__(self, vocabulary, length, units, heads, layers):
        super().__init__()
        self.word, self.kind = nn.Embedding(vocabulary, units), nn.Embedding(2, units)
        self.position = self.params.get("position", shape=(1, length, units))
        self.norm, self.layers = nn.LayerNorm(in_channels=units), nn.HybridSequential()
        for _ in range(layers):
            self.layers.add(Layer(units, heads, nn.GELU()))
        self.pool, self.out = nn.Dense(units, activation="tanh"), nn.Dense(2)

    def hybrid_forward(self, F, words, kinds, position):
        h = self.norm(F.broadcast_add(self.word(words) + self.kind(kinds), position))
        return self.out(self.pool(F.slice_axis(self.layers(h), axis=1, begin=0, end=1)))


def bert(mode, batch):
    length = large.BERT["length"]
    x = labels(large.BERT["vocabulary"], batch, length), labels(2, batch, length)
    return supervised(mode, Bert(**large.BERT), lambda net: adam(net, 1e-4), x, labels(2, batch))


if __name__ == "__main__":
    serve(large.programs(globals()), warm=large.WARM)
