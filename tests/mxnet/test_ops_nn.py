"""Operators of layers: values of MXNet 1.9.1 (tests/golden/mxnet_nn.py), first and second derivatives."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import MXNetError, autograd, nd
from tests.golden import mxnet_nn
from tests.golden.mxnet_nn import CASES, GOLDEN
from tests.mxnet.operator_checks import A, check_gradients


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as file:
        return dict(file)


def named(name):
    function = nd
    for part in name.split("."):
        function = getattr(function, part)
    return function


@pytest.mark.parametrize("k", range(len(CASES)), ids=lambda k: f"{k}-{CASES[k][0]}")
def test_like_mxnet(k, golden):
    ys, grads, state = mxnet_nn.run(mx, *CASES[k])
    assert len(ys) == sum(key.startswith(f"{k}_y") for key in golden)
    for j, y in enumerate(ys):
        expected = golden[f"{k}_y{j}"]
        assert y.dtype == expected.dtype
        np.testing.assert_allclose(y, expected, rtol=2e-5, atol=2e-5, strict=True)
    for i, g in enumerate(grads):
        assert (g is None) == (f"{k}_g{i}" not in golden)
        if g is not None:
            np.testing.assert_allclose(g, golden[f"{k}_g{i}"], rtol=1e-4, atol=1e-4, strict=True)
    for i, s in enumerate(state):
        np.testing.assert_allclose(s, golden[f"{k}_s{i}"], rtol=1e-5, atol=1e-5, strict=True)


# ---- derivatives -----------------------------------------------------------------------------------------------------
# Every differentiable layer: name, float64 inputs to differentiate by (and constants of other dtypes), arguments.
def rnn(mode, gates, layers=1, directions=1, lengths=False, **args):
    time, batch, inputs, units = 3, 2, 2, 2
    out = args.get("projection_size", units)
    widths = [inputs] + [out * directions] * (layers - 1)
    n = directions * sum(gates * units * (w + out + 2) + (units * out if out != units else 0) for w in widths)
    inputs = [A(time, batch, inputs), A(n), A(layers * directions, batch, out)]
    inputs += [A(layers * directions, batch, units)] if mode == "lstm" else []
    inputs += [np.array([1, 3])] if lengths else []
    return (
        "RNN",
        inputs,
        dict(
            state_size=units,
            num_layers=layers,
            mode=mode,
            bidirectional=directions == 2,
            state_outputs=True,
            use_sequence_length=lengths,
            **args,
        ),
    )


IMAGE, STATISTICS = A(1, 2, 4, 3), [np.zeros(2), np.ones(2)]
IMAGES = A(2, 1, 4, 4)
ROIS = np.array([[0, 0, 0, 3, 3], [1, 1, 1, 2, 2], [1, 0, 1, 2, 3]])
WINDOWS = dict(kernel=(2, 2), stride=(2, 1), pad=(1, 0))
BOXES = np.array([[0.5, 0.5, 0.1, 0.1, 0.2, 0.2], [1.5, 0.4, 0.1, 0.1, 0.2, 0.2], [2.5, 0.6, 0.5, 0.5, 0.7, 0.8]])
WINDOW = dict(kernel=(2, 2), num_filter=2)
SMOOTH = [
    ("FullyConnected", [A(2, 2, 2), A(3, 4), A(3)], dict(num_hidden=3)),
    ("FullyConnected", [A(2, 2, 3), A(2, 3)], dict(num_hidden=2, no_bias=True, flatten=False)),
    *[
        ("Activation", [A(2, 3, low=-2, high=2)], dict(act_type=act))
        for act in ("relu", "sigmoid", "softrelu", "softsign", "tanh")
    ],
    *[("LeakyReLU", [A(2, 3, low=-2, high=2)], dict(act_type=act)) for act in ("leaky", "elu", "selu", "gelu")],
    ("LeakyReLU", [A(2, 2, 2), A(2)], dict(act_type="prelu")),
    ("LeakyReLU", [A(2, 3), A(2, 3)], dict(act_type="prelu")),
    ("smooth_l1", [A(2, 4, low=-2, high=2)], dict(scalar=1.5)),
    ("hard_sigmoid", [A(2, 4, low=-4, high=4)], {}),
    ("Embedding", [np.array([[0, 2], [2, 7]]), A(3, 2)], dict(input_dim=3, output_dim=2)),
    ("softmax", [A(2, 3)], {}),
    ("softmax", [A(2, 3, 2)], dict(axis=1, temperature=0.5)),
    ("softmax", [A(2, 3), np.array([1, 2])], dict(use_length=True)),
    ("log_softmax", [A(2, 3)], dict(axis=0)),
    ("softmin", [A(2, 3)], {}),
    ("SoftmaxActivation", [A(2, 3, 2)], dict(mode="channel")),
    ("masked_softmax", [A(2, 3), np.array([[1, 0, 1]])], {}),
    (
        "Convolution",
        [A(1, 2, 4, 4), A(4, 1, 3, 2), A(4)],
        dict(kernel=(3, 2), num_filter=4, num_group=2, stride=(1, 2), pad=(1, 0)),
    ),
    ("Convolution", [A(1, 4, 3, 2), A(2, 2, 2, 2)], dict(kernel=(2, 2), num_filter=2, no_bias=True, layout="NHWC")),
    ("Convolution", [A(1, 2, 5), A(2, 2, 2), A(2)], dict(kernel=(2,), num_filter=2, dilate=(2,))),
    (
        "Deconvolution",
        [A(1, 2, 2, 3), A(2, 2, 2, 2), A(2)],
        dict(kernel=(2, 2), num_filter=2, no_bias=False, stride=(2, 2), pad=(1, 0), adj=(1, 0)),
    ),
    ("Deconvolution", [A(1, 2, 3), A(2, 2, 3)], dict(kernel=(3,), num_filter=2, stride=(2,), target_shape=(5,))),
    *[("Pooling", [IMAGE], dict(pool_type=pool, p_value=2, **WINDOWS)) for pool in ("max", "avg", "sum", "lp")],
    *[("Pooling", [IMAGE], dict(pool_type=pool, p_value=3, global_pool=True)) for pool in ("max", "avg", "sum", "lp")],
    ("Pooling", [IMAGE], dict(pool_type="avg", count_include_pad=False, **WINDOWS)),
    *[
        ("Pooling", [IMAGE], dict(pool_type=pool, kernel=(3, 2), stride=(2, 2), pooling_convention="full"))
        for pool in ("max", "avg", "sum")
    ],
    ("UpSampling", [A(1, 2, 2, 2), A(1, 1, 4, 4)], dict(scale=2, sample_type="nearest")),
    ("UpSampling", [A(1, 2, 2, 2), A(2, 1, 4, 4)], dict(scale=2, sample_type="bilinear")),
    ("im2col", [IMAGE], dict(kernel=(2, 2))),
    ("col2im", [A(1, 8, 6)], dict(kernel=(2, 2), output_size=(4, 3))),
    ("BatchNorm", [A(3, 2, 2), A(2), A(2), *STATISTICS], dict(fix_gamma=False)),
    ("BatchNorm", [A(3, 2, 2), A(2), A(2), *STATISTICS], dict(fix_gamma=False, axis=-1)),
    ("BatchNorm", [A(3, 2), A(2), A(2), *STATISTICS], dict(fix_gamma=False, use_global_stats=True)),
    ("LayerNorm", [A(2, 3), A(3), A(3)], {}),
    ("LayerNorm", [A(2, 3, 2), A(3), A(3)], dict(axis=1)),
    ("GroupNorm", [A(2, 4, 2), A(2), A(2)], dict(num_groups=2)),
    ("InstanceNorm", [A(2, 2, 3), A(2), A(2)], {}),
    ("LRN", [A(1, 4, 1, 2)], dict(nsize=3, alpha=0.5)),
    *[("L2Normalization", [A(2, 2, 2)], dict(mode=mode)) for mode in ("instance", "channel", "spatial")],
    ("softmax_cross_entropy", [A(2, 3), np.array([0, 2])], {}),
    ("CTCLoss", [A(4, 2, 3), np.array([[1, 1], [2, 0]])], {}),
    (
        "CTCLoss",
        [A(4, 2, 3), np.array([[1, 0], [0, 1]]), np.array([3, 4]), np.array([1, 2])],
        dict(use_data_lengths=True, use_label_lengths=True, blank_label="last"),
    ),
    rnn("rnn_tanh", 1),
    rnn("rnn_relu", 1),
    rnn("lstm", 4, layers=2),
    rnn("gru", 3, directions=2),
    rnn("lstm", 4, lengths=True, directions=2),
    rnn("gru", 3, lengths=True),
    rnn("lstm", 4, projection_size=1),
    ("BilinearSampler", [IMAGE, A(1, 2, 2, 2, low=-0.9, high=0.9)], {}),
    ("GridGenerator", [A(2, 6)], dict(transform_type="affine", target_shape=(2, 3))),
    ("GridGenerator", [A(1, 2, 2, 3)], dict(transform_type="warp")),
    (
        "SpatialTransformer",
        [IMAGE, A(1, 6, low=-0.6, high=0.6)],
        dict(target_shape=(2, 3), transform_type="affine", sampler_type="bilinear"),
    ),
    ("ROIPooling", [IMAGES, ROIS], dict(pooled_size=(2, 2), spatial_scale=1.0)),
    ("Crop", [IMAGE], dict(h_w=(2, 2), offset=(1, 0))),
    ("contrib.BilinearResize2D", [IMAGE], dict(height=3, width=5)),
    ("contrib.BilinearResize2D", [IMAGE], dict(height=6, width=2, align_corners=False)),
    *[("contrib.AdaptiveAvgPooling2D", [IMAGE], dict(output_size=size)) for size in (1, (2, 3), (3, 2))],
    *[
        ("contrib.ROIAlign", [IMAGES, ROIS], dict(pooled_size=(2, 2), spatial_scale=0.8, aligned=a))
        for a in (False, True)
    ],
    ("contrib.PSROIPooling", [A(2, 8, 3, 3), ROIS], dict(pooled_size=2, output_dim=2, spatial_scale=0.8)),
    ("contrib.DeformableConvolution", [IMAGE, A(1, 8, 3, 2, low=0.1, high=0.9), A(2, 2, 2, 2), A(2)], WINDOW),
    (
        "contrib.DeformableConvolution",
        [A(1, 4, 3, 3), A(1, 4, 3, 3, low=-0.8, high=-0.2), A(2, 2, 1, 1)],
        dict(kernel=(1, 1), num_filter=2, num_group=2, num_deformable_group=2, no_bias=True),
    ),
    (
        "contrib.ModulatedDeformableConvolution",
        [IMAGE, A(1, 8, 3, 2, low=-1.9, high=-1.1), A(1, 4, 3, 2), A(2, 2, 2, 2), A(2)],
        WINDOW,
    ),
    ("contrib.div_sqrt_dim", [A(2, 3)], {}),
    ("contrib.interleaved_matmul_selfatt_qk", [A(2, 1, 12)], dict(heads=2)),
    ("contrib.interleaved_matmul_selfatt_valatt", [A(2, 1, 12), A(2, 2, 2)], dict(heads=2)),
    ("contrib.interleaved_matmul_encdec_qk", [A(2, 1, 4), A(3, 1, 8)], dict(heads=2)),
    ("contrib.interleaved_matmul_encdec_valatt", [A(3, 1, 8), A(2, 2, 3)], dict(heads=2)),
    ("contrib.box_nms", [BOXES], dict(id_index=0, out_format="center")),
]


@pytest.mark.parametrize("name, inputs, args", SMOOTH, ids=[f"{i}-{one[0]}" for i, one in enumerate(SMOOTH)])
def test_both_derivatives(name, inputs, args):
    def call(*xs):
        return named(name)(*xs, **args)

    check_gradients(call, *inputs, wrt=(0, 1, 2) if name == "BatchNorm" else None)


@pytest.mark.parametrize("args", [dict(p=0.4), dict(p=0.4, axes=(1,)), dict(p=0.4, mode="always")])
def test_dropout_differentiates_with_its_own_mask(args):
    def call(x):
        mx.random.seed(3)
        return nd.Dropout(x, **args)

    check_gradients(call, A(3, 4))
    mx.random.seed(4)
    with autograd.train_mode():
        y = nd.Dropout(nd.ones((400, 50)), **args).asnumpy()
    assert set(np.unique(y)) == {0, np.float32(1 / 0.6)}
    assert abs(y.mean() - 1) < 0.1
    if "axes" in args:
        assert (y == y[:, :1]).all()


def test_pooling_of_as_many_windows_as_strides():
    x = nd.array([[[1.0, 2, 3, 4, 5, 6, 7]]])
    for kernel, stride, expected in ((2, 2, [2, 4, 6, 7]), (3, 2, [2, 4, 6, 7]), (4, 3, [3, 6, 7])):
        y = nd.Pooling(x, kernel=(kernel,), stride=(stride,), pad=(0, 0, 0), pooling_convention="same")
        assert y.asnumpy()[0, 0].tolist() == expected
    with pytest.raises(MXNetError, match="same"):
        nd.Pooling(x, kernel=(2,), pool_type="avg", pooling_convention="same")


def test_rrelu_draws_slopes_in_training_only():
    x = nd.array([[-1.0] * 500, [2.0] * 500])
    np.testing.assert_allclose(nd.LeakyReLU(x, act_type="rrelu")[0].asnumpy(), -(0.125 + 0.334) / 2, rtol=1e-6)
    with autograd.train_mode():
        y = nd.LeakyReLU(x, act_type="rrelu").asnumpy()
    assert (y[1] == 2).all() and -0.334 <= y[0].min() < -0.3 and -0.16 < y[0].max() <= -0.125


# ---- losses that bring their gradient --------------------------------------------------------------------------------
OUTPUTS = [
    ("SoftmaxOutput", A(2, 3), np.array([0.0, 2]), dict(grad_scale=0.5)),
    (
        "SoftmaxOutput",
        A(2, 3, 2),
        np.array([[1.0, 0], [2, 0]]),
        dict(multi_output=True, use_ignore=True, ignore_label=0),
    ),
    ("LinearRegressionOutput", A(2, 3), A(2, 3, low=-2), {}),
    ("LogisticRegressionOutput", A(2, 3), A(2, 3, low=-2), {}),
    ("SVMOutput", A(2, 3), np.array([0.0, 2]), {}),
]


@pytest.mark.parametrize("name, x, label, args", OUTPUTS, ids=[f"{i}-{one[0]}" for i, one in enumerate(OUTPUTS)])
def test_gradient_of_an_output_is_differentiable(name, x, label, args):
    """The gradient does not depend on the head gradient, and can be differentiated again."""
    w = nd.array(A(*x.shape, seed=2), dtype="float64")

    def gradient(values, head=1.0, record=False):
        data = nd.array(values, dtype="float64")
        data.attach_grad()
        with autograd.record():
            y = getattr(nd, name)(data, nd.array(label, dtype="float64"), **args)
            (g,) = autograd.grad(y, [data], [nd.ones(y.shape, dtype="float64") * head], create_graph=record)
            return data, g, (g * w).sum()

    np.testing.assert_array_equal(gradient(x)[1].asnumpy(), gradient(x, head=3)[1].asnumpy())
    data, _, total = gradient(x, record=True)
    total.backward()
    for k in np.ndindex(*x.shape):
        ends = []
        for step in (1e-5, -1e-5):
            moved = x.copy()
            moved[k] += step
            ends.append(gradient(moved)[2].asscalar())
        np.testing.assert_allclose(data.grad.asnumpy()[k], (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-7)


def test_softmax_output_with_out_grad_multiplies():
    data, label = nd.array(A(2, 3)), nd.array([0, 2])
    data.attach_grad()
    head = nd.array(A(2, 3, seed=1))
    with autograd.record():
        y = nd.SoftmaxOutput(data, label, out_grad=True)
    y.backward(head)
    expected = (y - nd.one_hot(label, 3)) * head
    np.testing.assert_allclose(data.grad.asnumpy(), expected.asnumpy(), rtol=1e-5)


# ---- batch normalization ---------------------------------------------------------------------------------------------
def test_moving_statistics_change_in_backward():
    x, gamma, beta = nd.array(A(6, 2)), nd.array([2.0, 3.0]), nd.zeros(2)
    mean, var = nd.zeros(2), nd.ones(2)
    x.attach_grad()
    with autograd.record():
        y = nd.BatchNorm(x, gamma, beta, mean, var, momentum=0.5)
    assert gamma.asnumpy().tolist() == [1, 1]  # fix_gamma, the default, sets gamma to 1
    assert mean.asnumpy().tolist() == [0, 0]
    y.backward(retain_graph=True)
    once = x.asnumpy().mean(0) / 2
    np.testing.assert_allclose(mean.asnumpy(), once, rtol=1e-5)
    np.testing.assert_allclose(var.asnumpy(), 0.5 + x.asnumpy().var(0) / 2, rtol=1e-4)
    with autograd.train_mode():
        nd.BatchNorm(x, gamma, beta, mean, var)
    np.testing.assert_allclose(mean.asnumpy(), once, rtol=1e-5)


def test_fixed_gamma_has_a_zero_gradient():
    xs = [nd.array(a, dtype="float64") for a in (A(4, 2), A(2), A(2), A(2), A(2, low=1, high=2))]
    for x in xs[:3]:
        x.attach_grad()
    with autograd.record():
        y = nd.BatchNorm(*xs)
        (gx,) = autograd.grad((y * y * y).sum(), [xs[0]], create_graph=True)
        total = (gx * gx).sum()
    total.backward()
    assert not xs[1].grad.asnumpy().any() and xs[0].grad.asnumpy().any()


# ---- contrib ---------------------------------------------------------------------------------------------------------
def test_loops():
    data = nd.array(A(3, 2))
    data.attach_grad()
    with autograd.record():
        ys, states = nd.contrib.foreach(lambda x, s: ([x + s[0], [x * 2]], [s[0] * x]), data, [nd.ones(2)])
        (states[0].sum() + ys[1][0].sum()).backward()
    np.testing.assert_allclose(states[0].asnumpy(), data.asnumpy().prod(0), rtol=1e-5)
    assert ys[0].shape == (3, 2) and ys[1][0].shape == (3, 2)
    np.testing.assert_allclose(data.grad.asnumpy(), data.asnumpy().prod(0) / data.asnumpy() + 2, rtol=1e-4)

    def step(i, s):
        return [i + s], [i + 1, s + i]

    outs, (i, s) = nd.contrib.while_loop(lambda i, s: i <= 5, step, [nd.array([0]), nd.array([1])], max_iterations=8)
    assert (i.asscalar(), s.asscalar()) == (6, 16)
    assert outs[0].shape == (8, 1) and outs[0][:6, 0].asnumpy().tolist() == [1, 2, 4, 7, 11, 16]
    assert nd.contrib.cond(nd.array([1]) < 2, lambda: nd.ones(1), lambda: nd.zeros(1)).asscalar() == 1
    with pytest.raises(ValueError, match="max_iterations"):
        nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, i), [nd.zeros(1)])
    with pytest.raises(AssertionError, match="init_states"):
        nd.contrib.foreach(lambda x, s: (x, s), data, 1)


def test_roi_align_of_a_plane():
    """The mean of a linear function over a bin is its value at the bin's centre."""
    y, x = np.mgrid[:6, :7].astype("float32")
    image = nd.array((2 * y + 3 * x)[None, None])
    box = nd.array([[0, 1, 2, 5, 4], [-1, 0, 0, 3, 3]])
    got = nd.contrib.ROIAlign(image, box, pooled_size=(1, 2), spatial_scale=1.0, sample_ratio=2)
    np.testing.assert_allclose(got.asnumpy(), [[[[2 * 3 + 3 * 2, 2 * 3 + 3 * 4]]], [[[0, 0]]]], rtol=1e-5)
    got = nd.contrib.ROIAlign(image, box[:1], pooled_size=(1, 2), spatial_scale=1.0, aligned=True)
    np.testing.assert_allclose(got.asnumpy(), [[[[2 * 2.5 + 3 * 1.5, 2 * 2.5 + 3 * 3.5]]]], rtol=1e-5)


