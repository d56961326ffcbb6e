"""Runs of nnabla's solvers: `run(seed)` gives what parameters, gradients and states were after each action."""

import os
import random
import tempfile
import warnings

import nnabla as nn
import nnabla.functions as F
import nnabla.solvers as S
import numpy as np

SHAPES = [(3, 4), (5,), (2, 1, 3), (1,), (7, 5), (33,), ()]
EPS = [1e-8, 1e-6, 1e-3]
BETAS = {"beta1": (0, 0.99), "beta2": (0.5, 0.9999)}
# Not AMSBound, whose bound is another one: docs/deviations.md.
SOLVERS = {
    "Sgd": {"lr": (1e-4, 0.5)},
    "Momentum": {"lr": (1e-4, 0.5), "momentum": (0, 0.99)},
    "SgdW": {"lr": (1e-4, 0.5), "momentum": (0, 0.99), "wd": (0, 0.1)},
    "Nesterov": {"lr": (1e-4, 0.5), "momentum": (0, 0.99)},
    "Lars": {"lr": (1e-4, 0.5), "momentum": (0, 0.99), "coefficient": (1e-3, 0.5), "eps": [1e-6, 1e-2]},
    "Adagrad": {"lr": (1e-4, 0.5), "eps": EPS},
    "Adadelta": {"lr": (0.1, 1), "decay": (0.5, 0.999), "eps": EPS},
    "RMSprop": {"lr": (1e-4, 0.1), "decay": (0.5, 0.999), "eps": EPS},
    "RMSpropGraves": {"lr": (1e-4, 0.1), "decay": (0.5, 0.999), "momentum": (0, 0.99), "eps": [1e-4, 1e-2]},
    "Adam": {"alpha": (1e-4, 0.1), **BETAS, "eps": EPS},
    "AdamW": {"alpha": (1e-4, 0.1), **BETAS, "eps": EPS, "wd": (0, 0.1)},
    "AdaBound": {"alpha": (1e-4, 0.1), **BETAS, "eps": EPS, "final_lr": (1e-3, 0.5), "gamma": (1e-4, 0.5)},
    "AMSGRAD": {"alpha": (1e-4, 0.1), **BETAS, "eps": EPS, "bias_correction": [True, False]},
    "Adamax": {"alpha": (1e-4, 0.1), **BETAS, "eps": EPS},
    "AdaBelief": {
        "alpha": (1e-4, 0.1),
        "beta1": (0, 0.99),
        "beta2": (0.9, 0.9999),
        "eps": [1e-6, 1e-3],
        "wd": (0, 0.1),
        "amsgrad": [True, False],
        "weight_decouple": [True, False],
        "fixed_decay": [True, False],
        "rectify": [True, False],
    },
    "Lamb": {
        "eta": (1e-4, 0.1),
        **BETAS,
        "gamma_l": (0, 1),
        "gamma_u": (1, 10),
        "eps": [1e-6, 1e-3],
        "bias_correction": [True, False],
    },
    "Lion": {"lr": (1e-4, 0.1), "beta1": (0, 0.99), "beta2": (0.5, 0.999)},
}


