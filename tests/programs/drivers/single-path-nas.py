"""The supernet of Single Path One-Shot: random blocks and channels in each step, then the resulting network."""

import os

import _mxnet
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon


def train(run):
    os.environ["MXNET_MKLDNN_ENABLED"] = "0"  # oneDNN fails in the original: "could not construct a sub-memory"
    run.path()
    _mxnet.streams()
    import oneshot_nas_network as nas

    rng = np.random.RandomState(1)
    images, labels = mx.nd.array(rng.normal(size=(4, 3, 32, 32))), mx.nd.array(rng.randint(0, 5, 4))
    sizes = {"n_class": 5, "stage_out_channels": [32, 48, 64, 96], "last_conv_out_channel": 64}

    def training(net, choices):
        net._initialize()
        with autograd.pause(train_mode=True):
            for block in range(4):  # runs each choice once, so that all shapes are known
                net(images, *choices(block))
        _mxnet.no_dropout(net)
        _mxnet.perturb(run, net)
        loss_func = gluon.loss.SoftmaxCrossEntropyLoss()
        trainer = gluon.Trainer(net.collect_params(), "nag", {"learning_rate": 0.001, "momentum": 0.9, "wd": 4e-5})
        while True:
            with autograd.record():
                loss = loss_func(net(images, *choices(None)), labels)
            loss.backward()
            trainer.step(4, ignore_stale_grad=True)
            yield {"loss": _mxnet.mean(loss)}

    supernet = nas.ShuffleNasOneShot(bn=nas.NasBatchNorm, **sizes)

    def choices(block):
        blocks = supernet.random_block_choices() if block is None else mx.nd.array([block] * 20)
        return blocks, supernet.random_channel_mask()[0]

    fixed = nas.ShuffleNasOneShotFix(
        architecture=[0, 0, 3, 1, 1, 1, 0, 0, 2, 0, 2, 1, 1, 0, 2, 0, 2, 1, 3, 2],
        channel_scales=[1.0] * 20,
        use_se=True,
        last_conv_after_pooling=True,
        **sizes,
    )
    yield from run.together(supernet=training(supernet, choices), fixed=training(fixed, lambda block: ()))
