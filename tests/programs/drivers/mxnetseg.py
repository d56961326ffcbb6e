"""Segmentation: BiSeNet with the focal loss, SwiftNets with the Dice loss and with an auxiliary output."""

import sys
import unittest.mock

import _mxnet
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon


def blind(resize, block):
    return lambda *args, like=None, **named: resize(*args, **({} if like is None else {"like": block(like)}), **named)


def train(run):
    run.path()
    run.path("..", "dmlc+gluon-cv")  # the program is based on GluonCV
    run.without("requests", "portalocker", "tqdm", "cv2", "seaborn", "wandb", "pylab")
    sys.modules["mxnetseg.utils.viz"] = unittest.mock.MagicMock()  # this file of the program is truncated
    _mxnet.streams()
    for f in (mx.nd, mx.sym):  # MXNet never writes the gradient of `like`, and adds uninitialized memory
        f.contrib.BilinearResize2D = blind(f.contrib.BilinearResize2D, f.BlockGrad)
    from gluoncv.loss import MixSoftmaxCrossEntropyLoss
    from mxnetseg.models import BiSeNetR, SwiftResNet, SwiftResNetPr
    from mxnetseg.nn import DiceLoss, FocalLoss

    rng = np.random.RandomState(1)
    images, labels = mx.nd.array(rng.normal(size=(1, 3, 64, 64))), mx.nd.array(rng.randint(0, 4, (1, 64, 64)))

    def training(kind, loss, aux):
        net = kind(nclass=4, backbone="resnet18", aux=aux, base_size=64, crop_size=64, pretrained_base=False)
        net.initialize()
        net(images)
        _mxnet.no_dropout(net)
        net.initialize(mx.init.Xavier(), force_reinit=True)
        _mxnet.perturb(run, net)
        trainer = gluon.Trainer(net.collect_params(), "nag", {"learning_rate": 1e-4, "momentum": 0.9, "wd": 1e-4})
        while True:
            with autograd.record():
                value = loss(*net(images), labels)
            value.backward()
            trainer.step(1)
            yield {"loss": _mxnet.mean(value)}

    yield from run.together(
        bisenet=training(BiSeNetR, FocalLoss(), False),
        pyramid=training(SwiftResNetPr, DiceLoss(num_class=4), False),
        swift=training(SwiftResNet, MixSoftmaxCrossEntropyLoss(True, aux_weight=0.4), True),
    )
