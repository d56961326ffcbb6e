"""Samples of ops on arrays: indices, order, masks, matrices, random numbers."""

import numpy as np
import torch

from compatgrad import _C
from tests.ops.harness import Floats, Sample, sample

A = Floats
WRITTEN = {"assign": (0,), "bool_scatter": (2,), "draw": (0,), "scatter_nd": (2,)}  # op -> inputs that it writes
WIDE = {"dtypes": ("float32", "float64")}
FLAT = {"differentiable": ()}  # the gradient is by design not the derivative


class Fresh(Sample):
    """Runs on copies of what the op writes: an input, or the state of a generator."""

    def apply(self, xs):
        xs = [_C.op("copy")(x) if x is not None and i in WRITTEN.get(self.op, ()) else x for i, x in enumerate(xs)]
        params = {k: v.clone() if k == "rng" else v for k, v in self.params.items()}
        return Sample(self.op, self.reference, self.inputs, params, self.many).apply(xs)


def fresh(*args, **more):
    return [Fresh(**vars(s)) for s in sample(*args, **more)]


# ---- references -----------------------------------------------------------------------------------------------------
def select_along(x, index, axis=0):
    return np.take(x, index, axis)


def add_along(gy, index, axis, size):
    y = np.zeros((*gy.shape[:axis], size, *gy.shape[axis + 1 :]))
    np.add.at(y, (slice(None),) * axis + (index,), gy)
    return y


def gather_along(x, index, axis=0):
    return np.take_along_axis(x, index, axis)


def scatter_along(gy, index, axis, shape):
    y = np.zeros(shape)
    places = list(np.indices(gy.shape))
    places[axis] = index
    np.add.at(y, tuple(places), gy)
    return y


def gather(x, t, axis=0, batch_dims=0):
    if batch_dims:
        return np.stack(
            [gather(a, b, axis - 1 if axis > 0 else axis, batch_dims - 1) for a, b in zip(x, t, strict=True)]
        )
    return np.take(x, t, axis)


def gather_nd(x, t):
    return x[tuple(t)]


def scatter_nd(x, t, out=None, shape=(), add=False):
    y = np.zeros(shape) if out is None else out.copy()
    if add:
        np.add.at(y, tuple(t), x)
    else:
        y[tuple(t)] = x
    return y


def scatter_add(x0, t, x1, axis=0):
    y, places = x0.copy(), list(np.indices(t.shape))
    source = x1[tuple(places)]
    places[axis] = t
    np.add.at(y, tuple(places), source)
    return y


def outputs(values, index, with_index, only_index):
    return index if only_index else (values, index) if with_index else values


def sort(x, axis=-1, reverse=False, with_index=False, only_index=False):
    order = np.argsort(-x if reverse else x, axis, kind="stable")
    return outputs(np.take_along_axis(x, order, axis), order, with_index, only_index)


def partial_argsort(x, k, axis=-1, reverse=False):
    return np.take(sort(x, axis, reverse, only_index=True), range(k), axis)


def extreme(x, axis=None, keepdims=False, smallest=False, with_index=False, only_index=False):
    axes = tuple(range(x.ndim)) if axis is None else tuple(a % x.ndim for a in axis)
    lines = np.moveaxis(x, axes, range(-len(axes), 0))
    lines = lines.reshape(*lines.shape[: x.ndim - len(axes)], -1)
    index = (lines.argmin if smallest else lines.argmax)(-1)
    values = np.take_along_axis(lines, index[..., None], -1)[..., 0]
    if keepdims:
        values, index = np.expand_dims(values, axes), np.expand_dims(index, axes)
    return outputs(values, index, with_index, only_index)


def top_k(x, k, abs=False, reduce=True, base_axis=1, largest=True, with_index=False):
    base_axis %= x.ndim
    lines = x.reshape(int(np.prod(x.shape[:base_axis])), -1)
    key = np.abs(lines) if abs else lines
    index = np.argsort(-key if largest else key, -1)[:, :k]
    picked, shape = np.take_along_axis(lines, index, 1), (*x.shape[:base_axis], k)
    if reduce:
        return outputs(picked.reshape(shape), index.reshape(shape), with_index, False)
    y = np.zeros_like(lines)
    np.put_along_axis(y, index, picked, 1)
    return y.reshape(x.shape)


def top_k_mask(x, k, abs=False, base_axis=1):
    return top_k(x, k, abs, reduce=False, base_axis=base_axis)


