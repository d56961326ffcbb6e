"""What real MXNet 1.9.1's operators on arrays give: an interpreter that has it makes mxnet_arrays.npz of this file.

CASES: name of the operator, inputs, arguments; the values of all results, and the gradients of all inputs of floating
dtype, those of the sum of all results times `cotangent`. NO_GRADIENT names those without one, or with a wrong one.
"""

from itertools import product
from pathlib import Path

import numpy as np

from tests.golden import files

GOLDEN = Path(__file__).with_suffix(".npz")
NO_GRADIENT = {
    "argmax",
    "argmin",
    "argmax_channel",
    "one_hot",
    "argsort",
    "shape_array",
    "size_array",
    "zeros_like",
    "ones_like",
    "unravel_index",
    "ravel_multi_index",
    "histogram",
    "all_finite",
    "moveaxis",
    "concatenate",
    "multi_sum_sq",
    "contrib.arange_like",
    "contrib.index_array",
    "contrib.allclose",
    "contrib.index_copy",
    "fill_element_0index",
    "moments",
    "batch_take",
    "khatri_rao",
}
INDEX_SECOND = {
    "take",
    "batch_take",
    "pick",
    "choose_element_0index",
    "gather_nd",
    "scatter_nd",
    "SequenceMask",
    "SequenceLast",
    "SequenceReverse",
    "contrib.boolean_mask",
}
rng = np.random.default_rng(0)


def A(*shape, low=-1.0, high=1.0):
    """Distinct numbers in random order, of distinct magnitudes: no ties."""
    n = int(np.prod(shape))
    return (low + (high - low) * (rng.permutation(n) + 0.3) / max(n, 1)).reshape(shape).astype("float32")


def I(*values):  # noqa: E743
    return np.asarray(values if len(values) > 1 else values[0], "float32")


def cotangent(shape):
    return np.asarray(np.random.default_rng(1).standard_normal(shape), "float32")


def case(name, *inputs, **args):
    return name, inputs, args


def positive(n, batch=()):
    a = A(*batch, n, n)
    return np.matmul(a, np.swapaxes(a, -1, -2)) + np.eye(n, dtype="float32")


def reductions():
    x = A(2, 3, 4)
    for name in ("sum", "mean", "prod", "nansum", "nanprod", "max", "min"):
        yield case(name, x)
        yield case(name, x, axis=1)
        yield case(name, x, axis=(0, -1), keepdims=True)
        yield case(name, x, axis=0, exclude=True)
    for ord, axis, keepdims in product((1, 2), (None, 1, (0, 2)), (False, True)):
        yield case("norm", x, ord=ord, axis=axis, keepdims=keepdims)
    for name, axis, keepdims in product(("argmax", "argmin"), (None, 0, -1), (False, True)):
        yield case(name, x, axis=axis, keepdims=keepdims)
    yield case("argmax_channel", x)
    yield case("moments", x, axes=(0, 2))
    yield case("moments", x, axes=(1,), keepdims=True)
    ints = np.arange(6, dtype="int32").reshape(2, 3)
    for name in ("sum", "mean", "prod", "max", "argmax"):
        yield case(name, ints, axis=1)
    yield case("nansum", np.where(x > 0.5, np.float32("nan"), x), axis=1)
    yield case("nanprod", np.where(x > 0.5, np.float32("nan"), x), axis=2)