def test_position_sensitive_regions():
    """Each bin reads its own channels; the numbers are MXNet 1.9.1's."""
    x = nd.array(np.arange(128).reshape(1, 8, 4, 4) % 7)
    rois = nd.array([[0, 0, 0, 2, 3], [0, 1, 1, 6, 2.5], [0, -9, -9, -7, -7]])
    x.attach_grad()
    with autograd.record():
        y = nd.contrib.PSROIPooling(x, rois, spatial_scale=0.5, output_dim=2, pooled_size=2)
    y.backward()
    expected = [[[[0, 2.5], [1, 3.5]], [[1, 3.5], [2, 4.5]]], [[[2.5, 3], [1.5, 5.5]], [[3.5, 4], [2.5, 3]]],
                np.zeros((2, 2, 2)).tolist()]  # fmt: skip
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy().sum((0, 2, 3)), [2.0] * 8, rtol=1e-6)
    with autograd.record():
        y = nd.contrib.ROIAlign(x, rois[:2], spatial_scale=0.5, pooled_size=(2, 2), position_sensitive=True)
    y.backward()
    expected = [[[[1.75, 2.28125], [1.75, 3.375]], [[2.75, 2.625], [2.53125, 4.375]]],
                [[[4.125, 2.125], [2.7421875, 4.625]], [[3.9765625, 3.125], [2.5390625, 3.65625]]]]  # fmt: skip
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy().sum((0, 2, 3)), [2.0] * 8, rtol=1e-6)
    for sizes in ({"output_dim": 3, "pooled_size": 2}, {"output_dim": 2, "pooled_size": 0}):
        with pytest.raises(MXNetError, match="PSROIPooling: expected"):
            nd.contrib.PSROIPooling(x, rois, spatial_scale=0.5, **sizes)
    with pytest.raises(MXNetError, match="ROIAlign: position_sensitive"):
        nd.contrib.ROIAlign(x, rois, spatial_scale=0.5, pooled_size=(3, 2), position_sensitive=True)


