"""Random Gluon networks and how they are trained."""

import os
import random
import tempfile

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

from tests.random_programs.training import change, digest, draw_middles, number

ACTIVATIONS = {
    **{
        name: (lambda F, x, f=name: getattr(F, f)(x))
        for name in "tanh sigmoid relu softsign erf sin arctan abs".split()
    },
    "softrelu": lambda F, x: F.Activation(x, act_type="softrelu"),
    "leaky": lambda F, x: F.LeakyReLU(x, act_type="leaky", slope=0.2),
    "gelu": lambda F, x: F.LeakyReLU(x, act_type="gelu"),
    "hard sigmoid": lambda F, x: F.hard_sigmoid(x),
    "softmax": lambda F, x: F.softmax(x, axis=1),
    "log softmax": lambda F, x: F.log_softmax(x, axis=1),
    "softmin": lambda F, x: F.softmin(x, axis=1),
    "clip": lambda F, x: F.clip(x, -1, 1.5),
    "smooth": lambda F, x: F.smooth_l1(x, scalar=1.0),
    "l2": lambda F, x: F.L2Normalization(x),
    "norm": lambda F, x: F.broadcast_div(x, 1 + F.norm(x, axis=1, keepdims=True)),
    "root": lambda F, x: F.sqrt(F.abs(x) + 0.1),
    "cube": lambda F, x: F.broadcast_mul(x, F.mean(x, axis=1, keepdims=True)),
    "maximum": lambda F, x: F.broadcast_maximum(x, F.tanh(x) * 2),
    "where": lambda F, x: F.where(x > 0.1, x, x * 0.3),
    "flip": lambda F, x: F.flip(x, axis=1),
    "cumulative": lambda F, x: F.concat(x, F.square(x), dim=1),
    "sort": lambda F, x: F.sort(x, axis=1),
    "blocked": lambda F, x: x * F.BlockGrad(F.sigmoid(x)),
    "scaled gradient": lambda F, x: F.contrib.gradientmultiplier(x, scalar=0.5),
}
# What MXNet computes in single precision alone.
SINGLE = {"lstm", "gru", "rnn", "lstm cell", "gru cell", "rnn cell", "cells", "instance norm"}
SINGLE |= {"adagrad", "rmsprop", "adadelta", "ftrl", "ftml", "lamb"}  # their states or formulas
TWICE = ("dense", "tanh", "sigmoid", "relu", "residual")  # of these MXNet differentiates derivatives
OPTIMIZERS = {
    "sgd": {"learning_rate": 0.05, "momentum": 0.5}, "nag": {"learning_rate": 0.02, "momentum": 0.5},
    "signum": {"learning_rate": 0.005}, "ftml": {"learning_rate": 0.01, "epsilon": 1e-3},
    "lamb": {"learning_rate": 0.01, "epsilon": 1e-3}, "dcasgd": {"learning_rate": 0.02},
    "adam": {"learning_rate": 0.01, "epsilon": 1e-3}, "adagrad": {"learning_rate": 0.05, "eps": 1e-3},
    "rmsprop": {"learning_rate": 0.005, "epsilon": 1e-3}, "adadelta": {"epsilon": 1e-3}, "ftrl": {"learning_rate": 0.1},
    "nadam": {"learning_rate": 0.01, "epsilon": 1e-3},
}  # fmt: skip
SCHEDULES = {
    "none": None,
    "factor": lambda: mx.lr_scheduler.FactorScheduler(3, 0.9),
    "multifactor": lambda: mx.lr_scheduler.MultiFactorScheduler([4, 9], 0.5),
    "poly": lambda: mx.lr_scheduler.PolyScheduler(30, base_lr=0.02, warmup_steps=3),
    "cosine": lambda: mx.lr_scheduler.CosineScheduler(30, base_lr=0.02, final_lr=0.001),
}


class Apply(gluon.HybridBlock):
    """A function of one array, and of a child where there is one."""

    def __init__(self, function, child=None):
        super().__init__()
        self.function = function
        if child is not None:
            self.child = child
        self.has_child = child is not None

    def hybrid_forward(self, F, x):
        return self.function(F, x, self.child) if self.has_child else self.function(F, x)


class Weighted(gluon.HybridBlock):
    """A layer with a parameter of its own."""

    def __init__(self, n):
        super().__init__()
        with self.name_scope():
            self.scale = self.params.get("scale", shape=(1, n))

    def hybrid_forward(self, F, x, scale):
        return F.broadcast_mul(x, F.tanh(scale) + 1)


