"""Runs of MXNet's optimizers, by Trainer and by Updater: `run(seed)` gives what came out after each action."""

import os
import pickle
import random
import tempfile
import warnings

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd

SHAPES = [(3, 4), (5,), (2, 1, 3), (1,), (7, 5), (33,), (2, 20)]
EPS = [1e-8, 1e-6, 1e-3]
BETAS = {"beta1": (0.1, 0.99), "beta2": (0.5, 0.9999)}
MOMENTUM = {"momentum": (0, 0.99)}
# Not SGLD, which is random.
OPTIMIZERS = {
    "SGD": MOMENTUM,
    "NAG": MOMENTUM,
    "Signum": {**MOMENTUM, "wd_lh": (0, 0.1)},
    "FTML": {**BETAS, "epsilon": EPS},
    "LARS": {**MOMENTUM, "eta": (1e-3, 0.5), "eps": [0, 1e-6, 1e-3], "momentum_correction": [True, False]},
    "LBSGD": {
        **MOMENTUM,
        "warmup_strategy": ["linear", "power2", "sqrt", "lars"],
        "warmup_epochs": [1, 5],
        "batch_scale": [1, 2, 3],
        "updates_per_epoch": [2, 32],
        "begin_epoch": [0, 1],
    },
    "LAMB": {
        **BETAS,
        "epsilon": EPS,
        "lower_bound": [None, 0.5],
        "upper_bound": [None, 2.0],
        "bias_correction": [True, False],
    },
    "DCASGD": {**MOMENTUM, "lamda": (0, 0.2)},
    "Adam": {**BETAS, "epsilon": EPS},
    "AdaGrad": {"eps": [1e-7, 1e-3]},
    "RMSProp": {
        "gamma1": (0.5, 0.99),
        "gamma2": (0, 0.99),
        "epsilon": [1e-6, 1e-3],
        "centered": [True, False],
        "clip_weights": [None, 0.5],
    },
    "AdaDelta": {"rho": (0.5, 0.99), "epsilon": [1e-5, 1e-3]},
    "Ftrl": {"lamda1": (0, 0.2), "beta": (0.5, 2)},
    "Adamax": BETAS,
    "Nadam": {**BETAS, "epsilon": EPS, "schedule_decay": (0.001, 0.01)},
}
SCHEDULERS = [
    ("FactorScheduler", {"step": 3, "factor": 0.5}),
    ("MultiFactorScheduler", {"step": [2, 5], "factor": 0.3}),
    ("PolyScheduler", {"max_update": 8, "final_lr": 0.001, "warmup_steps": 2}),
    ("CosineScheduler", {"max_update": 8, "warmup_steps": 3, "warmup_begin_lr": 0.001}),
]


