"""Random nnabla networks and how they are trained."""

import os
import random
import tempfile

import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import nnabla.solvers as S
import numpy as np
from nnabla.utils import learning_rate_scheduler as schedulers

from tests.random_programs.training import change, digest, draw_middles, number

ACTIVATIONS = {
    **{
        name: getattr(F, name)
        for name in "tanh sigmoid relu swish elu selu softplus softsign gelu mish sin abs".split()
    },
    **{name: getattr(F, name) for name in "hard_sigmoid hard_tanh log_sigmoid tanh_shrink sinc erf atan relu6".split()},
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "crelu": lambda x: F.crelu(x, axis=1),
    "celu": lambda x: F.celu(x, 0.7, axis=1),
    "softmax": lambda x: F.softmax(x, axis=1),
    "log_softmax": lambda x: F.log_softmax(x, axis=1),
    "dropout": lambda x: F.dropout(x, 0.3, seed=11),
    "random noise": lambda x: x + F.randn(0, 0.05, x.shape, seed=5),
    "clip": lambda x: F.clip_by_value(x, F.constant(-1, x.shape), F.constant(1.5, x.shape)),
    "clip grad": lambda x: F.clip_grad_by_value(x, F.constant(-0.01, x.shape), F.constant(0.01, x.shape)),
    "norm": lambda x: F.norm_normalization(x, p=2, axes=[1]),
    "clip norm": lambda x: F.clip_by_norm(x, 1.0),
    "cumsum": lambda x: F.cumsum(x, axis=1) * 0.3,
    "prod": lambda x: x * F.prod(F.tanh(x), axis=1, keepdims=True),
    "power": lambda x: F.pow_scalar(F.abs(x) + 0.1, 0.5),
    "maximum": lambda x: F.maximum2(x, F.tanh(x) * 2),
    "binary sigmoid": lambda x: F.binary_sigmoid(x) + x * 0.1,
    "quantized": lambda x: F.fixed_point_quantize(x, n=6, delta=0.05),
    "scale": lambda x: x * F.sigmoid(F.mean(x, axis=1, keepdims=True)),
    "norms": lambda x: x / (1 + F.norm(x, p=2, axis=1, keepdims=True)),
    "flip": lambda x: F.flip(x, axes=[1]),
    "identity": lambda x: F.identity(x),
}
SOLVERS = {
    "Sgd": {"lr": 0.05}, "Momentum": {"lr": 0.02}, "SgdW": {"lr": 0.02, "wd": 0.01}, "Nesterov": {"lr": 0.02},
    "Lars": {"lr": 0.5}, "Adagrad": {"lr": 0.05}, "Adadelta": {"lr": 0.5}, "RMSprop": {"lr": 0.01, "eps": 1e-3},
    "RMSpropGraves": {"lr": 0.005, "eps": 1e-2}, "Adam": {"alpha": 0.01, "eps": 1e-3},
    "AdamW": {"alpha": 0.01, "eps": 1e-3, "wd": 0.01}, "AdaBound": {"alpha": 0.01, "eps": 1e-3},
    "AMSGRAD": {"alpha": 0.01, "eps": 1e-3}, "Adamax": {"alpha": 0.01, "eps": 1e-3},
    "AdaBelief": {"alpha": 0.01, "eps": 1e-3}, "Lamb": {"eta": 0.01, "eps": 1e-3}, "Lion": {"lr": 0.002},
}  # fmt: skip
SCHEDULES = {
    "none": None,
    "polynomial": lambda lr: schedulers.PolynomialScheduler(lr, 30, 1.0),
    "cosine": lambda lr: schedulers.CosineScheduler(lr, 30),
    "exponential": lambda lr: schedulers.ExponentialScheduler(lr, 0.9, 3),
    "step": lambda lr: schedulers.StepScheduler(lr, 0.5, [5, 12]),
    "warmup": lambda lr: schedulers.LinearWarmupScheduler(schedulers.ExponentialScheduler(lr, 0.95, 2), 4),
}


