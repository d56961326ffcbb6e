"""What nnabla 1.39.0's normalization, geometry, spectral and detection functions give.

Run with it, `python -m tests.golden.nnabla_norms` writes nnabla_norms.npz.

CASES: name of the function, inputs (None where an optional one is left out), which of them get a gradient,
arguments. A gradient is that of the sum of all outputs times `cotangent`.
"""

from pathlib import Path

import numpy as np

from tests.golden import files

GOLDEN = Path(__file__).with_suffix(".npz")
rng = np.random.RandomState(0)
CASES = []


def A(*shape):
    return rng.randn(*shape).astype("float32")


def P(*shape):
    return (rng.rand(*shape) + 0.5).astype("float32")


def case(name, inputs, wanted=(0,), **args):
    CASES.append((name, inputs, tuple(wanted), args))


def normalizations():
    for axis, stat in [(0, (2, 1, 1)), (1, (1, 3, 1)), (-1, (1, 1, 4))]:

        def statistics(stat=stat):
            return [A(*stat), P(*stat)]

        name = "batch_normalization"
        case(name, [A(2, 3, 4), A(*stat), A(*stat), *statistics()], (0, 1, 2), axes=[axis])
        case(name, [A(2, 3, 4), A(*stat), A(*stat), *statistics()], (0, 1, 2), axes=[axis], batch_stat=False)
        case(
            name,
            [A(2, 3, 4), None, A(*stat), *statistics()],
            (0, 2),
            axes=[axis],
            output_stat=True,
            decay_rate=0.5,
            eps=1e-2,
        )
        case(name, [A(2, 3, 4), None, None, None, None], axes=[axis])
    pair = (1, 3, 1, 5)
    case(name, [A(2, 3, 4, 5), A(*pair), A(*pair), A(*pair), P(*pair)], (0, 1, 2), axes=[1, 3], batch_stat=False)
    for batch_stat, z in [(True, [A(2, 3, 4)]), (False, [])]:
        case(
            "fused_batch_normalization",
            [A(2, 3, 4), A(1, 3, 1), A(1, 3, 1), A(1, 3, 1), P(1, 3, 1), *z],
            (0, 1, 2) + (5,) * len(z),
            batch_stat=batch_stat,
        )
    for batch_axis, shape in [(0, (1, 3, 4, 5)), (1, (2, 1, 4, 5)), ([0, 1], (1, 1, 4, 5)), (-1, (2, 3, 4, 1))]:
        name = "layer_normalization"
        case(name, [A(2, 3, 4, 5), A(*shape), A(*shape)], (0, 1, 2), batch_axis=batch_axis)
        case(name, [A(2, 3, 4, 5), None, A(*shape)], (0, 2), batch_axis=batch_axis, output_stat=True)
    name = "instance_normalization"
    case(name, [A(2, 3, 4, 5), A(1, 3, 1, 1), A(1, 3, 1, 1)], (0, 1, 2))
    case(name, [A(2, 3, 4, 5), A(2, 3, 1, 1), A(1, 3, 1, 1)], (0, 1, 2), output_stat=True)
    case(name, [A(2, 4, 5, 3), A(1, 1, 1, 3), None], (0, 1), channel_axis=3)
    name = "group_normalization"
    case(name, [A(2, 6, 4, 5), A(1, 6, 1, 1), A(1, 6, 1, 1)], (0, 1, 2), num_groups=2)
    case(name, [A(2, 4, 5, 6), None, A(1, 1, 1, 6)], (0, 2), num_groups=3, channel_axis=3, output_stat=True)
    case("weight_standardization", [A(4, 3, 2, 2)])
    case("weight_standardization", [A(4, 3)], channel_axis=1, output_stat=True)
    case("weight_normalization", [A(4, 3, 2, 2), A(4)], (0, 1))
    case("weight_normalization", [A(4, 3, 2), A(2)], (0, 1), dim=2, eps=0.1)
    for dim, rows in enumerate((4, 3, 2)):
        case("spectral_norm", [A(4, 3, 2), A(rows)], dim=dim, itr=2)
        case("spectral_norm", [A(4, 3, 2), A(rows)], dim=dim, output_u=True)
        case("spectral_norm", [A(4, 3, 2), A(rows)], (), dim=dim, test=True)
    for p in (None, 1.0, 1.3, 3.0):
        case("norm_normalization", [A(2, 3, 4)], p=p, axes=[0, 2])
    case("norm_normalization", [A(2, 3)])
    case("mean_subtraction", [A(2, 3, 4), A(3, 4), np.array([3.0], "float32")], ())
    case("mean_subtraction", [A(2, 3, 4), A(4), np.array([3.0], "float32")], base_axis=2, update_running_mean=False)
    for axes in (None, (1,), ()):
        case("clip_grad_by_norm", [A(2, 3, 4)], clip_norm=2.0, axes=axes)
    case("clip_grad_by_value", [A(2, 3, 4), -P(2, 3, 4), P(2, 3, 4)])
    case("vat_noise", [A(2, 3, 4), A(2, 3, 4)], eps=3.0)


