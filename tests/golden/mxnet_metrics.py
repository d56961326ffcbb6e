"""What real MXNet 1.9.1's metrics, schedulers and initializers do.

    PYTHON -m tests.golden.mxnet_metrics

records mxnet_metrics.json beside this file; PYTHON is an interpreter in which the real MXNet runs. `metrics`,
`schedulers` and `initializers` run unchanged on compatgrad.
"""

import pathlib
import warnings

import numpy as np

from tests.golden import files

GOLDEN = pathlib.Path(__file__).with_suffix(".json")

# name, arguments, kind of labels and predictions
METRICS = [
    ("acc", {}, "classes"),
    ("accuracy", {"axis": 1}, "images"),
    ("acc", {}, "same"),
    ("top_k_accuracy", {"top_k": 3}, "classes"),
    ("top_k_acc", {"top_k": 5}, "classes"),
    ("f1", {}, "binary"),
    ("f1", {"average": "micro"}, "binary"),
    ("mcc", {}, "binary"),
    ("mcc", {"average": "micro"}, "binary"),
    ("perplexity", {"ignore_label": None}, "classes"),
    ("perplexity", {"ignore_label": 2}, "classes"),
    ("mae", {}, "values"),
    ("mse", {}, "values"),
    ("rmse", {}, "values"),
    ("mse", {}, "column"),
    ("ce", {}, "classes"),
    ("nll_loss", {"eps": 1e-3}, "classes"),
    ("pearsonr", {}, "values"),
    ("pearsonr", {"average": "micro"}, "values"),
    ("pcc", {}, "classes"),
    ("pcc", {}, "binary"),
    ("loss", {}, "values"),
    ("torch", {}, "values"),
    ("caffe", {}, "values"),
    (["acc", "ce"], {}, "classes"),
]


def _batch(rng, kind):
    def softmax(x):
        e = np.exp(x)
        return e / e.sum(1, keepdims=True)

    if kind == "classes":
        return rng.randint(0, 5, 7), softmax(rng.randn(7, 5))
    if kind == "binary":
        return rng.randint(0, 2, 9), softmax(rng.randn(9, 2))
    if kind == "images":
        return rng.randint(0, 3, (2, 4, 4)), rng.randn(2, 3, 4, 4)
    if kind == "same":
        return rng.randint(0, 2, 8), rng.randint(0, 2, 8)
    if kind == "column":
        return rng.randn(6, 1), rng.randn(6)
    return rng.randn(6), rng.randn(6)


def metrics(mx):
    """Two batches, `reset_local`, a third: what `get` and `get_global` say after the second and the third."""
    seen = []
    for number, (name, arguments, kind) in enumerate(METRICS):
        rng = np.random.RandomState(number)
        metric = mx.metric.create(name, **arguments)
        seen.append([str(metric.get()[0]), str(metric.get()[1])])
        for batch in range(3):
            label, pred = _batch(rng, kind)
            metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
            if batch == 1:
                seen.append([metric.get()[0], np.asarray(metric.get()[1]).tolist()])
                metric.reset_local()
        for name, value in metric.get_name_value():
            seen.append([name, float(value)])
        if not (kind == "values" and arguments.get("average") == "micro"):  # the original gives 0 here
            for name, value in metric.get_global_name_value():
                seen.append([name, float(value)])
        config = metric.get_config()
        config.pop("name")  # the original has the name with k twice in a copy of TopKAccuracy
        seen.append(config)
    custom = mx.metric.CustomMetric(lambda label, pred: float(np.abs(label - pred).max()))
    custom.update([mx.nd.array([1, 2])], [mx.nd.array([1, 4])])
    counted = mx.metric.np(lambda label, pred: (float(pred.sum()), 4), name="counted")
    counted.update(mx.nd.array([1, 2]), mx.nd.array([1, 4]))
    named = mx.metric.create("mse", output_names=["b"], label_names=["x"])
    arrays = {"a": mx.nd.array([1, 2]), "b": mx.nd.array([2, 4]), "x": mx.nd.array([0, 1])}
    named.update_dict(arrays, arrays)
    return seen + [list(m.get()) for m in (custom, counted, named)]


SCHEDULERS = [
    ("FactorScheduler", {"step": 3, "factor": 0.5}),
    ("FactorScheduler", {"step": 2, "factor": 0.1, "stop_factor_lr": 1e-3, "base_lr": 1.0}),
    ("FactorScheduler", {"step": 3, "factor": 0.5, "warmup_steps": 4, "warmup_begin_lr": 0.001}),
    ("FactorScheduler", {"step": 3, "warmup_steps": 4, "warmup_begin_lr": 0.001, "warmup_mode": "constant"}),
    ("MultiFactorScheduler", {"step": [2, 5, 6], "factor": 0.3, "base_lr": 0.5}),
    ("MultiFactorScheduler", {"step": [7, 9], "factor": 0.3, "warmup_steps": 5}),
    ("PolyScheduler", {"max_update": 10}),
    ("PolyScheduler", {"max_update": 12, "base_lr": 0.3, "pwr": 3, "final_lr": 0.01, "warmup_steps": 3}),
    ("CosineScheduler", {"max_update": 10, "base_lr": 0.3}),
    ("CosineScheduler", {"max_update": 12, "base_lr": 0.3, "final_lr": 0.01, "warmup_steps": 3}),
]


