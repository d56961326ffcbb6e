"""Large networks as nnabla programs with static graphs."""

from functools import partial

import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import nnabla.solvers as S
import numpy as np

from tests.benchmarks import large
from tests.benchmarks.worker import serve

random = np.random.RandomState(0)


def floats(*shape):
    return nn.Variable.from_numpy_array(random.rand(*shape).astype(np.float32))


def labels(n_classes, *shape):
    return nn.Variable.from_numpy_array(random.randint(0, n_classes, shape).astype(np.int32))


def inference(y):
    return lambda: y.forward(clear_buffer=True)


def update(loss, solver):
    loss.forward(clear_no_need_grad=True)
    solver.zero_grad()
    loss.backward(clear_buffer=True)
    solver.update()


def supervised(mode, model, solver, x, t):
    nn.clear_parameters()
    if mode == "infer":
        return inference(model(x, True))
    loss = F.mean(F.softmax_cross_entropy(model(x, False), t, axis=1))
    solver.set_parameters(nn.get_parameters())
    return lambda: update(loss, solver)


def classifier(mode, batch, model):
    x, t = floats(batch, 3, large.SIZE, large.SIZE), labels(large.CLASSES, batch, 1)
    return supervised(mode, model, S.Momentum(large.RATE), x, t)


def conv_bn(x, n_out, ksize, test, name, stride=1, pad=0, activation=F.relu, depthwise=False):
    """A convolution without bias, batch normalization and an activation."""
    with nn.parameter_scope(name):
        kernel, pad, stride = (ksize, ksize), (pad, pad), (stride, stride)
        if depthwise:
            h = PF.depthwise_convolution(x, kernel, pad, stride, with_bias=False)
        else:
            h = PF.convolution(x, n_out, kernel, pad, stride, with_bias=False)
        h = PF.batch_normalization(h, batch_stat=not test)
    return activation(h) if activation else h


def residual(x, n_mid, n_out, test, stride, bottleneck, name):
    with nn.parameter_scope(name):
        if bottleneck:
            h = conv_bn(x, n_mid, 1, test, "conv1", stride)
            h = conv_bn(h, n_mid, 3, test, "conv2", pad=1)
            h = conv_bn(h, n_out, 1, test, "conv3", activation=None)
        else:
            h = conv_bn(x, n_mid, 3, test, "conv1", stride, 1)
            h = conv_bn(h, n_out, 3, test, "conv2", pad=1, activation=None)
        if x.shape[1] != n_out or stride != 1:
            x = conv_bn(x, n_out, 1, test, "shortcut", stride, activation=None)
        return F.relu(F.add2(h, x))


def resnet(mode, batch, name):
    blocks, bottleneck = large.STAGES[name]

    def model(x, test):
        h = F.max_pooling(conv_bn(x, 64, 7, test, "conv1", 2, 3), (3, 3), (2, 2), pad=(1, 1))
        for i, (channels, count) in enumerate(zip(large.CHANNELS, blocks)):  # noqa: B905
            n_out = 4 * channels if bottleneck else channels
            for j in range(count):
                h = residual(h, channels, n_out, test, 2 if i and not j else 1, bottleneck, f"block{i}-{j}")
        return PF.affine(F.mean(h, axis=(2, 3)), large.CLASSES, name="fc")

    return classifier(mode, batch, model)


resnet18, resnet50 = partial(resnet, name="resnet18"), partial(resnet, name="resnet50")


def vgg16(mode, batch):
    def model(x, test):
        for i, (channels, count) in enumerate(large.VGG16):
            for j in range(count):
                x = F.relu(PF.convolution(x, channels, (3, 3), (1, 1), name=f"conv{i}-{j}"))
            x = F.max_pooling(x, (2, 2))
        for name in ("fc1", "fc2"):
            x = F.relu(PF.affine(x, 4096, name=name))
            if not test:
                x = F.dropout(x)
        return PF.affine(x, large.CLASSES, name="fc3")

    return classifier(mode, batch, model)


