"""Small programs for each frontend: training, gradients of gradients, and files.

All three train the same network from the same numbers, so that all three must end at the same loss: the one that
Chainer 7.8.1, nnabla 1.39.0 and MXNet 1.9.1 reach in these functions. The functions are given the modules of a
frontend, so that those of an original can be given, too.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

STEPS = 30
# the loss before the first and after the last step, of the originals
FIRST, LAST = 1.421218, 0.092825
_IMAGES, _CLASSES, _FILTERS, _UNITS = 32, 4, 4, 36


def _wave(*shape: int, step: float, scale: float = 1.0) -> np.ndarray:
    """Numbers without a pattern that a network could not tell apart, the same everywhere."""
    wave: np.ndarray = np.sin(np.arange(np.prod(shape)) ** 1.5 * step) * scale
    return wave.astype(np.float32).reshape(shape)


def _images() -> tuple[np.ndarray, np.ndarray]:
    classes = np.arange(_IMAGES, dtype=np.int32) % _CLASSES
    images = _wave(_IMAGES, 1, 8, 8, step=0.37) + _wave(_CLASSES, 1, 8, 8, step=0.73)[classes]
    return images, classes


def _filters() -> np.ndarray:
    return _wave(_FILTERS, 1, 3, 3, step=0.91, scale=0.3)


def _weights() -> np.ndarray:
    return _wave(_CLASSES, _UNITS, step=0.59, scale=0.15)


def train_chainer(chainer: Any, device: str = "cpu") -> list[float]:
    """The loss before each step and after the last one."""
    functions, links = chainer.functions, chainer.links
    model = chainer.Sequential(
        links.Convolution2D(1, _FILTERS, 3, initialW=_filters()),
        functions.relu,
        lambda x: functions.max_pooling_2d(x, 2),
        links.Linear(_UNITS, _CLASSES, initialW=_weights()),
    )
    x, t = _images()
    if device != "cpu":
        model.to_device("@cupy:0")
        x, t = (chainer.backends.cuda.to_gpu(array) for array in (x, t))
    optimizer = chainer.optimizers.Adam(alpha=0.01).setup(model)
    losses = []
    for _ in range(STEPS):
        loss = functions.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
    return [*losses, float(functions.softmax_cross_entropy(model(x), t).array)]


def train_nnabla(nnabla: Any, device: str = "cpu") -> list[float]:
    """The loss before each step and after the last one."""
    functions = nnabla.functions
    images, classes = _images()
    context = nnabla.Context(["cuda:float"], "CudaCachedArray", "0") if device != "cpu" else nnabla.Context()
    with nnabla.parameter_scope("compatgrad_test"), nnabla.context_scope(context):
        nnabla.parameter.clear_parameters()
        w1 = nnabla.parameter.get_parameter_or_create("w1", (_FILTERS, 1, 3, 3), _filters())
        b1 = nnabla.parameter.get_parameter_or_create("b1", (_FILTERS,), np.zeros(_FILTERS, np.float32))
        w2 = nnabla.parameter.get_parameter_or_create("w2", (_UNITS, _CLASSES), _weights().T)
        b2 = nnabla.parameter.get_parameter_or_create("b2", (_CLASSES,), np.zeros(_CLASSES, np.float32))
        x, t = nnabla.Variable(images.shape), nnabla.Variable((_IMAGES, 1))
        h = functions.max_pooling(functions.relu(functions.convolution(x, w1, b1)), (2, 2))
        loss = functions.mean(functions.softmax_cross_entropy(functions.affine(h, w2, b2), t))
        solver = nnabla.solvers.Adam(alpha=0.01)
        solver.set_parameters(nnabla.get_parameters())
        losses = []
        for _ in range(STEPS):
            x.d, t.d = images, classes[:, None]
            loss.forward(clear_no_need_grad=True)
            solver.zero_grad()
            loss.backward(clear_buffer=True)
            solver.update()
            losses.append(float(loss.d))
        loss.forward()
        nnabla.parameter.clear_parameters()
        return [*losses, float(loss.d)]


def train_mxnet(mx: Any, device: str = "cpu") -> list[float]:
    """The loss before each step and after the last one."""
    gluon, context = mx.gluon, mx.cpu() if device == "cpu" else mx.gpu()
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(_FILTERS, 3, activation="relu"), gluon.nn.MaxPool2D(2), gluon.nn.Dense(_CLASSES))
    net.initialize(ctx=context)
    images, classes = (mx.nd.array(array, ctx=context) for array in _images())
    net(images)
    net[0].weight.set_data(mx.nd.array(_filters(), ctx=context))
    net[2].weight.set_data(mx.nd.array(_weights(), ctx=context))
    net.hybridize()
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    losses = []
    for _ in range(STEPS):
        with mx.autograd.record():
            loss = entropy(net(images), classes)
        loss.backward()
        trainer.step(_IMAGES)
        losses.append(float(loss.mean().asscalar()))
    return [*losses, float(entropy(net(images), classes).mean().asscalar())]


# f(x) = x^3 exp(-x), f'(x) = (3 x^2 - x^3) exp(-x), f''(x) = (6 x - 6 x^2 + x^3) exp(-x)
POINTS = np.array([-0.5, 0.25, 1.0, 2.5], np.float32)


def derivatives() -> tuple[np.ndarray, np.ndarray]:
    """The first and the second derivative of the function that the three functions below differentiate."""
    x = POINTS.astype(np.float64)
    return (3 * x**2 - x**3) * np.exp(-x), (6 * x - 6 * x**2 + x**3) * np.exp(-x)


def differentiate_chainer(chainer: Any) -> tuple[np.ndarray, np.ndarray]:
    x = chainer.Variable(POINTS)
    y = chainer.functions.sum(x**3 * chainer.functions.exp(-x))
    (first,) = chainer.grad([y], [x], enable_double_backprop=True)
    chainer.functions.sum(first).backward()
    return first.array, x.grad


def differentiate_nnabla(nnabla: Any) -> tuple[np.ndarray, np.ndarray]:
    x = nnabla.Variable.from_numpy_array(POINTS).apply(need_grad=True)
    y = nnabla.functions.sum(x**3 * nnabla.functions.exp(-x))
    (first,) = nnabla.grad([y], [x])
    total = nnabla.functions.sum(first)
    total.forward()
    x.grad.zero()
    total.backward()
    return first.d, x.g


def differentiate_mxnet(mx: Any) -> tuple[np.ndarray, np.ndarray]:
    x = mx.nd.array(POINTS)
    x.attach_grad()
    with mx.autograd.record():
        y = (x**3 * mx.nd.exp(-x)).sum()
        (first,) = mx.autograd.grad(y, [x], create_graph=True, retain_graph=True)
        total = first.sum()
    total.backward()
    return first.asnumpy(), x.grad.asnumpy()


def files_chainer(chainer: Any, folder: str) -> tuple[np.ndarray, np.ndarray]:
    """An array before it was saved, and as it was loaded."""
    saved, loaded = chainer.links.Linear(3, 2), chainer.links.Linear(3, 2)
    path = os.path.join(folder, "model.npz")
    chainer.serializers.save_npz(path, saved)
    chainer.serializers.load_npz(path, loaded)
    return saved.W.array, loaded.W.array


def files_nnabla(nnabla: Any, folder: str) -> tuple[np.ndarray, np.ndarray]:
    path = os.path.join(folder, "model.protobuf")
    with nnabla.parameter_scope("compatgrad_test"):
        saved = nnabla.parameter.get_parameter_or_create("w", (2, 3), _wave(2, 3, step=0.61)).d.copy()
        nnabla.save_parameters(path)
        nnabla.parameter.clear_parameters()
        nnabla.load_parameters(path)
        loaded = nnabla.get_parameters()["w"].d.copy()
        nnabla.parameter.clear_parameters()
    return saved, loaded


def files_mxnet(mx: Any, folder: str) -> tuple[np.ndarray, np.ndarray]:
    path = os.path.join(folder, "model.params")
    nets = [mx.gluon.nn.Dense(2, in_units=3) for _ in range(2)]
    nets[0].initialize(mx.init.Xavier())
    nets[0].save_parameters(path)
    nets[1].load_parameters(path)
    return nets[0].weight.data().asnumpy(), nets[1].weight.data().asnumpy()
