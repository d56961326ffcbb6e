"""What real MXNet 1.9.1's optimizers and update operators do.

    PYTHON -m tests.golden.mxnet_optimizers

records mxnet_optimizers.npz beside this file; PYTHON is an interpreter in which the real MXNet runs. `train` and
`run_operator` run unchanged on compatgrad.
"""

import pathlib

import numpy as np

from tests.golden import files

GOLDEN = pathlib.Path(__file__).with_suffix(".npz")

SHAPES = {"a_weight": (3, 4), "b_bias": (5,), "c_gamma": (2, 3, 2), "d_beta": (4,), "e_weight": (2, 5)}
STEPS, SEEN = 20, (1, 7, 20)

# name, optimizer, arguments, what else: a scheduler (class, arguments), multipliers, dtype, begin
_PLAIN = [
    ("SGD", {"learning_rate": 0.1}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9}),
    ("NAG", {"learning_rate": 0.1}),
    ("NAG", {"learning_rate": 0.1, "momentum": 0.9}),
    ("Signum", {"learning_rate": 0.01}),
    ("Signum", {"learning_rate": 0.01, "momentum": 0.0}),
    ("Signum", {"learning_rate": 0.01, "momentum": 0.8, "wd_lh": 0.1}),
    ("FTML", {"learning_rate": 0.01}),
    ("LARS", {"learning_rate": 0.1, "momentum": 0.9}),
    ("LARS", {"learning_rate": 0.1, "eta": 0.1, "eps": 1e-3}),
    ("LBSGD", {"learning_rate": 0.1, "momentum": 0.9}),
    ("LBSGD", {"learning_rate": 0.1, "batch_scale": 3, "updates_per_epoch": 2}),
    ("LBSGD", {"learning_rate": 0.1, "batch_scale": 2, "warmup_strategy": "lars", "momentum": 0.5}),
    ("LBSGD", {"learning_rate": 0.1, "batch_scale": 2, "warmup_strategy": "sqrt", "begin_epoch": 1}),
    ("LBSGD", {"learning_rate": 0.1, "batch_scale": 2, "warmup_strategy": "power2"}),
    ("LAMB", {"learning_rate": 0.01}),
    ("LAMB", {"learning_rate": 0.01, "bias_correction": False, "lower_bound": 0.5, "upper_bound": 1.5}),
    ("DCASGD", {"learning_rate": 0.1}),
    ("Adam", {"learning_rate": 0.01}),
    ("Adam", {"learning_rate": 0.01, "beta1": 0.5, "beta2": 0.9, "epsilon": 1e-3}),
    ("AdaGrad", {"learning_rate": 0.1}),
    ("RMSProp", {"learning_rate": 0.01}),
    ("RMSProp", {"learning_rate": 0.01, "centered": True, "gamma1": 0.95}),
    ("RMSProp", {"learning_rate": 0.01, "clip_weights": 0.5}),
    ("AdaDelta", {}),
    ("AdaDelta", {"rho": 0.95, "epsilon": 1e-4}),
    ("Ftrl", {"learning_rate": 0.1}),
    ("Ftrl", {"learning_rate": 0.5, "lamda1": 0.1, "beta": 2}),
    ("Adamax", {"learning_rate": 0.01}),
    ("Nadam", {"learning_rate": 0.01}),
]
_SCHEDULERS = {
    "factor": ("FactorScheduler", {"step": 4, "factor": 0.5, "base_lr": 0.1}),
    "multi": ("MultiFactorScheduler", {"step": [3, 9, 10], "factor": 0.3, "base_lr": 0.1}),
    "poly": ("PolyScheduler", {"max_update": 15, "base_lr": 0.1, "final_lr": 0.01, "warmup_steps": 4}),
    "cosine": ("CosineScheduler", {"max_update": 18, "base_lr": 0.1, "warmup_steps": 3, "warmup_begin_lr": 0.02}),
}


def _cases():
    cases = {}
    for number, (name, arguments) in enumerate(_PLAIN):
        label = f"{number:02d}_{name}"
        cases[label] = name, arguments, {}
        full = dict(arguments, wd=0.05, rescale_grad=0.5, clip_gradient=0.3)
        cases[label + "_full"] = name, full, {"lr_mult": {"a_weight": 0.5, 3: 0.1}, "wd_mult": {"b_bias": 2.0}}
        if name in ("SGD", "NAG", "LARS", "LAMB", "Adam", "LBSGD"):
            half = dict(arguments, wd=0.01, multi_precision=True)
            cases[label + "_half"] = name, half, {"dtype": "float16"}
    for label, scheduler in _SCHEDULERS.items():
        for name, arguments in (("SGD", {"momentum": 0.9}), ("Adam", {}), ("LARS", {"momentum": 0.9})):
            cases[f"{name}_{label}"] = name, dict(arguments, wd=0.01), {"scheduler": scheduler}
    cases["Adam_begin"] = "Adam", {"begin_num_update": 10}, {}
    for name, arguments in (("SGD", {"momentum": 0.9}), ("Adam", {}), ("Adamax", {})):
        cases[f"{name}_double"] = name, dict(arguments, wd=0.01, learning_rate=0.1), {"dtype": "float64"}
    return cases


