"""Graph convolutions and attention of the program's MXNet modules, on a graph of MXNet's own operators.

DGL 0.4 keeps graphs in a compiled library that has no build for the Python versions here. `Graph` stands in for it: it
computes the messages and sums that these modules need by products with the incidence matrices.
"""

import sys
import types

import _mxnet
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon


class Graph:
    """A graph of n nodes with edges from `u` to `v`."""

    def __init__(self, u, v, n):
        self.out, self.into = (mx.nd.one_hot(mx.nd.array(ends), n) for ends in (u, v))
        self.srcdata, self.dstdata, self.edata = {}, {}, {}
        self.ndata = self.srcdata

    def local_var(self):
        return self

    def in_degrees(self):
        return self.into.sum(axis=0)

    def out_degrees(self):
        return self.out.sum(axis=0)

    def at(self, incidence, x):
        return mx.nd.dot(incidence, x.reshape((x.shape[0], -1))).reshape((-1, *x.shape[1:]))

    def message(self, kind, a, b=None):
        x = self.at(self.out, self.srcdata[a])
        if kind == "u_add_v":
            return x + self.at(self.into, self.dstdata[b])
        return x * self.edata[b] if kind == "u_mul_e" else x

    def apply_edges(self, message):
        kind, *names, out = message
        self.edata[out] = self.message(kind, *names)

    def update_all(self, message, reduce):
        kind, *names, _ = message
        total = self.at(self.into.T, self.message(kind, *names))
        if reduce[0] == "mean":
            total = total / mx.nd.maximum(self.in_degrees(), 1).reshape((-1,) + (1,) * (total.ndim - 1))
        self.dstdata[reduce[-1]] = total

    def softmax(self, e):
        e = mx.nd.exp(e)
        return e / self.at(self.into, self.at(self.into.T, e))


def stand_in(run):
    """Define the names that the modules import from their parent package."""

    def module(name, **members):
        made = sys.modules[name] = types.ModuleType(name)
        made.__path__ = [str(run.repo.joinpath("python", *name.split(".")))]
        vars(made).update(members)

    for name in ("dgl", "dgl.nn", "dgl.nn.mxnet", "dgl.nn.mxnet.conv"):
        module(name)
    module("dgl.base", DGLError=ValueError)
    module("dgl.utils", expand_as_pair=lambda x: x if isinstance(x, tuple) else (x, x), check_eq_shape=lambda x: None)
    module("dgl.nn.mxnet.softmax", edge_softmax=Graph.softmax)
    calls = {
        "copy_src": lambda src, out: ("copy_src", src, out),
        "copy_u": lambda u, out: ("copy_src", u, out),
        "u_add_v": lambda *names: ("u_add_v", *names),
        "u_mul_e": lambda *names: ("u_mul_e", *names),
        "sum": lambda msg, out: ("sum", msg, out),
        "mean": lambda msg, out: ("mean", msg, out),
    }
    module("dgl.function", **calls)
    sys.modules["dgl"].function = sys.modules["dgl.function"]


def train(run):
    stand_in(run)
    _mxnet.streams()
    from dgl.nn.mxnet.conv.densegraphconv import DenseGraphConv
    from dgl.nn.mxnet.conv.gatconv import GATConv
    from dgl.nn.mxnet.conv.graphconv import GraphConv
    from dgl.nn.mxnet.conv.sgconv import SGConv

    rng = np.random.RandomState(1)
    u, v = np.concatenate([rng.randint(0, 12, (2, 40)), np.arange(12)[None].repeat(2, 0)], axis=1)
    graph, adjacency = Graph(u, v, 12), np.zeros((12, 12))
    adjacency[v, u] = 1
    x, labels = mx.nd.array(rng.normal(size=(12, 6))), mx.nd.array(rng.randint(0, 3, 12))

    def training(*layers, place):
        net = gluon.nn.Sequential()
        net.add(*layers)
        net.initialize(mx.init.Xavier(magnitude=2.24))

        def forward():
            h = x
            for i, layer in enumerate(layers):
                h = layer(place, h)
                h = h.reshape((12, -1)) if i < len(layers) - 1 else h.reshape((12, -1, 3)).mean(axis=1)
            return h

        forward()
        _mxnet.perturb(run, net)
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01, "wd": 5e-4})
        loss = gluon.loss.SoftmaxCELoss()
        while True:
            with autograd.record():
                value = loss(forward(), labels)
            value.backward()
            trainer.step(12)
            yield {"loss": _mxnet.mean(value)}

    yield from run.together(
        gcn=training(GraphConv(6, 8, activation=mx.nd.relu), GraphConv(8, 3), place=graph),
        gat=training(
            GATConv(6, 4, 2, activation=lambda h: mx.nd.LeakyReLU(h, act_type="elu")), GATConv(8, 3, 2), place=graph
        ),
        dense=training(DenseGraphConv(6, 8), DenseGraphConv(8, 3), place=mx.nd.array(adjacency)),
        simple=training(SGConv(6, 3, k=2), place=graph),
    )
