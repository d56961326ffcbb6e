"""What real MXNet 1.9.1's layers give: an interpreter that has it makes mxnet_nn.npz of this file.

CASES: name of the operator, inputs, arguments; the values of all results, and the gradients of all inputs of float32,
those of the sum of all results times `cotangent`, in training mode. Inputs of float64 are passed on as float32 and not
differentiated by: labels, indices, statistics.
"""

from pathlib import Path

import numpy as np

from tests.golden import files

GOLDEN = Path(__file__).with_suffix(".npz")
# no gradient of the other results
FIRST_RESULT = {"BatchNorm", "contrib.SyncBatchNorm", "LayerNorm", "GroupNorm", "contrib.hawkesll"}
rng = np.random.default_rng(0)


def A(*shape, low=-1.0, high=1.0):
    """Distinct numbers in random order, none at 0: no ties."""
    n = int(np.prod(shape))
    return (low + (high - low) * (rng.permutation(n) + 0.3) / max(n, 1)).reshape(shape).astype("float32")


def L(values):
    """Labels, indices: not differentiated by."""
    return np.asarray(values, "float64")


def cotangent(shape):
    return np.asarray(np.random.default_rng(1).standard_normal(shape), "float32")


def case(name, *inputs, predict=False, **args):
    return name, inputs, args, predict


def value_only(name, *inputs, **args):
    """A case whose gradient MXNet has wrong, or does not have."""
    return case(name, *(a.astype("float64") for a in inputs), predict=True, **args)


def layers():
    name = "FullyConnected"
    yield case(name, A(3, 4), A(5, 4), A(5), num_hidden=5)
    yield case(name, A(3, 2, 2), A(5, 4), num_hidden=5, no_bias=True)
    yield case(name, A(3, 2, 4), A(5, 4), A(5), num_hidden=5, flatten=False)
    x = A(3, 4, low=-3, high=3)
    for act in ("relu", "sigmoid", "softrelu", "softsign", "tanh"):
        yield case("Activation", x, act_type=act)
    for act in ("leaky", "elu", "gelu"):
        yield case("LeakyReLU", x, act_type=act)
    yield value_only("LeakyReLU", x, act_type="selu")
    yield case("LeakyReLU", x, act_type="leaky", slope=0.1)
    yield case("LeakyReLU", A(2, 3, 4), A(3), act_type="prelu")
    yield case("LeakyReLU", A(2, 3, 4), A(1), act_type="prelu")
    yield case("LeakyReLU", A(2, 3, 4), A(2, 3), act_type="prelu")
    yield case("hard_sigmoid", x)
    yield case("smooth_l1", x)
    yield case("smooth_l1", x, scalar=2.0)
    yield case("Embedding", L([[0, 5], [-1, 1.7]]), A(4, 3), input_dim=4, output_dim=3)
    yield case("Dropout", x, p=0.0)
    yield case("Dropout", x, p=0.5, predict=True)
    for name in ("softmax", "log_softmax", "softmin"):
        yield case(name, x)
        yield case(name, A(2, 3, 4), axis=1, temperature=2.0)
        yield case(name, x, dtype="float64")
    yield case("softmax", A(2, 3), np.array([1, 2], "int32"), axis=1, use_length=True)
    yield case("softmax", A(2, 3, 4), np.array([[1, 2, 3, 2], [1, 2, 3, 3]], "int32"), axis=1, use_length=True)
    yield case("SoftmaxActivation", A(2, 3))
    yield value_only("SoftmaxActivation", A(2, 3, 2))
    yield case("SoftmaxActivation", A(2, 3, 2), mode="channel")


