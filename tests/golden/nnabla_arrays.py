"""What real nnabla 1.39.0's functions of arrays give: an interpreter that has it makes nnabla_arrays.npz of this file.

Run it with OMP_NUM_THREADS=1: with more threads the original's image_augmentation draws in any order.
CASES: name of the function, inputs, arguments. Gradients are those of the sum of all outputs times `cotangent`;
CONSTANT names functions without a gradient, or with one that is wrong in the original.
"""

from itertools import product
from pathlib import Path

import numpy as np

from tests.golden import files

GOLDEN = Path(__file__).with_suffix(".npz")
INTEGERS = {"gather": (1,), "gather_nd": (1,), "scatter_nd": (1,), "scatter_add": (1,), "one_hot": (0,)}
MASKS = {"bool_gather": (1,), "bool_scatter": (1,), "bool_fill": (1,)}
CONSTANT = {
    "broadcast_to",
    "eye_like",
    "image_augmentation",
    "nonzero",
    "one_hot",
    "searchsorted",
    "shape",
    "sort",
    "unique",
    "unlink",
}
rng = np.random.default_rng(0)


def A(*shape):
    """Distinct numbers of [-1, 1] in random order, of distinct magnitudes: no ties."""
    n = int(np.prod(shape))
    return (rng.choice([-1, 1], n) * (rng.permutation(n) + 0.5) / max(n, 1)).reshape(shape).astype("float32")


def cotangent(shape):
    return np.asarray(np.random.default_rng(1).standard_normal(shape), "float32")


def case(name, *inputs, **args):
    return name, inputs, args


def reductions():
    for axis, keepdims in product((None, 1, (0, 2), -1), (False, True)):
        for name in ("sum", "mean", "prod", "norm", "max", "min"):
            yield case(name, A(2, 3, 4), axis=axis, keepdims=keepdims)
        for more in ({"with_index": True}, {"only_index": True}):
            yield case("max", A(2, 3, 4), axis=axis, keepdims=keepdims, **more)
            yield case("min", A(2, 3, 4), axis=axis, keepdims=keepdims, **more)
    yield case("norm", A(2, 3), p=3.0, axis=1)
    yield case("reduce_sum", A(2, 3))
    yield case("reduce_mean", A(2, 3))
    for axis, exclusive, reverse in product((0, -1), (False, True), (False, True)):
        yield case("cumsum", A(3, 4), axis=axis, exclusive=exclusive, reverse=reverse)
        yield case("cumprod", A(3, 4), axis=axis, exclusive=exclusive, reverse=reverse)


def shapes():
    x = A(2, 3, 4)
    yield case("reshape", x, shape=(4, -1))
    yield case("reshape", x, shape=(24,), inplace=False)
    yield case("transpose", x, axes=(2, 0, 1))
    yield case("concatenate", x, A(2, 3, 2))
    yield case("concatenate", x, A(1, 3, 4), axis=0)
    yield case("stack", x, A(2, 3, 4), axis=1)
    yield case("stack", x, A(2, 3, 4), axis=-1)
    yield case("split", x, axis=1)
    yield case("broadcast", A(3, 1), shape=(2, 3, 4))
    yield case("broadcast_to", x, A(3, 4))
    yield case("broadcast_to", x, A(2, 3), axis=0)
    yield case("broadcast_to", x, A(3), axis=1)
    for reps in (2, (2, 1, 3), (2, 1, 1, 1)):
        yield case("tile", x, reps=reps)
    yield case("flip", x)
    yield case("flip", x, axes=(0, -1))
    for mode, shifts in product(("nearest", "reflect"), ((1, -2), (1, 2, -1), (0, 3, -5))):
        yield case("shift", x, shifts=shifts, border_mode=mode)
    for mode in ("constant", "reflect", "repeat"):
        yield case("pad", x, pad_width=(1, 2), mode=mode, constant_value=0.5)
        yield case("pad", x, pad_width=(1, 2, 0, 1, 2, 5), mode=mode)
    yield case("meshgrid", A(3), A(2), A(4))
    yield case("meshgrid", A(3), A(2), ij_indexing=True)
    yield case("matrix_diag", A(2, 3))
    yield case("matrix_diag_part", A(2, 3, 3))
    yield case("trilu", x)
    yield case("trilu", x, k=-1, upper=False)
    yield case("unlink", x)
    yield case("eye_like", A(3, 4), k=-1)
    for start, end in ((0, 0), (1, 0), (-2, -1)):
        yield case("shape", x, start=start, end=end)
    for start, stop, step in [
        ((0, 1, -1), (2, 3, -5), (1, 1, -1)),
        ((None, None, 3), (None, None, None), (None, -1, -2)),
        ((0, 0, -3), (9, 9, -1), (1, 1, 1)),
        ((0, 2, 0), (2, 0, 4), (1, -1, 3)),
        ((0, 1, 1), None, None),
        (None, None, (1, -1, 2)),
    ]:
        yield case("slice", x, start=start, stop=stop, step=step)


