"""Random Chainer networks and how they are trained."""

import copy
import io
import pickle
import random

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import link_hooks

from tests.random_programs.training import change, digest, draw_middles, number

ACTIVATIONS = (
    "relu tanh sigmoid elu leaky_relu softplus selu swish1 clipped_relu hard_sigmoid relu6 crelu rrelu0 log_softmax "
    "softmax arctan sin square sqrt_abs maxout2 normalize dropout zoneout0 gaussian cast scale layer_norm l2 cumsum "
    "squash identity"
).split()


def activation(x, name):
    """Functions of one argument, by names of this file."""
    own = {
        "swish1": lambda: x * F.sigmoid(x),
        "clipped_relu": lambda: F.clipped_relu(x, 1.5),
        "rrelu0": lambda: F.rrelu(x, 0.1, 0.4),
        "softmax": lambda: F.softmax(x, axis=1),
        "log_softmax": lambda: F.log_softmax(x, axis=1),
        "sqrt_abs": lambda: F.sqrt(F.absolute(x) + 0.1),
        "maxout2": lambda: F.maxout(x, 2, axis=1) if x.shape[1] % 2 == 0 else x,
        "normalize": lambda: F.normalize(x + 0.1, axis=1),
        "dropout": lambda: F.dropout(x, 0.3),
        "zoneout0": lambda: F.zoneout(x * 0.5, x, 0.3),
        "gaussian": lambda: x + 0.1 * F.gaussian(x * 0, x * 0 - 4),
        "cast": lambda: F.cast(F.cast(x, "d"), x.dtype),
        "scale": lambda: F.scale(x, F.sum(x, axis=tuple(range(2, x.ndim))) * 0.1, axis=0),
        "layer_norm": lambda: F.reshape(layer_normalized(F.reshape(x, (len(x), -1))), x.shape),
        "l2": lambda: x / F.broadcast_to(F.sqrt(F.sum(x * x) + 1), x.shape),
        "cumsum": lambda: F.cumsum(x, axis=1) / x.shape[1],
        "squash": lambda: x * F.broadcast_to(F.expand_dims(F.sum(abs(x), axis=1) + 1, 1) ** -0.5, x.shape),
        "identity": lambda: F.identity(x),
    }
    return own[name]() if name in own else getattr(F, name)(x)


def layer_normalized(x):
    ones = x.xp.ones(x.shape[1], x.dtype)
    return F.layer_normalization(x, ones, ones * 0)