CASES = _cases()


def train(mx, case):
    """Runs `STEPS` updates of a case; the weights after those in `SEEN`, a dict of name to array."""
    name, arguments, more = CASES[case]
    arguments = dict(arguments)
    if "scheduler" in more:
        kind, kind_arguments = more["scheduler"]
        arguments["lr_scheduler"] = getattr(mx.lr_scheduler, kind)(**kind_arguments)
    optimizer = mx.optimizer.create(name.lower(), param_idx2name=dict(enumerate(SHAPES)), **arguments)
    optimizer.set_lr_mult(more.get("lr_mult", {}))
    optimizer.set_wd_mult(more.get("wd_mult", {}))
    updater = mx.optimizer.get_updater(optimizer)
    rng = np.random.RandomState(3)
    dtype = more.get("dtype", "float32")
    weights = [mx.nd.array(rng.randn(*shape), dtype=dtype) for shape in SHAPES.values()]
    indices = list(range(len(weights)))
    seen = {}
    for step in range(1, STEPS + 1):
        grads = [mx.nd.array(rng.randn(*shape) + 0.1 * step, dtype=dtype) for shape in SHAPES.values()]
        if updater.aggregate_updates and name != "LBSGD":
            updater(list(indices), grads, weights)
        else:
            for i, g, w in zip(indices, grads, weights, strict=False):
                updater(i, g, w)
        if step in SEEN:
            for key, w in zip(SHAPES, weights, strict=False):
                seen[f"{step}/{key}"] = w.asnumpy().copy()
    return seen


# operator, number of states, attributes
OPERATORS = [
    ("sgd_update", 0, {"lr": 0.1}),
    ("sgd_update", 0, {"lr": 0.1, "wd": 0.1, "rescale_grad": 0.5, "clip_gradient": 0.2}),
    ("sgd_mom_update", 1, {"lr": 0.1}),
    ("sgd_mom_update", 1, {"lr": 0.1, "momentum": 0.9, "wd": 0.1, "rescale_grad": 0.5, "clip_gradient": 0.2}),
    ("nag_mom_update", 1, {"lr": 0.1, "momentum": 0.9}),
    ("nag_mom_update", 1, {"lr": 0.1, "momentum": 0.9, "wd": 0.1, "rescale_grad": 0.5, "clip_gradient": 0.2}),
    ("signsgd_update", 0, {"lr": 0.1, "wd": 0.1}),
    ("signum_update", 1, {"lr": 0.1}),
    ("signum_update", 1, {"lr": 0.1, "momentum": 0.9, "wd": 0.1, "clip_gradient": 0.2, "wd_lh": 0.1}),
    ("adam_update", 2, {"lr": 0.1}),
    ("adam_update", 2, {"lr": 0.1, "beta1": 0.8, "wd": 0.1, "rescale_grad": 0.5, "clip_gradient": 0.2}),
    ("ftml_update", 3, {"lr": 0.1, "t": 3}),
    ("ftml_update", 3, {"lr": 0.1, "t": 2, "wd": 0.1, "rescale_grad": 0.5, "clip_grad": 0.2}),
    ("ftrl_update", 2, {"lr": 0.1}),
    ("ftrl_update", 2, {"lr": 0.1, "lamda1": 0.3, "wd": 0.1, "rescale_grad": 0.5, "clip_gradient": 0.2}),
    ("rmsprop_update", 1, {"lr": 0.1}),
    ("rmsprop_update", 1, {"lr": 0.1, "wd": 0.1, "clip_gradient": 0.2, "clip_weights": 0.5}),
    ("rmspropalex_update", 3, {"lr": 0.1}),
    ("rmspropalex_update", 3, {"lr": 0.1, "wd": 0.1, "clip_gradient": 0.2, "clip_weights": 0.5}),
    ("lamb_update_phase1", 2, {"t": 2, "wd": 0.1}),
    ("lamb_update_phase1", 2, {"t": 2, "wd": 0.1, "bias_correction": False, "clip_gradient": 0.2}),
]


def run_operator(mx, number):
    """Runs an operator of OPERATORS once; its result, then the states after it, a list of arrays."""
    name, count, attributes = OPERATORS[number]
    rng = np.random.RandomState(number)
    arrays = [mx.nd.array(rng.randn(3, 4)) for _ in range(2)]
    states = [mx.nd.array(rng.rand(3, 4) + 0.5 * k) for k in range(count)]
    if name == "rmspropalex_update":
        states[0] += 2  # its root is of a variance
    out = getattr(mx.nd, name)(*arrays, *states, **attributes)
    return [out.asnumpy(), *[s.asnumpy() for s in states]]