def unique(x, axis=None, sorted=True, with_index=False, with_inverse=False, with_counts=False):
    y, first, inverse, counts = np.unique(x, True, True, True, axis)
    inverse = inverse.ravel()
    if not sorted:
        order = np.argsort(first)
        first, counts, inverse = first[order], counts[order], np.argsort(order)[inverse]
        y = np.take(x if axis is not None else x.ravel(), first, axis or 0)
    return [y] + [v for v, given in ((first, with_index), (inverse, with_inverse), (counts, with_counts)) if given]


def bool_fill(x, mask, value=0.0):
    return np.where(np.broadcast_to(mask, x.shape) != 0, value, x)


def bool_gather(x, mask):
    y = x[mask != 0]
    return y.reshape(len(y), -1) if mask.ndim < x.ndim else y


def bool_scatter(x, mask, out=None):
    y = np.zeros((*mask.shape, *x.shape[1:])) if out is None else out.copy()
    y[mask != 0] = x
    return y


def one_hot(x, shape):
    y = np.zeros((*x.shape[:-1], *shape), "float32")
    for place in np.ndindex(*x.shape[:-1]):
        if all(-n <= i < n for i, n in zip(x[place], shape, strict=True)):
            y[place][tuple(x[place])] = 1
    return y


def edges(x, before, after, mode):
    for axis, (b, a) in enumerate(zip(before, after, strict=True)):
        name = {"repeat": "edge", "reflect": "reflect", "symmetric": "symmetric"}[mode]
        widths = [(max(b, 0), max(a, 0)) if k == axis else (0, 0) for k in range(x.ndim)]
        part = [
            slice(max(-b, 0), n + max(b, 0) + max(a, 0) - max(-a, 0)) if k == axis else slice(None)
            for k, n in enumerate(x.shape)
        ]
        x = np.pad(x, widths, name)[tuple(part)]
    return x


def running_sum(x, axis=0, exclusive=False, reverse=False):
    x = np.flip(x, axis) if reverse else x
    y = np.cumsum(x, axis) - (x if exclusive else 0)
    return np.flip(y, axis) if reverse else y


def einsum(xs, equation):
    return np.einsum(equation, *xs)


# ---- random numbers -------------------------------------------------------------------------------------------------
def state(seed):
    """The bytes of std::mt19937: its words in 64 bits each, and how many of them are used up."""
    words = np.random.RandomState(seed).get_state()[1]
    return np.append(words.astype("uint64"), np.uint64(624)).view("uint8")


def words(bytes_of_state):
    """The generator that stands behind a state, as a function from a count to that many words."""
    rng = np.random.RandomState()
    rng.set_state(("MT19937", bytes_of_state.view("uint64")[:-1].astype("uint32"), 624))
    return lambda n: np.frombuffer(rng.bytes(4 * n), "uint32")


def draw(given, kind, a, b, shape, device="cpu"):
    take = words(np.asarray(given))
    if kind == "uniform":
        return (take(int(np.prod(shape))) * np.float32(2**-32) * (b - a) + a).reshape(shape).astype("float32")
    values = []
    while len(values) < np.prod(shape):  # Marsaglia's polar method
        u, v = take(2).astype("float32") * np.float32(2**-32) * 2 - 1
        s = u * u + v * v
        if 0 < s <= 1:
            values += [v * np.sqrt(-2 * np.log(s) / s), u * np.sqrt(-2 * np.log(s) / s)]
    return (np.array(values)[: int(np.prod(shape))] * b + a).reshape(shape).astype("float32")


def dropout(x, p=0.5, rng=None):
    take = words(rng.numpy())(2 * x.size).astype("float64")
    kept = (take[::2] + take[1::2] * 2.0**32) / 2.0**64 < 1 - p
    return x * kept.reshape(x.shape) / (1 - p)


def affine_in_x(op):
    """A reference for what the op does with its first input: found by running it on one element after the other."""

    def reference(x, *more, **params):
        def run(a):
            given = {k: v.clone() if k == "rng" else v for k, v in params.items()}
            return _C.op(op)(torch.tensor(a), *(torch.tensor(v) for v in more), **given).tensor.numpy()

        base = run(np.zeros(x.shape))
        return base + sum(v * (run(e.reshape(x.shape)) - base) for v, e in zip(x.ravel(), np.eye(x.size), strict=True))

    return reference


RNG = torch.tensor(state(3))
INDEX = np.array([2, 0, 2])
PLACES = np.array([[0, 1, -1], [2, 0, -2]])
MASK = np.array([[1, 0, 1], [0, 2, 0]], "float32")

