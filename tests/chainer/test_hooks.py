"""Hooks that print, measure or change weights."""

import importlib
import io
import re

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, F, Scale, chainer, f32, var

H = chainer.function_hooks
LH = importlib.import_module(chainer.__name__ + ".link_hooks")
L = chainer.links


@pytest.mark.semantics("C13")
def test_timer_hook():
    hook = H.TimerHook()
    x = var([1.0, 2.0])
    with hook:
        (y,) = Scale().apply((x,))
        F.sum(y).backward()
    names = [name for name, _ in hook.call_history]
    assert names[:2] == ["Scale", "Sum"] and {"Scale", "Sum"} <= set(names[2:])
    assert all(seconds >= 0 for _, seconds in hook.call_history)
    summary = hook.summary()
    assert summary["Scale"]["occurrence"] == 2
    assert summary["Scale"]["elapsed_time"] == sum(t for name, t in hook.call_history if name == "Scale")
    assert 0 < hook.total_time() <= sum(t for _, t in hook.call_history) + 1e-9


def test_timer_hook_counts_nested_calls_once():
    hook = H.TimerHook()
    outer, inner = Scale(), Scale()
    x = f32([1])
    hook.backward_preprocess(outer, (x,), (x,))
    hook.forward_preprocess(inner, (x,))
    hook.forward_postprocess(inner, (x,))
    hook.backward_postprocess(outer, (x,), (x,))
    (_, inner_time), (_, outer_time) = hook.call_history
    assert inner_time <= outer_time == hook.total_time()


@pytest.mark.parametrize(
    "unit, expected",
    [
        ("sec", ["1.50sec", "0.00sec"]),
        ("ms", ["1500.00ms", "2.00ms"]),
        ("us", ["1500000.00us", "2000.00us"]),
        ("ns", ["1500000000.00ns", "2000000.00ns"]),
        ("auto", ["1.50sec", "0.00sec"]),
        ("auto_foreach", ["1.50sec", "2.00ms"]),
    ],
)
@pytest.mark.parametrize("kind, header", [(H.TimerHook, "FunctionName"), (LH.TimerHook, "LinkName")])
def test_timer_report(kind, header, unit, expected):
    hook = kind()
    hook.call_history = [("Slow", 0.5), ("Fast", 0.002), ("Slow", 1.0)]
    out = io.StringIO()
    hook.print_report(unit=unit, file=out)
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert lines == [
        [header, "ElapsedTime", "Occurrence"],
        ["Slow", expected[0], "2"],
        ["Fast", expected[1], "1"],
    ]
    assert len({len(line) for line in out.getvalue().splitlines()}) == 1
    with pytest.raises(KeyError):
        hook.print_report(unit="hours", file=out)


def test_link_timer_hook():
    hook = LH.TimerHook()

    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(2, 2)

        def forward(self, x):
            return self.l(self.l(x))

    with hook:
        Model()(f32([[1, 2]]))
    assert [name for name, _ in hook.call_history] == ["Linear", "Linear", "Model"]
    assert hook.summary()["Linear"]["occurrence"] == 2
    assert hook.total_time() == hook.call_history[-1][1]


@pytest.mark.semantics("C13")
def test_print_hook():
    out = io.StringIO()
    x = var([1.0, 2.0], name="x")
    with H.PrintHook(file=out):
        (y,) = Scale().apply((x,))
        y.grad = f32([3.0, 4.0])
        y.backward()
    text = out.getvalue()
    titles = [line for line in text.splitlines() if line.startswith("function")]
    assert titles == ["function\tScale", "function\tScale", "function\t_ * 2.0"]  # the multiplication in its backward
    _, forward, backward, _ = re.split(r"function\t.*\n", text)
    assert forward.startswith("input data\n") and "output gradient" not in forward
    assert "dtype: float32" in forward and "shape: (2,)" in forward
    assert "(removed)" in backward and backward.index("output gradient") > backward.index("input data")
    with pytest.warns(DeprecationWarning, match="sep"):
        H.PrintHook(sep=" ")


@pytest.mark.skipif(chainer.backends.cuda.available, reason="about machines without CUDA")
@pytest.mark.parametrize("kind", ["CUDAProfileHook", "CupyMemoryProfileHook"])
def test_hooks_that_need_cuda(kind):
    with pytest.raises(RuntimeError, match="CUDA"):
        getattr(H, kind)()