def inverted_residual(x, n_out, expansion, test, stride, name):
    with nn.parameter_scope(name):
        h, n_mid = x, x.shape[1] * expansion
        if expansion != 1:
            h = conv_bn(h, n_mid, 1, test, "expand", activation=F.relu6)
        h = conv_bn(h, n_mid, 3, test, "depthwise", stride, 1, F.relu6, depthwise=True)
        h = conv_bn(h, n_out, 1, test, "project", activation=None)
        return F.add2(h, x) if x.shape == h.shape else h


def mobilenet2(mode, batch):
    def model(x, test):
        h = conv_bn(x, 32, 3, test, "first", 2, 1, F.relu6)
        for i, (expansion, channels, count, stride) in enumerate(large.MOBILENET2):
            for j in range(count):
                h = inverted_residual(h, channels, expansion, test, 1 if j else stride, f"block{i}-{j}")
        h = conv_bn(h, 1280, 1, test, "last", activation=F.relu6)
        return PF.affine(F.mean(h, axis=(2, 3)), large.CLASSES, name="fc")

    return classifier(mode, batch, model)


def unet(mode, batch):
    def double(x, channels, test, name):
        return conv_bn(conv_bn(x, channels, 3, test, name + "a", pad=1), channels, 3, test, name + "b", pad=1)

    def model(x, test):
        kept = []
        for n in large.UNET:
            x = double(F.max_pooling(kept[-1], (2, 2)) if kept else x, n, test, f"down{n}-")
            kept.append(x)
        kept.pop()
        for n in large.UNET[-2::-1]:
            x = PF.deconvolution(x, n, (2, 2), stride=(2, 2), name=f"up{n}")
            x = double(F.concatenate(kept.pop(), x, axis=1), n, test, f"back{n}-")
        return PF.convolution(x, large.SEGMENTS, (1, 1), name="out")

    x, t = floats(batch, 3, large.SIZE, large.SIZE), labels(large.SEGMENTS, batch, 1, large.SIZE, large.SIZE)
    return supervised(mode, model, S.Adam(), x, t)


def generator(z, test):
    channels = large.GENERATOR
    with nn.parameter_scope("gen"):
        h = F.reshape(PF.affine(z, channels[0] * 16, name="l0"), (z.shape[0], channels[0], 4, 4))
        h = F.relu(PF.batch_normalization(h, batch_stat=not test, name="bn0"))
        for n in channels[1:]:
            h = PF.deconvolution(h, n, (4, 4), (1, 1), (2, 2), with_bias=False, name=f"conv{n}")
            h = F.relu(PF.batch_normalization(h, batch_stat=not test, name=f"bn{n}"))
        return F.tanh(PF.deconvolution(h, 3, (4, 4), (1, 1), (2, 2), name="out"))


def discriminator(x):
    channels = large.GENERATOR

    def activation(h):
        return F.leaky_relu(h, 0.2)

    with nn.parameter_scope("dis"):
        h = activation(PF.convolution(x, channels[-1], (4, 4), (1, 1), (2, 2), name="conv"))
        for n in channels[-2::-1]:
            h = conv_bn(h, n, 4, False, f"conv{n}", 2, 1, activation)
        return PF.affine(h, 1, name="out")


def dcgan(mode, batch):
    nn.clear_parameters()
    x, z = floats(batch, 3, large.SIZE, large.SIZE), floats(batch, large.NOISE)
    if mode == "infer":
        return inference(generator(z, True))
    made = generator(z, False)
    made.persistent = True
    seen = made.get_unlinked_variable(need_grad=False)
    seen.persistent = True
    loss_gen = F.mean(F.softplus(-discriminator(made)))
    loss_dis = F.mean(F.softplus(-discriminator(x))) + F.mean(F.softplus(discriminator(seen)))
    solvers = {}
    for name in ("gen", "dis"):
        solvers[name] = S.Adam(2e-4, beta1=0.5)
        with nn.parameter_scope(name):
            solvers[name].set_parameters(nn.get_parameters())

    def step():
        update(loss_gen, solvers["gen"])
        update(loss_dis, solvers["dis"])

    return step