class Run:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.n = np.random.RandomState(seed)
        self.log = []
        self.special = self.r.random() < 0.1
        self.dtypes = self.r.choice(
            [["float32"]] * 4 + [["float64"]] * 2 + [["float16"], ["float32", "float16", "float64"]]
        )
        self.by_trainer = self.r.random() < 0.5
        self.weights = {}
        self.serial = 0
        for _ in range(self.r.randint(1, 6)):
            self.add_weight()
        self.make_optimizer()

    def value(self, given):
        if isinstance(given, list):
            return self.r.choice(given)
        low, high = given
        if low > 0 and high / low > 20:
            return float(np.exp(self.r.uniform(np.log(low), np.log(high))))
        return self.r.uniform(low, high)

    def array(self, shape, dtype, scale=1.0):
        return nd.array((self.n.standard_normal(shape) * scale).astype(dtype), dtype=dtype)

    def add_weight(self):
        name = f"p{self.serial}_" + self.r.choice(["weight", "weight", "bias", "gamma", "beta"])
        shape, dtype = self.r.choice(SHAPES), self.r.choice(self.dtypes)
        values = self.array(shape, dtype)
        if self.by_trainer:
            extra = self.r.choice([{}, {}, {"lr_mult": 0.5}, {"wd_mult": 0.0}, {"wd_mult": 2.0, "lr_mult": 3.0}])
            param = gluon.Parameter(name, shape=shape, dtype=dtype, **extra)
            param.initialize(ctx=mx.cpu())
            param.set_data(values)
            self.weights[name] = param
        elif self.r.random() < 0.2:
            big = self.array((shape[0] + 3, *shape[1:]), dtype)
            self.weights[name] = big[1 : shape[0] + 1]
        else:
            self.weights[name] = values
        self.serial += 1

    def arguments(self, name):
        arguments = {k: self.value(v) for k, v in OPTIMIZERS[name].items() if self.r.random() < 0.6}
        for key, given in (
            ("learning_rate", (1e-3, 0.3)),
            ("wd", (0, 0.1)),
            ("clip_gradient", [None, 0.1, 1.0]),
            ("rescale_grad", (0.1, 2.0)),
            ("begin_num_update", [0, 3]),
            ("multi_precision", [True, False]),
        ):
            if self.r.random() < 0.4:
                arguments[key] = self.value(given)
        if self.r.random() < 0.25:
            scheduler, options = self.r.choice(SCHEDULERS)
            options = dict(options, base_lr=self.r.uniform(0.01, 0.2))
            if "learning_rate" in arguments:
                options["base_lr"] = arguments["learning_rate"]
            elif name in ("Adam", "LAMB", "Adamax", "Nadam", "RMSProp", "Signum", "Ftrl"):
                arguments["learning_rate"] = options["base_lr"]
            arguments["lr_scheduler"] = getattr(mx.lr_scheduler, scheduler)(**options)
        return arguments

    def make_optimizer(self):
        name = self.r.choice(sorted(OPTIMIZERS))
        arguments = self.arguments(name)
        if self.by_trainer and name == "LBSGD":  # the original keeps the very arrays that gradients are written to
            arguments["batch_scale"] = 1
        self.log.append(f"{name} {sorted(arguments)} trainer={self.by_trainer}")
        if self.by_trainer:
            how = self.r.choice([{}, {"kvstore": None}, {"update_on_kvstore": False}])
            self.trainer = gluon.Trainer(dict(self.weights), name.lower(), arguments, **how)
            return
        if self.r.random() < 0.5:
            arguments["param_idx2name"] = dict(enumerate(self.weights))
        self.optimizer = mx.optimizer.create(name.lower(), **arguments)
        if self.r.random() < 0.3:
            self.optimizer.set_lr_mult({self.r.choice(sorted(self.weights)): 0.5, 0: 2.0})
        if self.r.random() < 0.3:
            self.optimizer.set_wd_mult({self.r.choice(sorted(self.weights)): 0.5, 1: 2.0})
        self.updater = mx.optimizer.get_updater(self.optimizer)

    # ---- actions ----

    def gradient(self, weight, scale):
        kind = self.r.random()
        grad = (self.n.standard_normal(weight.shape) * scale).astype(weight.dtype)
        if kind < 0.05:
            grad[...] = 0
        elif kind < 0.15 and self.special:
            grad.reshape(-1)[self.n.randint(grad.size)] = self.r.choice([np.nan, np.inf, -np.inf, -0.0])
        return nd.array(grad, dtype=weight.dtype)

    def backward(self, params):
        scale = 10 ** self.r.uniform(-3, 1)
        factors = [self.gradient(p, scale) for p in params]
        with autograd.record():
            results = [p.data() * c for p, c in zip(params, factors, strict=True)]
        autograd.backward(results)

    def do_update(self):
        if self.by_trainer:
            self.backward(list(self.weights.values()))
            self.trainer.step(self.r.choice([1, 2, 32]))
            return
        scale = 10 ** self.r.uniform(-3, 1)
        items = list(enumerate(self.weights.values()))
        if self.r.random() < 0.3:
            items = [item for item in items if self.r.random() < 0.7]
        if self.r.random() < 0.5 and items:
            groups = {}
            for i, w in items:  # the original takes lists of one dtype
                groups.setdefault(w.dtype, []).append((i, w))
            for group in groups.values():
                size = max(self.optimizer.aggregate_num, 1)
                for k in range(0, len(group), size):
                    part = group[k : k + size]
                    grads = [self.gradient(w, scale) for _, w in part]
                    if self.optimizer.aggregate_num:
                        self.updater([i for i, _ in part], grads, [w for _, w in part])
                    else:
                        for (i, w), g in zip(part, grads, strict=True):
                            self.updater(i, g, w)
        else:
            for i, w in items:
                self.updater(i, self.gradient(w, scale), w)

    def do_update_twice(self):
        if self.by_trainer:
            self.backward(list(self.weights.values()))
            self.trainer.step(2)
            self.trainer.step(2, ignore_stale_grad=True)
        else:
            self.do_update()
            self.do_update()

    def do_update_some(self):
        if self.by_trainer:
            self.backward([p for p in self.weights.values() if self.r.random() < 0.6])
            self.trainer.step(1, ignore_stale_grad=True)
        else:
            self.do_update()

    def do_update_apart(self):
        if self.by_trainer:
            self.backward(list(self.weights.values()))
            self.trainer.allreduce_grads()
            self.trainer.update(1)
        else:
            self.do_update()

    def do_stale(self):
        if self.by_trainer:
            self.backward(list(self.weights.values())[:-1])
            self.trainer.step(1)

    def do_rate(self):
        try:
            if self.by_trainer:
                self.trainer.set_learning_rate(self.trainer.learning_rate * 0.7)
            else:
                self.optimizer.set_learning_rate(self.optimizer.learning_rate * 0.7)
        except UserWarning:
            self.log.append("UserWarning")

    def do_file(self):
        if self.by_trainer:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "states")
                self.trainer.save_states(path)
                if self.r.random() < 0.5:
                    old = self.trainer
                    self.trainer = gluon.Trainer(dict(self.weights), type(old._optimizer).__name__.lower())
                self.trainer.load_states(path)
        else:
            whole = self.r.random() < 0.5
            stored = self.updater.get_states(dump_optimizer=whole)
            self.updater = mx.optimizer.get_updater(self.optimizer)
            self.updater.set_states(stored)
            self.optimizer = self.updater.optimizer

    def do_pickle(self):
        if not self.by_trainer:
            self.optimizer = pickle.loads(pickle.dumps(self.optimizer))
            states = self.updater.states
            self.updater = mx.optimizer.get_updater(self.optimizer)
            self.updater.set_states(pickle.dumps(states))

    def do_replace_data(self):
        name = self.r.choice(sorted(self.weights))
        weight = self.weights[name]
        values = self.array(weight.shape, weight.dtype)
        if self.by_trainer:
            weight.set_data(values)
        elif self.r.random() < 0.5:
            weight[:] = values
        else:
            self.weights[name] = values

    def do_multiplier(self):
        if self.by_trainer:
            param = self.r.choice(list(self.weights.values()))
            setattr(param, self.r.choice(["lr_mult", "wd_mult"]), 1.5)
        else:
            self.optimizer.set_wd_mult({0: 0.3})

    def do_add_weight(self):
        self.add_weight()
        if self.by_trainer:
            self.make_optimizer()

    def do_second_optimizer(self):
        self.make_optimizer()

    def do_add_gradients(self):
        if self.by_trainer:
            for param in self.weights.values():
                param.grad_req = "add"
            self.backward(list(self.weights.values()))
            self.backward(list(self.weights.values()))
            self.trainer.step(2)
            for param in self.weights.values():
                param.zero_grad()
                param.grad_req = "write"

    def do_clip_global_norm(self):
        if self.by_trainer:
            self.backward(list(self.weights.values()))
            gradients = [p.grad() for p in self.weights.values()]
            if len({g.dtype for g in gradients}) == 1 and gradients[0].dtype == np.float32:
                self.log.append(round(float(f"{float(gluon.utils.clip_global_norm(gradients, 0.5)):.2g}"), 9))
            self.trainer.step(1)

    ACTIONS = {
        "update": 10,
        "update_twice": 2,
        "update_some": 3,
        "update_apart": 1,
        "stale": 0.2,
        "rate": 2,
        "file": 2,
        "pickle": 1,
        "replace_data": 1,
        "multiplier": 1,
        "add_weight": 0.7,
        "second_optimizer": 0.5,
        "add_gradients": 0.7,
        "clip_global_norm": 0.7,
    }

    def states_of(self):
        if not self.by_trainer:
            return self.updater.states
        trainer = self.trainer
        if trainer._update_on_kvstore:
            return trainer._kvstore._updater.states
        return trainer._updaters[0].states if trainer._updaters else {}

    def state(self):
        optimizer = self.trainer._optimizer if self.by_trainer else self.optimizer
        found = {"num_update": optimizer.num_update, "lr": float(optimizer.learning_rate)}
        for name, weight in sorted(self.weights.items()):
            found[name] = (weight.data() if self.by_trainer else weight).asnumpy()

        def add(key, state):
            if isinstance(state, (tuple, list)):
                for k, part in enumerate(state):
                    add(f"{key} {k}", part)
            elif state is not None:
                found[key] = state.asnumpy()

        for index, state in sorted(self.states_of().items(), key=str):
            add(f"state {index}", state)
        return found

    def steps(self, count):
        yield "make", self.state()
        names, weights = list(self.ACTIONS), list(self.ACTIONS.values())
        for _ in range(count):
            name = self.r.choices(names, weights)[0]
            try:
                getattr(self, "do_" + name)()
            except Exception as error:  # which, is part of the result
                yield name, {"error": type(error).__name__, "text": str(error)}
                return
            yield name, self.state()


def run(seed, count=12):
    """The run's actions, a list of (name, dict of name to array or number)."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = Run(seed)
        found = list(made.steps(count))
    return found, made.log