def test_zipfian_counts():
    drawn, true, expected = nd.contrib.rand_zipfian(nd.array([0]), 4000, 10)
    assert drawn.dtype == np.int64 and drawn.asnumpy().min() >= 0 and drawn.asnumpy().max() < 10
    np.testing.assert_allclose(true.asscalar(), 4000 * np.log(2) / np.log(11), rtol=1e-6)
    assert abs((drawn.asnumpy() == 0).sum() - true.asscalar()) < 200
    assert expected.shape == (4000,)


# ---- bad input -------------------------------------------------------------------------------------------------------
X, IMG = np.zeros((2, 4)), np.zeros((1, 2, 5, 5))
PLACED = [np.zeros((1, 8, 4, 4)), np.zeros((2, 2, 2, 2)), np.zeros(2)]  # offsets, weight and bias of WINDOW
BAD = [
    ("FullyConnected", [X, np.zeros((3, 5)), np.zeros(3)], dict(num_hidden=3), "weight"),
    ("FullyConnected", [X, np.zeros((3, 4)), np.zeros(3)], {}, "num_hidden"),
    ("FullyConnected", [X, np.zeros((3, 4)), np.zeros(1)], dict(num_hidden=3), "bias"),
    ("FullyConnected", [X, np.zeros((3, 4))], dict(num_hidden=3), "no_bias"),
    ("Activation", [X], dict(act_type="foo"), "foo.*act_type"), ("Activation", [X], {}, "act_type"),
    ("LeakyReLU", [X], dict(act_type="prelu"), "gamma"),
    ("LeakyReLU", [X, np.zeros(3)], dict(act_type="prelu"), "gamma"),
    ("softmax", [X], dict(axis=3), "axis 3"), ("softmax", [X, np.zeros(2)], dict(use_length=True), "length"),
    ("Dropout", [X], dict(p=1.5), "p must"), ("Dropout", [X], dict(mode="never"), "mode"),
    ("Embedding", [X, np.zeros((4, 2))], dict(input_dim=5, output_dim=2), "weight"),
    ("Convolution", [IMG, np.zeros((3, 3, 3, 3)), np.zeros(3)], dict(kernel=(3, 3), num_filter=3), "weight"),
    ("Convolution", [IMG, np.zeros((3, 2, 7, 7)), np.zeros(3)], dict(kernel=(7, 7), num_filter=3), "(7 x 7)"),
    ("Convolution", [IMG, np.zeros((3, 7, 1, 5)), np.zeros(3)],
     dict(kernel=(7, 1), num_filter=3, layout="NHWC"), "7.*exceeds"),
    ("Convolution", [IMG, np.zeros((3, 2, 3, 3)), np.zeros(3)], dict(kernel=(3, 3), num_filter=3, stride=2), "stride"),
    ("Convolution", [IMG, np.zeros((3, 2, 3, 3)), np.zeros(3)], dict(kernel=(3,), num_filter=3), "3-D"),
    ("Convolution", [IMG, np.zeros((3, 2, 3, 3)), np.zeros(3)],
     dict(kernel=(3, 3), num_filter=3, layout="X"), "layout"),
    ("Convolution", [IMG, np.zeros((3, 2, 3, 3)), np.zeros(3)],
     dict(kernel=(3, 3), num_filter=3, stride=(0, 1)), "stride"),
    ("Deconvolution", [IMG, np.zeros((2, 3, 3, 3))], dict(kernel=(3, 3), num_filter=3, adj=(1, 1)), "adj"),
    ("Deconvolution", [IMG, np.zeros((2, 3, 3, 3))],
     dict(kernel=(3, 3), num_filter=3, target_shape=(9, 9)), "target_shape"),
    ("Pooling", [IMG], dict(kernel=(7, 7)), "kernel"),
    ("Pooling", [IMG], dict(kernel=(2, 2), pool_type="min"), "pool_type"),
    ("Pooling", [IMG[0]], dict(kernel=2, pad=1, pooling_convention="same"), "pad"),
    ("Pooling", [IMG], dict(kernel=(2, 2), pad=(2, 2)), "pad"),
    ("Pooling", [IMG], dict(kernel=(2, 2), pool_type="lp"), "p_value"),
    ("BatchNorm", [X, *[np.zeros(3)] * 4], dict(fix_gamma=False), "gamma"),
    ("BatchNorm", [X, *[np.zeros(4)] * 3, np.zeros(3)], dict(fix_gamma=False), "moving_var"),
    ("LayerNorm", [X, np.zeros(3), np.zeros(3)], {}, "gamma"),
    ("GroupNorm", [IMG, *[np.zeros(3)] * 2], dict(num_groups=3), "num_groups"),
    ("InstanceNorm", [X, *[np.zeros(4)] * 2], {}, "data"), ("LRN", [IMG], {}, "nsize"),
    ("L2Normalization", [X], dict(mode="spatial"), "axes"),
    ("SoftmaxOutput", [X, np.zeros(3)], {}, "label"), ("softmax_cross_entropy", [X, np.zeros(3)], {}, "label"),
    ("LinearRegressionOutput", [X, np.zeros(3)], {}, "label"), ("SVMOutput", [X, np.zeros(3)], {}, "label"),
    ("CTCLoss", [np.zeros((2, 1, 3)), np.zeros((1, 3))], {}, "label"),
    ("CTCLoss", [np.zeros((2, 1, 3)), np.full((1, 2), 5)], {}, "label"),
    ("RNN", [np.zeros((3, 2, 4)), np.zeros(9), np.zeros((1, 2, 3))],
     dict(state_size=3, num_layers=1, mode="gru"), "parameters"),
    ("RNN", [np.zeros((3, 2, 4)), np.zeros(81), np.zeros((1, 2, 4))],
     dict(state_size=3, num_layers=1, mode="gru"), "state"),
    ("RNN", [np.zeros((3, 2, 4)), np.zeros(81), np.zeros((1, 2, 3))],
     dict(state_size=3, num_layers=1, mode="foo"), "mode"),
    ("RNN", [np.zeros((3, 2, 4)), np.zeros(81), np.zeros((1, 2, 3))],
     dict(state_size=3, num_layers=1, mode="lstm"), "state_cell"),
    ("UpSampling", [IMG], dict(scale=2, sample_type="bilinear"), "weight"), ("BilinearSampler", [IMG, X], {}, "grid"),
    ("ROIPooling", [IMG, np.array([[1, 0, 0, 1, 1]])], dict(pooled_size=(2, 2), spatial_scale=1.0), "rois"),
    ("contrib.DeformableConvolution", [IMG, *PLACED], dict(num_filter=2), "kernel"),
    ("contrib.DeformableConvolution", [IMG, *PLACED], dict(layout="NHWC", **WINDOW), "layout"),
    ("contrib.DeformableConvolution", [IMG, *PLACED[:2]], WINDOW, "bias"),
    ("contrib.DeformableConvolution", [IMG, *PLACED], dict(num_deformable_group=2, **WINDOW), "offset"),
    ("contrib.DeformableConvolution", [IMG, *PLACED], dict(num_group=3, **WINDOW), "groups"),
    ("contrib.DeformableConvolution", [IMG, *PLACED], dict(dilate=(9, 1), **WINDOW), "dilate"),
    ("contrib.DeformableConvolution", [IMG, *PLACED], dict(pad=(1,), **WINDOW), "pad"),
    ("contrib.ModulatedDeformableConvolution", [IMG, PLACED[0], np.zeros((1, 3, 1, 1)), *PLACED[1:]], WINDOW, "mask"),
    ("contrib.ModulatedDeformableConvolution", [IMG, PLACED[0], np.zeros((1, 4, 4, 4)), *PLACED[1:]],
     dict(im2col_step=0, **WINDOW), "im2col_step"),
    ("contrib.box_nms", [X], {}, "data"), ("contrib.box_iou", [np.zeros((2, 3)), X], {}, "lhs"),
    ("contrib.BilinearResize2D", [IMG], dict(height=0, width=2), "size"),
]  # fmt: skip