def convolutions():
    name = "Convolution"
    yield case(name, A(2, 4, 6, 5), A(6, 4, 3, 3), A(6), kernel=(3, 3), num_filter=6)
    yield case(
        name,
        A(2, 4, 6, 5),
        A(6, 2, 3, 2),
        A(6),
        kernel=(3, 2),
        num_filter=6,
        num_group=2,
        stride=(2, 1),
        pad=(1, 2),
        dilate=(1, 2),
    )
    yield case(name, A(2, 3, 7), A(4, 3, 3), kernel=(3,), num_filter=4, no_bias=True, stride=(2,))
    yield case(name, A(1, 2, 4, 4, 5), A(3, 2, 2, 3, 2), A(3), kernel=(2, 3, 2), num_filter=3)
    yield case(name, A(2, 4, 5, 5), A(4, 1, 3, 3), A(4), kernel=(3, 3), num_filter=4, num_group=4, pad=(1, 1))
    name = "Deconvolution"
    yield case(name, A(1, 2, 3, 3), A(2, 4, 3, 3), kernel=(3, 3), num_filter=4)
    yield case(
        name,
        A(1, 2, 3, 3),
        A(2, 2, 3, 3),
        A(4),
        kernel=(3, 3),
        num_filter=4,
        num_group=2,
        no_bias=False,
        stride=(2, 2),
        pad=(1, 0),
        adj=(1, 0),
    )
    yield case(name, A(1, 2, 3, 3), A(2, 4, 2, 2), kernel=(2, 2), num_filter=4, pad=(1, 1), dilate=(2, 2))
    yield case(name, A(1, 2, 4), A(2, 3, 3), kernel=(3,), num_filter=3, stride=(2,))
    yield case("UpSampling", A(1, 2, 3, 3), scale=2, sample_type="nearest")
    yield case("UpSampling", A(1, 2, 3, 3), A(1, 3, 6, 6), scale=2, sample_type="nearest")
    yield case("UpSampling", A(1, 2, 3, 3), A(1, 2, 6, 6), scale=2, sample_type="nearest", multi_input_mode="sum")
    yield case("UpSampling", A(1, 2, 3, 3), A(2, 1, 4, 4), scale=2, sample_type="bilinear", num_filter=2)
    yield case("UpSampling", A(1, 2, 3, 3), A(2, 1, 5, 5), scale=3, sample_type="bilinear", num_filter=2)
    yield case("im2col", A(2, 3, 5, 4), kernel=(3, 2), stride=(2, 1), pad=(1, 0))
    yield case("col2im", A(2, 18, 9), output_size=(5, 4), kernel=(3, 2), stride=(2, 1), pad=(1, 0))


def poolings():
    name = "Pooling"
    images = {(2,): A(1, 2, 6), (2, 3): A(1, 2, 6, 7), (2, 2, 2): A(1, 2, 4, 5, 4)}
    for kernel, x in images.items():
        n = len(kernel)
        for pool in ("max", "avg", "sum"):
            yield case(name, x, kernel=kernel, pool_type=pool)
            yield case(name, x, kernel=kernel, pool_type=pool, stride=(2,) * n, pad=(1,) * n)
            full = value_only if pool == "avg" else case
            yield full(name, x, kernel=(3,) * n, pool_type=pool, stride=(2,) * n, pooling_convention="full")
            yield case(name, x, pool_type=pool, global_pool=True)
        yield case(name, x, kernel=kernel, pool_type="avg", pad=(1,) * n, count_include_pad=False)
        for pad in (False, True):
            yield value_only(
                name,
                x,
                kernel=(3,) * n,
                pool_type="avg",
                pad=(1,) * n,
                stride=(2,) * n,
                count_include_pad=pad,
                pooling_convention="full",
            )
    for p in (1, 2, 3):
        yield case(name, images[2, 3], kernel=(2, 3), pool_type="lp", p_value=p)
        yield case(name, images[2, 3], global_pool=True, pool_type="lp", p_value=p)
    ties = np.array([[[[1, 1, 0, 1], [1, 1, 0, 1], [0, 1, 1, 0]]]], "float32")
    yield case(name, ties, kernel=(2, 2))
    yield case(name, ties, kernel=(2, 2), stride=(1, 1), pad=(1, 1))
    yield case(name, ties, global_pool=True)
    yield case(name, A(2, 5, 4, 3), kernel=(2, 2), stride=(2, 2), layout="NHWC")


