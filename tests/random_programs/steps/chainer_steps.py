"""Runs of Chainer's optimizers: `run(seed)` gives what the parameters, gradients and states were after each action."""

import copy
import io
import pickle
import random
import warnings

import chainer
import chainer.functions as F
import numpy as np

SHAPES = [(3, 4), (5,), (), (0, 3), (2, 1, 3), (1,), (7, 5), (33,)]
EPS = [1e-8, 1e-6, 1e-3]
# of each optimizer: ranges of its arguments
OPTIMIZERS = {
    "SGD": {"lr": (1e-4, 0.5)},
    "MomentumSGD": {"lr": (1e-4, 0.5), "momentum": (0, 0.99)},
    "CorrectedMomentumSGD": {"lr": (1e-4, 0.5), "momentum": (0, 0.99)},
    "NesterovAG": {"lr": (1e-4, 0.5), "momentum": (0, 0.99)},
    "AdaGrad": {"lr": (1e-4, 0.5), "eps": EPS},
    "AdaDelta": {"rho": (0.5, 0.999), "eps": EPS},
    "RMSprop": {"lr": (1e-4, 0.1), "alpha": (0.5, 0.999), "eps": EPS, "eps_inside_sqrt": [True, False]},
    "RMSpropGraves": {"lr": (1e-4, 0.1), "alpha": (0.5, 0.999), "momentum": (0, 0.99), "eps": [1e-4, 1e-2]},
    "SMORMS3": {"lr": (1e-4, 0.1), "eps": [1e-16, 1e-8]},
    "Adam": {
        "alpha": (1e-4, 0.1),
        "beta1": (0, 0.99),
        "beta2": (0.5, 0.9999),
        "eps": EPS,
        "eta": (0.1, 1.5),
        "weight_decay_rate": (0, 0.1),
        "amsgrad": [True, False],
        "adabound": [True, False],
        "final_lr": (1e-3, 0.5),
        "gamma": (1e-4, 0.5),
    },
    "AdamW": {"alpha": (1e-4, 0.1), "beta1": (0, 0.99), "eta": (0.1, 1), "weight_decay_rate": (0, 0.1)},
    "AMSGrad": {"alpha": (1e-4, 0.1), "beta2": (0.5, 0.9999), "eps": EPS, "eta": (0.1, 1)},
    "AdaBound": {"alpha": (1e-4, 0.1), "final_lr": (1e-3, 0.5), "gamma": (1e-4, 0.5), "eta": (0.1, 1)},
    "AMSBound": {"alpha": (1e-4, 0.1), "final_lr": (1e-3, 0.5), "gamma": (1e-4, 0.5), "eps": EPS},
    "MSVAG": {"lr": (1e-4, 0.5), "beta": (0.5, 0.99), "eta": (0.1, 1.5), "weight_decay_rate": (0, 0.1)},
}
RATES = ("lr", "alpha")