def run_lists(mx):
    """The operators on lists of arrays, a dict of name to list of arrays."""
    rng = np.random.RandomState(9)
    shapes = [(3, 4), (5,)]

    def make(dtype="float32", positive=False):
        return [mx.nd.array(rng.rand(*s) if positive else rng.randn(*s), dtype=dtype) for s in shapes]

    lrs, wds, more = (0.1, 0.2), (0.1, 0.0), {"rescale_grad": 0.5, "clip_gradient": 0.2, "num_weights": 2}
    seen = {}

    def flat(*lists):
        return [x for group in zip(*lists, strict=False) for x in group]

    def keep(name, *lists):
        seen[name] = [x.asnumpy() for group in lists for x in group]

    for half in (False, True):
        mp = "mp_" if half else ""
        for momentum in (False, True):
            suffix = mp + ("sgd_mom_update" if momentum else "sgd_update")
            for preloaded in (False, True):
                dtype = "float16" if half else "float32"
                w, g, m = make(dtype), make(dtype), make()
                lists = [w, g] + ([m] if momentum else [])
                if half:
                    w32 = [x.astype("float32") for x in w]
                    lists.append(w32)
                kwargs = dict(more, momentum=0.9) if momentum else more
                if preloaded:
                    call = getattr(mx.nd, "preloaded_multi_" + suffix)
                    call(*flat(*lists), mx.nd.array(lrs), mx.nd.array(wds), out=w, **kwargs)
                else:
                    getattr(mx.nd, "multi_" + suffix)(*flat(*lists), lrs=lrs, wds=wds, out=w, **kwargs)
                keep(f"{suffix}_{preloaded}", *lists)
        for op in ("adamw", "lamb"):
            w, g, m, v = make("float16" if half else "float32"), make("float16" if half else "float32"), make(), make()
            v = make(positive=True)
            w32 = [[x.astype("float32") for x in w]] if half else []
            call = getattr(mx.nd.contrib, f"multi_{mp}{op}_update")
            if op == "adamw":
                scale = mx.nd.array([0.5])
                call(w, g, m, v, *w32, scale, lrs, wds, (1.0, 0.5), out=w, clip_gradient=0.2)
            else:
                call(w, g, m, v, *w32, (2, 3), lrs, wds, out=w, rescale_grad=0.5)
            keep(f"{mp}{op}", w, m, v, *w32)
    w, g, m, v = make()[0], make()[0], make()[0], make(positive=True)[0]
    mx.nd.contrib.adamw_update(w, g, m, v, 0.5, 0.1, 0.7, wd=0.1, clip_gradient=0.2, out=w)
    keep("adamw_update", [w, m, v])
    w = make("float16")[0]
    w32 = w.astype("float32")
    g = make("float16")[0]
    mx.nd.contrib.mp_adamw_update(w, g, m, v, w32, mx.nd.array([0.5]), 0.1, 0.7, wd=0.1, out=w)
    keep("mp_adamw_update", [w, m, v, w32])
    mx.nd.contrib.mp_adamw_update(w, g, m, v, w32, mx.nd.array([np.inf]), 0.1, 0.7, wd=0.1, out=w)
    keep("mp_adamw_update_skipped", [w, m, v, w32])
    keep("multi_sum_sq", [mx.nd.multi_sum_sq(*make(), num_arrays=2)])
    four = [mx.nd.array(rng.rand(4)) for _ in range(4)]
    keep("multi_lars", [mx.nd.multi_lars(*four, eta=0.1, eps=1e-3, rescale_grad=0.5)])
    return seen


def results(mx):
    """Yields all that is recorded: pairs of a name and a function that gives one flat array."""

    def flat(run, *args):
        found = run(mx, *args)
        return np.concatenate([x.ravel() for x in (found.values() if isinstance(found, dict) else found)])

    for case in CASES:
        yield case, lambda case=case: flat(train, case)
    for number, (name, _, _) in enumerate(OPERATORS):
        yield f"{name}_{number}", lambda number=number: flat(run_operator, number)
    for name, values in run_lists(mx).items():
        yield f"lists_{name}", lambda values=values: np.concatenate([x.ravel() for x in values])


def saved(mx):
    """An updater after three updates, and the weight."""
    scheduler = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1)
    updater = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.1, lr_scheduler=scheduler))
    weight = mx.nd.ones((3,))
    for _ in range(3):
        updater(0, mx.nd.array([1, 2, 3]), weight)
    return updater, weight


def main():
    import mxnet as mx

    record = {name: result() for name, result in results(mx)}
    updater, weight = saved(mx)
    record["saved"] = np.frombuffer(updater.get_states(dump_optimizer=True), np.uint8)
    updater(0, mx.nd.array([1, 2, 3]), weight)
    record["saved_next"] = weight.asnumpy()
    files.write(GOLDEN, record, files.versions("mxnet"))


if __name__ == "__main__":
    main()