@pytest.mark.parametrize("name, inputs, args, message", BAD, ids=[f"{i}-{one[0]}" for i, one in enumerate(BAD)])
def test_bad_input(name, inputs, args, message):
    with pytest.raises(MXNetError, match=message) as e:
        named(name)(*[nd.array(a) for a in inputs], **args)
    assert name.split(".")[-1] in str(e.value)


def test_inputs_of_other_types():
    with pytest.raises(AssertionError, match="FullyConnected.*weight"):
        nd.FullyConnected(nd.array(X), np.zeros((3, 4)), num_hidden=3, no_bias=True)
    with pytest.raises(MXNetError, match="Convolution"):
        wide = nd.array(IMG, dtype="float64")
        nd.Convolution(wide, nd.zeros((3, 2, 3, 3)), kernel=(3, 3), num_filter=3, no_bias=True)
    arrays = nd.array(IMG), nd.zeros((3, 2, 3, 3)), nd.zeros(3)
    y = nd.Convolution(*arrays, kernel="(3, 3)", num_filter="3", no_bias="False")
    assert y.shape == (1, 3, 3, 3)


@pytest.mark.parametrize("size", [16, 24, 32])
def test_grids_of_flows_round_like_the_original(size):
    # rounding decides between which pixels a position lies, and so the gradient by the flow
    grid = nd.GridGenerator(nd.zeros((1, 2, size, size)), transform_type="warp").asnumpy()
    half = np.float32((size - 1) / 2)
    row = np.arange(size, dtype="f") / half - np.float32(1)
    np.testing.assert_array_equal(grid[0, 0], np.broadcast_to(row, (size, size)))
    np.testing.assert_array_equal(grid[0, 1], np.broadcast_to(row[:, None], (size, size)))


