"""Normalization, geometric, spectral and detection functions: the results of nnabla 1.39
(tests/golden/nnabla_norms.py), derivatives of any order, and the inputs that forward updates.
"""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
from compatgrad.nnabla.ext_utils import get_extension_context
from tests.golden import nnabla_norms
from tests.golden.nnabla_norms import CASES, GOLDEN, A, P

RECORDED = np.load(GOLDEN)
ENDS = RECORDED["ends"]
NAMES = [f"{k}-{name}" for k, (name, *_) in enumerate(CASES)]


def variable(a, need_grad=True):
    v = nn.Variable.from_numpy_array(np.asarray(a, "float32"))
    v.need_grad = need_grad
    return v


def outputs(y):
    return list(y) if isinstance(y, (list, tuple)) else [y]


@pytest.mark.parametrize("k", range(len(CASES)), ids=NAMES)
def test_as_recorded(k):
    found = np.concatenate([np.ravel(a) for a in nnabla_norms.run(nn, F, *CASES[k])])
    expected = RECORDED["values"][ENDS[k] - len(found) : ENDS[k]]
    assert ENDS[k] - len(found) == (ENDS[k - 1] if k else 0)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-5)


# ---- second derivatives -------------------------------------------------------------------------------------
# the backward of these functions differs from the derivative by definition
NOT_DERIVATIVES = {"clip_grad_by_norm", "clip_grad_by_value", "vat_noise", "spectral_norm"}
SMOOTH = [
    k
    for k, (name, _, wanted, args) in enumerate(CASES)
    if wanted and name not in NOT_DERIVATIVES and args.get("window_type", "hanning") == "hanning"
]
SECOND = [k for n, k in enumerate(SMOOTH) if n == 0 or CASES[k][0] != CASES[SMOOTH[n - 1]][0] or n % 3 == 0]


@pytest.mark.parametrize("k", SECOND, ids=[NAMES[k] for k in SECOND])
def test_second_derivative(k):
    """Compares the gradient of s = sum(r * gradient) with finite differences of s in a random direction."""
    name, inputs, wanted, args = CASES[k]
    xs = [None if a is None else variable(a, i in wanted) for i, a in enumerate(inputs)]
    ys = outputs(getattr(F, name)(*xs, **args))
    gys = [variable(nnabla_norms.cotangent(y.shape)) for y in ys]
    leaves = [xs[i] for i in wanted]
    gxs = nn.grad(ys, leaves, grad_outputs=gys)
    directions = [variable(np.random.RandomState(i).randn(*x.shape), False) for i, x in enumerate(leaves)]
    s = F.add_n(*[F.sum(g * r) for g, r in zip(gxs, directions, strict=True)])
    everything = leaves + gys
    for v in everything:
        v.grad.zero()
    s.forward()
    s.backward()
    slopes = [v.g.copy() for v in everything]

    def moved(v, array):
        for x, a in zip(xs, inputs, strict=True):  # restores the running statistics, which forward updates
            if x is not None:
                x.d = a
        v.d = array
        s.forward()
        return float(s.d)

    for v, slope in zip(everything, slopes, strict=True):
        original = v.d.copy()
        step = 2e-3 * np.random.RandomState(5).randn(*v.shape).astype("float32")
        change = (moved(v, original + step) - moved(v, original - step)) / 2
        v.d = original
        error, scale = abs((slope * step).sum() - change), np.abs(slope * step).sum() + 2e-3
        if name.startswith("warp") and error > 1e-2 * scale:
            pytest.skip("the finite difference crosses the border of a pixel")
        assert error <= 1e-2 * scale


@pytest.mark.parametrize("padding_mode", ["zero", "repeat", "reflect"])
def test_volumes_of_one_layer_are_warped_as_images(padding_mode):
    """Includes positions on pixels and on the border, where the gradient is one-sided."""
    image, shift = A(1, 2, 3, 5), np.float32([0, 0.5])[:, None, None, None]
    flat = np.stack(np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 3)), -1)[None] + shift
    results = []
    for x, grid in (
        (image, flat),
        (image[:, :, None], np.concatenate([flat, np.zeros((2, 3, 5, 1))], -1)[:, None]),
    ):
        x, grid = variable(np.concatenate([x, x])), variable(grid.astype("float32"))
        y = F.warp_by_grid(x, grid, padding_mode=padding_mode, align_corners=True)
        y.forward()
        y.backward(nnabla_norms.cotangent((2, 2, 3, 5)).reshape(y.shape))
        results.append([v.squeeze() for v in (y.d, x.g, grid.g[..., :2])])
    for flat_result, result in zip(*results, strict=True):
        np.testing.assert_allclose(result, flat_result, rtol=1e-5, atol=1e-6)