def shapes():
    x = A(2, 3, 4)
    for shape in ((-1,), (0, -1), (0, -3), (-2,), (-4, 1, -1, 0, 0), (0, -4, -1, 1, -2), (-3, -2), (0, 0, -4, 2, -1)):
        yield case("reshape", x, shape=shape)
    for shape in ((-1, 0), (-3, 0), (0, -1), (-2, 0)):
        yield case("reshape", x, shape=shape, reverse=True)
    yield case("reshape_like", x, A(6, 4))
    yield case("reshape_like", x, A(6, 5, 4), lhs_begin=0, lhs_end=2, rhs_begin=0, rhs_end=1)
    yield case("flatten", x)
    yield case("Flatten", A(3))
    yield case("transpose", x)
    yield case("transpose", x, axes=(1, 0, 2))
    yield case("swapaxes", x, dim1=0, dim2=-1)
    yield case("moveaxis", x, source=0, destination=2)
    yield case("moveaxis", x, source=(0, 1), destination=(-1, 0))
    for axis in (0, 2, -1, -3):
        yield case("expand_dims", A(2, 3), axis=axis)
    yield case("squeeze", A(1, 3, 1))
    yield case("squeeze", A(1, 3, 1), axis=0)
    yield case("squeeze", A(1, 3, 1), axis=(0, -1))
    yield case("squeeze", A(1, 1))
    for reps in ((2, 1, 2), 2, (2, 1, 1, 1)):
        yield case("tile", x, reps=reps)
    yield case("repeat", x, repeats=2)
    yield case("repeat", x, repeats=3, axis=-2)
    yield case("flip", x, axis=1)
    yield case("reverse", x, axis=(0, 2))
    for mode in ("constant", "edge", "reflect"):
        yield case("pad", A(2, 1, 3, 4), mode=mode, pad_width=(0, 0, 0, 0, 1, 2, 0, 3), constant_value=0.5)
        yield case("pad", A(1, 1, 2, 3, 3), mode=mode, pad_width=(0, 0, 0, 0, 1, 0, 2, 1, 0, 0))
    yield case("diag", A(3), k=1)
    yield case("diag", A(3, 4), k=-1)
    yield case("diag", x)
    yield case("diag", x, k=1, axis1=0, axis2=2)
    yield case("depth_to_space", A(2, 8, 2, 3), block_size=2)
    yield case("space_to_depth", A(2, 2, 4, 6), block_size=2)
    yield case("broadcast_to", A(1, 3, 1), shape=(2, 0, 4))
    yield case("broadcast_like", A(1, 3), A(2, 3))
    yield case("broadcast_like", A(1, 3), A(4, 5, 6), lhs_axes=(0,), rhs_axes=(-1,))
    yield case("broadcast_axis", A(1, 3, 1), axis=(0, 2), size=(2, 4))
    yield case("broadcast_axes", A(1, 3), axis=0, size=2)


def lists():
    x = A(2, 3, 4)
    yield case("concat", x, A(2, 2, 4))
    yield case("concat", x, A(2, 3, 1), x, dim=-1)
    yield case("concatenate", [A(2, 3), A(1, 3)])
    for axis in (0, -1):
        yield case("stack", x, A(2, 3, 4), axis=axis)
    yield case("split", x, num_outputs=2, axis=2)
    yield case("split", x, num_outputs=3, squeeze_axis=True)
    yield case("split", x, num_outputs=1)
    yield case("split", A(3, 1), num_outputs=1, squeeze_axis=True)
    yield case("split_v2", x, indices_or_sections=(1, 1, 3), axis=2)
    yield case("split_v2", x, indices_or_sections=2, axis=0, squeeze_axis=True)
    yield case("add_n", A(2, 3), A(2, 3), A(2, 3))
    yield case("where", I([[1, 0, 2], [0, 0, -1]]), A(2, 3), A(2, 3))
    yield case("where", I(1, 0), A(2, 3), A(2, 3))
    for name in (
        "zeros_like",
        "ones_like",
        "shape_array",
        "size_array",
        "identity",
        "stop_gradient",
        "make_loss",
        "all_finite",
    ):
        yield case(name, A(2, 3))
    yield case("MakeLoss", A(2, 3), grad_scale=2.5)
    yield case("MakeLoss", A(2, 3), normalization="batch")
    yield case("MakeLoss", A(2, 3), normalization="valid", valid_thresh=0.1)
    for dtype in ("float16", "int32", "uint8"):
        yield case("cast", A(2, 3, low=0, high=9), dtype=dtype)
    yield case("clip", A(3, 4), a_min=-0.5, a_max=0.25)
    yield case("clip", np.arange(6, dtype="int32"), a_min=1.5, a_max=3)
    yield case("cumsum", A(2, 3))
    yield case("cumsum", A(2, 3), axis=1)
    yield case("multi_sum_sq", A(2, 3), A(4), num_arrays=2)
    yield case("contrib.quadratic", A(2, 3), a=2.0, b=-1.0, c=0.5)
    for more in ({}, {"axis": 1}, {"start": 1.0, "step": 2.0, "axis": -1}, {"repeat": 2}):
        yield case("contrib.arange_like", A(2, 4), **more)
    yield case("contrib.index_array", A(2, 3), axes=(1,))