LEADS_NOWHERE = {
    "BilinearResize2D": lambda d, x: nd.contrib.BilinearResize2D(d, like=x, mode="like"),
    "LinearRegressionOutput": lambda d, x: nd.LinearRegressionOutput(d, x),
    "CTCLoss": lambda d, x: nd.CTCLoss(d.reshape((4, 2, 4)), x.reshape((-1,))[:4].reshape((2, 2)) * 0 + 1),
}


@pytest.mark.parametrize("f", LEADS_NOWHERE.values(), ids=LEADS_NOWHERE)
def test_gradients_that_the_original_never_writes_are_zero(f):
    data, x = nd.array(A(1, 2, 4, 4)), nd.array(A(1, 2, 4, 4))
    x.attach_grad()
    with autograd.record():
        y = x * 2
        total = y.sum() + f(data, y).sum()
    total.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full(x.shape, 2, "f"), strict=True)


def test_samplers_at_the_edges_of_images():
    # as in MXNet 1.9.1, a position one pixel before the image has a gradient, one pixel behind it has none
    x, grid = nd.array([[[[1, 2, 3]]]]), nd.array([[[[-2, -1.5, -1, 0.5, 1, 2]], [[0, 0, 0, 0, 0, 0]]]])
    x.attach_grad(), grid.attach_grad()
    with autograd.record():
        y = nd.BilinearSampler(x, grid)
    y.backward()
    np.testing.assert_allclose(y.asnumpy()[0, 0, 0], [0, 0.5, 1, 2.5, 3, 0], atol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy()[0, 0, 0], [1.5, 0.5, 1.5], atol=1e-6)
    np.testing.assert_allclose(grid.grad.asnumpy()[0, 0, 0], [1, 1, 1, 1, -3, 0], atol=1e-6)