# ---- inputs that forward updates ----------------------------------------------------------------------------
def test_batch_normalization_moves_the_running_statistics_at_every_forward():
    x, mean, var = variable(A(4, 3, 5)), variable(np.zeros((1, 3, 1)), False), variable(np.ones((1, 3, 1)), False)
    y = F.batch_normalization(x, None, None, mean, var, decay_rate=0.75)
    assert (mean.d == 0).all()
    m, v = x.d.mean((0, 2), keepdims=True), x.d.var((0, 2), keepdims=True) * 20 / 19
    expected = np.zeros((1, 3, 1)), np.ones((1, 3, 1))
    for _ in range(3):
        y.forward()
        expected = 0.75 * expected[0] + 0.25 * m, 0.75 * expected[1] + 0.25 * v
        np.testing.assert_allclose(mean.d, expected[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(var.d, expected[1], rtol=1e-5)
    before = mean.d.copy()
    y.backward()
    (g,) = nn.grad([y], [x])
    np.testing.assert_array_equal(mean.d, before)
    F.batch_normalization(x, None, None, mean, var, batch_stat=False).forward()
    np.testing.assert_array_equal(mean.d, before)


def test_batch_normalization_of_several_axes_moves_the_running_statistics():
    x, mean, var = variable(A(4, 3, 5)), variable(np.zeros((1, 3, 5)), False), variable(np.ones((1, 3, 5)), False)
    y, m, v = F.batch_normalization(x, None, None, mean, var, axes=[1, 2], decay_rate=0.0, output_stat=True)
    nn.forward_all([y, m, v])
    np.testing.assert_allclose(mean.d, m.d, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(var.d, v.d * 4 / 3, rtol=1e-5)
    np.testing.assert_allclose(m.d, x.d.mean(0, keepdims=True), rtol=1e-5, atol=1e-6)


def test_running_statistics_of_double_precision_are_moved():
    x, mean, var = variable(A(6, 3)), nn.Variable((1, 3)), nn.Variable((1, 3))
    mean.d, var.d = np.zeros((1, 3)), np.ones((1, 3))
    F.batch_normalization(x, None, None, mean, var, decay_rate=0.0).forward()
    np.testing.assert_allclose(mean.d, x.d.mean(0, keepdims=True), rtol=1e-5, atol=1e-6)


def test_spectral_norm_finds_the_largest_singular_value():
    w, u = variable(A(4, 3, 2)), variable(A(3), False)
    y = F.spectral_norm(w, u, dim=1)
    for _ in range(60):  # each forward continues from the vector of the last one
        y.forward()
    matrix = np.moveaxis(w.d, 1, 0).reshape(3, -1)
    np.testing.assert_allclose(y.d, w.d / np.linalg.norm(matrix, 2), rtol=1e-4)
    # after convergence, the derivatives of the singular vectors are zero
    w.grad.zero()
    y.forward()
    y.backward()
    base, step, move = w.d.copy(), 1e-2, A(4, 3, 2)

    def value(s):
        moved = base + s * move
        return (moved / np.linalg.norm(np.moveaxis(moved, 1, 0).reshape(3, -1), 2)).sum()

    assert (w.g * move).sum() == pytest.approx((value(step) - value(-step)) / (2 * step), rel=2e-2, abs=1e-2)


def test_mean_subtraction_gives_the_derivative_of_what_it_computes():
    x, mean, t = A(4, 3), A(3), 2.0
    v, running, count = variable(x), variable(mean, False), variable([t], False)
    y = F.mean_subtraction(v, running, count)
    v.grad.zero()
    y.forward()
    new = mean + (x.mean(0) - mean) / (t + 1)
    np.testing.assert_allclose(running.d, new, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(y.d, x - new, rtol=1e-5, atol=1e-6)
    assert count.d == t + 1
    gy = A(4, 3)
    y.backward(gy)
    np.testing.assert_allclose(v.g, gy - gy.sum(0) / (4 * (t + 1)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_norm_normalization_of_zeros_is_zeros(p):
    x = variable(np.zeros((2, 3)))
    x.g = 0
    y = F.norm_normalization(x, p=p, axes=[1])
    y.forward()
    y.backward()
    assert (y.d == 0).all() and (x.g == 0).all()


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_norm_normalization_of_small_numbers_adds_no_eps(p):
    """nnabla's CPU function ignores eps."""
    x = np.array([[1, 2, -3]]) * 1e-9
    for eps in (1e-12, 75.0):
        y = F.norm_normalization(variable(x), p=p, axes=[1], eps=eps)
        y.forward()
        np.testing.assert_allclose(y.d, x / (np.abs(x) ** p).sum() ** (1 / p), rtol=1e-5)


def test_channel_last_is_the_same_with_the_channels_at_the_end():
    x, grid = A(2, 3, 4, 5), A(2, 6, 3, 2)
    last = np.transpose(x, (0, 2, 3, 1))
    with nn.auto_forward():
        for more in ({"mode": "linear"}, {"mode": "nearest"}):
            y = F.interpolate(variable(x), output_size=(7, 6), **more)
            z = F.interpolate(variable(last), output_size=(7, 6), channel_last=True, **more)
            np.testing.assert_allclose(np.transpose(y.d, (0, 2, 3, 1)), z.d, rtol=1e-5, atol=1e-6)
            y = F.warp_by_grid(variable(x), variable(grid), **more)
            z = F.warp_by_grid(variable(last), variable(grid), channel_last=True, **more)
            np.testing.assert_allclose(np.transpose(y.d, (0, 2, 3, 1)), z.d, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("normalized", [False, True])
def test_fourier_transforms(normalized):
    x = A(2, 3, 4, 2)
    norm = "ortho" if normalized else "backward"
    with nn.auto_forward():
        y = F.fft(variable(x), 2, normalized)
        expected = np.fft.fftn(x[..., 0] + 1j * x[..., 1], axes=(1, 2), norm=norm)
        np.testing.assert_allclose(y.d[..., 0] + 1j * y.d[..., 1], expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(F.ifft(y, 2, normalized).d, x, rtol=1e-4, atol=1e-5)


def test_istft_undoes_stft():
    x = A(2, 64)
    with nn.auto_forward():
        parts = F.stft(variable(x), 16, 4, 16)
        np.testing.assert_allclose(F.istft(*parts, 16, 4, 16, pad_mode="constant").d, x, rtol=1e-4, atol=1e-5)


def test_fourier_transforms_in_half_precision():
    """nnabla supports half precision; torch's FFT on the CPU does not."""
    x = A(2, 64)

    def run():
        signal = variable(x)
        parts = F.stft(signal, 16, 8, 16)
        back = F.istft(*parts, 16, 8, 16, pad_mode="constant")
        spectrum = F.ifft(F.fft(F.reshape(signal, (2, 32, 2)), 1), 1)
        y = F.sum(back**2) + F.sum(spectrum**3)
        signal.grad.zero()
        y.forward()
        y.backward()
        return [*parts, back, spectrum], signal.g

    with nn.context_scope(get_extension_context("cpu", type_config="half")):
        halves, half_gradient = run()
    wholes, gradient = run()
    for half, whole in zip(halves, wholes, strict=True):
        assert half.d.dtype == np.float16
        np.testing.assert_allclose(half.d, whole.d, rtol=2e-2, atol=2e-2)
    np.testing.assert_allclose(half_gradient, gradient, rtol=5e-2, atol=5e-2)


def test_onnx_non_max_suppression_reads_the_data_when_it_is_called():
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]], "float32")
    scores = np.array([[[0.5, 0.9, 0.1]]], "float32")
    y = F.onnx_non_max_suppression(variable(boxes), variable(scores), 0, 5, 0.5, 0.0)
    assert y.shape == (2, 3)
    y.forward()
    assert y.d.tolist() == [[0, 0, 1], [0, 0, 2]]


# ---- bad input ----------------------------------------------------------------------------------------------
x, p = A(2, 4, 5, 6), A(1, 4, 1, 1)
BAD = [
    ("batch_normalization", (x, A(1, 3, 1, 1), p, None, None), {}, ValueError, "shape"),
    ("batch_normalization", (x, None, None, A(1, 3, 1, 1), p), {}, RuntimeError, "mean"),
    ("batch_normalization", (x, p, p, None, None), {"batch_stat": False}, ValueError, "None"),
    ("fused_batch_normalization", (x, p, p, None, None), {"nonlinearity": "tanh"}, RuntimeError, "relu"),
    ("layer_normalization", (x, A(4, 5, 6), None), {}, RuntimeError, "beta"),
    ("instance_normalization", (x, None, A(1, 3, 1, 1)), {}, RuntimeError, "gamma"),
    ("group_normalization", (x, p, p, 3), {}, RuntimeError, "num_groups"),
    ("weight_standardization", (x,), {"channel_axis": 9}, RuntimeError, "channel_axis"),
    ("weight_normalization", (x, A(3)), {}, RuntimeError, "g"),
    ("spectral_norm", (x, A(3)), {}, RuntimeError, "u"),
    ("spectral_norm", (x, A(2)), {"itr": 0}, RuntimeError, "itr"),
    ("norm_normalization", (x,), {"p": 0.5}, RuntimeError, "p must"),
    ("mean_subtraction", (x, A(4, 5), A(1)), {}, RuntimeError, "running mean"),
    ("interpolate", (x,), {}, ValueError, "output_size"),
    ("interpolate", (x,), {"scale": (2, 2), "mode": "cubic"}, RuntimeError, "mode"),
    ("interpolate", (x,), {"output_size": (2, 2, 2, 2)}, RuntimeError, "output_size"),
    ("onnx_resize", (x,), {}, RuntimeError, "sizes"),
    ("onnx_resize", (x,), {"sizes": (7, 7)}, RuntimeError, "sizes"),
    ("affine_grid", (A(2, 3, 3), [3, 4]), {}, RuntimeError, "theta"),
    ("warp_by_grid", (x, A(3, 3, 4, 2)), {}, RuntimeError, "batch"),
    ("warp_by_grid", (x, A(2, 3, 4, 2)), {"padding_mode": "none"}, RuntimeError, "padding_mode"),
    ("warp_by_flow", (x, A(2, 3, 5, 6)), {}, RuntimeError, "flow"),
    ("stft", (A(2, 40), 16, 8, 8), {}, RuntimeError, "window_size"),
    ("stft", (A(2, 40), 16, 8, 16), {"window_type": "boxcar"}, RuntimeError, "window_type"),
    ("istft", (A(2, 9, 6), A(2, 9, 6), 16, 8, 16), {}, RuntimeError, "pad_mode"),
    ("istft", (A(2, 9, 6), A(2, 9, 6), 16, 16, 16), {"pad_mode": "constant"}, RuntimeError, "NOLA"),
    ("nms_detection2d", (P(2, 9, 5),), {}, RuntimeError, "classes"),
    ("onnx_non_max_suppression", (P(2, 9, 4), P(2, 3, 8)), {}, RuntimeError, "scores"),
    ("vat_noise", (x, p), {}, RuntimeError, "w"),
    ("patch_correlation", (x, p), {}, ValueError, "shape"),
    ("patch_correlation", (x, x), {"shift": -1}, RuntimeError, "shift"),
]


@pytest.mark.parametrize("name, inputs, args, error, words", BAD, ids=[f"{b[0]}-{b[4]}" for b in BAD])
def test_bad_input(name, inputs, args, error, words):
    vs = [variable(a) if isinstance(a, np.ndarray) else a for a in inputs]
    with pytest.raises(error, match=words):
        getattr(F, name)(*vs, **args)


@pytest.mark.parametrize("f", [F.fused_batch_normalization, lambda *a: F.sync_batch_normalization(*a, comm=None)])
def test_batch_normalization_that_runs_at_once_needs_no_scale(f):
    """nnabla returns zeros, or crashes with a segmentation fault."""
    x = np.array([[1.0, 2.0], [3.0, 6.0]], np.float32)
    y = f(nn.NdArray.from_numpy_array(x), None, None, None, None)
    np.testing.assert_allclose(np.maximum(y.data, 0), [[0, 0], [1, 1]], atol=1e-4)


def test_scales_that_do_not_fit_an_image():
    with pytest.raises(RuntimeError, match="fewer than 3 spatial axes"):
        F.interpolate(nn.Variable((2, 2)), scale=(2, 2, 2))
    with pytest.raises(TypeError, match="interpolate: scale must be a tuple of numbers, not 2"):
        F.interpolate(nn.Variable((2, 2)), scale=2)


@pytest.mark.parametrize("record", [False, True])
def test_relu_of_fused_batch_normalization_selects(record):
    """Where the result is 0 a gradient of NaN has no effect, as in nnabla; a product with 0 would spread it."""
    x = variable([[1.0, 2.0, 5.0], [3.0, 6.0, 4.0]])
    y = F.fused_batch_normalization(x, None, None, None, None)
    gy = np.where([[True, True, False], [False, False, True]], np.float32(np.nan), np.float32(1))
    y.forward()
    assert ((y.d == 0) == np.isnan(gy)).all()
    if record:
        (g,) = nn.grad([y], [x], grad_outputs=[variable(gy)])
        g.forward()
        given = g.d
    else:
        x.g = 0
        y.backward(gy)
        given = x.g
    assert np.isfinite(given).all()


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("batch_stat", [False, True])
def test_batch_normalization_of_integers(dtype, fused, batch_stat):
    """Pictures of a data iterator may be uint8; nnabla converts them."""
    normalize = PF.fused_batch_normalization if fused else PF.batch_normalization
    data = np.random.RandomState(0).randint(0, 5, (2, 4, 3, 3)).astype(dtype)
    results = []
    for given in (data, data.astype(np.float32)):
        nn.clear_parameters()
        x = nn.Variable.from_numpy_array(given).apply(need_grad=True)
        y = normalize(x, batch_stat=batch_stat)
        y.forward()
        x.grad.zero()
        y.backward(nn.NdArray.from_numpy_array(np.arange(data.size).reshape(data.shape)))
        results.append([y.d.copy(), x.g.copy(), *(p.d.copy() for p in nn.get_parameters(grad_only=False).values())])
    for found, expected in zip(*results, strict=True):
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, expected)