def indices():
    x = A(4, 3)
    yield case("slice", x, begin=(1, None), end=(None, 2))
    yield case("slice", x, begin=(None, 2), end=(-1, None), step=(2, -1))
    yield case("crop", x, begin=(0, 1), end=(2, 3))
    yield case("slice_axis", x, axis=0, begin=-3, end=None)
    yield case("slice_axis", x, axis=-1, begin=0, end=-1)
    yield case("slice_like", x, A(2, 2))
    yield case("slice_like", x, A(5, 2), axes=(-1,))
    for mode in ("clip", "wrap"):
        yield case("take", x, I([[0, -1], [7, 1]]), mode=mode)
        yield case("pick", x, I(0, -1, 5, 2), mode=mode)
    yield case("take", x, I(0, 2, 2), axis=1, mode="raise")
    yield case("take", x, np.array([2, 0], "int32"), axis=-1)
    yield case("batch_take", x, np.array([0, 2, 1, 1], "int32"))
    yield case("pick", x, I(3, 0, 2), axis=0, keepdims=True)
    yield case("pick", x, I([[0], [1], [2], [0]]))
    yield case("pick", A(5), I([3]), axis=0)
    yield case("fill_element_0index", x, A(4), I(0, 1, 2, 0))
    yield case("gather_nd", x, I([[0, 1, 3, 1], [2, 0, 1, 0]]))
    yield case("gather_nd", A(2, 3, 4), I([[0, 1], [2, 0]]))
    yield case("scatter_nd", A(3), I([[0, 1, 3], [2, 0, 1]]), shape=(4, 3))
    yield case("scatter_nd", A(2, 3), I([[3, 1]]), shape=(4, 3))
    yield case("one_hot", I([[0, 2], [-1, 5]]), depth=3)
    yield case("one_hot", I(0, 1), depth=3, on_value=2, off_value=-1, dtype="int32")
    yield case("ravel_multi_index", I([[0, 1], [2, 0]]), shape=(2, 3))
    yield case("unravel_index", I(2, 3, 5), shape=(2, 3))
    yield case("contrib.index_copy", x, np.array([3, 0], "int64"), A(2, 3))
    yield case("contrib.boolean_mask", x, I(1, 0, 0, 1))


def orders():
    x = A(3, 5)
    for axis, ret_typ, ascend in product((-1, 0, None), ("indices", "value", "mask", "both"), (False, True)):
        yield case("topk", x, axis=axis, k=2, ret_typ=ret_typ, is_ascend=ascend)
    yield case("topk", x, k=3, dtype="int32")
    yield case("topk", I(1, 1, 2, 2, 0), k=4)
    yield case("topk", I(1, 1, 2, 2, 0), k=4, is_ascend=True)
    for axis, ascend in product((-1, 0, None), (False, True)):
        yield case("sort", x, axis=axis, is_ascend=ascend)
        yield case("argsort", x, axis=axis, is_ascend=ascend)
    yield case("argsort", I(1, 1, 2, 2, 0), is_ascend=False, dtype="int32")
    yield case("histogram", A(20), bins=4, range=(-1, 1))


def sequences():
    x = A(4, 3, 2)
    for axis, lengths in ((0, (1, 4, 2)), (1, (3, 1, 2, 2))):
        yield case("SequenceMask", x, I(*lengths), use_sequence_length=True, value=-0.5, axis=axis)
        yield case("SequenceLast", x, I(*lengths), use_sequence_length=True, axis=axis)
    yield case("SequenceMask", A(4, 3), I(0, 2, 9), use_sequence_length=True)
    yield case("SequenceReverse", x, I(1, 4, 3), use_sequence_length=True)
    yield case("SequenceReverse", x)
    yield case("SequenceLast", A(4, 3), I(1, 2, 4), use_sequence_length=True)
    yield case("SequenceMask", x)


