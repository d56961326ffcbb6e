"""Quantized ResNet-23 (binary, fixed point, powers of two, incremental, by range) on small images."""

import _nnabla
import nnabla as nn
import nnabla.functions as F
import nnabla.solvers as S
import numpy as np

NETS = {
    "binary_connect": {},
    "binary_net": {},
    "binary_weight": {},
    "fp_net": {"n": 4, "delta": 2**-4},
    "pow2_net": {"n": 4, "m": 0},
    "inq": {"num_bits": 4},
    "min_max": {
        "ql_min": 0,
        "ql_max": 15,
        "p_min_max": True,
        "a_min_max": True,
        "a_ema": True,
        "ste_fine_grained": True,
    },
}


def train(run):
    run.path()
    import models

    rng = np.random.RandomState(1)
    image, label = nn.Variable((2, 3, 32, 32)), nn.Variable((2, 1))

    def feed():
        image.d, label.d = _nnabla.images(rng, image.shape), rng.randint(0, 10, label.shape)

    def training(name, options):
        nn.seed(0)
        with _nnabla.building(run, name):
            y = getattr(models, f"cifar10_{name}_resnet23_prediction")(image + 0, maps=4, test=False, **options)
            loss = F.mean(F.softmax_cross_entropy(y, label))
            solver = S.Adam(0.001)
            solver.set_parameters(nn.get_parameters())
        yield from _nnabla.training(loss, solver, feed, 1e-4, y=y)

    yield from run.together(**{name: training(name, options) for name, options in NETS.items()})
