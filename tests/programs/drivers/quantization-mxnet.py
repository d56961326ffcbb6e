"""Training of a MobileNet with simulated quantization: fake batch normalization, inputs and weights of 4 bits."""

import os

import _mxnet
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import nn


def train(run):
    # MXNet's engine threads sometimes deadlock when a Function's backward calls operators
    os.environ["MXNET_ENGINE_TYPE"] = "NaiveEngine"
    run.path()
    _mxnet.streams()
    from quantize import convert
    from quantize.initialize import qparams_init

    rng = np.random.RandomState(1)
    images, labels = rng.normal(size=(16, 3, 32, 32)), rng.randint(0, 10, 16)
    net = gluon.model_zoo.vision.get_mobilenet(0.25, classes=10)
    net.initialize(mx.init.Xavier())
    net(mx.nd.array(images[:1]))
    _mxnet.perturb(run, net)
    converter = {
        nn.Conv2D: convert.gen_conv2d_converter(quant_type="channel", fake_bn=True, input_width=4, weight_width=4),
        nn.Dense: convert.gen_dense_converter(quant_type="channel", input_width=4, weight_width=4),
        nn.Activation: None,
        nn.BatchNorm: convert.bypass_bn,
    }
    convert.convert_model(net, exclude=[net.features[0], net.features[1]], convert_fn=converter)
    net.quantize_input(enable=False)
    qparams_init(net)
    loss_func = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 1e-4})
    step = 0
    while True:
        if step == 5:
            net.quantize_input(enable=True, online=True)
        if step == 20:
            net.quantize_input(enable=True, online=False)
        x, y = (mx.nd.array(a[4 * step % 16 :][:4]) for a in (images, labels))
        with autograd.record():
            loss = loss_func(net(x), y)
        net.update_ema()
        loss.backward()
        trainer.step(4, ignore_stale_grad=True)
        step += 1
        yield {
            "loss": _mxnet.mean(loss),
            "range": sum(b.input_max.data().asscalar() for b in net.collect_quantized_blocks()),
        }