class Net(chainer.Chain):
    """Stages in order; `kind` of each names a method of this class."""

    def __init__(self):
        super().__init__()
        self.stages = []

    def add(self, kind, link=None, *args):
        name = None
        if link is not None:
            name = f"l{len(self.stages)}"
            with self.init_scope():
                setattr(self, name, link)
        self.stages.append((kind, name, args))

    def forward(self, x):
        for kind, name, args in self.stages:
            link = getattr(self, name) if name else None
            x = getattr(self, "do_" + kind)(x, link, *args)
        return x

    def reset(self):
        for link in self.links():
            if link is not self and hasattr(link, "reset_state"):
                link.reset_state()

    do_link = staticmethod(lambda x, link: link(x))
    do_activation = staticmethod(lambda x, link, name: activation(x, name))
    do_residual = staticmethod(lambda x, link: x + link(x))
    do_twice = staticmethod(lambda x, link: link(link(x)))
    do_gate = staticmethod(lambda x, link: x * F.sigmoid(link(x)))
    do_flatten = staticmethod(lambda x, link: F.reshape(x, (len(x), -1)))
    do_function = staticmethod(lambda x, link, name, *args: getattr(F, name)(x, *args))
    do_pool = staticmethod(lambda x, link, name, size, stride, pad: getattr(F, name)(x, size, stride=stride, pad=pad))
    do_to_vector = staticmethod(lambda x, link: F.average(x, axis=tuple(range(2, x.ndim))))
    do_branches = staticmethod(lambda x, link: F.concat([link(x), x], axis=1))
    do_split = staticmethod(
        lambda x, link: F.concat(F.split_axis(x, 2, axis=1)[::-1], axis=1) if x.shape[1] % 2 == 0 else x
    )
    do_checkpointed = staticmethod(lambda x, link: F.forget(link, x))

    @staticmethod
    def do_steps(x, link, count):
        """A recurrent link several times on one input."""
        for _ in range(count):
            y = link(x)
        return y

    @staticmethod
    def do_sequence(x, link):
        """(batch, channels, time) as sequences of different lengths, by a link of all steps; each one's mean."""
        xs = [F.transpose(v)[: max(1, v.shape[1] - k % 3)] for k, v in enumerate(F.separate(x, axis=0))]
        out = link(None, None, xs) if isinstance(link, LSTMS) else link(None, xs)
        return F.stack([F.average(y, axis=0) for y in out[-1]])

    @staticmethod
    def do_attention(x, link):
        """(batch, channels, time) attends to itself."""
        q, k, v = F.split_axis(link(x), 3, axis=1)
        weights = F.softmax(F.matmul(q, k, transa=True) / k.shape[1] ** 0.5, axis=2)
        return F.matmul(v, weights, transb=True)

    @staticmethod
    def do_sampled(x, link):
        """Images read along a grid that is learnt."""
        theta = F.reshape(F.tanh(link(x)) * 0.3, (-1, 2, 3)) + np.array([[1, 0, 0], [0, 1, 0]], x.dtype)
        return F.spatial_transformer_sampler(x, F.spatial_transformer_grid(theta, x.shape[2:]))


LSTMS = (L.NStepLSTM, L.NStepBiLSTM)
# losses that Chainer differentiates once
ONCE = ("hierarchical", "softmax", "softmax ignored", "softmax weighted", "black_out", "negative", "ctc", "crf")


class Schedule:
    """What Chainer's static graphs give to functions, which then call `static_forward_optimizations`."""

    @staticmethod
    def append_function(function, args, kwargs, func_name=None):
        return function(*args, **kwargs)