class Run:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.n = np.random.RandomState(seed)
        self.log = []
        self.special = self.r.random() < 0.1
        self.dtypes = self.r.choice([["f"], ["f"], ["f"], ["d"], ["d"], ["e"], ["f", "d"], ["e", "f", "d"]])
        self.serial = 0
        self.link = self.make_link()
        self.optimizer = self.make_optimizer()

    # ---- what is trained ----

    def array(self, shape, dtype, scale=1.0):
        kind = self.r.random()
        values = self.n.standard_normal(shape) * scale
        if kind < 0.15 and len(shape) > 1:
            return np.ascontiguousarray(values.T).astype(dtype).T
        if kind < 0.25 and shape:
            wide = np.zeros((*shape[:-1], 2 * shape[-1]), dtype)
            view = wide[..., ::2]
            view[...] = values
            return view
        if kind < 0.3 and shape:
            return np.ascontiguousarray(values[::-1]).astype(dtype)[::-1]
        return np.array(values, dtype)

    def add_param(self, link):
        dtype = self.r.choice(self.dtypes)
        with link.init_scope():
            name = f"p{self.serial}"
            self.serial += 1
            if self.r.random() < 0.07:
                param = chainer.Parameter(chainer.initializers.Constant(0.5, dtype=np.dtype(dtype)))
            else:
                param = chainer.Parameter(self.array(self.r.choice(SHAPES), dtype))
            setattr(link, name, param)

    def make_link(self):
        link = chainer.Chain()
        for _ in range(self.r.randint(1, 4)):
            self.add_param(link)
        child = chainer.Chain()
        for _ in range(self.r.randint(0, 2)):
            self.add_param(child)
        if self.r.random() < 0.1:
            with child.init_scope():
                child.shared = next(iter(link.params()))
        with link.init_scope():
            link.child = child
        return link

    def value(self, given):
        if isinstance(given, list):
            return self.r.choice(given)
        low, high = given
        if low > 0 and high / low > 20:
            return float(np.exp(self.r.uniform(np.log(low), np.log(high))))
        return self.r.uniform(low, high)

    def make_optimizer(self):
        name = self.r.choice(sorted(OPTIMIZERS))
        arguments = {k: self.value(v) for k, v in OPTIMIZERS[name].items() if self.r.random() < 0.6}
        optimizer = getattr(chainer.optimizers, name)(**arguments)
        if self.r.random() < 0.1:
            optimizer.use_fp32_update()
        optimizer.setup(self.link)
        for _ in range(self.r.choice([0, 0, 0, 1, 1, 2])):
            try:
                optimizer.add_hook(self.hook())
            except KeyError:
                self.log.append("KeyError")
        if self.r.random() < 0.15:
            optimizer.loss_scaling(scale=self.r.choice([2.0, 10.0, 128]))
        elif self.r.random() < 0.1:
            optimizer.loss_scaling(interval=self.r.choice([1, 3]))
        self.log.append(f"{name} {sorted(arguments)}")
        return optimizer

    def hook(self):
        hooks = chainer.optimizer_hooks
        kind = self.r.randint(0, 4)
        if kind == 0:
            return hooks.WeightDecay(self.r.uniform(0, 0.1))
        if kind == 1:
            return hooks.Lasso(self.r.uniform(0, 0.1))
        if kind == 2:
            return hooks.GradientClipping(self.r.choice([0.1, 1.0, 100.0]))
        if kind == 3:
            return hooks.GradientHardClipping(-self.r.uniform(0, 1), self.r.uniform(0, 1))
        return hooks.GradientLARS(threshold=0.01, weight_decay=self.r.choice([0.0, 0.1]))

    def initialized(self):
        return [p for p in self.link.params() if p.array is not None]

    # ---- actions ----

    def set_gradients(self):
        scale = 10 ** self.r.uniform(-3, 1)
        for param in self.initialized():
            kind = self.r.random()
            if kind < 0.05:
                param.grad = None
                continue
            grad = self.array(param.shape, param.dtype, scale)
            if kind < 0.1:
                grad[...] = 0
            elif kind < 0.2 and self.special and grad.size:
                grad.reshape(-1)[self.n.randint(grad.size)] = self.r.choice([np.nan, np.inf, -np.inf, 1e-42, -0.0])
            param.grad = grad

    def do_update(self):
        self.set_gradients()
        self.optimizer.update()

    def do_update_twice(self):
        self.set_gradients()
        self.optimizer.update()
        self.optimizer.update()

    def do_update_lossfun(self):
        used = [p for p in self.initialized() if self.r.random() < 0.8]
        factors = [np.asarray(self.n.standard_normal(p.shape), p.dtype) for p in used]
        square = self.r.random() < 0.5

        def loss(scale, factor=1.0):
            total = chainer.Variable(np.zeros((), "f"))
            for p, c in zip(used, factors, strict=True):
                term = F.sum(p * c + (p * p if square else p))
                total = total + F.cast(term, "f") * scale * factor
            return total

        if self.r.random() < 0.5:
            self.optimizer.update(loss, 0.5)
        else:
            self.optimizer.update(loss, 0.5, factor=2.0)

    def do_update_from_cleared(self):
        self.r.choice([self.link.cleargrads, self.link.zerograds])()
        self.optimizer.update()

    def do_cleargrads(self):
        self.link.cleargrads()

    def do_pickle(self):
        self.link, self.optimizer = pickle.loads(pickle.dumps((self.link, self.optimizer)))

    def do_deepcopy(self):
        self.link, self.optimizer = copy.deepcopy((self.link, self.optimizer))

    def do_npz(self):
        file = io.BytesIO()
        chainer.serializers.save_npz(file, self.optimizer)
        file.seek(0)
        with np.load(file) as stored:
            self.log.append(sorted(stored.files))
        fresh = type(self.optimizer)()
        for key, value in self.optimizer.hyperparam.get_dict().items():
            setattr(fresh.hyperparam, key, value)
        fresh.setup(self.link)
        file.seek(0)
        chainer.serializers.load_npz(file, fresh)
        for param in self.link.params():  # the original cannot update the scalars that it reads for arrays of no axes
            state = param.update_rule.state or {}
            for key, value in state.items():
                state[key] = np.asarray(value)
        self.optimizer = fresh

    def do_rate(self):
        hyperparam = self.optimizer.hyperparam
        for name in RATES:
            if name in hyperparam.get_dict():
                setattr(self.optimizer, name, getattr(self.optimizer, name) * self.r.choice([0.5, 0.9, 2.0]))

    def do_param_rate(self):
        rules = [p.update_rule for p in self.link.params() if p.update_rule is not None]
        if rules:
            rule = self.r.choice(rules)
            for name in RATES:
                if name in rule.hyperparam.get_dict():
                    setattr(rule.hyperparam, name, 0.02)

    def do_param_hook(self):
        rules = [p.update_rule for p in self.link.params() if p.update_rule is not None]
        if rules:
            hook = self.r.choice([chainer.optimizer_hooks.WeightDecay(0.05), chainer.optimizer_hooks.Lasso(0.05)])
            self.r.choice(rules).add_hook(hook, name=f"hook{self.serial}", timing=self.r.choice(["pre", "auto"]))
            self.serial += 1

    def do_enable(self):
        rules = [p.update_rule for p in self.link.params() if p.update_rule is not None]
        if rules:
            rule = self.r.choice(rules)
            rule.enabled = not rule.enabled

    def do_disable_child(self):
        self.r.choice([self.link.child.disable_update, self.link.child.enable_update])()

    def do_add_param(self):
        self.add_param(self.r.choice([self.link, self.link.child]))

    def do_add_param_and_setup(self):
        self.add_param(self.link)
        self.optimizer.setup(self.link)

    def do_remove_param(self):
        names = sorted(name for name, _ in self.link.namedparams() if name.count("/") == 1)
        if len(names) > 1:
            delattr(self.link, self.r.choice(names)[1:])

    def do_replace_data(self):
        params = self.initialized()
        if params:
            param = self.r.choice(params)
            array = self.array(param.shape, param.dtype)
            if self.r.random() < 0.5:
                param.array = array
            else:
                param.array[...] = array

    def do_replace_state(self):
        rules = [p.update_rule for p in self.link.params() if p.update_rule is not None and p.update_rule.state]
        if rules:
            state = self.r.choice(rules).state
            name = self.r.choice(sorted(state))
            if isinstance(state[name], np.ndarray):
                state[name] = np.asarray(np.abs(self.array(state[name].shape, state[name].dtype, 0.1)))

    def do_initialize(self):
        for param in self.link.params():
            if param.array is None:
                param.initialize(self.r.choice(SHAPES))
                break

    def do_share_gradient(self):
        params = self.initialized()
        for a in params:
            for b in params:
                if a is not b and a.shape == b.shape and a.dtype == b.dtype and a.grad is not None:
                    b.grad = a.grad
                    self.optimizer.update()
                    return

    def do_second_optimizer(self):
        self.optimizer = self.make_optimizer()

    def do_hook(self):
        names = [*self.optimizer._hookable._pre_update_hooks]
        if names and self.r.random() < 0.5:
            self.optimizer.remove_hook(self.r.choice(names))
        else:
            hook = self.hook()
            if hook.name not in names:
                self.optimizer.add_hook(hook)

    def do_new_epoch(self):
        self.optimizer.new_epoch()

    ACTIONS = {
        "update": 10,
        "update_twice": 2,
        "update_lossfun": 5,
        "update_from_cleared": 1,
        "cleargrads": 1,
        "pickle": 1,
        "deepcopy": 1,
        "npz": 2,
        "rate": 2,
        "param_rate": 1,
        "param_hook": 1,
        "enable": 1,
        "disable_child": 1,
        "add_param": 0.7,
        "add_param_and_setup": 0.5,
        "remove_param": 0.7,
        "replace_data": 1,
        "replace_state": 0.7,
        "initialize": 1,
        "share_gradient": 0.7,
        "second_optimizer": 0.5,
        "hook": 1,
        "new_epoch": 0.2,
    }

    def state(self):
        found = {"t": self.optimizer.t, "epoch": self.optimizer.epoch, "scale": self.optimizer._loss_scale}
        for name, param in sorted(self.link.namedparams()):
            found[name] = None if param.array is None else np.array(param.array)
            found[name + " grad"] = None if param.array is None or param.grad is None else np.array(param.grad)
            rule = param.update_rule
            if rule is not None:
                found[name + " t"] = rule.t
                for key, value in sorted((rule.state or {}).items()):
                    found[f"{name} {key}"] = np.array(value)
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
    """The run's actions, a list of (name, dict of name to array, number or None)."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = Run(seed)
        found = list(made.steps(count))
    return found, made.log