ARRAYS = [
    sample("select_along", select_along, A(3, 4), INDEX, axis=0),
    sample("add_along", add_along, A(2, 3), INDEX, axis=1, size=4),
    sample("gather_along", gather_along, A(3, 2), np.array([[0, 1], [1, 0]]), axis=0),
    sample("scatter_along", scatter_along, A(2, 2), np.array([[0, 2], [2, 2]]), axis=1, shape=[2, 4]),
    sample("gather", gather, A(3, 4), np.array([[2, 0], [1, 2]])),
    sample("gather", gather, A(3, 4), np.array(1), axis=-1),
    sample("gather", gather, A(2, 3, 4), np.array([[3, 0, 3], [1, 1, 0]]), axis=2, batch_dims=1),
    sample("gather", gather, A(2, 3, 4), np.array([[2, 0], [1, 1]]), axis=1, batch_dims=1),
    sample("gather_nd", gather_nd, A(2, 3, 4), PLACES),
    sample("gather_nd", gather_nd, A(2, 3), np.array([[[0, 1]], [[2, 2]]])),
    sample("scatter_nd", scatter_nd, A(3, 4), PLACES, shape=[2, 3, 4]),
    fresh("scatter_nd", scatter_nd, A(3, 4), PLACES, A(2, 3, 4), shape=[2, 3, 4]),
    fresh("scatter_nd", scatter_nd, A(4), np.array([[0, 1, 0, 2]]), A(3), shape=[3], add=True),
    sample("scatter_add_along", scatter_add, A(3, 4), np.array([[0, 2, 2, 1]]), A(2, 4)),
    sample("scatter_add_along", scatter_add, A(3, 4), np.array([[0, 3], [1, 1], [3, 3]]), A(3, 2), axis=-1),
    *(
        sample("sort", sort, A(3, 4), axis=axis, reverse=reverse, with_index=w, only_index=o)
        for axis, reverse, w, o in ((-1, False, True, False), (0, True, False, False), (1, True, True, True))
    ),
    *(
        sample("partial_argsort", partial_argsort, A(*shape), k=k, axis=axis, reverse=reverse)
        for shape, k, axis, reverse in (((3, 4), 4, -1, False), ((2, 9), 2, -1, True), ((40, 2), 3, 0, False))
    ),
    *(
        sample("extreme", extreme, A(2, 3, 4), axis=axis, keepdims=k, smallest=s, with_index=w, only_index=o)
        for axis, k, s, w, o in (
            (None, False, False, True, False),
            ([0, -1], True, True, True, False),
            ([1], False, False, False, False),
            ([1], False, True, False, True),
        )
    ),
    *(
        sample("top_k", top_k, A(2, 3, 2), k=k, abs=a, base_axis=b, largest=g, with_index=w)
        for k, a, b, g, w in ((2, False, 1, True, True), (3, True, 0, False, False), (1, False, -1, True, True))
    ),
    sample("top_k", top_k, A(2, 4), k=2, reduce=False, **FLAT),
    sample("top_k_mask", top_k_mask, A(2, 2, 3), k=2, abs=True, base_axis=1),
    sample("top_k_grad", lambda x, k, abs, base_axis: x, A(2, 4), k=2, abs=False, base_axis=1, **FLAT),
    sample(
        "searchsorted",
        lambda s, v, right=False: np.stack(
            [np.searchsorted(a, b, "right" if right else "left") for a, b in zip(s, v, strict=True)]
        ).astype(v.dtype),
        np.sort(np.random.RandomState(0).rand(2, 4)),
        A(2, 3, low=0),
        dtypes=("float64",),
        right=True,
    ),
    *(
        sample(
            "unique",
            unique,
            np.array([[2, 1, 2, 0], [1, 1, 1, 5], [2, 1, 2, 0]], "float64"),
            axis=axis,
            sorted=s,
            with_index=True,
            with_inverse=True,
            with_counts=True,
        )
        for axis in (None, 0, 1)
        for s in (True, False)
    ),
    sample("unique", unique, A(2, 3), sorted=False),
    sample("unique", unique, A(2, 3), axis=1),
    sample("bool_fill", bool_fill, A(2, 3), MASK, value=2.5),
    sample("bool_fill", bool_fill, A(2, 2, 3), np.array([[1.0], [0.0]])),
    sample("bool_gather", bool_gather, A(2, 3, 2), MASK),
    sample("bool_gather", bool_gather, A(2, 3), MASK),
    sample("bool_scatter", bool_scatter, A(3, 2), MASK),
    fresh("bool_scatter", bool_scatter, A(3, 2), MASK, A(2, 3, 2)),
    sample("nonzero", lambda x: np.array(np.nonzero(x)), MASK),
    sample("one_hot", one_hot, np.array([[0, 1], [-1, 2], [2, 5]]), shape=[3, 4]),
    *(
        sample("edges", edges, A(3, 4), before=b, after=a, mode=m)
        for m in ("repeat", "reflect", "symmetric")
        for b, a in (([1, 2], [2, 0]), ([0, 3], [0, 7]), ([2, -1], [-2, 1]))
    ),
    *(
        sample("running_sum", running_sum, A(3, 4), axis=axis, exclusive=e, reverse=r)
        for axis in (0, 1)
        for e in (True, False)
        for r in (True, False)
    ),
    sample("eye_like", lambda x, k=0: np.eye(*x.shape, k=k), A(3, 4), k=1),
    sample("unlink", lambda x: x, A(3, 4), **FLAT),
    sample("sink", lambda xs: np.zeros(()), [A(3, 4), A(2)], **FLAT),
    fresh("assign", lambda to, x: x, A(3, 4), A(3, 4), **FLAT),
]