def links():
    return [
        (L.Linear(4, 3), (2, 4), 3),
        (L.Linear(None, 3), (2, 4), 3),
        (L.Convolution2D(2, 3, 3), (1, 2, 4, 4), 3),
        (L.Deconvolution2D(2, 3, 3), (1, 2, 4, 4), 3),
        (L.Convolution2D(None, 3, 3), (1, 2, 4, 4), 3),
    ]


@pytest.mark.parametrize("use_gamma", [False, True])
@pytest.mark.parametrize("index", range(5))
def test_spectral_normalization(index, use_gamma):
    np.random.seed(0)
    link, shape, n_out = links()[index]
    hook = LH.SpectralNormalization(n_power_iteration=50, use_gamma=use_gamma, eps=0)
    assert link.add_hook(hook) is link
    x = chainer.Variable(np.random.randn(*shape).astype("f"))
    used = []
    forward = link.forward

    def spy(*args):
        used.append(link.W)
        return forward(*args)

    link.forward = spy
    link(x)
    parameter = link.W
    assert isinstance(parameter, chainer.Parameter) and used[0] is not parameter
    axis = 1 if isinstance(link, L.Deconvolution2D) else 0
    matrix = np.moveaxis(parameter.array, axis, 0).reshape(n_out, -1)
    normalized = np.moveaxis(used[0].array, axis, 0).reshape(n_out, -1)
    largest = np.linalg.svd(matrix)[1][0]
    np.testing.assert_allclose(normalized * (1 if use_gamma else largest), matrix, rtol=1e-4, atol=1e-6)
    assert link.W_u.shape == (n_out,) and "W_u" in link._persistent
    if use_gamma:
        np.testing.assert_allclose(link.gamma.array, largest, rtol=1e-5)
    link.cleargrads()
    F.sum(link(x)).backward()
    assert parameter.grad is not None and np.isfinite(parameter.grad).all()
    link.delete_hook(hook.name)
    assert not hasattr(link, "W_u") and not hasattr(link, "gamma")


def test_spectral_normalization_follows_the_global_stream_and_train():
    np.random.seed(0)
    link = L.Linear(4, 3, initialW=f32(np.arange(12).reshape(3, 4)))
    link.add_hook(LH.SpectralNormalization())
    u = np.random.RandomState(0).normal(size=3).astype("f")
    np.testing.assert_array_equal(link.W_u, u)
    x = f32([[1, 2, 3, 4]])
    with chainer.using_config("train", False):
        y = link(x).array
    np.testing.assert_array_equal(link.W_u, u)
    v = u @ link.W.array
    v = v / (np.linalg.norm(v) + 1e-6)
    new_u = link.W.array @ v
    new_u = new_u / (np.linalg.norm(new_u) + 1e-6)
    np.testing.assert_allclose(y, x @ (link.W.array / (new_u @ link.W.array @ v)).T, rtol=1e-5)
    link(x)
    np.testing.assert_allclose(link.W_u, new_u, rtol=1e-5)


@pytest.mark.parametrize("kind", ["SpectralNormalization", "WeightStandardization"])
def test_weight_hooks_refuse(kind):
    kind = getattr(LH, kind)
    with pytest.raises(ValueError, match="'V'"):
        L.Linear(2, 2).add_hook(kind(weight_name="V"))
    with pytest.raises(NotImplementedError), kind():
        pass


@pytest.mark.parametrize("index", range(5))
def test_weight_standardization(index):
    np.random.seed(0)
    link, shape, _ = links()[index]
    link.add_hook(LH.WeightStandardization(eps=1e-8))
    used = []
    forward = link.forward

    def spy(*args):
        used.append(link.W.array)
        return forward(*args)

    link.forward = spy
    x = chainer.Variable(np.random.randn(*shape).astype("f"))
    F.sum(link(x)).backward()
    assert isinstance(link.W, chainer.Parameter) and link.W.grad is not None
    rows = used[0].reshape(len(used[0]), -1)
    np.testing.assert_allclose(rows.mean(axis=1), 0, atol=1e-5)
    np.testing.assert_allclose(rows.std(axis=1), 1, rtol=1e-3)


def test_runtime_info():
    out = io.StringIO()
    chainer.print_runtime_info(out)
    assert f"Chainer: {chainer.__version__}" in out.getvalue()
    assert f"NumPy: {np.__version__}\n" in out.getvalue()
    assert ORIGINAL or re.search(r"torch \d", out.getvalue())
