"""DARTS: the search of first and second order on a small cell, the network and helpers of the example."""

import argparse
import sys

import _nnabla
import nnabla as nn
import nnabla.functions as F
import nnabla.solvers as S
import numpy as np


def train(run):
    run.path()
    sys.argv = ["darts_search"]
    import darts_search as darts

    args = argparse.Namespace(num_nodes=5, num_cells=3, output_filter=4, batch_size=2)
    ops = dict(enumerate((darts.dil_conv_3x3, darts.sep_conv_3x3, darts.max_pool_3x3, darts.identity)))
    nn.seed(0)
    rng = np.random.RandomState(1)
    image, label = nn.Variable((args.batch_size, 3, 16, 16)), nn.Variable((args.batch_size, 1))
    loss = F.mean(F.softmax_cross_entropy(darts.construct_networks(args, ops, image, test=False), label))
    alphas = {k: v for k, v in nn.get_parameters().items() if "alpha_" in k}
    for v in alphas.values():
        v.d = rng.uniform(-0.1, 0.1, v.shape)
    _nnabla.perturb(run)
    weights = {k: v for k, v in nn.get_parameters().items() if "alpha_" not in k}
    by_weights, by_alphas = S.Momentum(0.025), S.Adam(3e-4, beta1=0.5)
    by_weights.set_parameters(weights, reset=False, retain_state=True)
    by_alphas.set_parameters(alphas, reset=False, retain_state=True)

    def copied(values):
        return {
            k: nn.Variable(v.shape, need_grad=True).apply(data=nn.NdArray(v.shape).copy_from(v.data))
            for k, v in values.items()
        }

    def gradients(images, labels):
        image.d, label.d = images, labels
        loss.forward()
        by_alphas.zero_grad()
        by_weights.zero_grad()
        loss.backward(clear_buffer=True)

    def data():
        return _nnabla.images(rng, image.shape) / 128.0 - 1, rng.randint(0, 10, label.shape)

    while True:
        before, own = copied(weights), data()
        gradients(*own)
        trained = loss.d.copy()
        for v in weights.values():
            v.grad.copy_from(F.clip_by_norm(v.grad, 5.0))
        by_weights.weight_decay(3e-4)
        by_weights.update()
        after = copied(weights)
        gradients(*data())
        validated = loss.d.copy()
        total = {k: nn.Variable(v.shape).apply(d=0) for k, v in alphas.items()}
        total = darts.store_gradient({k: v.data for k, v in total.items()}, alphas, coeff=1.0)
        slope = {k: nn.Variable(v.shape).apply(data=nn.NdArray(v.shape).copy_from(v.grad)) for k, v in weights.items()}
        epsilon = 0.01 / np.sum([np.linalg.norm(v.d) for v in slope.values()])
        for sign in (1.0, -1.0):
            darts.weight_modify(before, slope, weights, sign * epsilon)
            for k, v in weights.items():  # the graph has its own Variables
                v.data.copy_from(nn.get_parameters()[k].data)
            gradients(*own)
            total = darts.store_gradient(total, alphas, -sign * 0.025 / 2.0 * epsilon)
        for k, v in weights.items():
            v.data.copy_from(after[k].data)
        for k, v in alphas.items():
            v.grad.copy_from(total[k])
        by_alphas.weight_decay(1e-3)
        by_alphas.update()
        yield {"trained": trained, "validated": validated, "alphas": sum(np.abs(v.d).sum() for v in alphas.values())}
