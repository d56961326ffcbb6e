"""DeepLab v3+: Xception-65, atrous pyramid and decoder of the example, with a sixteenth of the channels."""

import argparse

import _nnabla
import nnabla as nn
import nnabla.solvers as S
import numpy as np


def train(run):
    run.path()
    run.without("cv2", "imageio")
    import model
    import train as script
    import xception_65 as xception

    def narrow(layer):
        return lambda x, channels, *args, **kwargs: layer(x, max(channels // 16, 4), *args, **kwargs)

    xception.separable_conv_with_bn = narrow(xception.separable_conv_with_bn)
    xception.shortcut = narrow(xception.shortcut)
    nn.seed(0)
    rng = np.random.RandomState(1)
    args = argparse.Namespace(batch_size=4, image_height=65, image_width=65, output_stride=16, num_class=5)
    assert script.model is model
    net = script.get_model(args)
    _nnabla.perturb(run)
    solver = S.Momentum(1e-5, 0.9)
    solver.set_parameters(nn.get_parameters())

    def feed():
        net.image.d = _nnabla.images(rng, (4, 3, 72, 72))[:, :, :65, :65] / 128.0 - 1
        net.label.d = rng.randint(0, 5, net.label.shape)
        net.mask.d = rng.uniform(size=net.mask.shape) < 0.9

    yield from _nnabla.training(net.loss, solver, feed, 1e-4, pred=net.pred)
