"""Large networks as nnabla programs with static graphs."""

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


def conv_bn(x, n_out, ksize, test, name, stride=1, pad=0, activation=F.relu):
    """A convolution without bias, batch normalization and an activation."""
    with nn.parameter_scope(name):
        h = PF.convolution(x, n_out, (ksize, ksize), (pad, pad), (stride, stride), with_bias=False)
        h = PF.batch_normalization(h, batch_stat=not test)
    return activation(h) if activation else h


def residual(x, channels, test, stride, name):
    with nn.parameter_scope(name):
        h = conv_bn(x, channels, 3, test, "conv1", stride, 1)
        h = conv_bn(h, channels, 3, test, "conv2", pad=1, activation=None)
        if x.shape[1] != channels or stride != 1:
            x = conv_bn(x, channels, 1, test, "shortcut", stride, activation=None)
        return F.relu(F.add2(h, x))


def resnet18(mode, batch):
    blocks, _ = large.STAGES["resnet18"]

    def model(x, test):
        h = F.max_pooling(conv_bn(x, 64, 7, test, "conv1", 2, 3), (3, 3), (2, 2), pad=(1, 1))
        for i, (channels, count) in enumerate(zip(large.CHANNELS, blocks)):  # noqa: B905
            for j in range(count):
                h = residual(h, channels, test, 2 if i and not j else 1, f"block{i}-{j}")
        return PF.affine(F.mean(h, axis=(2, 3)), large.CLASSES, name="fc")

    x, t = floats(batch, 3, large.SIZE, large.SIZE), labels(large.CLASSES, batch, 1)
    return supervised(mode, model, S.Momentum(0.01), x, t)


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
    z = floats(batch, large.NOISE)
    if mode == "infer":
        return inference(generator(z, True))
    made = generator(z, False)
    made.persistent = True
    seen = made.get_unlinked_variable(need_grad=False)
    seen.persistent = True
    loss_gen = F.mean(F.softplus(-discriminator(made)))
    x = floats(batch, 3, large.SIZE, large.SIZE)
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


if __name__ == "__main__":
    serve(large.programs({"resnet18": resnet18, "unet": unet, "dcgan": dcgan}), warm=large.WARM)