def test_what_would_divide_by_zero():
    with pytest.raises(MXNetError, match=r"data of shape \(2, 3, 0, 4\) has no pixels"):
        nd.UpSampling(nd.array(np.zeros((2, 3, 0, 4))), scale=2, sample_type="nearest")
    with pytest.raises(MXNetError, match="kernel must have 2 positive entries"):
        nd.col2im(nd.zeros((1, 4, 4)), (3, 3), (0, 0))
    empty = nd.array(np.zeros((2, 1, 0)))
    assert nd.contrib.interleaved_matmul_selfatt_qk(empty, heads=1).shape == (1, 2, 2)
    np.testing.assert_array_equal(nd.smooth_l1(nd.array([-1.0, 0, 2]), scalar=0).asnumpy(), [0, 0, 0])


def test_offsets_of_another_dtype_are_refused():
    # as by MXNet 1.9.1; the kernel would read them as numbers of the images' type
    x, w = nd.ones((1, 1, 9, 9), dtype="float64"), nd.ones((1, 1, 3, 3), dtype="float64")
    with pytest.raises(MXNetError, match="must have one dtype, not Double and Float"):
        nd.contrib.DeformableConvolution(x, nd.zeros((1, 18, 7, 7)), w, kernel=(3, 3), num_filter=1, no_bias=True)