def norms():
    x, shape = A(4, 3, 2, 2), (3,)
    statistics = L(A(3)), L(A(3, low=0.5, high=2.0))
    for args in (
        {},
        {"fix_gamma": False},
        {"fix_gamma": False, "use_global_stats": True},
        {"use_global_stats": True},
        {"fix_gamma": False, "output_mean_var": True},
        {"fix_gamma": False, "eps": 1e-5, "momentum": 0.7},
    ):
        yield case("BatchNorm", x, A(*shape), A(*shape), *statistics, **args)
    yield case("BatchNorm", x, A(*shape), A(*shape), *statistics, fix_gamma=False, predict=True)
    yield case("BatchNorm", x, A(*shape), A(*shape), *statistics, predict=True)
    yield case("BatchNorm", A(4, 2, 3), A(*shape), A(*shape), *statistics, fix_gamma=False, axis=-1)
    sync = "contrib.SyncBatchNorm"
    yield case(sync, x, A(*shape), A(*shape), *statistics, fix_gamma=False, output_mean_var=True, key="k")
    yield case("BatchNorm", A(5, 3), A(*shape), A(*shape), *statistics, fix_gamma=False)
    yield case("LayerNorm", A(3, 4), A(4), A(4))
    yield case("LayerNorm", A(2, 3, 4), A(4), A(4), output_mean_var=True)
    yield case("LayerNorm", A(2, 3, 4), A(3), A(3), axis=1, eps=1e-3)
    yield case("GroupNorm", A(2, 4, 3), A(2), A(2), num_groups=2, output_mean_var=True)
    yield case("GroupNorm", A(2, 4, 3, 2), A(1), A(1))
    yield case("InstanceNorm", A(2, 3, 4), A(3), A(3))
    yield case("InstanceNorm", A(2, 3, 4, 2), A(3), A(3), eps=1e-5)
    for mode in ("instance", "channel", "spatial"):
        yield case("L2Normalization", A(2, 3, 4), mode=mode)
    yield case("L2Normalization", A(2, 3))
    yield case("LRN", A(2, 5, 2, 2), nsize=3)
    yield case("LRN", A(2, 5, 2, 2), nsize=5, alpha=0.5, beta=0.5, knorm=1.0)


def outputs():
    name, x = "SoftmaxOutput", A(2, 3)
    for args in (
        {},
        {"grad_scale": 2.0},
        {"normalization": "batch"},
        {"normalization": "valid"},
        {"use_ignore": True, "ignore_label": 2},
        {"smooth_alpha": 0.1},
        {"use_ignore": True, "ignore_label": 2, "normalization": "valid"},
    ):
        yield case(name, x, L([0, 2]), **args)
    yield case(name, x, L([[0.1, 0.2, 0.7], [0, 1, 0]]), grad_scale=2.0, normalization="batch")
    x = A(2, 3, 2)
    for args in (
        {},
        {"normalization": "batch"},
        {"normalization": "valid"},
        {"smooth_alpha": 0.1},
        {"normalization": "valid", "use_ignore": True, "ignore_label": 0},
    ):
        yield case(name, x, L([[1, 0], [2, 0]]), multi_output=True, **args)
        if "smooth_alpha" not in args:
            yield case(name, x, L([[1, 0, 1], [1, 0, 0]]), preserve_shape=True, **args)
    yield case(name, A(2, 3, 2, 2), L([[[1, 0], [2, 0]], [[1, 1], [2, 0]]]), multi_output=True, normalization="valid")
    yield case(name, A(2, 3, 2, 2), L([[1, 0, 2, 0], [1, 1, 2, 0]]), multi_output=True)
    for name in ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"):
        yield case(name, A(2, 3), L(A(2, 3, low=-0.5)), grad_scale=2.0)
        yield case(name, A(3, 1), L(A(3, high=0.5)))
    for linear in (False, True):
        yield case("SVMOutput", A(3, 4), L([0, 1, 3]), use_linear=linear, margin=0.5, regularization_coefficient=2.0)
    yield case("softmax_cross_entropy", A(3, 4), L([0, 3, 1]))
    x = A(5, 2, 4)
    yield case("CTCLoss", x, L([[1, 2], [3, 0]]))
    yield case("CTCLoss", x, L([[1, 1], [2, -1]]), blank_label="last")
    yield case("CTCLoss", x, L([[1, 2], [3, 1]]), L([3, 5]), L([2, 1]), use_data_lengths=True, use_label_lengths=True)
    yield value_only("CTCLoss", A(4, 2, 4), L([[1, 1, 1], [3, 2, 0]]))


