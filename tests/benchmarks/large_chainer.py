"""Large networks as Chainer programs; `large_chainer cuda` runs them on a GPU."""

import sys
from functools import partial

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import optimizers
from chainer.backends import cuda

from tests.benchmarks import large
from tests.benchmarks.worker import serve

GPU = "cuda" in sys.argv[1:]
random = np.random.RandomState(0)


def on_device(x):
    return cuda.to_gpu(x) if GPU else x


def floats(*shape):
    return on_device(random.rand(*shape).astype(np.float32))


def labels(n_classes, *shape):
    return on_device(random.randint(0, n_classes, shape).astype(np.int32))


def update(model, optimizer, loss):
    model.cleargrads()
    loss.backward()
    optimizer.update()


def inference(model, x):
    if GPU:
        model.to_gpu()

    def step():
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            return model(x)

    return step


def supervised(mode, model, optimizer, x, t):
    if mode == "infer":
        return inference(model, x)
    if GPU:
        model.to_gpu()
    optimizer.setup(model)
    return lambda: update(model, optimizer, F.softmax_cross_entropy(model(x), t))


def classifier(mode, batch, model):
    x, t = floats(batch, 3, large.SIZE, large.SIZE), labels(large.CLASSES, batch)
    return supervised(mode, model, optimizers.MomentumSGD(large.RATE), x, t)


class ConvBN(chainer.Chain):
    """A convolution without bias, batch normalization and an activation."""

    def __init__(self, n_in, n_out, ksize, stride=1, pad=0, groups=1, activation=F.relu):
        super().__init__()
        self.activation = activation
        with self.init_scope():
            self.conv = L.Convolution2D(n_in, n_out, ksize, stride, pad, nobias=True, groups=groups)
            self.bn = L.BatchNormalization(n_out)

    def forward(self, x):
        return self.activation(self.bn(self.conv(x)))


class Residual(chainer.Chain):
    def __init__(self, n_in, n_mid, n_out, stride, bottleneck):
        super().__init__()
        self.projected = n_in != n_out or stride != 1
        with self.init_scope():
            if bottleneck:
                self.layers = chainer.Sequential(
                    ConvBN(n_in, n_mid, 1, stride),
                    ConvBN(n_mid, n_mid, 3, pad=1),
                    ConvBN(n_mid, n_out, 1, activation=F.identity),
                )
            else:
                self.layers = chainer.Sequential(
                    ConvBN(n_in, n_mid, 3, stride, 1), ConvBN(n_mid, n_out, 3, pad=1, activation=F.identity)
                )
            if self.projected:
                self.shortcut = ConvBN(n_in, n_out, 1, stride, activation=F.identity)

    def forward(self, x):
        return F.relu(self.layers(x) + (self.shortcut(x) if self.projected else x))


def global_pooling(x):
    return F.mean(x, axis=(2, 3))


def resnet(mode, batch, name):
    blocks, bottleneck = large.STAGES[name]
    layers = [ConvBN(3, 64, 7, 2, 3), lambda x: F.max_pooling_2d(x, 3, 2, 1, cover_all=False)]
    n_in = 64
    for i, (channels, count) in enumerate(zip(large.CHANNELS, blocks)):  # noqa: B905
        n_out = 4 * channels if bottleneck else channels
        for j in range(count):
            layers.append(Residual(n_in, channels, n_out, 2 if i and not j else 1, bottleneck))
            n_in = n_out
    return classifier(mode, batch, chainer.Sequential(*layers, global_pooling, L.Linear(n_in, large.CLASSES)))


resnet18, resnet50 = partial(resnet, name="resnet18"), partial(resnet, name="resnet50")