class Training:
    tolerance = 1e-4

    def __init__(self, seed, perturb):
        self.r = random.Random(seed)
        np.random.seed(seed)
        nn.random.prng = np.random.RandomState(seed)
        nn.clear_parameters()
        self.n = np.random.RandomState(seed + 1)
        self.words = []
        self.batch = self.r.randint(2, 4)
        self.data = self.make_data()
        self.layers = []
        self.made = []
        self.hooks = {}, {}  # arguments of forward and backward
        with nn.auto_forward():
            self.build()
        nn.clear_parameters()
        self.layers = self.made
        self.make_loss()
        self.dynamic = self.r.random() < 0.4
        # `nn.grad` of recurrent functions calls itself without end in nnabla, and is wrong with ignored labels
        once = {"lstm", "gru", "rnn", "loss softmax ignored"}.intersection(self.words)
        self.penalty = self.r.random() < 0.2 and self.data.dtype.kind == "f" and not once
        self.clear = self.r.choice([{}, {"clear_buffer": True}])
        self.graph()
        for p in nn.get_parameters(grad_only=False).values() if perturb else ():
            p.d = p.d * change(p.shape, 1e-6)
        self.make_solver()
        self.middle = draw_middles(self, self.r)
        kind = ["static", "dynamic"][self.dynamic]
        self.words += [kind, str(self.clear), f"penalty {self.penalty}", f"middle {self.middle}"]

    # ---- the network ------------------------------------------------------------------------------------------------
    def make_data(self):
        kind = self.r.choice(["vector", "vector", "image", "image", "image", "sequence", "ids"])
        self.words.append(kind)
        channels, size = self.r.choice([2, 3, 4, 6]), self.r.choice([5, 6, 7, 8])
        if kind == "ids":
            return self.n.randint(0, 9, (self.batch, size))
        shape = {"vector": (), "image": (size, self.r.choice([size, size + 1])), "sequence": (size,)}[kind]
        return self.n.standard_normal((self.batch, channels, *shape)).astype(np.float32)

    def add(self, word, layer):
        """`layer(x, train)` is tried once, to know its result's shape."""
        name = f"l{len(self.made)}"

        def scoped(x, train=True):
            with nn.parameter_scope(name):
                return layer(x, train)

        self.probe = scoped(self.probe)
        self.made.append(scoped)
        self.words.append(word)

    def build(self):
        self.probe = nn.Variable.from_numpy_array(self.data)
        if self.data.dtype.kind == "i":
            self.add("embed", lambda x, t: F.transpose(PF.embed(x, 9, 6), (0, 2, 1)))
        for _ in range(self.r.randint(2, 6)):
            if self.r.random() < 0.4:
                name = self.r.choice(sorted(ACTIVATIONS))
                self.add(name, lambda x, t, f=ACTIVATIONS[name]: f(x))
                continue
            choices = {2: self.vectors, 3: self.sequences, 4: self.images}[self.probe.ndim]()
            name = self.r.choice(sorted(choices))
            self.add(name, choices[name])
        if self.probe.ndim > 2:
            if self.r.random() < 0.5:
                axes = tuple(range(2, self.probe.ndim))
                self.add("mean", lambda x, t: F.mean(x, axis=axes))
            else:
                self.add("flatten", lambda x, t: F.reshape(x, (x.shape[0], -1)))
        self.add("affine", lambda x, t: PF.affine(x, 4, name="last"))

    def vectors(self):
        n, k = self.probe.shape[1], self.r.choice([3, 4, 6])
        return {
            "affine": lambda x, t: PF.affine(x, k),
            "affine without bias": lambda x, t: PF.affine(x, k, with_bias=False),
            "residual": lambda x, t: x + PF.affine(x, n),
            "gate": lambda x, t: x * F.sigmoid(PF.affine(x, n)),
            "shared": lambda x, t: PF.affine(F.tanh(PF.affine(x, n)), n),
            "batch norm": lambda x, t: PF.batch_normalization(x, batch_stat=t, decay_rate=0.8),
            "batch norm plain": lambda x, t: PF.batch_normalization(x, batch_stat=t, no_scale=True, no_bias=True),
            "layer norm": lambda x, t: PF.layer_normalization(x),
            "prelu": lambda x, t: PF.prelu(x, shared=False),
            "weight norm": lambda x, t: PF.affine(x, k, apply_w=lambda w: PF.weight_normalization(w, dim=1)),
            "spectral": lambda x, t: PF.affine(x, k, apply_w=lambda w: PF.spectral_norm(w, dim=1, test=not t)),
            "binary connect": lambda x, t: PF.binary_connect_affine(x, k),
            "binary weight": lambda x, t: PF.binary_weight_affine(x, k),
            "fixed point": lambda x, t: PF.fixed_point_quantized_affine(x, k, n_w=8, delta_w=2**-5),
            "pow2": lambda x, t: PF.pow2_quantized_affine(x, k, n_w=6),
            "svd": lambda x, t: PF.svd_affine(x, k, 2),
            "concat": lambda x, t: F.concatenate(PF.affine(x, k), x, axis=1),
            "bilinear": lambda x, t: F.batch_matmul(
                F.reshape(PF.affine(x, 6), (-1, 2, 3)), F.reshape(PF.affine(x, 6, name="b"), (-1, 3, 2))
            ).reshape((-1, 4)),
        }

    def sequences(self):
        n, k, b = self.probe.shape[1], self.r.choice([3, 4]), self.probe.shape[0]

        def recurrent(f, states, **more):
            def layer(x, t):
                steps = F.transpose(x, (2, 0, 1))
                h = [F.constant(0.1, (1, 1, b, k)) for _ in range(states)]
                return F.transpose(f(steps, *h, **more)[0], (1, 2, 0))

            return layer

        def cell(x, t):
            h = c = F.constant(0, (b, k))
            for step in F.split(x, axis=2):
                h, c = PF.lstm_cell(step, h, c, k)
            return h

        return {
            "lstm": recurrent(lambda x, h, c: PF.lstm(x, h, c), 2),
            "gru": recurrent(lambda x, h: PF.gru(x, h), 1),
            "rnn": recurrent(lambda x, h: PF.rnn(x, h), 1),
            "cell": cell,
            "conv": lambda x, t: PF.convolution(x, k, (3,), pad=(1,)),
            "conv dilated": lambda x, t: PF.convolution(x, k, (2,), pad=(2,), dilation=(2,), with_bias=False),
            "deconv": lambda x, t: PF.deconvolution(x, k, (3,), pad=(1,)),
            "batch norm": lambda x, t: PF.batch_normalization(x, batch_stat=t),
            "attention": lambda x, t: F.transpose(
                PF.multi_head_attention(*[F.transpose(x, (2, 0, 1))] * 3, num_heads=1)[0], (1, 2, 0)
            ),
            "gate": lambda x, t: x * F.sigmoid(PF.convolution(x, n, (1,))),
            "flip": lambda x, t: F.flip(x, axes=[2]),
        }

    def images(self):
        n, k = self.probe.shape[1], self.r.choice([2, 3, 4])
        h, w = self.probe.shape[2:]
        stride = self.r.choice([(1, 1), (2, 1), (2, 2)]) if min(h, w) > 3 else (1, 1)
        pad = {"pad": (1, 1)}
        made = {
            "conv": lambda x, t: PF.convolution(x, k, (3, 3), stride=stride, **pad),
            "conv dilated": lambda x, t: PF.convolution(x, k, (3, 3), pad=(2, 2), dilation=(2, 2), with_bias=False),
            "conv grouped": lambda x, t: PF.convolution(x, 2 * n, (3, 3), group=n, **pad),
            "conv spectral": lambda x, t: PF.convolution(
                x, k, (3, 3), apply_w=lambda v: PF.spectral_norm(v, dim=0, test=not t), **pad
            ),
            "conv standardized": lambda x, t: PF.convolution(
                x, k, (3, 3), apply_w=lambda v: F.weight_standardization(v, 0), **pad
            ),
            "conv channels last": lambda x, t: F.transpose(
                PF.convolution(F.transpose(x, (0, 2, 3, 1)), k, (3, 3), channel_last=True, **pad), (0, 3, 1, 2)
            ),
            "depthwise": lambda x, t: PF.depthwise_convolution(x, (3, 3), multiplier=2, **pad),
            "deformable": lambda x, t: PF.deformable_convolution(
                PF.convolution(x, n, (1, 1), name="p"),
                k,
                (3, 3),
                PF.convolution(x, 18, (3, 3), name="o", **pad) * 0.1,
                **pad,
            ),
            "deconv": lambda x, t: PF.deconvolution(x, k, (3, 3), **pad),
            "depthwise deconv": lambda x, t: PF.depthwise_deconvolution(x, (3, 3), **pad),
            "binary connect": lambda x, t: PF.binary_connect_convolution(x, k, (3, 3), **pad),
            "fixed point": lambda x, t: PF.fixed_point_quantized_convolution(x, k, (3, 3), n_w=8, delta_w=2**-5, **pad),
            "svd": lambda x, t: PF.svd_convolution(x, k, (3, 3), 2, **pad),
            "batch norm": lambda x, t: PF.batch_normalization(x, batch_stat=t, decay_rate=0.8),
            "fused batch norm": lambda x, t: PF.fused_batch_normalization(x, F.tanh(x), batch_stat=t),
            "instance norm": lambda x, t: PF.instance_normalization(x),
            "group norm": lambda x, t: PF.group_normalization(x, 1),
            "layer norm": lambda x, t: PF.layer_normalization(x),
            "prelu": lambda x, t: PF.prelu(x),
            "residual": lambda x, t: x + PF.convolution(x, n, (3, 3), **pad),
            "gate": lambda x, t: x * F.sigmoid(PF.convolution(x, n, (1, 1))),
            "squeeze": lambda x, t: (
                x * F.sigmoid(F.reshape(PF.affine(F.global_average_pooling(x), n), (x.shape[0], n, 1, 1)))
            ),
            "concat": lambda x, t: F.concatenate(PF.convolution(x, k, (1, 1)), x, axis=1),
            "unpool": lambda x, t: F.unpooling(x, (1, 2)) if w < 12 else F.identity(x),
            "interpolate": lambda x, t: F.interpolate(x, output_size=(h + 1, w), mode="linear"),
            "pad": lambda x, t: F.pad(x, (1, 0, 0, 1), "constant", 0.2),
            "reflect": lambda x, t: F.pad(x, (1, 1, 1, 1), "reflect") if min(h, w) > 2 else F.identity(x),
            "sequence": lambda x, t: F.reshape(x, (x.shape[0], n, h * w)),
            "shift": lambda x, t: F.shift(x, (0, 0, 1, -1)),
            "warp": lambda x, t: F.warp_by_grid(
                x, F.affine_grid(F.reshape(F.tanh(PF.affine(x, 6)), (-1, 2, 3)), (h, w), align_corners=True)
            ),
        }
        if min(h, w) > 2:
            made["max"] = lambda x, t: F.max_pooling(x, (2, 2), stride=stride)
            made["average"] = lambda x, t: F.average_pooling(x, (3, 2), stride=stride, pad=(1, 1))
            made["sum"] = lambda x, t: F.sum_pooling(x, (2, 2), stride=stride) * 0.25
        return made

    def network(self, x, train=True):
        for layer in self.layers:
            x = layer(x, train)
        return x

    # ---- the loss ---------------------------------------------------------------------------------------------------
    def make_loss(self):
        b, n = self.probe.shape[0], self.n
        classes, reals = n.randint(0, 4, (b, 1)), n.standard_normal((b, 4)).astype(np.float32)
        bits = n.randint(0, 2, (b, 4)).astype(np.float32)
        masked = np.where(np.arange(b)[:, None] == 0, -1, classes)
        const = nn.Variable.from_numpy_array
        losses = {
            "softmax": lambda y: F.softmax_cross_entropy(y, const(classes)),
            "softmax ignored": lambda y: F.softmax_cross_entropy(y, const(masked)),
            "categorical": lambda y: F.categorical_cross_entropy(F.softmax(y), const(classes)),
            "squared": lambda y: F.squared_error(y, const(reals)),
            "absolute": lambda y: F.absolute_error(y, const(reals)),
            "huber": lambda y: F.huber_loss(y, const(reals), 0.7),
            "sigmoid": lambda y: F.sigmoid_cross_entropy(y, const(bits)),
            "binary": lambda y: F.binary_cross_entropy(F.sigmoid(y), const(bits)),
            "epsilon": lambda y: F.epsilon_insensitive_loss(y, const(reals), 0.1),
            "kl": lambda y: F.kl_multinomial(F.softmax(y), F.softmax(const(reals))),
            "log": lambda y: F.log(F.sum(F.exp(y), axis=1)),
            "softplus": lambda y: F.softplus(-y),
            "mean": lambda y: F.mean(y * y),
        }
        name = self.r.choice(sorted(losses))
        self.loss_of = losses[name]
        hot = np.eye(4, dtype=np.float32)[classes[:, 0]]
        composed = {
            "softmax": lambda y: -F.sum(F.log(F.softmax(y) + 1e-30) * const(hot), axis=1, keepdims=True),
            "softmax ignored": lambda y: (
                -F.sum(F.log(F.softmax(y) + 1e-30) * const(hot * (masked >= 0)), axis=1, keepdims=True)
            ),
            "sigmoid": lambda y: F.log(1 + F.exp(y)) - y * const(bits),
            "log": lambda y: self.shifted(y, F.max(y, axis=1, keepdims=True)),
        }
        self.composed_loss = composed.get(name)
        self.words.append(f"loss {name}")

    @staticmethod
    def shifted(y, most):
        """The logarithm of a sum of exp, which are not all too small to be squared."""
        return F.log(F.sum(F.exp(y - most), axis=1)) + F.sum(most, axis=1)

    def graph(self):
        self.input = nn.Variable.from_numpy_array(self.data)
        self.input.need_grad = self.penalty
        loss = F.mean(self.loss_of(self.network(self.input)))
        if self.penalty:
            (g,) = nn.grad([loss], [self.input])
            loss = loss + 0.1 * F.sum(g * g)
        self.loss = loss
        self.test = self.network(nn.Variable.from_numpy_array(self.data), False)

    # ---- training ---------------------------------------------------------------------------------------------------
    def make_solver(self):
        name = self.r.choice(sorted(SOLVERS))
        self.solver_name = name
        self.solver = getattr(S, name)(**SOLVERS[name])
        self.solver.set_parameters(nn.get_parameters())
        self.decay = self.r.choice([0, 0, 0.01])
        self.clip = self.r.choice([None, None, "clip_grad_by_norm"])
        self.scale = self.r.choice([1, 1, 1, 8])
        schedule = self.r.choice(sorted(SCHEDULES))
        self.schedule = SCHEDULES[schedule] and SCHEDULES[schedule](self.solver.learning_rate())
        self.words += [name, f"decay {self.decay}", f"clip {self.clip}", f"scale {self.scale}", schedule]

    def step(self, t):
        solver = self.solver
        if self.schedule is not None:
            solver.set_learning_rate(self.schedule.get_learning_rate(t))
        forward, backward = self.hooks
        if self.dynamic:
            with nn.auto_forward(not forward):
                self.graph()
            if forward:
                self.loss.forward(**forward)
            solver.zero_grad()
            self.loss.backward(self.scale, **backward)
        else:
            self.loss.forward(clear_no_need_grad=bool(self.clear), **forward)
            solver.zero_grad()
            self.loss.backward(self.scale, **self.clear, **backward)
        if self.scale != 1:
            solver.scale_grad(1 / self.scale)
        if self.decay:
            solver.weight_decay(self.decay)
        if self.clip and not solver.check_inf_or_nan_grad():
            solver.clip_grad_by_norm(1.0)
        solver.update()
        found = [number(self.loss.d)]
        for _, p in sorted(nn.get_parameters(grad_only=False).items()):
            found += digest(p.d)
        return found

    def carried(self):
        yield from sorted(nn.get_parameters(grad_only=False).items())
        for name, state in sorted(self.solver.get_states().items()):
            for kind, array in sorted(state.pstate.items()):
                yield f"{name} {kind}", array

    def gradients(self):
        return ((name, p.grad) for name, p in sorted(nn.get_parameters().items()))

    @staticmethod
    def read(array):
        return np.array(array.d if isinstance(array, nn.Variable) else array.data)

    @staticmethod
    def write(array, values):
        array.d = values

    def given(self):
        return self.data

    def give(self, values):
        self.data = values
        self.input.d = values

    def round_results(self, rounded):
        """Change the results of all functions from now on, and their gradients. Returns what ends this.

        Losses are composed of functions: the differences that nnabla's loss takes are then between rounded numbers.
        """

        def forward(function):
            for y in function.outputs:
                y.d = rounded(y.d)

        def backward(function):
            for x in function.inputs:
                if x.need_grad:
                    x.g = rounded(x.g)

        self.loss_of = self.composed_loss or self.loss_of
        if not self.dynamic:
            self.graph()
        self.hooks = {"function_post_hook": forward}, {"function_post_hook": backward}
        return lambda: None

    # ---- what programs do in the middle -----------------------------------------------------------------------------
    def middle_save(self, suffix=".h5"):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "parameters" + suffix)
            nn.save_parameters(path)
            for p in nn.get_parameters(grad_only=False).values():
                p.d = 0.5
            nn.load_parameters(path)

    def middle_save_protobuf(self):
        self.middle_save(".protobuf")

    def middle_states(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "states.h5")
            self.solver.save_states(path)
            rate = self.solver.learning_rate()
            self.solver = getattr(S, self.solver_name)(**SOLVERS[self.solver_name])
            self.solver.set_parameters(nn.get_parameters())
            self.solver.load_states(path)
            self.solver.set_learning_rate(rate)

    def middle_evaluate(self):
        if self.dynamic:
            with nn.auto_forward():
                self.network(nn.Variable.from_numpy_array(self.data), False)
        else:
            self.test.forward(clear_buffer=True)

    def middle_freeze(self):
        next(iter(nn.get_parameters().values())).need_grad = False

    def middle_set_parameters(self):
        self.solver.set_parameters(nn.get_parameters(), reset=False, retain_state=True)

    def middle_rebuild(self):
        self.graph()

    def middle_data(self):
        if self.data.dtype.kind == "f":
            self.data = self.data * 0.5
            self.input.d = self.data