def matrices():
    for ta, tb in product((False, True), repeat=2):
        a, b = A(*((3, 2) if ta else (2, 3))), A(*((4, 3) if tb else (3, 4)))
        yield case("dot", a, b, transpose_a=ta, transpose_b=tb)
        yield case("linalg.gemm2", a, b, transpose_a=ta, transpose_b=tb, alpha=0.5)
        yield case("linalg.gemm", a, b, A(2, 4), transpose_a=ta, transpose_b=tb, alpha=2.0, beta=0.5)
        a, b = A(*((2, 3, 5) if ta else (2, 5, 3))), A(*((2, 4, 3) if tb else (2, 3, 4)))
        yield case("batch_dot", a, b, transpose_a=ta, transpose_b=tb)
    yield case("dot", A(3), A(3))
    yield case("dot", A(2, 3), A(3))
    yield case("dot", A(2), A(2, 3))
    yield case("dot", A(2, 3, 4), A(4, 2, 5))
    yield case("dot", A(2, 3, 4), A(2, 5), transpose_a=True)
    yield case("dot", A(2, 3, 4), A(5, 2, 4), transpose_b=True)
    yield case("khatri_rao", A(2, 3), A(4, 3), A(2, 3))
    yield case("linalg.gemm2", A(2, 5, 4), A(4, 5, 2), axis=0)
    yield case("linalg.potrf", positive(3, (2,)))
    yield case("linalg.potri", np.tril(A(3, 3, low=1, high=2)))
    triangle = np.tril(A(2, 3, 3, low=1, high=2))
    for transpose, lower in product((False, True), repeat=2):
        t = triangle if lower else np.swapaxes(triangle, 1, 2)
        for name in ("linalg.trmm", "linalg.trsm"):
            yield case(name, t, A(2, 3, 4), transpose=transpose, lower=lower, alpha=1.5)
            yield case(name, t, A(2, 4, 3), transpose=transpose, lower=lower, rightside=True)
    yield case("linalg.syrk", A(2, 3, 4))
    yield case("linalg.syrk", A(3, 4), transpose=True, alpha=2.0)
    yield case("linalg.sumlogdiag", positive(3))
    yield case("linalg.sumlogdiag", positive(3, (2,)))
    for offset in (0, 1, -2):
        yield case("linalg.extractdiag", A(2, 3, 3), offset=offset)
        yield case("linalg.makediag", A(2, 3), offset=offset)
        for lower in (True, False):
            yield case("linalg.extracttrian", A(2, 4, 4), offset=offset, lower=lower)
            yield case("linalg.maketrian", A(2, 6), offset=offset, lower=lower)
    yield case("linalg.inverse", positive(3, (2,)))
    yield case("linalg.det", A(3, 3))
    yield case("linalg.det", positive(3, (2,)))
    yield case("linalg.slogdet", A(2, 3, 3))
    yield case("linalg.gelqf", A(2, 3, 4))
    yield case("linalg.syevd", positive(3))


CASES = [c for family in (reductions, shapes, lists, indices, orders, sequences, matrices) for c in family()]


def run(mx, name, inputs, args):
    """Values and gradients of one case; a gradient is None where there is none."""
    function = mx.nd
    for part in name.split("."):
        function = getattr(function, part)
    many = isinstance(inputs[0], list)
    inputs = inputs[0] if many else inputs
    xs = [mx.nd.array(a, dtype=a.dtype) for a in inputs]
    wanted = (
        []
        if name in NO_GRADIENT
        else [
            i
            for i, a in enumerate(inputs)
            if a.dtype.kind == "f"
            and not (i == 1 and name in INDEX_SECOND)
            and not (i == 0 and name == "where")
            and not (i == 1 and name.endswith("_like"))
        ]
    )
    for i in wanted:
        xs[i].attach_grad()
    with mx.autograd.record():
        ys = function(xs, **args) if many else function(*xs, **args)
    ys = list(ys) if isinstance(ys, (list, tuple)) else [ys]
    grads = [None] * len(xs)
    heads = [y for j, y in enumerate(ys) if y.dtype == np.float32 and not (name == "topk" and j)]
    if wanted and heads and args.get("ret_typ") not in ("indices", "mask") and (name != "topk" or "ret_typ" in args):
        mx.autograd.backward(heads, head_grads=[mx.nd.array(cotangent(y.shape)) for y in heads])
        grads = [x.grad.asnumpy() if i in wanted else None for i, x in enumerate(xs)]
    return [y.asnumpy() for y in ys], grads


if __name__ == "__main__":
    import mxnet

    found = {}
    for k, one in enumerate(CASES):
        try:
            ys, grads = run(mxnet, *one)
        except Exception as e:
            print(k, one[0], one[2], str(e).splitlines()[:3])
            continue
        found |= {f"{k}_y{j}": y for j, y in enumerate(ys)}
        found |= {f"{k}_g{i}": g for i, g in enumerate(grads) if g is not None}
    files.write(GOLDEN, found, files.versions("mxnet"))
