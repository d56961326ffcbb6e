"""Depth from one image: the program's network and loss on random pictures.

The program starts from a trained ResNet-50 in a file; the driver uses a narrow, untrained one instead.
"""

import _nnabla
import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import nnabla.solvers as S
import numpy as np
from nnabla.utils import nnp_graph, save

SIZE = (64, 96)


def resnet(x):
    def conv(x, channels, kernel, stride=1):
        x = PF.convolution(x, channels, (kernel, kernel), (kernel // 2,) * 2, (stride,) * 2, with_bias=False)
        return PF.batch_normalization(x)

    with nn.parameter_scope("first"):
        x = F.max_pooling(F.relu(conv(x, 8, 7, 2)), (3, 3), (2, 2), pad=(1, 1))
    for stage, count in enumerate((3, 4, 6, 3)):
        for i in range(count):
            stride = 2 if stage and not i else 1
            with nn.parameter_scope(f"block{stage}_{i}"):
                shortcut = x
                for name, kernel, step in (("a", 1, stride), ("b", 3, 1)):
                    with nn.parameter_scope(name):
                        x = F.relu(conv(x, 4 << stage, kernel, step))
                with nn.parameter_scope("c"):
                    x = conv(x, 16 << stage, 1)
                if not i:
                    with nn.parameter_scope("shortcut"):
                        shortcut = conv(shortcut, 16 << stage, 1, stride)
                x = F.relu(F.add2(x, shortcut))
    return x


class ResNet50:
    """A stand-in for nnabla's class that applies a network from a file to a Variable."""

    def __init__(self):
        x = nn.Variable((1, 3, *SIZE))
        with nn.parameter_scope("", {}):
            y = resnet(x)
            network = {"name": "Training", "batch_size": 1, "outputs": {"y": y}, "names": {"x": x}}
            save.save("resnet.nnp", {"networks": [network], "executors": []})
        self.nnp = nnp_graph.NnpLoader("resnet.nnp")

    def __call__(self, x, use_up_to, training):
        assert use_up_to == "lastconv+relu"
        callback = nnp_graph.NnpNetworkPass(False)
        callback.set_variable("x", x)
        callback.set_batch_normalization_batch_stat_all(training)
        return self.nnp.get_network("Training", batch_size=x.shape[0], callback=callback).outputs["y"]


def train(run):
    run.path()
    import model
    from model import encoder

    encoder.ResNet50 = ResNet50
    model.depth_decoder.__defaults__ = ([2, 2, 2, 2, 2], [32, 16, 16, 8, 4], SIZE, False)
    nn.seed(0)
    rng = np.random.RandomState(1)
    image, depth = nn.Variable((4, 3, *SIZE)), nn.Variable((4, 1, *SIZE))
    pred = model.depth_cnn_model(image, test=False)
    loss = model.l1_loss(pred, depth)
    _nnabla.perturb(run)
    solver = S.Momentum(lr=1e-6, momentum=0.9)
    solver.set_parameters(nn.get_parameters())

    def feed():
        image.d = _nnabla.images(rng, image.shape) / 255
        depth.d = rng.uniform(-1, 10, depth.shape)

    yield from _nnabla.training(loss, solver, feed, 1e-4, pred=pred)