def vgg16(mode, batch):
    layers, n_in = [], 3
    for channels, count in large.VGG16:
        for _ in range(count):
            layers += [L.Convolution2D(n_in, channels, 3, pad=1), F.relu]
            n_in = channels
        layers.append(lambda x: F.max_pooling_2d(x, 2))
    layers += [L.Linear(n_in * (large.SIZE // 32) ** 2, 4096), F.relu, F.dropout]
    layers += [L.Linear(4096, 4096), F.relu, F.dropout, L.Linear(4096, large.CLASSES)]
    return classifier(mode, batch, chainer.Sequential(*layers))


class InvertedResidual(chainer.Chain):
    def __init__(self, n_in, n_out, expansion, stride):
        super().__init__()
        self.residual = n_in == n_out and stride == 1
        n_mid = n_in * expansion
        with self.init_scope():
            layers = [] if expansion == 1 else [ConvBN(n_in, n_mid, 1, activation=F.relu6)]
            self.layers = chainer.Sequential(
                *layers,
                ConvBN(n_mid, n_mid, 3, stride, 1, groups=n_mid, activation=F.relu6),
                ConvBN(n_mid, n_out, 1, activation=F.identity),
            )

    def forward(self, x):
        h = self.layers(x)
        return h + x if self.residual else h


def mobilenet2(mode, batch):
    layers, n_in = [ConvBN(3, 32, 3, 2, 1, activation=F.relu6)], 32
    for expansion, channels, count, stride in large.MOBILENET2:
        for i in range(count):
            layers.append(InvertedResidual(n_in, channels, expansion, 1 if i else stride))
            n_in = channels
    layers += [ConvBN(n_in, 1280, 1, activation=F.relu6), global_pooling, L.Linear(1280, large.CLASSES)]
    return classifier(mode, batch, chainer.Sequential(*layers))


class UNet(chainer.Chain):
    def __init__(self, channels):
        super().__init__()
        with self.init_scope():
            self.down, self.up, self.back = chainer.ChainList(), chainer.ChainList(), chainer.ChainList()
            n_in = 3
            for n in channels:
                self.down.append(chainer.Sequential(ConvBN(n_in, n, 3, pad=1), ConvBN(n, n, 3, pad=1)))
                n_in = n
            for n in channels[-2::-1]:
                self.up.append(L.Deconvolution2D(2 * n, n, 2, 2))
                self.back.append(chainer.Sequential(ConvBN(2 * n, n, 3, pad=1), ConvBN(n, n, 3, pad=1)))
            self.out = L.Convolution2D(n, large.SEGMENTS, 1)

    def forward(self, x):
        kept = []
        for down in self.down:
            x = down(F.max_pooling_2d(kept[-1], 2) if kept else x)
            kept.append(x)
        kept.pop()
        for up, back in zip(self.up, self.back):  # noqa: B905
            x = back(F.concat((kept.pop(), up(x)), axis=1))
        return self.out(x)


def unet(mode, batch):
    x, t = floats(batch, 3, large.SIZE, large.SIZE), labels(large.SEGMENTS, batch, large.SIZE, large.SIZE)
    return supervised(mode, UNet(large.UNET), optimizers.Adam(), x, t)


class Generator(chainer.Chain):
    def __init__(self, channels):
        super().__init__()
        self.start = (channels[0], 4, 4)
        with self.init_scope():
            self.l0 = L.Linear(large.NOISE, channels[0] * 16)
            self.bn0 = L.BatchNormalization(channels[0])
            self.convs, self.bns = chainer.ChainList(), chainer.ChainList()
            for n_in, n_out in zip(channels, channels[1:]):  # noqa: B905
                self.convs.append(L.Deconvolution2D(n_in, n_out, 4, 2, 1, nobias=True))
                self.bns.append(L.BatchNormalization(n_out))
            self.out = L.Deconvolution2D(channels[-1], 3, 4, 2, 1)

    def forward(self, z):
        h = F.relu(self.bn0(F.reshape(self.l0(z), (len(z), *self.start))))
        for conv, bn in zip(self.convs, self.bns):  # noqa: B905
            h = F.relu(bn(conv(h)))
        return F.tanh(self.out(h))


def discriminator(channels):
    layers = [L.Convolution2D(3, channels[-1], 4, 2, 1), F.leaky_relu]
    for n_out, n_in in zip(channels[-2::-1], channels[:0:-1]):  # noqa: B905
        layers.append(ConvBN(n_in, n_out, 4, 2, 1, activation=F.leaky_relu))
    return chainer.Sequential(*layers, L.Linear(channels[0] * 16, 1))


def dcgan(mode, batch):
    gen, x, z = Generator(large.GENERATOR), floats(batch, 3, large.SIZE, large.SIZE), floats(batch, large.NOISE)
    if mode == "infer":
        return inference(gen, z)
    dis = discriminator(large.GENERATOR)
    gen_optimizer, dis_optimizer = optimizers.Adam(2e-4, beta1=0.5), optimizers.Adam(2e-4, beta1=0.5)
    for model, optimizer in ((gen, gen_optimizer), (dis, dis_optimizer)):
        if GPU:
            model.to_gpu()
        optimizer.setup(model)

    def step():
        made = gen(z)
        loss = F.mean(F.softplus(-dis(x))) + F.mean(F.softplus(dis(made.array)))
        update(dis, dis_optimizer, loss)
        update(gen, gen_optimizer, F.mean(F.softplus(-dis(made))))

    return step


class GatedLayer(chainer.Chain):
    """A dilated convolution over the samples before each one, a gate, and convolutions to the next layer and out."""

    def __init__(self, units, skip, dilation):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution1D(units, 2 * units, 2, pad=dilation, dilate=dilation)
            self.on = L.Convolution1D(units, units, 1)
            self.skip = L.Convolution1D(units, skip, 1)

    def forward(self, x):
        h = self.conv(x)[:, :, : x.shape[2]]
        a, b = F.split_axis(h, 2, axis=1)
        h = F.tanh(a) * F.sigmoid(b)
        return x + self.on(h), self.skip(h)


class WaveNet(chainer.Chain):
    def __init__(self, units, skip, levels, dilations):
        super().__init__()
        with self.init_scope():
            self.first = L.Convolution1D(levels, units, 2, pad=1)
            self.layers = chainer.ChainList(*[GatedLayer(units, skip, d) for d in dilations])
            self.out1, self.out2 = L.Convolution1D(skip, skip, 1), L.Convolution1D(skip, levels, 1)

    def forward(self, x):
        h, total = self.first(x)[:, :, : x.shape[2]], 0
        for layer in self.layers:
            h, skip = layer(h)
            total += skip
        return self.out2(F.relu(self.out1(F.relu(total))))


def wavenet(mode, batch):
    shape = dict(large.WAVENET)
    length, levels = shape.pop("length"), shape["levels"]
    x = np.eye(levels, dtype=np.float32)[random.randint(0, levels, (batch, length))]
    x = on_device(np.ascontiguousarray(x.transpose(0, 2, 1)))
    return supervised(mode, WaveNet(**shape), optimizers.Adam(1e-4), x, labels(levels, batch, length))


def gelu(x):
    return 0.5 * x * (1 + F.erf(x * 0.5**0.5))


class Attention(chainer.Chain):
    def __init__(self, units, heads, mask):
        super().__init__()
        self.heads, self.mask = heads, mask
        with self.init_scope():
            self.qkv, self.out = L.Linear(units, 3 * units), L.Linear(units, units)

    def forward(self, x, batch):
        depth = x.shape[1] // self.heads
        h = F.reshape(self.qkv(x), (batch, -1, 3, self.heads, depth))
        q, k, v = F.transpose(h, (2, 0, 3, 1, 4))
        scores = F.matmul(q, k, transb=True) * depth**-0.5
        if self.mask is not None:
            scores += self.mask
        h = F.matmul(F.softmax(scores, axis=3), v)
        return self.out(F.reshape(F.transpose(h, (0, 2, 1, 3)), x.shape))


class Layer(chainer.Chain):
    """A layer of a transformer: `first`: normalize what attention and perceptron read, not the sums."""

    def __init__(self, units, heads, activation, mask=None, first=False):
        super().__init__()
        self.activation, self.first = activation, first
        with self.init_scope():
            self.attention = Attention(units, heads, mask)
            self.l1, self.l2 = L.Linear(units, 4 * units), L.Linear(4 * units, units)
            self.norm1, self.norm2 = L.LayerNormalization(units), L.LayerNormalization(units)

    def perceptron(self, x):
        return self.l2(self.activation(self.l1(x)))

    def forward(self, x, batch):
        if self.first:
            x = x + self.attention(self.norm1(x), batch)
            return x + self.perceptron(self.norm2(x))
        x = self.norm1(x + self.attention(x, batch))
        return self.norm2(x + self.perceptron(x))


class Transformer(chainer.Chain):
    def __init__(self, vocabulary, length, units, heads, layers):
        super().__init__()
        mask = on_device(np.triu(np.full((length, length), -1e9, np.float32), 1))
        with self.init_scope():
            self.embed = L.EmbedID(vocabulary, units)
            self.layers = chainer.ChainList(*[Layer(units, heads, F.relu, mask, True) for _ in range(layers)])
            self.out = L.Linear(units, vocabulary)

    def forward(self, x):
        h = F.reshape(self.embed(x), (x.size, -1))
        for layer in self.layers:
            h = layer(h, len(x))
        return self.out(h)


def transformer(mode, batch):
    vocabulary, length = large.TRANSFORMER["vocabulary"], large.TRANSFORMER["length"]
    x, t = labels(vocabulary, batch, length), labels(vocabulary, batch * length)
    return supervised(mode, Transformer(**large.TRANSFORMER), optimizers.Adam(), x, t)


class Bert(chainer.Chain):
    def __init__(self, vocabulary, length, units, heads, layers):
        super().__init__()
        self.positions = on_device(np.arange(length, dtype=np.int32))
        with self.init_scope():
            self.word, self.kind, self.position = (L.EmbedID(n, units) for n in (vocabulary, 2, length))
            self.norm = L.LayerNormalization(units)
            self.layers = chainer.ChainList(*[Layer(units, heads, gelu) for _ in range(layers)])
            self.pool, self.out = L.Linear(units, units), L.Linear(units, 2)

    def forward(self, inputs):
        x, kinds = inputs
        h = self.word(x) + self.kind(kinds) + self.position(self.positions)
        h = self.norm(F.reshape(h, (x.size, -1)))
        for layer in self.layers:
            h = layer(h, len(x))
        first = F.reshape(h, (*x.shape, -1))[:, 0]
        return self.out(F.tanh(self.pool(first)))


def bert(mode, batch):
    length = large.BERT["length"]
    x = labels(large.BERT["vocabulary"], batch, length), labels(2, batch, length)
    return supervised(mode, Bert(**large.BERT), optimizers.Adam(1e-4), x, labels(2, batch))


if __name__ == "__main__":
    if GPU:
        cuda.get_device_from_id(0).use()
    serve(large.programs(globals()), finish=cuda.Device(0).synchronize if GPU else None, warm=large.WARM)