def geometry():
    for size, out in [
        ((2, 5), (8,)),
        ((5,), (3,)),
        ((2, 4, 5), (8, 7)),
        ((2, 4, 5), (2, 3)),
        ((2, 4, 5), (1, 5)),
        ((2, 3, 4, 5), (5, 3, 7)),
    ]:
        for mode in ("linear", "nearest"):
            for where in ({"align_corners": True}, {"half_pixel": True}, {}):
                case("interpolate", [A(*size)], output_size=out, mode=mode, **where)
        case("interpolate", [A(*size)], output_size=out, mode="nearest", half_pixel_for_nn=True)
    case("interpolate", [A(2, 3, 4, 5)], scale=(2, 1.5))
    roi = (0, 0, 0.1, 0.3, 1, 1, 0.8, 1.4)
    for coordinates in (
        "half_pixel",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_half_pixel_for_nn",
        "tf_crop_and_resize",
    ):
        crop = {"roi": roi, "extrapolation_value": 7.0} if "crop" in coordinates else {}
        for sizes in ((1, 2, 7, 9), (1, 2, 3, 2), (1, 2, 1, 1)):
            for more in (
                {},
                {"nearest_mode": "round_prefer_ceil"},
                {"nearest_mode": "floor"},
                {"nearest_mode": "ceil"},
                {"mode": "linear"},
                {"mode": "cubic"},
                {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5},
            ):
                case(
                    "onnx_resize",
                    [A(1, 2, 4, 5)],
                    (),
                    sizes=sizes,
                    coordinate_transformation_mode=coordinates,
                    **crop,
                    **more,
                )
    case("onnx_resize", [A(2, 3, 4)], (), scales=(1, 1.4, 0.7), mode="linear")
    for align_corners in (True, False):
        case("affine_grid", [A(2, 2, 3)], size=[3, 4], align_corners=align_corners)
        case("affine_grid", [A(2, 3, 4)], size=[3, 4, 2], align_corners=align_corners)
        for padding in ("zero", "repeat", "reflect"):
            for mode, wanted in [("linear", (0, 1)), ("nearest", (0,))]:
                more = dict(mode=mode, padding_mode=padding, align_corners=align_corners)
                case("warp_by_grid", [A(2, 3, 4, 5), A(2, 6, 3, 2) * 1.2], wanted, **more)
                case("warp_by_grid", [A(1, 2, 4, 5, 2), A(1, 3, 3, 2, 3) * 1.2], wanted, **more)
    case("warp_by_flow", [A(2, 3, 4, 5), A(2, 2, 4, 5) * 2], (0, 1))


def spectra():
    for window in ("hanning", "hamming", "rectangular", None):
        for window_size, stride in [(16, 8), (12, 4)]:
            frames = dict(window_size=window_size, stride=stride, fft_size=16, window_type=window)
            for center, padding in [(True, "constant"), (True, "reflect"), (False, "constant")]:
                more = dict(frames, center=center, pad_mode=padding)
                case("stft", [A(1, 37)], **more)
                case("istft", [A(1, 9, 4), A(1, 9, 4)], (0, 1), as_stft_backward=True, **more)
            case("stft", [A(1, 40)], as_istft_backward=True, pad_mode="constant", **frames)
            case("istft", [A(1, 9, 4), A(1, 9, 4)], (0, 1), pad_mode="constant", **frames)


def detection():
    x = P(2, 20, 7)
    x[..., :2] *= 3
    for per_class in (True, False):
        case("nms_detection2d", [x], (), thresh=0.6, nms=0.1, nms_per_class=per_class)
    for center, most in [(0, 4), (1, 3)]:
        case(
            "onnx_non_max_suppression",
            [P(2, 20, 4), A(2, 3, 20)],
            (),
            max_output_boxes_per_class=most,
            iou_threshold=0.1,
            score_threshold=-0.5,
            center_point_box=center,
        )
    case(
        "patch_correlation",
        [A(2, 5, 6, 3), A(2, 5, 6, 3)],
        (0, 1),
        patch=(2, 3),
        shift=(2, 1),
        patch_step=(2, 1),
        shift_step=(2, 1),
        padding=(1, 0, 2, 1),
        channel_last=True,
    )
    case("patch_correlation", [A(1, 2, 4, 5), A(1, 2, 4, 5)], (0, 1), patch=2, shift=1)


for family in (normalizations, geometry, spectra, detection):
    family()


def cotangent(shape):
    return np.random.RandomState(1).randn(*shape).astype("float32")


def run(nn, functions, name, inputs, wanted, args):
    """Values of the outputs, of the inputs after forward and backward, and gradients, as one list."""
    xs = [None if a is None else nn.Variable.from_numpy_array(a.copy()) for a in inputs]
    for i, x in enumerate(xs):
        if x is not None:
            x.need_grad = i in wanted
            x.g = 0
    ys = getattr(functions, name)(*xs, **args)
    ys = list(ys) if isinstance(ys, (list, tuple)) else [ys]
    if wanted:
        end = functions.sink(*ys, one_input_grad=False)
        end.forward()
        for y in ys:
            y.g = cotangent(y.shape)
        end.backward()
    else:
        nn.forward_all(ys)
    return [y.d.copy() for y in ys] + [x.d.copy() for x in xs if x is not None] + [xs[i].g.copy() for i in wanted]


if __name__ == "__main__":
    import nnabla
    import nnabla.functions

    found = [np.concatenate([np.ravel(a).astype("float32") for a in run(nnabla, nnabla.functions, *c)]) for c in CASES]
    contents = {"values": np.concatenate(found), "ends": np.cumsum([len(a) for a in found])}
    files.write(GOLDEN, contents, files.versions("nnabla"))