class Run:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.n = np.random.RandomState(seed)
        self.log = []
        self.special = self.r.random() < 0.1
        self.casts = self.r.choice([[]] * 6 + [[np.float16], [np.float64], [np.float16, np.float64]])
        self.reads_gradients = self.r.random() < 0.5
        self.serial = 0
        self.params = {}
        self.solver = None
        for _ in range(self.r.randint(1, 4)):
            self.add_param()
        self.solver = self.make_solver()
        self.solver.set_parameters(self.params)

    def value(self, given):
        if isinstance(given, list):
            return self.r.choice(given)
        low, high = given
        if low > 0 and high / low > 20:
            return float(np.exp(self.r.uniform(np.log(low), np.log(high))))
        return self.r.uniform(low, high)

    def make_solver(self):
        name = self.r.choice(sorted(SOLVERS))
        arguments = {k: self.value(v) for k, v in SOLVERS[name].items() if self.r.random() < 0.6}
        self.log.append(f"{name} {sorted(arguments)}")
        return getattr(S, name)(**arguments)

    def array(self, shape, scale=1.0):
        values = (self.n.standard_normal(shape) * scale).astype(np.float32)
        if self.r.random() < 0.15 and len(shape) > 1:
            return np.ascontiguousarray(values.T).T
        return np.asarray(values)

    def add_param(self):
        param = nn.Variable(self.r.choice(SHAPES), need_grad=True)
        param.d = self.array(param.shape)
        self.params[self.r.choice(["", "scope/", "a/b/"]) + f"p{self.serial}"] = param
        self.serial += 1
        return param

    # ---- actions ----

    def set_gradients(self):
        scale = 10 ** self.r.uniform(-3, 1)
        for param in self.params.values():
            kind = self.r.random()
            if kind < 0.07:
                param.grad.zero()
                continue
            if kind < 0.1:
                param.grad.fill(0.5)
                continue
            grad = self.array(param.shape, scale)
            if kind < 0.15:
                grad[...] = 0
            elif kind < 0.25 and self.special:
                grad.reshape(-1)[self.n.randint(grad.size)] = self.r.choice([np.nan, np.inf, -np.inf, -0.0])
            param.g = grad

    def change_gradients(self):
        for _ in range(self.r.choice([0, 0, 0, 1, 1, 2])):
            kind = self.r.randint(0, 3)
            if kind == 0:
                self.solver.weight_decay(self.r.choice([0.0, 0.01, 0.1]))
            elif kind == 1:
                self.solver.clip_grad_by_norm(self.r.choice([0.0, 0.1, 1.0, 100.0]))
            elif kind == 2:
                self.solver.scale_grad(self.r.choice([0.5, 1.0, 128.0]))
            else:
                checks = self.solver.check_inf_grad, self.solver.check_nan_grad, self.solver.check_inf_or_nan_grad
                self.log.append([check() for check in checks])

    def do_update(self):
        self.set_gradients()
        self.change_gradients()
        self.solver.update()

    def do_update_twice(self):
        self.set_gradients()
        self.solver.update()
        self.solver.update()

    def do_backward(self):
        used = [p for p in self.params.values() if self.r.random() < 0.8 and p.size]
        if not used:
            return
        factors = [self.array(p.shape) for p in used]
        total = None
        for p, c in zip(used, factors, strict=True):
            term = F.sum(p * nn.Variable.from_numpy_array(c) + p * p)
            total = term if total is None else total + term
        if self.r.random() < 0.8:
            self.solver.zero_grad()
        total.forward()
        total.backward(clear_buffer=self.r.random() < 0.5)
        self.change_gradients()
        self.solver.update()

    def do_update_zeroed(self):
        self.solver.zero_grad()
        self.change_gradients()
        self.solver.update()

    def do_update_with_hooks(self):
        calls = []
        self.set_gradients()
        self.solver.weight_decay(0.01, lambda: calls.append("a"), lambda: calls.append("b"))
        self.solver.update(lambda: calls.append("c"), lambda: calls.append("d"))
        self.log.append("".join(calls))

    def do_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "states" + self.r.choice([".h5", ".protobuf"]))
            self.solver.save_states(path)
            if self.r.random() < 0.5:
                info = {k: v for k, v in self.solver.info.items()}
                fresh = getattr(S, self.solver.name)(**info)
                fresh.set_parameters(self.params)
                fresh.set_learning_rate(self.solver.learning_rate())
                self.solver = fresh
            self.solver.load_states(path)

    def do_states(self):
        states = self.solver.get_states()
        if self.r.random() < 0.5 and states:
            state = states[self.r.choice(sorted(states))]
            for name in sorted(state.pstate):
                state.pstate[name].d = np.abs(self.array(state.pstate[name].shape, 0.1))
            if self.r.random() < 0.5:
                state.t += 3
        self.solver.set_states(states)

    def do_rate(self):
        self.solver.set_learning_rate(self.solver.learning_rate() * self.r.choice([0.5, 0.9, 2.0]))

    def do_add_param(self):
        before = set(self.params)
        self.add_param()
        if self.r.random() < 0.5:
            self.solver.set_parameters({k: v for k, v in self.params.items() if k not in before}, reset=False)
        else:
            keep = self.r.random() < 0.5
            self.solver.set_parameters(self.params, reset=False, retain_state=keep)

    def do_remove_param(self):
        if len(self.params) > 1:
            name = self.r.choice(sorted(self.params))
            self.solver.remove_parameters([name])
            if self.r.random() < 0.7:
                del self.params[name]

    def do_reset(self):
        self.solver.set_parameters(self.params, reset=self.r.random() < 0.5, retain_state=self.r.random() < 0.5)

    def do_clear(self):
        self.solver.clear_parameters()
        if self.r.random() < 0.8:
            self.solver.set_parameters(self.params)

    def do_replace_variable(self):
        name = self.r.choice(sorted(self.params))
        old = self.params[name]
        new = nn.Variable(old.shape, need_grad=True)
        new.d = self.array(old.shape)
        self.params[name] = new
        self.solver.remove_parameters([name])  # else the original keeps the old one
        self.solver.set_parameters({name: new}, reset=False)

    def do_replace_data(self):
        param = self.r.choice(list(self.params.values()))
        kind = self.r.random()
        if kind < 0.4:
            param.d = self.array(param.shape)
        elif kind < 0.7:
            param.data = nn.NdArray.from_numpy_array(self.array(param.shape))
        else:
            param.d[...] = 0.25

    def do_cast(self):
        if self.casts:
            param = self.r.choice(list(self.params.values()))
            self.r.choice([param.data, param.grad]).cast(self.r.choice(self.casts))

    def do_share(self):
        params = list(self.params.values())
        for a in params:
            for b in params:
                if a is not b and a.shape == b.shape:
                    if self.r.random() < 0.5:
                        b.grad = a.grad
                    else:
                        b.data = a.data
                    return

    def do_unlinked(self):
        name = self.r.choice(sorted(self.params))
        self.params[name + "u"] = self.params[name].get_unlinked_variable(need_grad=True)
        self.solver.set_parameters(self.params, reset=False)

    def do_second_solver(self):
        self.solver = self.make_solver()
        self.solver.set_parameters(self.params)

    ACTIONS = {
        "update": 10,
        "update_twice": 2,
        "backward": 5,
        "update_zeroed": 1,
        "update_with_hooks": 1,
        "file": 2,
        "states": 1,
        "rate": 2,
        "add_param": 0.7,
        "remove_param": 0.7,
        "reset": 0.5,
        "clear": 0.3,
        "replace_variable": 0.7,
        "replace_data": 1,
        "cast": 1,
        "share": 0.5,
        "unlinked": 0.3,
        "second_solver": 0.5,
    }

    def state(self, last):
        found = {"lr": self.solver.learning_rate()}
        for name, param in sorted(self.params.items()):
            found[name] = np.array(param.d)
            if self.reads_gradients or last:
                found[name + " grad"] = np.array(param.g)
        if last or self.r.random() < 0.3:
            for name, state in sorted(self.solver.get_states().items()):
                if state.pstate:  # Sgd's counts, which nothing reads, outlive their parameters
                    found[name + " t"] = state.t
                for key, value in sorted(state.pstate.items()):
                    found[f"{name} {key}"] = np.array(value.d, np.float32)
        return found

    def steps(self, count):
        yield "make", self.state(False)
        names, weights = list(self.ACTIONS), list(self.ACTIONS.values())
        for k in range(count):
            name = self.r.choices(names, weights)[0]
            try:
                getattr(self, "do_" + name)()
            except Exception as error:  # which, is part of the result
                yield name, {"error": type(error).__name__, "text": str(error)}
                return
            yield name, self.state(k == count - 1)


def run(seed, count=12):
    """The run's actions, a list of (name, dict of name to array or number)."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = Run(seed)
        found = list(made.steps(count))
    return found, made.log
