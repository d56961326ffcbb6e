#!/usr/bin/env python
"""A small residual network on handwritten digits: a static graph and a solver."""

import numpy as np

import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import nnabla.solvers as S

import digits
import options


def conv_unit(x, maps, name, test):
    with nn.parameter_scope(name):
        h = PF.convolution(x, maps, (3, 3), pad=(1, 1), with_bias=False)
        h = PF.batch_normalization(h, batch_stat=not test)
        return F.elu(h)


def residual_unit(x, name, test):
    maps = x.shape[1]
    with nn.parameter_scope(name):
        h = conv_unit(x, maps // 2, "conv1", test)
        h = PF.convolution(h, maps, (3, 3), pad=(1, 1), with_bias=False, name="conv2")
        h = PF.batch_normalization(h, batch_stat=not test, name="bn2")
    return F.elu(F.add2(h, x))


def network(image, maps, dropout, test=False):
    h = conv_unit(image, maps, "conv0", test)
    h = residual_unit(h, "res1", test)
    h = F.average_pooling(h, (2, 2))
    h = residual_unit(h, "res2", test)
    h = F.max_pooling(h, (2, 2))
    h = F.relu(PF.affine(h, 2 * maps, name="hidden"), inplace=True)
    if not test and dropout > 0:
        h = F.dropout(h, dropout)
    return PF.affine(h, 10, name="classifier")


class Graph(object):
    """A graph for one batch size; graphs share the parameters."""

    def __init__(self, batch_size, args, test):
        self.image = nn.Variable((batch_size, 1, 8, 8))
        self.label = nn.Variable((batch_size, 1))
        pred = network(self.image, args.maps, args.dropout, test)
        pred.persistent = True
        self.loss = F.mean(F.softmax_cross_entropy(pred, self.label))
        self.error = F.mean(F.top_n_error(pred.get_unlinked_variable(need_grad=False), self.label))


def validate(graph, data, n):
    errors = []
    for _ in range(n):
        graph.image.d, graph.label.d = data.next()
        nn.forward_all([graph.loss, graph.error], clear_buffer=True)
        errors.append(graph.error.d.copy())
    return np.mean(errors)


def main():
    p = options.parser("a classifier of the digits of scikit-learn", max_iter=300, learning_rate=0.05)
    p.add_argument("--maps", type=int, default=16, help="feature maps")
    p.add_argument("--dropout", type=float, default=0.2)
    p.add_argument("--weight-decay", type=float, default=1e-4)
    p.add_argument("--decay-at", type=int, nargs="*", default=[200], help="iterations that divide the rate by 10")
    p.add_argument("--val-interval", type=int, default=100)
    args = p.parse_args()
    options.start(args)

    rng = np.random.RandomState(args.seed)
    data = digits.data_iterator(args.batch_size, rng=rng)
    data_val = digits.data_iterator(99, train=False, shuffle=False)

    train = Graph(args.batch_size, args, test=False)
    val = Graph(99, args, test=True)
    solver = S.Momentum(args.learning_rate, 0.9)
    solver.set_parameters(nn.get_parameters())

    log = options.Log(args, "loss", "error", validation=1)
    for i in range(args.max_iter):
        if i % args.val_interval == 0:
            log.add(i, validation=validate(val, data_val, 3))
        if i in args.decay_at:
            solver.set_learning_rate(solver.learning_rate() * 0.1)
        train.image.d, train.label.d = data.next()
        train.loss.forward(clear_no_need_grad=True)
        train.error.forward()
        solver.zero_grad()
        train.loss.backward(clear_buffer=True)
        solver.weight_decay(args.weight_decay)
        solver.update()
        log.add(i, loss=train.loss.d, error=train.error.d)
    log.add(args.max_iter, validation=validate(val, data_val, 3))
    log.finish(args)


if __name__ == "__main__":
    main()