@pytest.mark.parametrize("count", [6, 2000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "uint8"])
def test_numbers_of_rows_are_truncated_and_limited(dtype, count):
    given = np.resize(np.array([0, 2.9, 200, 1, 2, 1] if dtype == "uint8" else [-0.5, 2.9, 200, -7, 2, 1]), count)
    table = nd.array(np.arange(6.0).reshape(3, 2))
    rows = nd.Embedding(nd.array(given, dtype=dtype), table, input_dim=3, output_dim=2)
    np.testing.assert_array_equal(rows.asnumpy(), table.asnumpy()[np.clip(np.trunc(given), 0, 2).astype(int)])
    far = nd.array(np.resize([np.nan, np.inf, -np.inf, 1e30, 2**40, -(2**40)], count), dtype="float32")
    rows = nd.Embedding(far, table, input_dim=3, output_dim=2)
    np.testing.assert_array_equal(rows.asnumpy(), table.asnumpy()[np.resize([0, 0, 0, 0, 2, 0], count)])


def test_embeddings_of_numpy_arrays_stay_numpy_arrays():
    table, ids = mx.np.arange(6.0).reshape(3, 2), mx.np.array([2.0, 0.0])
    assert type(mx.npx.embedding(ids, table, input_dim=3, output_dim=2)) is mx.np.ndarray
    assert type(nd.Embedding(ids.as_nd_ndarray(), table.as_nd_ndarray(), input_dim=3, output_dim=2)) is nd.NDArray