MATRICES = [
    sample("inverse", np.linalg.inv, A(2, 3, 3), tolerance=10, **WIDE),
    sample("det", np.linalg.det, A(2, 3, 3), tolerance=10, **WIDE),
    sample("log_abs_det", lambda x: np.linalg.slogdet(x)[1], A(2, 3, 3), tolerance=10, **WIDE),
    sample(
        "cholesky",
        lambda x, upper: np.linalg.cholesky(x).swapaxes(-1, -2) if upper else np.linalg.cholesky(x),
        np.array([[[2, 0.5], [0.5, 1]], [[3, 1], [1, 2]]]),
        upper=True,
    ),
    *(
        sample("einsum", einsum, [A(*s) for s in shapes], equation=e, dtypes=("float32", "float64"))
        for e, shapes in (
            ("ab,bc->ac", [(2, 3), (3, 4)]),
            ("aab,bc->ac", [(3, 3, 2), (2, 4)]),
            ("ab,cd->ad", [(2, 3), (4, 2)]),
            ("ii->", [(3, 3)]),
            ("ab,ab,b->b", [(2, 3), (2, 3), (3,)]),
            ("ab,bc->ac", [(2, 1), (3, 4)]),
        )
    ),
]

RANDOM = [
    sample("new_generator", lambda seed: state(int(seed)), np.array(7)),
    fresh("draw", draw, state(5), kind="uniform", a=-1.0, b=2.0, shape=[3, 4], device="cpu", tolerance=1e6),
    fresh("draw", draw, state(5), kind="normal", a=1.0, b=2.0, shape=[5], tolerance=1e6),
    fresh("dropout_drawn", dropout, A(4, 5), p=0.3, rng=RNG),
    fresh("random_crop", affine_in_x("random_crop"), A(2, 3, 4), shape=[2, 3], base_axis=1, rng=RNG),
    fresh("random_flip", affine_in_x("random_flip"), A(3, 2, 3), axes=[-1, 1], base_axis=1, rng=RNG),
    *(
        fresh(
            "random_shift",
            affine_in_x("random_shift"),
            A(2, 3, 4),
            shifts=[1, 2],
            border_mode=m,
            constant_value=0.5,
            base_axis=1,
            rng=RNG,
        )
        for m in ("nearest", "reflect", "constant")
    ),
    *(
        fresh(
            "random_choice",
            affine_in_x("random_choice"),
            A(2, 4),
            np.array([[1, 2, 1, 0.5], [1, 0, 2, 1]], "float32"),
            shape=[3],
            replace=r,
            rng=RNG,
        )
        for r in (True, False)
    ),
    fresh(
        "random_erase",
        affine_in_x("random_erase"),
        A(2, 2, 4, 3),
        prob=0.9,
        area_low=0.1,
        area_high=0.4,
        aspect_low=0.3,
        aspect_high=3.0,
        low=0.0,
        high=2.0,
        n=2,
        share=False,
        base_axis=1,
        channel_last=False,
        ste_fine_grained=True,
        rng=RNG,
    ),
    fresh(
        "random_erase",
        affine_in_x("random_erase"),
        A(1, 3, 4, 2),
        prob=1.0,
        channel_last=True,
        ste_fine_grained=False,
        rng=RNG,
        **FLAT,
    ),
    fresh(
        "image_augmentation",
        affine_in_x("image_augmentation"),
        A(2, 2, 4, 3),
        shape=[2, 3, 4],
        pad=[1, 0],
        min_scale=0.8,
        max_scale=1.2,
        angle=0.3,
        aspect_ratio=1.2,
        distortion=0.1,
        flip_lr=True,
        flip_ud=True,
        brightness=0.2,
        brightness_each=True,
        contrast=1.2,
        contrast_center=0.5,
        contrast_each=True,
        noise=0.1,
        rng=RNG,
        dtypes=("float32", "float64"),
    ),
]

SAMPLES = [s for family in (ARRAYS, MATRICES, RANDOM) for line in family for s in line]