class Training:
    tolerance = 1e-8

    def __init__(self, seed, perturb):
        chainer.global_config.dtype = np.dtype("d")
        self.r = random.Random(seed)
        np.random.seed(seed)
        self.n = np.random.RandomState(seed + 1)
        self.words = []
        self.batch = self.r.randint(2, 4)
        self.x = self.data()
        self.net = Net()
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            self.build()
        self.make_loss()
        if perturb:
            for _, p in sorted(self.net.namedparams()):
                p.array = p.array * change(p.shape, 1e-12)
        self.optimizer = self.make_optimizer()
        self.schedule = self.r.choice([None, None, lambda t: 0.97, lambda t: 0.5 if t % 7 == 6 else 1.0])
        once = self.loss_name in ONCE or any("checkpointed" in w for w in self.words)
        self.penalty = self.r.random() < 0.2 and self.x.dtype.kind == "f" and not once
        self.style = self.r.choice(["backward", "backward", "lossfun", "accumulate", "grad"])
        self.middle = draw_middles(self, self.r)
        self.words += [self.style, f"penalty {self.penalty}", f"middle {self.middle}"]

    # ---- the network ------------------------------------------------------------------------------------------------
    def data(self):
        kind = self.r.choice(["vector", "vector", "image", "image", "sequence", "ids", "volume"])
        self.words.append(kind)
        channels, size = self.r.choice([2, 3, 4, 6]), self.r.choice([5, 6, 7, 8])
        shape = {
            "vector": (),
            "image": (size, self.r.choice([size, size + 1])),
            "sequence": (size,),
            "volume": (4, 4, 3),
        }
        if kind == "ids":
            return self.n.randint(0, 9, (self.batch, size)).astype("i")
        return self.n.standard_normal((self.batch, channels, *shape[kind]))

    def add(self, kind, link=None, *args):
        if link is not None and self.r.random() < 0.07 and type(link) in (L.Linear, L.Convolution2D):
            hook = self.r.choice([link_hooks.SpectralNormalization, link_hooks.WeightStandardization])
            if hook is link_hooks.WeightStandardization or link.W.array is not None:
                link.add_hook(hook())
                self.words.append(hook.__name__)
        self.net.add(kind, link, *args)
        words = [kind, type(link).__name__ if link is not None else "", *map(str, args)]
        self.words.append(" ".join(w for w in words if w))
        y = self.net(self.x)
        self.net.reset()
        return y.shape

    def build(self):
        shape = self.x.shape
        if self.x.dtype.kind == "i":
            shape = self.add("link", L.EmbedID(9, 6, ignore_label=self.r.choice([None, -1])))
            self.net.add("function", None, "swapaxes", 1, 2)
            shape = (shape[0], shape[2], shape[1])
        for _ in range(self.r.randint(2, 6)):
            choices = {2: self.on_vectors, 3: self.on_sequences, 4: self.on_images, 5: self.on_volumes}
            shape = choices[len(shape)](shape)
        if len(shape) > 2:
            shape = self.add(self.r.choice(["flatten", "to_vector"]))
        self.add("link", L.Linear(shape[1], 4))

    def any_activation(self):
        return self.add("activation", None, self.r.choice(ACTIVATIONS))

    def on_vectors(self, shape):
        n, k = shape[1], self.r.choice([3, 4, 6])
        made = {
            "link Linear": lambda: ("link", L.Linear(self.r.choice([n, None]), k, nobias=self.r.random() < 0.2)),
            "link BatchNormalization": lambda: ("link", L.BatchNormalization(n, decay=0.8)),
            "link BatchRenormalization": lambda: ("link", L.BatchRenormalization(n)),
            "link LayerNormalization": lambda: ("link", L.LayerNormalization(n)),
            "link Maxout": lambda: ("link", L.Maxout(n, k, 2)),
            "link Highway": lambda: ("link", L.Highway(n)),
            "link Swish": lambda: ("link", L.Swish((n,))),
            "link PReLU": lambda: ("link", L.PReLU()),
            "link Scale": lambda: ("link", L.Scale(1, (n,), bias_term=True)),
            "link Bias": lambda: ("link", L.Bias(1, (n,))),
            "link SimplifiedDropconnect": lambda: ("link", L.SimplifiedDropconnect(n, k)),
            "gate": lambda: ("gate", L.Linear(n, n)),
            "residual": lambda: ("residual", L.Linear(n, n)),
            "twice": lambda: ("twice", L.Linear(n, n)),
            "branches": lambda: ("branches", L.Linear(n, k)),
            "checkpointed": lambda: ("checkpointed", L.Linear(n, k)),
            "LSTM": lambda: ("steps", L.LSTM(n, k), 3),
            "StatelessLSTM": lambda: ("steps", L.StatefulPeepholeLSTM(n, k), 3),
            "GRU": lambda: ("steps", L.StatefulGRU(n, k), 2),
            "MGU": lambda: ("steps", L.StatefulMGU(n, k), 2),
            "Zoneout": lambda: ("steps", L.StatefulZoneoutLSTM(n, k), 2),
            "group": lambda: ("link", L.GroupNormalization(2 if n % 4 == 0 else 1, n)),
            "split": lambda: ("split",),
            "sequential": lambda: ("link", chainer.Sequential(L.Linear(n, k), F.tanh, L.Linear(k, k)).repeat(1)),
            "logit": lambda: ("function", None, "expm1"),
        }
        return self.chosen(made)

    def chosen(self, made):
        if self.r.random() < 0.4:
            return self.any_activation()
        return self.add(*made[self.r.choice(sorted(made))]())

    def on_sequences(self, shape):
        n, k = shape[1], self.r.choice([3, 4])
        layers = self.r.choice([1, 2])
        steps = {
            name: (lambda c=name: ("sequence", getattr(L, c)(layers, n, k, 0.0 if self.r.random() < 0.7 else 0.3)))
            for name in "NStepLSTM NStepBiLSTM NStepGRU NStepBiGRU NStepRNNTanh NStepRNNReLU NStepBiRNNTanh".split()
        }
        made = {
            **steps,
            "conv": lambda: ("link", L.Convolution1D(n, k, 3, pad=1)),
            "conv dilated": lambda: ("link", L.ConvolutionND(1, n, k, 2, pad=2, dilate=2)),
            "deconv": lambda: ("link", L.Deconvolution1D(n, k, 3, stride=1, pad=1)),
            "bn": lambda: ("link", L.BatchNormalization(n)),
            "gn": lambda: ("link", L.GroupNormalization(1, n)),
            "gate": lambda: ("gate", L.Convolution1D(n, n, 3, pad=1)),
            "attention": lambda: ("attention", L.Convolution1D(n, 3 * k, 1)),
            "pool": lambda: ("pool", None, "max_pooling_1d", 2, 1, 1),
            "average": lambda: ("pool", None, "average_pooling_1d", 2, 1, 0),
            "pad": lambda: ("function", None, "pad", [(0, 0), (0, 0), (1, 0)], "constant"),
            "flip": lambda: ("function", None, "flip", 2),
            "split": lambda: ("split",),
            "branches": lambda: ("branches", L.Convolution1D(n, k, 1)),
        }
        return self.chosen(made)

    def on_images(self, shape):
        n, k, (h, w) = shape[1], self.r.choice([2, 3, 4]), shape[2:]
        pool = ("pool", None)
        made = {
            "conv": lambda: ("link", L.Convolution2D(n, k, 3, pad=1, nobias=self.r.random() < 0.3)),
            "conv strided": lambda: ("link", L.Convolution2D(None, k, (3, 2), stride=(1, 2), pad=(1, 1))),
            "conv grouped": lambda: ("link", L.Convolution2D(n, n * 2, 3, pad=1, groups=n)),
            "dilated": lambda: ("link", L.DilatedConvolution2D(n, k, 3, pad=2, dilate=2)),
            "depthwise": lambda: ("link", L.DepthwiseConvolution2D(n, 2, 3, pad=1)),
            "deformable": lambda: ("link", L.DeformableConvolution2D(n, k, 3, pad=1)),
            "local": lambda: ("link", L.LocalConvolution2D(n, k, (h, w), ksize=2)),
            "deconv": lambda: ("link", L.Deconvolution2D(n, k, 3, stride=1, pad=1)),
            "deconv strided": lambda: ("link", L.Deconvolution2D(n, k, 2, stride=2)) if h < 10 else ("split",),
            "mlpconv": lambda: ("link", L.MLPConvolution2D(n, (k, k), 3, pad=1)),
            "inception": lambda: ("link", L.Inception(n, 1, 1, 2, 1, 1, 2)),
            "bn": lambda: ("link", L.BatchNormalization(n, use_gamma=self.r.random() < 0.8)),
            "gn": lambda: ("link", L.GroupNormalization(2 if n % 4 == 0 else 1, n)),
            "prelu": lambda: ("link", L.PReLU()),
            "residual": lambda: ("residual", L.Convolution2D(n, n, 3, pad=1)),
            "gate": lambda: ("gate", L.Convolution2D(n, n, 1)),
            "branches": lambda: ("branches", L.Convolution2D(n, k, 1)),
            "checkpointed": lambda: ("checkpointed", L.Convolution2D(n, k, 1)),
            "sampled": lambda: ("sampled", L.Linear(n * h * w, 6)),
            "max": lambda: (*pool, "max_pooling_2d", 2, self.r.choice([1, 2]), self.r.choice([0, 1])),
            "average": lambda: (*pool, "average_pooling_2d", 3, self.r.choice([1, 2]), 1),
            "unpool": lambda: ("function", None, "unpooling_2d", 2, 1, 0, None, False),
            "spp": lambda: ("function", None, "spatial_pyramid_pooling_2d", 2),
            "lrn": lambda: ("function", None, "local_response_normalization", 3),
            "transpose": lambda: ("function", None, "transpose", (0, 1, 3, 2)),
            "split": lambda: ("split",),
            "im2col": lambda: ("function", None, "im2col", 2),
            "pad": lambda: ("function", None, "pad", [(0, 0), (0, 0), (1, 0), (0, 1)], "constant"),
            "sequence": lambda: ("function", None, "reshape", (self.batch, n, h * w)),
        }
        return self.chosen(made)

    def on_volumes(self, shape):
        n, k = shape[1], self.r.choice([2, 3])
        made = {
            "conv": lambda: ("link", L.Convolution3D(n, k, 3, pad=1)),
            "deconv": lambda: ("link", L.Deconvolution3D(n, k, 3, pad=1)),
            "bn": lambda: ("link", L.BatchNormalization(n)),
            "max": lambda: ("pool", None, "max_pooling_3d", 2, 1, 0),
            "average": lambda: ("pool", None, "average_pooling_3d", 2, 1, 0),
            "flatten": lambda: ("flatten",),
        }
        return self.chosen(made)

    # ---- the loss ---------------------------------------------------------------------------------------------------
    def make_loss(self):
        b, n = self.batch, self.n
        classes, reals = n.randint(0, 4, b).astype("i"), n.standard_normal((b, 4))
        signs, bits = n.choice([-1, 1], b).astype("i"), n.randint(0, 2, (b, 4)).astype("i")
        weights, masked = n.uniform(0.5, 2, 4), np.where(np.arange(b) == 0, -1, classes).astype("i")
        self.head = None
        heads = {
            "crf": lambda: L.CRF1d(4, initial_cost=n.standard_normal((4, 4))),
            "negative": lambda: L.NegativeSampling(4, [3, 2, 4, 1], 2),
            "black_out": lambda: L.BlackOut(4, [3, 2, 4, 1], 2),
            "hierarchical": lambda: L.BinaryHierarchicalSoftmax(4, ((0, 1), (2, 3))),
        }
        losses = {
            "softmax": lambda y: F.softmax_cross_entropy(y, classes),
            "softmax ignored": lambda y: F.softmax_cross_entropy(y, masked, normalize=False),
            "softmax weighted": lambda y: F.softmax_cross_entropy(y, classes, class_weight=weights),
            "softmax each": lambda y: F.average(F.softmax_cross_entropy(y, classes, reduce="no") ** 2),
            "softmax twice": lambda y: F.softmax_cross_entropy(y, classes, enable_double_backprop=True),
            "squared": lambda y: F.mean_squared_error(y, reals),
            "absolute": lambda y: F.mean_absolute_error(y, reals),
            "huber": lambda y: F.sum(F.huber_loss(y, reals, 0.7)) / b,
            "hinge": lambda y: F.hinge(y, classes, norm=self.hinge),
            "sigmoid": lambda y: F.sigmoid_cross_entropy(y, bits),
            "bernoulli": lambda y: F.bernoulli_nll(bits.astype(y.dtype), y) / b,
            "gaussian": lambda y: F.gaussian_nll(reals, y, F.tanh(y)) / b,
            "kl": lambda y: F.gaussian_kl_divergence(y, F.tanh(y)) / b,
            "contrastive": lambda y: F.contrastive(y, reals, (signs > 0).astype("i")),
            "triplet": lambda y: F.triplet(y, reals, reals[::-1].copy()),
            "cosine": lambda y: (
                F.average(1 - F.cosine_similarity(y, reals)) if hasattr(F, "cosine_similarity") else F.sum(y)
            ),
            "cross covariance": lambda y: F.cross_covariance(y, F.tanh(y[:, :2])),
            "decov": lambda y: F.decov(y) + F.sum(y * y) * 0.01,
            "logsumexp": lambda y: F.average(F.logsumexp(y, axis=1) - F.select_item(y, classes)),
            "crf": lambda y: self.head([y, F.tanh(y)], [classes, classes[::-1].copy()]),
            "negative": lambda y: self.head(y, classes) / b,
            "black_out": lambda y: self.head(y, classes),
            "hierarchical": lambda y: self.head(y, classes) / b,
            "ctc": lambda y: F.connectionist_temporal_classification(
                [y, y * 0.5, F.tanh(y)], 1 + (classes % 3)[:, None], 0
            ),
            "n pair": lambda y: F.average(F.arctanh(F.tanh(y) * 0.5) ** 2),
            "det": lambda y: F.log(F.det(F.matmul(y, y, transa=True) + np.eye(4))),
        }
        name = self.r.choice(sorted(losses))
        self.hinge = self.r.choice(["L1", "L2"])
        if name in heads:
            self.head = heads[name]()
            self.net.add_link("head", self.head)
        self.loss, self.loss_name = losses[name], name
        self.words.append(f"loss {name}")

    def objective(self, x=None):
        self.net.reset()
        x = chainer.Variable(self.x.copy()) if x is None else x
        loss = self.loss(self.net(x))
        if self.penalty:
            (g,) = chainer.grad([loss], [x], enable_double_backprop=True)
            if g is not None:
                loss = loss + 0.1 * F.sum(g * g)
        return loss

    # ---- training ---------------------------------------------------------------------------------------------------
    def make_optimizer(self):
        r = self.r
        made = {
            "SGD": {"lr": 0.05}, "MomentumSGD": {"lr": 0.02, "momentum": 0.8}, "NesterovAG": {"lr": 0.02},
            "CorrectedMomentumSGD": {"lr": 0.02}, "AdaGrad": {"lr": 0.05}, "AdaDelta": {},
            "RMSprop": {"lr": 0.01, "eps": 1e-3},
            "RMSpropGraves": {"lr": 0.005}, "SMORMS3": {"lr": 0.01, "eps": 1e-4}, "Adam": {"alpha": 0.01, "eps": 1e-3},
            "AdamW": {"alpha": 0.01, "eps": 1e-3, "weight_decay_rate": 0.01},
            "AMSGrad": {"alpha": 0.01, "eps": 1e-3},
            "AdaBound": {"eps": 1e-3}, "AMSBound": {"eps": 1e-3}, "MSVAG": {"lr": 0.02},
        }  # fmt: skip
        name = r.choice(sorted(made))
        optimizer = getattr(chainer.optimizers, name)(**made[name]).setup(self.net)
        hooks = chainer.optimizer_hooks
        for hook in r.sample(
            [
                hooks.WeightDecay(0.01),
                hooks.Lasso(0.001),
                hooks.GradientClipping(1.0),
                hooks.GradientHardClipping(-0.5, 0.5),
                hooks.GradientLARS(),
                hooks.GradientNoise(0.01),
            ],  # fmt: skip
            r.choice([0, 0, 1, 1, 2]),
        ):
            optimizer.add_hook(hook)
            self.words.append(hook.name)
        if r.random() < 0.1:
            optimizer.loss_scaling(scale=8.0)
        self.words.append(name)
        return optimizer

    def step(self, t):
        loss = self.update()
        self.scale_rate(t)
        found = [number(loss.array)]
        for _, p in sorted(self.net.namedparams()):
            if p.array is not None:
                found += digest(p.array)
        return found

    def update(self):
        optimizer, net = self.optimizer, self.net
        if self.style == "lossfun" and not self.penalty:
            held = []

            def loss():
                held.append(self.objective())
                return held[0]

            optimizer.update(loss)
            return held[0]
        net.cleargrads()
        loss = self.objective()
        if self.style == "grad":
            params = [p for _, p in sorted(net.namedparams())]
            for p, g in zip(params, chainer.grad([loss], params, loss_scale=optimizer._loss_scale), strict=True):
                p.grad_var = g
        else:
            loss.backward(loss_scale=optimizer._loss_scale)
            if self.style == "accumulate":
                self.objective().backward(loss_scale=optimizer._loss_scale)
        optimizer.update()
        return loss

    def scale_rate(self, t):
        if self.schedule is not None:
            hyperparams = self.optimizer.hyperparam.get_dict()
            for name in ("lr", "alpha"):
                if name in hyperparams and not (name == "alpha" and "lr" in hyperparams):
                    setattr(self.optimizer, name, hyperparams[name] * self.schedule(t))

    def carried(self):
        for path, link in sorted(self.net.namedlinks(), key=lambda pair: pair[0]):
            for name in sorted({*link._params, *link._persistent}):
                value = getattr(link, name)
                value = value.array if isinstance(value, chainer.Parameter) else value
                if isinstance(value, np.ndarray):
                    yield f"{path}.{name}", value
        for path, p in sorted(self.net.namedparams()):
            for name, value in sorted(((p.update_rule and p.update_rule.state) or {}).items()):
                if isinstance(value, np.ndarray):
                    yield f"{path} {name}", value

    def gradients(self):
        return ((path, p.grad) for path, p in sorted(self.net.namedparams()) if p.grad is not None)

    read = staticmethod(np.array)

    def given(self):
        return self.x

    def give(self, values):
        self.x = values

    @staticmethod
    def write(array, values):
        array[...] = values

    @staticmethod
    def round_results(rounded):
        """Change the results of all functions, and of NumPy's in them, from now on; returns what ends this."""

        def forward(function, inputs):
            with chainer.using_config("schedule_func", None):
                outputs = function.forward(inputs)
            return tuple(rounded(y) if isinstance(y, np.ndarray) else y for y in outputs)

        def wrapped(plain):
            def call(*args, **kwargs):
                y = plain(*args, **kwargs)
                if not isinstance(y, np.ndarray):
                    return rounded(y)[()]
                y[...] = rounded(y)  # which may be an argument, `out`
                return y

            return call

        # Chainer computes a function's parts by these; the results of parts may almost cancel
        names = ("exp", "log", "log1p", "expm1", "tanh")
        plain = {name: getattr(np, name) for name in names}
        for name in names:
            setattr(np, name, wrapped(plain[name]))
        chainer.global_config.schedule_func = Schedule()
        chainer.function_node.static_forward_optimizations = forward

        def restore():
            chainer.global_config.schedule_func = None
            for name in names:
                setattr(np, name, plain[name])

        return restore

    # ---- what programs do in the middle -----------------------------------------------------------------------------
    def middle_npz(self):
        for thing in (self.net, self.optimizer):
            file = io.BytesIO()
            chainer.serializers.save_npz(file, thing)
            file.seek(0)
            if thing is self.net:
                for p in self.net.params():
                    p.array[...] = 0.5
            chainer.serializers.load_npz(file, thing)

    def middle_pickle(self):
        self.net.reset()
        self.net.cleargrads()
        state = self.optimizer
        self.net, self.optimizer = pickle.loads(pickle.dumps((self.net, state)))
        self.head = getattr(self.net, "head", None)

    def middle_deepcopy(self):
        self.net.reset()
        self.net, self.optimizer = copy.deepcopy((self.net, self.optimizer))
        self.head = getattr(self.net, "head", None)

    def middle_evaluate(self):
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            self.objective_value = self.loss(self.net(self.x))
        self.net.reset()

    def middle_freeze(self):
        first = next(c for c in self.net.children())
        first.disable_update()

    def middle_copyparams(self):
        other = self.net.copy(mode="copy")
        other.reset()
        for p in self.net.params():
            p.array *= 0.9
        self.net.copyparams(other)

    def middle_setup(self):
        self.optimizer.setup(self.net)

    def middle_inputs(self):
        if self.x.dtype.kind == "f":
            self.x = self.x * 0.5