def schedulers(mx):
    """The rates at updates 0 to 14, and at 14 alone."""
    seen = []
    for name, arguments in SCHEDULERS:
        scheduler = getattr(mx.lr_scheduler, name)(**arguments)
        seen.append([scheduler(n) for n in range(15)])
        seen.append([getattr(mx.lr_scheduler, name)(**arguments)(14)])
    return seen


# what is the same at each run
EXACT = [
    ("zeros", {}, "a_weight", (2, 3)),
    ("ones", {}, "a_weight", (2, 3)),
    ("constant", {"value": 3.5}, "a_weight", (2, 3)),
    ("constant", {"value": [1.0, 2.0, 3.0]}, "a_weight", (2, 3)),
    ("bilinear", {}, "a_weight", (2, 3, 4, 4)),
    ("bilinear", {}, "a_weight", (1, 2, 3, 5)),
    ("lstmbias", {"forget_bias": 2.0}, "a_weight", (8,)),
    ("xavier", {}, "a_bias", (4,)),
    ("xavier", {}, "a_gamma", (4,)),
    ("xavier", {}, "a_beta", (4,)),
    ("xavier", {}, "a_min", (4,)),
    ("xavier", {}, "a_max", (4,)),
]
# what has a random number's distribution
RANDOM = [
    ("uniform", {}, (50, 60)),
    ("uniform", {"scale": 2}, (50, 60)),
    ("normal", {}, (50, 60)),
    ("normal", {"sigma": 2}, (50, 60)),
    ("xavier", {}, (50, 60)),
    ("xavier", {"rnd_type": "gaussian", "factor_type": "in", "magnitude": 2}, (50, 60)),
    ("xavier", {"factor_type": "out", "magnitude": 2.24}, (20, 10, 3, 5)),
    ("msraprelu", {}, (20, 10, 3, 5)),
    ("msraprelu", {"factor_type": "in", "slope": 0.0}, (20, 10, 3, 5)),
    ("orthogonal", {}, (30, 40)),
    ("orthogonal", {"rand_type": "normal", "scale": 1.0}, (30, 4, 5)),
]


def initializers(mx):
    """Exact values; of random ones the configuration, the largest and the standard deviation."""
    warnings.simplefilter("ignore")
    mx.random.seed(5)
    seen = []
    for name, arguments, parameter, shape in EXACT:
        if isinstance(arguments.get("value"), list):
            arguments = {"value": mx.nd.array(arguments["value"])}
        init = mx.init.create(name, **arguments)
        x = mx.nd.array(np.full(shape, 9))
        init(mx.init.InitDesc(parameter), x)
        seen.append([init.dumps(), x.asnumpy().ravel().tolist()])
    for parameter in ("upsampling_weight", "stn_loc_bias", "stn_loc_weight", "x_moving_mean", "x_moving_var"):
        x = mx.nd.array(np.full((6, 1, 2, 2) if "upsampling" in parameter else (6,), 9))
        mx.init.Zero()(parameter, x)
        seen.append([parameter, x.asnumpy().ravel().tolist()])
    x = mx.nd.zeros((3, 3))
    mx.init.Zero()(mx.init.InitDesc("y_bias", {"__init__": mx.init.One().dumps()}), x)
    mixed = mx.init.Mixed(["y_.*", ".*"], [mx.init.Constant(5), mx.init.One()])
    y, z = mx.nd.zeros(2), mx.nd.zeros(2)
    mixed(mx.init.InitDesc("y_weight"), y)
    mixed(mx.init.InitDesc("z_weight"), z)
    w = mx.nd.zeros(2)
    mx.init.Load({"arg:w": mx.nd.array([1, 2])})("w", w)
    seen.append([a.asnumpy().ravel().tolist() for a in (x, y, z, w)])
    random = []
    for name, arguments, shape in RANDOM:
        init = mx.init.create(name, **arguments)
        x = mx.nd.zeros(shape)
        init(mx.init.InitDesc("a_weight"), x)
        a = x.asnumpy()
        random.append([init.dumps(), float(np.abs(a).max()), float(a.std())])
    return {"exact": seen, "random": random}


def main():
    import mxnet as mx

    record = {"metrics": metrics(mx), "schedulers": schedulers(mx), "initializers": initializers(mx)}
    files.write(GOLDEN, record, files.versions("mxnet"))


if __name__ == "__main__":
    main()