def recurrent():
    gates = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
    time, batch, inputs, units = 4, 2, 3, 2
    for mode, g in gates.items():
        for layers_, directions, states in ((1, 1, True), (2, 2, True), (2, 1, False)):
            widths = [inputs] + [units * directions] * (layers_ - 1)
            n = directions * sum(g * units * (width + units + 2) for width in widths)
            start = [A(layers_ * directions, batch, units) for _ in range(2 if mode == "lstm" else 1)]
            yield case(
                "RNN",
                A(time, batch, inputs),
                A(n),
                *start,
                state_size=units,
                num_layers=layers_,
                mode=mode,
                bidirectional=directions == 2,
                state_outputs=states,
            )
    n = 4 * 3 * (inputs + 2 + 2) + 2 * 3 + 4 * 3 * (2 + 2 + 2) + 2 * 3
    yield value_only(
        "RNN",
        A(time, batch, inputs),
        A(n),
        A(2, batch, 2),
        A(2, batch, 3),
        state_size=3,
        num_layers=2,
        mode="lstm",
        projection_size=2,
        state_outputs=True,
    )


def images():
    grid = A(1, 2, 3, 4, low=-1.2, high=1.2)
    yield case("BilinearSampler", A(1, 2, 4, 5), grid)
    yield case("GridGenerator", A(2, 6), transform_type="affine", target_shape=(3, 4))
    yield case("GridGenerator", A(2, 2, 3, 4), transform_type="warp")
    yield case(
        "SpatialTransformer",
        A(1, 2, 4, 5),
        A(1, 6),
        target_shape=(3, 4),
        transform_type="affine",
        sampler_type="bilinear",
    )
    rois = L([[0, 0, 0, 3, 3], [1, 1, 1, 1.5, 1.2], [1, 0.5, 1.5, 2.5, 3]])
    yield case("ROIPooling", A(2, 2, 4, 4), rois, pooled_size=(2, 2), spatial_scale=1.0)
    yield case("ROIPooling", A(2, 2, 4, 4), rois * np.array([1, 2, 2, 2, 2]), pooled_size=(3, 2), spatial_scale=0.5)
    yield case("Crop", A(1, 2, 5, 6), h_w=(3, 2), offset=(1, 2))
    yield case("Crop", A(1, 2, 5, 6), L(A(1, 1, 2, 3)), center_crop=True, num_args=2)