def indices():
    x = A(2, 3, 4)
    for axis, batch_dims, shape in ((0, 0, (5,)), (1, 0, (2, 2)), (-1, 0, (3,)), (1, 1, (2, 5)), (2, 1, (2, 2))):
        yield case("gather", x, rng.integers(0, x.shape[axis], shape), axis=axis, batch_dims=batch_dims)
    places = np.array([[0, 1, -1], [2, 0, -2]])
    yield case("gather_nd", x, indices=places)
    yield case("gather_nd", x, indices=rng.integers(0, 2, (1, 2, 2)))
    yield case("scatter_nd", A(3, 4), indices=places, shape=(2, 3, 4))
    yield case("scatter_nd", A(5, 3, 4), indices=rng.integers(0, 2, (1, 5)), shape=(2, 3, 4), add=True)
    yield case("scatter_add", x, rng.integers(0, 3, (2, 3, 4)), A(2, 3, 4), axis=1)
    yield case("scatter_add", x, rng.integers(0, 2, (5, 2, 3)), A(5, 3, 4))
    yield case("one_hot", np.array([[0, 1], [-1, 2], [2, 5]]), shape=(3, 4))
    mask = np.array([[1, 0, 1], [0, 1, 0]], "float32")
    yield case("bool_gather", x, mask)
    yield case("bool_gather", A(2, 3), mask)
    yield case("bool_scatter", A(3, 4), mask)
    yield case("bool_fill", x, np.array([1, 0, 1, 0], "float32"), value=3.5)
    yield case("nonzero", rng.integers(0, 2, (3, 4)).astype("float32"))
    for right in (False, True):
        yield case("searchsorted", np.array([0, 1, 1, 2], "float32"), np.array([1, 0, 3], "float32"), right=right)
    for reverse, more in product((False, True), ({}, {"with_index": True}, {"only_index": True})):
        yield case("sort", x, axis=1, reverse=reverse, **more)
    for magnitude, largest, reduce in product((False, True), repeat=3):
        yield case("top_k_data", x, k=2, abs=magnitude, largest=largest, reduce=reduce)
    yield case("top_k_data", x, k=3, base_axis=-1, with_index=True, n_outputs=2)
    yield case("top_k_grad", x, k=3, abs=True, base_axis=2)
    repeated = np.array([[2, 1, 2, 0], [1, 1, 1, 5], [2, 1, 2, 0]], "float32")
    for flatten, in_order in product((False, True), repeat=2):
        yield case(
            "unique",
            repeated,
            flatten=flatten,
            axis=0,
            sorted=in_order,
            with_index=True,
            with_inverse=True,
            with_counts=True,
            n_outputs=4,
        )


def matrices():
    a = A(2, 3, 3)
    positive = (a @ a.transpose(0, 2, 1) + 3 * np.eye(3)).astype("float32")
    for name in ("batch_det", "batch_inv", "batch_logdet"):
        yield case(name, A(2, 3, 3))
    yield case("batch_cholesky", positive)
    yield case("batch_cholesky", positive, upper=True)
    for equation, sizes in (
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ii->i", [(3, 3)]),
        ("bij,bjk,kl->bl", [(2, 3, 4), (2, 4, 2), (2, 3)]),
        ("iij,jk->ik", [(3, 3, 2), (2, 4)]),
        ("...ij,...jk->...ik", [(2, 2, 3), (2, 3, 4)]),
        ("i...,j->...j", [(2, 3, 4), (3,)]),
    ):
        yield case("einsum", *(A(*s) for s in sizes), equation=equation)