def gated_layer(x, units, skip, dilation, name):
    """A dilated convolution over the samples before each one, a gate, and convolutions to the next layer and out."""
    with nn.parameter_scope(name):
        h = PF.convolution(x, 2 * units, (2,), (dilation,), dilation=(dilation,), name="conv")[:, :, : x.shape[2]]
        h = F.tanh(h[:, :units]) * F.sigmoid(h[:, units:])
        return x + PF.convolution(h, units, (1,), name="on"), PF.convolution(h, skip, (1,), name="skip")


def wavenet(mode, batch):
    shape = dict(large.WAVENET)
    length, levels, units, skip = (shape[key] for key in ("length", "levels", "units", "skip"))

    def model(x, test):
        h, skips = PF.convolution(x, units, (2,), (1,), name="first")[:, :, :length], []
        for dilation in shape["dilations"]:
            h, out = gated_layer(h, units, skip, dilation, f"layer{dilation}")
            skips.append(out)
        h = F.relu(PF.convolution(F.relu(F.add_n(*skips)), skip, (1,), name="out1"))
        return PF.convolution(h, levels, (1,), name="out2")

    x = np.eye(levels, dtype=np.float32)[random.randint(0, levels, (batch, length))].transpose(0, 2, 1)
    return supervised(mode, model, S.Adam(1e-4), nn.Variable.from_numpy_array(x), labels(levels, batch, 1, length))


def attention(x, heads, mask):
    batch, length, units = x.shape
    h = PF.affine(x, 3 * units, base_axis=2, name="qkv")
    h = F.transpose(F.reshape(h, (batch, length, 3, heads, units // heads)), (2, 0, 3, 1, 4))
    q, k, v = F.split(h, axis=0)
    scores = F.batch_matmul(q, k, transpose_b=True) * (units // heads) ** -0.5
    if mask is not None:
        scores = scores + mask
    h = F.transpose(F.batch_matmul(F.softmax(scores, axis=3), v), (0, 2, 1, 3))
    return PF.affine(F.reshape(h, x.shape), units, base_axis=2, name="out")


def perceptron(x, activation):
    h = activation(PF.affine(x, 4 * x.shape[2], base_axis=2, name="l1"))
    return PF.affine(h, x.shape[2], base_axis=2, name="l2")


def norm(x, name):
    return PF.layer_normalization(x, batch_axis=(0, 1), name=name)


def layer(x, heads, activation, name, mask=None, first=False):
    """A layer of a transformer: `first`: normalize what attention and perceptron read, not the sums."""
    with nn.parameter_scope(name):
        if first:
            x = x + attention(norm(x, "norm1"), heads, mask)
            return x + perceptron(norm(x, "norm2"), activation)
        x = norm(x + attention(x, heads, mask), "norm1")
        return norm(x + perceptron(x, activation), "norm2")


def transformer(mode, batch):
    vocabulary, length, units, heads, layers = large.TRANSFORMER.values()
    mask = np.triu(np.full((1, 1, length, length), -1e9, np.float32), 1)

    def model(x, test):
        h, ahead = PF.embed(x, vocabulary, units, name="embed"), nn.Variable.from_numpy_array(mask)
        for i in range(layers):
            h = layer(h, heads, F.relu, f"layer{i}", ahead, True)
        return PF.affine(F.reshape(h, (batch * length, units)), vocabulary, name="out")

    x, t = labels(vocabulary, batch, length), labels(vocabulary, batch * length, 1)
    return supervised(mode, model, S.Adam(), x, t)


def bert(mode, batch):
    vocabulary, length, units, heads, layers = large.BERT.values()

    def model(x, test):
        words, kinds = x
        positions = nn.Variable.from_numpy_array(np.arange(length, dtype=np.int32).reshape(1, length))
        h = PF.embed(words, vocabulary, units, name="word") + PF.embed(kinds, 2, units, name="kind")
        h = norm(h + PF.embed(positions, length, units, name="position"), "norm")
        for i in range(layers):
            h = layer(h, heads, F.gelu, f"layer{i}")
        return PF.affine(F.tanh(PF.affine(h[:, 0], units, name="pool")), 2, name="out")

    x = labels(vocabulary, batch, length), labels(2, batch, length)
    return supervised(mode, model, S.Adam(1e-4), x, labels(2, batch, 1))


if __name__ == "__main__":
    serve(large.programs(globals()), warm=large.WARM)