def contributed():
    name = "contrib.BilinearResize2D"
    for args in (
        {"height": 3, "width": 7},
        {"height": 6, "width": 2, "align_corners": False},
        {"scale_height": 1.7, "scale_width": 0.5},
        {"mode": "to_even_up"},
        {"mode": "to_odd_down"},
        {"mode": "odd_scale", "scale_height": 2.0, "scale_width": 1.5},
    ):
        yield case(name, A(1, 2, 4, 5), **args)
    yield case(name, A(1, 2, 4, 5), L(A(1, 2, 3, 3)), mode="like")
    for size in ((), 2, (2,), (2, 3), (7, 4), (4, 5)):
        yield case("contrib.AdaptiveAvgPooling2D", A(1, 2, 4, 5), output_size=size)
    yield case("contrib.div_sqrt_dim", A(2, 3))
    qkv, kv, q = A(3, 2, 12), A(4, 2, 8), A(3, 2, 4)
    yield case("contrib.interleaved_matmul_selfatt_qk", qkv, heads=2)
    yield case("contrib.interleaved_matmul_selfatt_valatt", qkv, A(4, 3, 3), heads=2)
    yield case("contrib.interleaved_matmul_encdec_qk", q, kv, heads=2)
    yield case("contrib.interleaved_matmul_encdec_valatt", kv, A(4, 3, 4), heads=2)
    corners = L([[0, 0, 1, 1], [0.5, 0.5, 1, 1]]), L([[0, 0, 0.5, 0.5], [0.25, 0.25, 1, 1], [2, 2, 3, 3]])
    yield case("contrib.box_iou", *corners)
    yield case("contrib.box_iou", *corners, format="center")
    boxes = np.array(
        [
            [0, 0.5, 0.1, 0.1, 0.2, 0.2],
            [1, 0.4, 0.1, 0.1, 0.2, 0.2],
            [0, 0.3, 0.1, 0.1, 0.14, 0.14],
            [2, 0.6, 0.5, 0.5, 0.7, 0.8],
            [2, -0.1, 0.5, 0.5, 0.6, 0.6],
        ],
        "float32",
    )
    for args in ({"force_suppress": True}, {}, {"topk": 2}, {"background_id": 0}, {"valid_thresh": 0.35}):
        yield case("contrib.box_nms", boxes, overlap_thresh=0.1, id_index=0, **args)
    for args in ({"out_format": "center"}, {"in_format": "center"}):
        yield value_only("contrib.box_nms", boxes, overlap_thresh=0.1, id_index=0, **args)
    yield case("contrib.box_nms", np.stack([boxes, boxes[::-1]]), overlap_thresh=0.3)
    scores = L([[0.5, 0.6], [0.1, 0.2], [0.3, 0.4]])
    for args in ({"threshold": 1e-12}, {"threshold": 0.35}, {"threshold": 0.55, "is_ascend": True}):
        yield case("contrib.bipartite_matching", scores, **args)
    anchors = L([[[0, 0, 1, 1], [0.2, 0.2, 0.6, 0.8]]])
    yield case(
        "contrib.box_encode",
        L([[1, -1]]),
        L([[1, 0]]),
        anchors,
        L([[[0.1, 0.1, 0.9, 0.8], [0.3, 0.2, 0.5, 0.9]]]),
        L([0.1, 0.2, 0.3, 0.4]),
        L([0.1, 0.1, 0.2, 0.2]),
    )
    for args in ({}, {"std0": 0.1, "std2": 0.2}, {"format": "corner"}, {"clip": 0.1}):
        yield case("contrib.box_decode", L(A(1, 2, 4)), anchors, **args)
    x = L(A(1, 3, 2, 3))
    yield case("contrib.MultiBoxPrior", x, sizes=(0.5, 0.25), ratios=(1, 2, 0.5))
    yield case("contrib.MultiBoxPrior", x, sizes=(0.9,), ratios=(2, 1), clip=True, steps=(0.3, 0.4), offsets=(0.2, 0.7))
    anchors = L(
        [[[0.1, 0.1, 0.4, 0.5], [0.15, 0.2, 0.5, 0.5], [0.6, 0.5, 0.9, 0.9], [0, 0, 0.2, 0.2], [0.5, 0.5, 1, 1]]]
    )
    truth = L([[[1, 0.1, 0.1, 0.45, 0.5], [0, 0.55, 0.5, 0.95, 0.95]], [[2, 0, 0, 0.3, 0.3], [-1, -1, -1, -1, -1]]])
    guess = L(A(2, 4, 5))
    yield case("contrib.MultiBoxTarget", anchors, truth, guess)
    yield case("contrib.MultiBoxTarget", anchors, truth, guess, overlap_threshold=0.3, variances=(0.2, 0.2, 0.1, 0.1))
    yield case("contrib.MultiBoxTarget", anchors, truth, guess, negative_mining_ratio=1.0, negative_mining_thresh=0.5)
    probabilities = L(rng.dirichlet((1, 1, 1), (2, 5)).transpose(0, 2, 1))
    moves = L(A(2, 20))
    yield case("contrib.MultiBoxDetection", probabilities, moves, anchors)
    yield case("contrib.MultiBoxDetection", probabilities, moves, anchors, threshold=0.3, nms_threshold=0.1, clip=False)
    yield case(
        "contrib.MultiBoxDetection", probabilities, moves, anchors, force_suppress=True, nms_threshold=0.2, nms_topk=3
    )
    bad = L([np.nan, np.inf, -np.inf, 1])
    for name in ("isnan", "isinf", "isfinite"):
        yield case(f"contrib.{name}", bad)


