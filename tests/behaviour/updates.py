"""Updates parameters with an optimizer or solver, and reports which of the arrays that it touches share memory.

`states` runs on a frontend or on its original, as the functions of `probe.py` do. Two of the parameters are terms of a
sum, so that Chainer's gradients of them are one array.
"""

from __future__ import annotations

import copy
import io

import numpy as np


def flat(values):
    """The arrays of nested lists, tuples and dicts, with a label for each."""
    if isinstance(values, dict):
        values = sorted(values.items(), key=lambda pair: str(pair[0]))
    elif isinstance(values, (list, tuple)):
        values = list(enumerate(values))
    else:
        return [("", values)] if values is not None else []
    return [(f" {key}{label}", v) for key, part in values for label, v in flat(part)]


class _Chainer:
    def __init__(self, chainer, find):
        self.chainer, self.find = chainer, find

    def model(self, dtype):
        c, F = self.chainer, self.chainer.functions

        class Model(c.Link):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.a = c.Parameter(np.ones(3, dtype))
                    self.b = c.Parameter(np.full(3, 2, dtype))
                    self.w = c.Parameter(np.linspace(1, 2, 6).astype(dtype).reshape(2, 3))

            def forward(self):
                return F.sum(F.matmul(F.tanh(self.w), F.reshape(self.a + self.b, (3, 1))))

        return Model()

    def arrays(self, label, model, optimizer):
        for name, p in sorted(model.namedparams()):
            yield f"{label}{name}", p.array
            yield f"{label}{name}.grad", p.grad
            yield from ((f"{label}{name} state{k}", a) for k, a in flat(p.update_rule.state or {}))

    def step(self, model, optimizer, kept, label):
        model.cleargrads()
        model().backward()
        found = list(self.arrays(label, model, optimizer))
        kept += [(name, a) for name, a in found if isinstance(a, np.ndarray)]
        optimizer.update()

    def optimizer(self, made):
        """Two steps, a copy, and states that are loaded."""
        c = self.chainer
        for dtype in "fe":
            kept = []
            model, optimizer = self.model(dtype), made()
            optimizer.setup(model)
            if dtype == "e":
                optimizer.use_fp32_update()
            for t in range(2):
                self.step(model, optimizer, kept, f"step {t} ")
            kept += self.arrays("", model, optimizer)
            model.cleargrads()  # docs/deviations.md: copies of gradients share no memory
            twin, theirs = copy.deepcopy((model, optimizer))
            kept += self.arrays("copied ", twin, theirs)
            file = io.BytesIO()
            c.serializers.save_npz(file, optimizer)
            file.seek(0)
            values = dict(np.load(file, allow_pickle=True))
            kept += [(f"file {name}", a) for name, a in sorted(values.items())]
            other, loaded = self.model(dtype), made()
            loaded.setup(other)
            if dtype == "e":
                loaded.use_fp32_update()
            c.serializers.NpzDeserializer(values).load(loaded)
            kept += self.arrays("loaded ", other, loaded)
            yield dtype, kept

    def hook(self, cls):
        """One step with a hook."""
        given = {"WeightDecay": (0.1,), "Lasso": (0.1,), "GradientClipping": (0.1,), "GradientNoise": (0.1,)}
        made = cls(*given.get(cls.__name__, (-0.1, 0.1) if cls.__name__ == "GradientHardClipping" else ()))
        for name in ("SGD", "Adam"):
            model, optimizer, kept = self.model("f"), getattr(self.chainer.optimizers, name)(), []
            optimizer.setup(model)
            optimizer.add_hook(made)
            self.step(model, optimizer, kept, "step 0 ")
            yield name, [*kept, *self.arrays("", model, optimizer)]
            optimizer.remove_hook(made.name)

    def rule(self, cls):
        """An update rule without an optimizer."""
        p = self.chainer.Parameter(np.ones(3, "f"))
        rule, kept = cls(), []
        for t in range(2):
            p.grad = np.full(3, 0.5, "f")
            kept += [(f"step {t}", p.array), (f"step {t} grad", p.grad)]
            rule.update(p)
            kept += [(f"step {t} state{k}", a) for k, a in flat(rule.state or {})]
        yield "", [*kept, ("now", p.array), ("now grad", p.grad)]

    def scenarios(self, name):
        cls = self.find(name)
        if not issubclass(cls, self.chainer.Optimizer):
            return self.rule(cls) if issubclass(cls, self.chainer.UpdateRule) else self.hook(cls)
        return self.optimizer(cls)


class _Nnabla:
    def __init__(self, nn, find):
        self.nn, self.find = nn, find

    def model(self):
        nn, F = self.nn, self.find("nnabla.functions")
        values = {"a": np.ones((3, 1)), "b": np.full((3, 1), 2), "w": np.linspace(1, 2, 6).reshape(2, 3)}
        p = {name: nn.Variable.from_numpy_array(v.astype("f"), need_grad=True) for name, v in values.items()}
        return p, F.sum(F.affine(F.tanh(p["w"]), p["a"] + p["b"]))

    def arrays(self, label, p, solver):
        for name, x in sorted(p.items()):
            yield f"{label}{name}", x.d
            yield f"{label}{name}.grad", x.g
        for name, state in sorted(solver.get_states().items()):
            yield from ((f"{label}{name} state {k}", v.d) for k, v in sorted(state.pstate.items()))

    def scenarios(self, name):
        cls, kept = self.find(name), []
        p, loss = self.model()
        solver = cls()
        solver.set_parameters(p)
        for t in range(2):
            loss.forward()
            solver.zero_grad()
            loss.backward()
            if t:
                solver.weight_decay(0.1)
                solver.clip_grad_by_norm(0.5)
                solver.scale_grad(0.5)
            kept += self.arrays(f"step {t} ", p, solver)
            solver.update()
        kept += self.arrays("", p, solver)
        kept += [(f"given {name}", x.d) for name, x in sorted(solver.get_parameters().items())]
        others, _ = self.model()
        given = cls()
        given.set_parameters(others)
        given.set_states(solver.get_states())
        kept += self.arrays("given ", others, given)
        solver.save_states("states.h5")
        more, _ = self.model()
        loaded = cls()
        loaded.set_parameters(more)
        loaded.load_states("states.h5")
        kept += self.arrays("loaded ", more, loaded)
        solver.set_parameters(p, reset=True, retain_state=True)
        yield "", [*kept, *self.arrays("again ", p, solver)]