def drawn():
    yield case("constant", val=2.5, shape=(2, 3))
    yield case("arange", start=0, stop=1, step=0.1)
    yield case("arange", start=5, stop=-1, step=-2)
    yield case("linspace", start=2, stop=3, num=7)
    for seed in (3, 1234):
        for name, args in (
            ("rand", dict(low=-1, high=2)),
            ("randn", dict(mu=1, sigma=2)),
            ("randint", dict(low=-3, high=9)),
            ("rand_binomial", dict(n=7, p=0.3)),
            ("rand_beta", dict(alpha=0.5, beta=0.5)),
            ("rand_beta", dict(alpha=2, beta=0.5)),
            ("rand_gamma", dict(k=3, theta=2)),
        ):
            yield case(name, **args, shape=(3, 4), seed=seed)
        yield case("dropout", A(4, 5), p=0.3, seed=seed)
        weights = np.abs(A(2, 5))
        yield case("random_choice", A(2, 5), weights, shape=(3, 2), seed=seed)
        yield case("random_choice", A(2, 5), weights, shape=(4,), replace=False, seed=seed)
        for base_axis in (0, 1):
            yield case("random_crop", A(2, 5, 6, 4), shape=(3, 2, 2), base_axis=base_axis, seed=seed)
            yield case("random_flip", A(2, 3, 4, 3), axes=(-1, 2), base_axis=base_axis, seed=seed)
            for mode in ("nearest", "reflect", "constant"):
                yield case(
                    "random_shift",
                    A(2, 3, 4, 3),
                    shifts=(1, 2),
                    border_mode=mode,
                    constant_value=0.5,
                    base_axis=base_axis,
                    seed=seed,
                )
        for share in (True, False):
            yield case("random_erase", A(2, 2, 8, 7), prob=0.8, n=2, share=share, seed=seed)
        yield case(
            "image_augmentation",
            A(2, 3, 6, 5),
            shape=(3, 4, 7),
            pad=(2, 1),
            min_scale=0.8,
            max_scale=1.2,
            angle=0.2,
            aspect_ratio=1.1,
            distortion=0.1,
            flip_lr=True,
            flip_ud=True,
            brightness=0.1,
            brightness_each=True,
            contrast=1.1,
            contrast_center=0.5,
            contrast_each=True,
            noise=0.1,
            seed=seed,
        )


CASES = [c for family in (reductions, shapes, indices, matrices, drawn) for c in family()]


def run(nn, functions, name, inputs, args):
    """The outputs' values and the inputs' gradients, None where there is none."""
    fixed = INTEGERS.get(name, ()) + MASKS.get(name, ())
    xs = []
    for i, a in enumerate(inputs):
        x = nn.Variable.from_numpy_array(a.copy())
        x.need_grad = i not in fixed
        xs.append(x)
    with nn.auto_forward():
        ys = getattr(functions, name)(*xs, **args)
    ys = list(ys) if isinstance(ys, tuple) else [ys]
    values = [np.array(y.d) for y in ys]
    floats = [y for y, v in zip(ys, values, strict=True) if v.dtype == np.float32]
    if not xs or not floats or name in CONSTANT:
        return values, [None] * len(xs)
    for x in xs:
        x.g = 0
    for y in floats:
        y.g = cotangent(y.shape)
    functions.sink(*floats, one_input_grad=False).backward()
    return values, [np.array(x.g) if x.need_grad else None for x in xs]


if __name__ == "__main__":
    import nnabla
    import nnabla.functions

    arrays = {}
    for k, (name, inputs, args) in enumerate(CASES):
        ys, grads = run(nnabla, nnabla.functions, name, inputs, args)
        arrays.update({f"{k}_y{j}": y for j, y in enumerate(ys)})
        arrays.update({f"{k}_g{i}": g for i, g in enumerate(grads) if g is not None})
    files.write(GOLDEN, arrays, files.versions("nnabla"))