def deformed():
    name, groups = "contrib.DeformableConvolution", {"num_group": 2, "num_deformable_group": 2}
    for x, out, w, args in [
        ((2, 4, 5, 6), (3, 4), (6, 4, 3, 3), {}),
        ((1, 2, 4, 4), (5, 5), (4, 2, 2, 2), {"pad": (1, 1)}),
        ((2, 4, 5, 6), (2, 4), (6, 2, 3, 3), {**groups, "dilate": (2, 2), "stride": (2, 1), "pad": (1, 1)}),
    ]:
        args = args | {"kernel": w[2:], "num_filter": w[0]}
        places = w[2] * w[3] * args.get("num_deformable_group", 1)
        offset = A(x[0], 2 * places, *out, low=-3, high=3)
        edges = (2 * offset).round().astype("float32") / 2  # on pixels and borders
        for moved in (offset, edges):
            yield case(name, A(*x), moved, A(*w), A(w[0]), **args)
            mask = A(x[0], places, *out)
            yield value_only("contrib.ModulatedDeformableConvolution", A(*x), moved, mask, A(*w), A(w[0]), **args)
    one = dict(kernel=(1, 1), num_filter=1, no_bias=True)
    yield case(name, A(1, 2, 3, 3), A(1, 2, 3, 3), A(1, 2, 1, 1), **one)


CASES = [
    c
    for family in (layers, convolutions, poolings, norms, outputs, recurrent, images, contributed, deformed)
    for c in family()
]


def run(mx, name, inputs, args, predict):
    """Values, gradients (None where there is none) and, of BatchNorm, the moving statistics afterwards."""
    function = mx.nd
    for part in name.split("."):
        function = getattr(function, part)
    xs = [mx.nd.array(a, dtype="float32" if a.dtype == "float64" else a.dtype) for a in inputs]
    wanted = [i for i, a in enumerate(inputs) if a.dtype == "float32"]
    for i in wanted:
        xs[i].attach_grad()
    with mx.autograd.record(train_mode=not predict) if wanted else mx.autograd.predict_mode():
        ys = function(*xs, **args)
    ys = list(ys) if isinstance(ys, (list, tuple)) else [ys]
    grads = [None] * len(xs)
    if wanted:
        heads = ys[:1] if name in FIRST_RESULT else ys
        mx.autograd.backward(
            heads, head_grads=[mx.nd.array(cotangent(y.shape), dtype=y.dtype) for y in heads], train_mode=not predict
        )
        grads = [x.grad.asnumpy() if i in wanted else None for i, x in enumerate(xs)]
    return [y.asnumpy() for y in ys], grads, [x.asnumpy() for x in xs[3:5]] if "BatchNorm" in name else []


if __name__ == "__main__":
    import mxnet

    found = {}
    for k, one in enumerate(CASES):
        try:
            ys, grads, state = run(mxnet, *one)
        except Exception as e:
            print(k, one[0], one[2], str(e).splitlines()[-3:])
            continue
        found |= {f"{k}_y{j}": y for j, y in enumerate(ys)}
        found |= {f"{k}_g{i}": g for i, g in enumerate(grads) if g is not None}
        found |= {f"{k}_s{i}": s for i, s in enumerate(state)}
    files.write(GOLDEN, found, files.versions("mxnet"))
