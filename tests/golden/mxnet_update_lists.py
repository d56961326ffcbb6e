"""What real MXNet 1.9.1 does with lists of weights, drawn at random.

    PYTHON -m tests.golden.mxnet_update_lists

records mxnet_update_lists.npz beside this file; PYTHON is an interpreter in which the real MXNet runs. `run` runs
unchanged on compatgrad.
"""

import pathlib
import random

import numpy as np

from tests.golden import files

GOLDEN = pathlib.Path(__file__).with_suffix(".npz")
CASES = 64
SHAPES = [(3, 4), (5,), (1,), (2, 1, 3), (33,), (7, 2)]
KINDS = ["sgd", "sgd_mom", "adamw", "lamb", "train", "clip", "reduce"]


def _sgd(mx, r, make, shapes, name, half):
    count, more = len(shapes), {}
    lists = [make(half), make(half)]
    if name == "sgd_mom":
        lists.append(make(False))
        more["momentum"] = r.choice([0.0, 0.9])
    if half:
        lists.append([w.astype("float32") for w in lists[0]])
    if r.random() < 0.5:
        more.update(rescale_grad=0.5, clip_gradient=r.choice([0.25, 1.0]))
    lrs = [r.choice([0.1, 0.02]) for _ in shapes]
    wds = [r.choice([0.0, 0.1]) for _ in shapes]
    flat = [x for group in zip(*lists) for x in group]  # noqa: B905
    name = ("mp_" if half else "") + name + "_update"
    if r.random() < 0.5:
        rates = mx.nd.array(lrs), mx.nd.array(wds)
        getattr(mx.nd, "preloaded_multi_" + name)(*flat, *rates, num_weights=count, out=lists[0], **more)
    else:
        getattr(mx.nd, "multi_" + name)(*flat, lrs=lrs, wds=wds, num_weights=count, out=lists[0], **more)
    return [x for group in lists for x in group]


def _contrib(mx, r, make, shapes, name, half):
    w, g, m = make(half), make(half), make(False)
    v = [x**2 for x in make(False)]
    masters = [[x.astype("float32") for x in w]] if half else []
    lrs = tuple(r.choice([0.1, 0.02]) for _ in shapes)
    wds = tuple(r.choice([0.0, 0.1]) for _ in shapes)
    call = getattr(mx.nd.contrib, f"multi_{'mp_' if half else ''}{name}_update")
    more = {"clip_gradient": 0.5, "beta1": 0.8} if r.random() < 0.5 else {}
    if name == "adamw":
        etas = tuple(r.choice([1.0, 0.5]) for _ in shapes)
        call(w, g, m, v, *masters, mx.nd.array([r.choice([1.0, 0.25])]), lrs, wds, etas, out=w, **more)
    else:
        if r.random() < 0.5:
            more.update(lower_bound=0.5, upper_bound=1.5)
        counts = tuple(r.choice([1, 2, 9]) for _ in shapes)
        call(w, g, m, v, *masters, counts, lrs, wds, out=w, rescale_grad=0.5, **more)
    return [*w, *m, *v, *(x for group in masters for x in group)]


def _train(mx, r, make, shapes, half):
    name = r.choice(["sgd", "nag", "adam", "signum", "ftml", "lars", "lamb", "rmsprop", "adagrad", "ftrl", "nadam"])
    arguments = {"momentum": 0.9} if name in ("sgd", "nag", "lars") else {}
    names = {k: f"p{k}_" + r.choice(["weight", "bias", "gamma"]) for k in range(len(shapes))}
    optimizer = mx.optimizer.create(
        name, learning_rate=0.05, wd=0.05, multi_precision=half, param_idx2name=names, clip_gradient=0.5, **arguments
    )
    optimizer.set_lr_mult({names[k]: r.choice([1.0, 0.5]) for k in names})
    updater = mx.optimizer.get_updater(optimizer)
    weights = make(half)
    for _ in range(3):
        grads = make(half)
        if updater.aggregate_updates:
            updater(list(names), grads, weights)
        else:
            for k in names:
                updater(k, grads[k], weights[k])
    return weights


def run(mx, case):
    """The arrays after one call, or some steps of an optimizer."""
    r, values = random.Random(case), np.random.RandomState(case)
    kind, half = KINDS[case % len(KINDS)], r.random() < 0.5
    shapes = [r.choice(SHAPES) for _ in range(r.randint(1, 6))]

    def make(half):
        dtype = "float16" if half else "float32"
        return [mx.nd.array(values.randn(*shape).astype("float16"), dtype=dtype) for shape in shapes]

    if kind in ("sgd", "sgd_mom"):
        found = _sgd(mx, r, make, shapes, kind, half)
    elif kind in ("adamw", "lamb"):
        found = _contrib(mx, r, make, shapes, kind, half)
    elif kind == "train":
        found = _train(mx, r, make, shapes, half)
    elif kind == "clip":
        found = make(False)
        check = r.random() < 0.5
        norm = mx.gluon.utils.clip_global_norm(found, r.choice([0.5, 100.0]), check_isfinite=check)
        found.append(mx.nd.array([norm]) if check else norm)
    else:
        found = make(half)
        if r.random() < 0.5:
            found[-1][0] = r.choice([np.inf, np.nan])
        finite = [mx.nd.multi_all_finite(*found, num_arrays=len(found)), mx.nd.all_finite(found[0])]
        sums = [mx.nd.multi_sum_sq(*found, num_arrays=len(found))]
        mx.nd.reset_arrays(*found, num_arrays=len(found))
        found += finite + sums
    return [x.asnumpy() for x in found]


def main():
    import mxnet as mx

    found = {f"{case}_{k}": x for case in range(CASES) for k, x in enumerate(run(mx, case))}
    files.write(GOLDEN, found, files.versions("mxnet"))


if __name__ == "__main__":
    main()