class Training:
    def __init__(self, seed, perturb):
        self.r = random.Random(seed)
        self.n = np.random.RandomState(seed + 1)
        mx.random.seed(seed)
        self.single = self.r.random() < 0.25
        self.dtype = "float32" if self.single else "float64"
        self.tolerance = 1e-4 if self.single else 1e-6
        self.words = []
        self.batch = self.r.randint(2, 4)
        self.data = self.make_data()
        self.net = nn.HybridSequential()
        self.kinds = []
        self.build()
        relative = (1e-6 if self.single else 1e-8) * perturb
        for _, p in sorted(self.net._collect_params_with_prefix().items()):
            values = self.n.uniform(-0.7, 0.7, p.shape) if p.grad_req != "null" else p.data().asnumpy()
            p.set_data(nd.array(values * change(p.shape, relative), dtype=self.dtype))
        self.make_loss()
        self.hybrid = self.r.choice(
            [None, None, {}, {"static_alloc": True}, {"static_alloc": True, "static_shape": True}]
        )
        if self.hybrid is not None:
            self.net.hybridize(**self.hybrid)
        self.penalty = all(k in TWICE for k in self.kinds) and self.hybrid is None and self.r.random() < 0.5
        self.make_trainer()
        self.style = self.r.choice(["step", "step", "update", "add", "updater"])
        if self.style == "add":
            for p in self.net.collect_params().values():
                if p.grad_req != "null":
                    p.grad_req = "add"
        self.middle = draw_middles(self, self.r)
        self.words += [f"hybrid {self.hybrid}", self.style, f"penalty {self.penalty}", f"middle {self.middle}"]

    # ---- the network ------------------------------------------------------------------------------------------------
    def make_data(self):
        kind = self.r.choice(["vector", "vector", "image", "image", "image", "sequence", "ids", "volume"])
        self.words += [self.dtype, kind]
        channels, size = self.r.choice([2, 3, 4, 6]), self.r.choice([5, 6, 7, 8])
        if kind == "ids":
            return nd.array(self.n.randint(0, 9, (self.batch, size)), dtype=self.dtype)
        shape = {
            "vector": (),
            "image": (size, self.r.choice([size, size + 1])),
            "sequence": (size,),
            "volume": (4, 4, 3),
        }
        return nd.array(self.n.standard_normal((self.batch, channels, *shape[kind])), dtype=self.dtype)

    def add(self, kind, block):
        block.initialize(mx.init.Uniform(0.5))
        block.cast(self.dtype)
        self.probe = block(self.probe)
        self.net.add(block)
        self.kinds.append(kind)
        self.words.append(kind)

    def build(self):
        self.probe = self.data
        if self.words[1] == "ids":
            self.add("embedding", nn.Embedding(9, 6))
            self.add("swap", Apply(lambda F, x: F.transpose(x, axes=(0, 2, 1))))
        for _ in range(self.r.randint(2, 6)):
            if self.r.random() < 0.4:
                name = self.r.choice(sorted(ACTIVATIONS))
                self.add(name, Apply(ACTIVATIONS[name]))
                continue
            choices = {2: self.vectors, 3: self.sequences, 4: self.images, 5: self.volumes}[self.probe.ndim]()
            name = self.r.choice(sorted(set(choices) - (set() if self.single else SINGLE)))
            self.add(name, choices[name]())
        if self.probe.ndim > 2:
            self.add("flatten", nn.Flatten())
        self.add("dense", nn.Dense(4))

    def vectors(self):
        n, k = self.probe.shape[1], self.r.choice([3, 4, 6])

        def unrolled(make):
            return lambda: Apply(
                lambda F, x, cell: cell.unroll(3, [x, x * 0.5, F.tanh(x)], merge_outputs=False)[0][-1], make()
            )

        def sequential():
            cells = rnn.HybridSequentialRNNCell()
            cells.add(rnn.LSTMCell(k, input_size=n))
            cells.add(rnn.ResidualCell(rnn.GRUCell(k, input_size=k)))
            return cells

        return {
            "dense": lambda: nn.Dense(k, use_bias=self.r.random() < 0.8),
            "dense activated": lambda: nn.Dense(k, activation=self.r.choice(["relu", "tanh", "sigmoid", "softsign"])),
            "residual": lambda: Apply(lambda F, x, d: x + d(x), nn.Dense(n)),
            "gate": lambda: Apply(lambda F, x, d: x * F.sigmoid(d(x)), nn.Dense(n)),
            "twice": lambda: Apply(lambda F, x, d: d(F.tanh(d(x))), nn.Dense(n)),
            "batch norm": lambda: nn.BatchNorm(momentum=0.8, scale=self.r.random() < 0.8),
            "batch norm frozen": lambda: nn.BatchNorm(use_global_stats=True),
            "layer norm": lambda: nn.LayerNorm(),
            "elu": lambda: nn.ELU(0.7),
            "swish": lambda: nn.Swish(1.3),
            "weighted": lambda: Weighted(n),
            "concat": lambda: Apply(lambda F, x, d: F.concat(d(x), x, dim=1), nn.Dense(k)),
            "lstm cell": unrolled(lambda: rnn.LSTMCell(k, input_size=n)),
            "gru cell": unrolled(lambda: rnn.GRUCell(k, input_size=n)),
            "rnn cell": unrolled(lambda: rnn.RNNCell(k, input_size=n)),
            "cells": unrolled(sequential),
            "outer": lambda: Apply(
                lambda F, x, d: F.batch_dot(F.expand_dims(d(x), 2), F.expand_dims(x, 1)), nn.Dense(3)
            ),
        }

    def sequences(self):
        n, k = self.probe.shape[1], self.r.choice([3, 4])

        def layer(make):
            return lambda: Apply(lambda F, x, d: F.transpose(d(F.transpose(x, axes=(2, 0, 1))), axes=(1, 2, 0)), make())

        both = self.r.random() < 0.3
        return {
            "lstm": layer(lambda: rnn.LSTM(k, self.r.choice([1, 2]), bidirectional=both, input_size=n)),
            "gru": layer(lambda: rnn.GRU(k, self.r.choice([1, 2]), bidirectional=both, input_size=n)),
            "rnn": layer(lambda: rnn.RNN(k, activation=self.r.choice(["relu", "tanh"]), input_size=n)),
            "conv": lambda: nn.Conv1D(k, 3, padding=1),
            "conv dilated": lambda: nn.Conv1D(k, 2, padding=2, dilation=2, use_bias=False),
            "deconv": lambda: nn.Conv1DTranspose(k, 3, padding=1),
            "batch norm": lambda: nn.BatchNorm(),
            "layer norm": lambda: nn.LayerNorm(),
            "instance norm": lambda: nn.InstanceNorm(),
            "attention": lambda: Apply(
                lambda F, x, d: F.batch_dot(x, F.softmax(F.batch_dot(d(x), x, transpose_a=True), axis=1)),
                nn.Conv1D(n, 1),
            ),
            "max": lambda: nn.MaxPool1D(2, 1),
            "average": lambda: nn.AvgPool1D(2, 1, 1),
            "mask": lambda: Apply(lambda F, x: F.slice_axis(x, axis=2, begin=0, end=3)),
            "reverse": lambda: Apply(lambda F, x: F.reverse(x, axis=2)),
            "dense": lambda: nn.Dense(k, flatten=False),
        }

    def images(self):
        n, k, (h, w) = self.probe.shape[1], self.r.choice([2, 3, 4]), self.probe.shape[2:]
        made = {
            "conv": lambda: nn.Conv2D(k, 3, padding=1, use_bias=self.r.random() < 0.7),
            "conv strided": lambda: nn.Conv2D(k, (3, 2), strides=(1, 2), padding=(1, 1)),
            "conv dilated": lambda: nn.Conv2D(k, 3, padding=2, dilation=2),
            "conv grouped": lambda: nn.Conv2D(2 * n, 3, padding=1, groups=n),
            "deconv": lambda: nn.Conv2DTranspose(k, 3, padding=1),
            "deconv strided": lambda: nn.Conv2DTranspose(k, 2, strides=(1, 2)) if w < 10 else nn.ELU(),
            "batch norm": lambda: nn.BatchNorm(momentum=0.8),
            "instance norm": lambda: nn.InstanceNorm(),
            "group norm": lambda: nn.GroupNorm(1),
            "layer norm": lambda: nn.LayerNorm(),
            "residual": lambda: Apply(lambda F, x, d: x + d(x), nn.Conv2D(n, 3, padding=1)),
            "squeeze": lambda: Apply(
                lambda F, x, d: F.broadcast_mul(x, F.sigmoid(d(F.contrib.AdaptiveAvgPooling2D(x)))), nn.Conv2D(n, 1)
            ),
            "concat": lambda: Apply(lambda F, x, d: F.concat(d(x), x, dim=1), nn.Conv2D(k, 1)),
            "reflection": lambda: nn.ReflectionPad2D(1) if min(h, w) > 2 else nn.ELU(),
            "upsampling": lambda: (
                Apply(lambda F, x: F.UpSampling(x, scale=2, sample_type="nearest")) if h < 10 else nn.ELU()
            ),
            "resize": lambda: Apply(lambda F, x: F.contrib.BilinearResize2D(x, height=h + 1, width=w)),
            "pad": lambda: Apply(
                lambda F, x: F.pad(x, mode="constant", pad_width=(0, 0, 0, 0, 1, 0, 0, 1), constant_value=0.2)
            ),
            "transpose": lambda: Apply(lambda F, x: F.swapaxes(x, 2, 3)),
            "sequence": lambda: Apply(lambda F, x: F.reshape(x, shape=(0, 0, -1))),
            "slice": lambda: (
                Apply(lambda F, x: F.slice(x, begin=(None, 0, 0, 1), end=(None, None, None, None)))
                if w > 2
                else nn.ELU()
            ),
            "dropped": lambda: nn.Dropout(0.0),
        }
        if min(h, w) > 2:
            made["max"] = lambda: nn.MaxPool2D(2, self.r.choice([1, 2]), self.r.choice([0, 1]))
            made["average"] = lambda: nn.AvgPool2D(3, self.r.choice([1, 2]), 1, count_include_pad=self.r.random() < 0.5)
            made["ceil"] = lambda: nn.MaxPool2D(2, 2, ceil_mode=True)
        return made

    def volumes(self):
        k = self.r.choice([2, 3])
        return {
            "conv": lambda: nn.Conv3D(k, 3, padding=1),
            "batch norm": lambda: nn.BatchNorm(),
            "average": lambda: nn.AvgPool3D(2, 1),
            "max": lambda: nn.MaxPool3D(2, 1),
            "flatten": lambda: nn.Flatten(),
        }

    # ---- the loss ---------------------------------------------------------------------------------------------------
    def make_loss(self):
        b, n, L = self.probe.shape[0], self.n, gluon.loss

        def array(a):
            return nd.array(a, dtype=self.dtype)

        classes, reals = array(n.randint(0, 4, b)), array(n.standard_normal((b, 4)))
        bits, signs = array(n.randint(0, 2, (b, 4))), array(n.choice([-1, 1], (b, 4)))
        weight, shares = array(n.uniform(0.5, 2, (b, 1))), nd.softmax(reals)
        losses = {
            "softmax": (L.SoftmaxCrossEntropyLoss(), classes),
            "softmax dense": (L.SoftmaxCrossEntropyLoss(sparse_label=False), shares),
            "softmax weighted": (lambda y, t: L.SoftmaxCrossEntropyLoss()(y, t, weight), classes),
            "l2": (L.L2Loss(), reals),
            "l1": (L.L1Loss(), reals),
            "huber": (L.HuberLoss(rho=0.7), reals),
            "hinge": (L.HingeLoss(), signs),
            "squared hinge": (L.SquaredHingeLoss(), signs),
            "logistic": (L.LogisticLoss(), signs),
            "sigmoid": (L.SigmoidBinaryCrossEntropyLoss(), bits),
            "kl": (lambda y, t: L.KLDivLoss(from_logits=False)(y, t), shares),
            "poisson": (L.PoissonNLLLoss(), nd.abs(reals)),
            "triplet": (lambda y, t: L.TripletLoss()(y, t, nd.flip(t, axis=0)), reals),
            "cosine": (lambda y, t: L.CosineEmbeddingLoss()(y, t, signs[:, 0]), reals),
            "output": (lambda y, t: nd.SoftmaxOutput(y, t, normalization="batch"), classes),
            "sum": (lambda y, t: nd.log(nd.sum(nd.exp(y), axis=1)), reals),
        }
        if not self.single:
            del losses["cosine"]
        name = self.r.choice(sorted(losses))
        self.loss, self.target = losses[name]
        self.kinds += ["SoftmaxOutput"] if name == "output" else []
        self.words.append(f"loss {name}")

    # ---- training ---------------------------------------------------------------------------------------------------
    def make_trainer(self):
        r = self.r
        self.optimizer = r.choice(sorted(set(OPTIMIZERS) - (set() if self.single else SINGLE)))
        schedule = r.choice(sorted(SCHEDULES))
        self.arguments = dict(OPTIMIZERS[self.optimizer], wd=r.choice([0.0, 0.0, 0.01]))
        if r.random() < 0.3:
            self.arguments["clip_gradient"] = 0.5
        if SCHEDULES[schedule]:
            self.arguments["lr_scheduler"] = SCHEDULES[schedule]()
        self.trainer = gluon.Trainer(self.net.collect_params(), self.optimizer, self.arguments, kvstore=None)
        self.words += [self.optimizer, schedule, f"wd {self.arguments['wd']}", f"{'clip_gradient' in self.arguments}"]

    def step(self, t):
        loss = self.update()
        found = [number(loss.mean().asscalar())]
        for _, p in sorted(self.net._collect_params_with_prefix().items()):
            found += digest(p.data().asnumpy())
        return found

    def update(self):
        x = self.data.copy()
        if self.penalty:
            x.attach_grad()
        with autograd.record():
            loss = self.loss(self.net(x), self.target)
            if self.penalty:
                (g,) = autograd.grad(loss, [x], create_graph=True, retain_graph=True)
                loss = loss.mean() + 0.1 * nd.sum(g * g)
        loss.backward()
        parameters = sorted(self.net._collect_params_with_prefix().items())
        # AdaDelta of the original changes gradients (docs/deviations.md)
        self.computed = [(name, p.grad().copy()) for name, p in parameters if p.grad_req == "write"]
        if self.style == "update":
            self.trainer.allreduce_grads()
            self.trainer.update(self.batch)
        elif self.style == "updater":
            params = [p for p in self.net.collect_params().values() if p.grad_req != "null"]
            if self.single:  # the norms are added in single precision
                gluon.utils.clip_global_norm([p.grad() for p in params], 5.0)
            self.trainer.step(self.batch, ignore_stale_grad=True)
        else:
            self.trainer.step(self.batch)
        if self.style == "add":
            for p in self.net.collect_params().values():
                p.zero_grad()
        return loss

    def carried(self):
        parameters = sorted(self.net._collect_params_with_prefix().items())
        yield from ((name, p.data()) for name, p in parameters)
        for index, state in sorted(self.trainer._updaters[0].states.items()):
            flat = state if isinstance(state, (list, tuple)) else [state]
            yield from ((f"{index} {k}", array) for k, array in enumerate(flat) if array is not None)

    def gradients(self):
        return self.computed

    @staticmethod
    def read(array):
        return array.asnumpy()

    def given(self):
        return self.data.asnumpy()

    def give(self, values):
        self.data = nd.array(values, dtype=self.dtype)

    @staticmethod
    def write(array, values):
        array[:] = nd.array(values, dtype=array.dtype)

    def round_results(self, rounded):
        """Change the results of all blocks, without symbols, and so their gradients; returns what ends this."""
        self.net.hybridize(False)
        self.middle_hybridize = lambda: None
        plain = gluon.Block.__call__

        def call(block, *args):
            y = plain(block, *args)
            if isinstance(y, nd.NDArray) and y.dtype == np.dtype(self.dtype):
                errors = rounded(np.full(y.shape, 0.5, self.dtype)) * 2
                y = y * nd.array(errors, dtype=self.dtype)
            return y

        gluon.Block.__call__ = call
        return lambda: setattr(gluon.Block, "__call__", plain)

    # ---- what programs do in the middle -----------------------------------------------------------------------------
    def middle_parameters(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.params")
            self.net.save_parameters(path)
            for p in self.net.collect_params().values():
                p.set_data(p.data() * 0 + 0.5)
            self.net.load_parameters(path)

    def middle_states(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trainer.states")
            self.trainer.save_states(path)
            self.trainer = gluon.Trainer(self.net.collect_params(), self.optimizer, self.arguments, kvstore=None)
            self.trainer.load_states(path)

    def middle_rate(self):
        if "lr_scheduler" not in self.arguments:
            self.trainer.set_learning_rate(self.trainer.learning_rate * 0.5)

    def middle_hybridize(self):
        self.net.hybridize(self.hybrid is None and not self.penalty)

    def middle_evaluate(self):
        with autograd.predict_mode():
            self.net(self.data)
        with autograd.record(train_mode=False):
            self.net(self.data)

    def middle_freeze(self):
        list(self.net.collect_params().values())[-1].grad_req = "null"  # a bias

    def middle_multiplier(self):
        for p in list(self.net.collect_params().values())[-2:]:
            p.lr_mult, p.wd_mult = 0.5, 2.0

    def middle_data(self):
        if self.words[1] != "ids":
            self.data = self.data * 0.5
