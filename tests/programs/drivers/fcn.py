"""Fully convolutional networks with strides 32, 16 and 8, trained as in the examples, on random images."""

import _chainer
import chainer
import numpy as np


def train(run):
    run.path()
    run.without(
        "skimage",
        "skimage.color",
        "skimage.io",
        "skimage.transform",
        "skimage.util",
        "tqdm",
        "cv2",
        "gdown",
        "yaml",
        "chainercv",
        "chainercv.visualizations",
        "chainercv.utils",
        "chainercv.utils.iterator",
    )
    import fcn

    rng = np.random.RandomState(1)
    size, classes = 32, 4

    def training(kind):
        vars(__import__(kind.__module__, fromlist=["L"]))["L"] = _chainer.Narrow(32)
        model = kind(n_class=classes)
        for p in model.params():
            if not p.array.any():  # weights that the example copies from another network are zeros
                p.array[...] = rng.normal(0, np.sqrt(2 / max(1, p[0].size)), p.shape)
        run.perturb(_chainer.arrays(model))
        optimizer = chainer.optimizers.MomentumSGD(lr=1e-6, momentum=0.9).setup(model)
        optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(rate=0.0005))
        for p in model.params():
            if p.name == "b":
                p.update_rule = chainer.optimizers.momentum_sgd.MomentumSGDRule(lr=optimizer.lr * 2, momentum=0)
        for link in model.children():
            if link.name.startswith("upscore"):
                link.disable_update()
        data = []
        for _ in range(4):
            image = rng.randint(0, 255, (size, size, 3)).astype("u1")
            label = rng.randint(-1, classes, (size, size)).astype("i")
            image, label = fcn.datasets.transform_lsvrc2012_vgg16((image, label))
            data.append((image.astype(run.dtype), label))
        updater = chainer.training.updaters.StandardUpdater(chainer.iterators.SerialIterator(data, 1), optimizer)
        return _chainer.updates(updater, model)

    yield from run.together(
        fcn32s=training(fcn.models.FCN32s),
        fcn16s=training(fcn.models.FCN16s),
        fcn8s=training(fcn.models.FCN8s),
        atonce=training(fcn.models.FCN8sAtOnce),
    )
