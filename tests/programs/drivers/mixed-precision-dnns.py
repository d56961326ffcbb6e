"""Networks with learned bit widths: ResNet-20 with two kinds of quantization, and a memory cost, on small images."""

import argparse
import sys

import _nnabla
import nnabla as nn
import nnabla.functions as F
import nnabla.solvers as S
import numpy as np

DEFAULTS = {
    "num_layers": 20,
    "shortcut_type": "a",
    "scale_layer": True,
    "target_activation_type": "max",
    "w_stepsize": 2**-3,
    "w_stepsize_min": 2**-8,
    "w_stepsize_max": 1,
    "w_xmin_min": 2**-16,
    "w_xmin_max": 127,
    "w_xmax_min": 2**-8,
    "w_xmax_max": 127,
    "w_bitwidth": 4,
    "w_bitwidth_min": 2,
    "w_bitwidth_max": 8,
    "a_stepsize": 2**-3,
    "a_stepsize_min": 2**-8,
    "a_stepsize_max": 1,
    "a_xmin_min": 2**-14,
    "a_xmin_max": 255,
    "a_xmax_min": 2**-8,
    "a_xmax_max": 255,
    "a_bitwidth": 4,
    "a_bitwidth_min": 1,
    "a_bitwidth_max": 8,
}


def trainer(run):
    """The functions of the training script, whose import reads a configuration file."""
    source = run.repo.joinpath("train_resnet.py").read_text()
    begin, end = source.index("@attr.s"), source.index("def network_size_weights")
    scope = {"__name__": "train_resnet"}
    exec(compile(source[:begin] + source[end:], "train_resnet.py", "exec"), scope)
    return scope


def train(run):
    run.path()
    sys.setrecursionlimit(10000)
    run.without("attr", "cifar_data")
    from model_resnet import resnet_cifar10

    script, rng = trainer(run), np.random.RandomState(1)
    image, label = nn.Variable((2, 3, 16, 16)), nn.Variable((2, 1))

    def training(weights):
        cfg = argparse.Namespace(w_quantize=weights, a_quantize=f"{weights}_relu", **DEFAULTS)
        script["cfg"] = cfg
        with _nnabla.building(run, weights):
            y, _ = resnet_cifar10(image, num_classes=10, cfg=cfg, test=False)
            (_, for_weights), (_, for_values) = script["network_size_weights"](), script["network_size_activations"]()
            sizes = F.relu(for_weights - 125.0) ** 2 + F.relu(for_values - 1.5) ** 2
            loss = F.mean(F.softmax_cross_entropy(y, label)) + 0.1 * sizes
            solver = S.Momentum(0.01, 0.9)
            solver.set_parameters(nn.get_parameters())
        sizes.persistent = True
        while True:
            pictures = (_nnabla.images(rng, image.shape) / 255).astype("f")
            run.perturb([pictures])  # quantization would round away a perturbation of the weights alone
            image.d, label.d = pictures, rng.randint(0, 10, label.shape)
            script["cfg"] = cfg
            solver.zero_grad()
            loss.forward()
            loss.backward()
            solver.weight_decay(0.0002)
            with nn.parameter_scope(weights):
                script["clip_quant_grads"]()
                solver.update()
                script["clip_quant_vals"]()
            yield {"loss": loss.d, "size": sizes.d}

    nn.seed(0)
    yield from run.together(**{w: training(w) for w in ("parametric_fp_d_xmax", "parametric_pow2_xmin_xmax")})