class _Mxnet:
    def __init__(self, mx, find):
        self.mx, self.find = mx, find

    def arrays(self, label, weights, gradients, states):
        found = {"weight": weights, "grad": gradients, "state": states}
        return [(f"{label}{what}{key}", a) for what, values in found.items() for key, a in flat(values)]

    def updater(self, made, dtype):
        """Two updates by an Updater, and states that another one reads."""
        nd = self.mx.nd
        weights = [nd.array(np.linspace(1, 2, n).reshape(-1, 2), dtype=dtype) for n in (6, 4)]
        gradients = [nd.array(np.linspace(-1, 1, n).reshape(-1, 2), dtype=dtype) for n in (6, 4)]
        views = [w.reshape((-1,)) for w in weights]
        updater = self.mx.optimizer.get_updater(made)
        for _ in range(2):
            for i, (w, g) in enumerate(zip(weights, gradients)):  # noqa: B905
                updater(i, g, w)
        kept = [*self.arrays("", weights, gradients, updater.states), *self.arrays("view ", views, [], {})]
        other = self.mx.optimizer.get_updater(made)
        other.set_states(updater.get_states())
        return kept + self.arrays("loaded ", [], [], other.states)

    def trainer(self, made):
        """Two steps of a Trainer, whose states another one loads."""
        mx = self.mx
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(2, in_units=3, use_bias=False), mx.gluon.nn.Dense(2, in_units=2, use_bias=False))
        net.initialize(mx.init.One())
        parameters = list(net.collect_params().items())
        views = [p.data().reshape((-1,)) for _, p in parameters]
        trainer = mx.gluon.Trainer(net.collect_params(), made, kvstore=None)
        for _ in range(2):
            with mx.autograd.record():
                loss = net(mx.nd.ones((2, 3))).tanh()
            loss.backward()
            trainer.step(2)
        weights, gradients = [p.data() for _, p in parameters], [p.grad() for _, p in parameters]
        kept = self.arrays("", weights, gradients, trainer._updaters[0].states)
        kept += self.arrays("view ", views, [], {})
        trainer.save_states("trainer.states")
        other = mx.gluon.Trainer(net.collect_params(), type(made)(), kvstore=None)
        other.load_states("trainer.states")
        return kept + self.arrays("loaded ", [], [], other._updaters[0].states)

    def scenarios(self, name):
        try:
            cls = self.find(name)
        except AttributeError:  # the original has it there alone
            cls = self.find(name.replace(".optimizer.", ".optimizer.contrib."))
        more = [("float16", {"multi_precision": True}), ("float64", {})]
        for dtype, arguments in [("float32", {}), ("float32", {"momentum": 0.9}), *more]:
            try:
                made = cls(**arguments)
            except TypeError:  # an optimizer without momentum
                continue
            try:
                kept = self.updater(made, dtype)
            except Exception:  # one that updates no such type, or with momentum none at all
                if arguments or dtype == "float64":
                    continue
                raise
            yield f"{dtype} {arguments}", kept
        yield "trainer", self.trainer(cls())


def optimizers(frontend, names):
    """Of public names and values, the names of what updates parameters."""
    base = {
        "chainer": ("chainer.Optimizer", "chainer.UpdateRule"),
        "nnabla": ("nnabla.solver.Solver",),
        "mxnet": ("mxnet.optimizer.Optimizer",),
    }[frontend]
    bases = tuple(names[name] for name in base)
    found = [
        name
        for name, value in names.items()
        if isinstance(value, type) and issubclass(value, bases) and name not in base
    ]
    return found + [
        name for name in names if name.startswith("chainer.optimizer_hooks.") and isinstance(names[name], type)
    ]


def states(frontend, name, overlap):
    """Of all arrays that an optimizer touches: {"arrays": labels, "pairs": those that share memory, "folded": []}."""
    kinds = {"chainer": _Chainer, "nnabla": _Nnabla, "mxnet": _Mxnet}
    labels, pairs = [], []
    for scenario, kept in kinds[frontend.name](frontend.module, frontend.find).scenarios(name):
        arrays = [
            (f"{scenario}: {label}", a if isinstance(a, np.ndarray) else frontend.memory(a))
            for label, a in kept
            if isinstance(a, np.ndarray) or frontend.is_array(a)
        ]
        labels += [label for label, _ in arrays]
        pairs += [[p, q] for i, (q, b) in enumerate(arrays) for p, a in arrays[:i] if overlap(a, b)]
    return {"arrays": labels, "pairs": pairs, "folded": []}
