"""Helpers of functions and links."""

import ctypes
import importlib
import itertools
import shutil
import subprocess

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, chainer, f32, var

utils = chainer.utils
argument, cache, conv, conv_nd, kernels, precision = (
    importlib.import_module(f"{chainer.__name__}.utils.{name}")
    for name in ("argument", "cache", "conv", "conv_nd", "conv_nd_kernel", "precision")
)


@pytest.mark.parametrize("cover_all", [False, True])
@pytest.mark.parametrize("size, k, s, p, d", [*itertools.product([7, 8], [1, 3], [1, 2, 3], [0, 1], [1, 2])])
def test_conv_outsize(size, k, s, p, d, cover_all):
    out = utils.get_conv_outsize(size, k, s, p, cover_all, d)
    span = (k - 1) * d + 1
    starts = range(0, size + 2 * p, s)
    fits = [i for i in starts if i + span <= size + 2 * p]
    if not cover_all:
        assert out == len(fits)
    else:  # one more window if the others do not cover the whole input
        assert out == len(fits) + (fits[-1] + span < size + 2 * p)
    exact = utils.get_deconv_outsize(out, k, s, p, cover_all, d)
    assert utils.get_conv_outsize(exact, k, s, p, cover_all, d) == out


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_im2col_and_back(ndim):
    rng = np.random.RandomState(0)
    dims, ksize, stride, pad, dilate = (
        (7, 6, 5)[:ndim],
        (2, 3, 2)[:ndim],
        (2, 1, 1)[:ndim],
        (1, 0, 2)[:ndim],
        2,
    )
    img = rng.randn(2, 3, *dims)
    col = conv_nd.im2col_nd(img, ksize, stride, pad, dilate=dilate)
    outs = tuple(conv.get_conv_outsize(*a, d=dilate) for a in zip(dims, ksize, stride, pad, strict=True))
    assert col.shape == (2, 3, *ksize, *outs)
    padded = np.pad(img, [(0, 0), (0, 0), *[(p, p + 9) for p in pad]])
    for tap in np.ndindex(*ksize):
        for out in np.ndindex(*outs):
            place = tuple(o * s + t * dilate for o, s, t in zip(out, stride, tap, strict=True))
            np.testing.assert_array_equal(col[(..., *tap, *out)], padded[(..., *place)])
    # <im2col(x), y> = <x, col2im(y)>
    other = rng.randn(*col.shape)
    back = conv_nd.col2im_nd(other, stride, pad, dims, dilate)
    np.testing.assert_allclose((col * other).sum(), (img * back).sum())
    if ndim == 2:
        args = (*ksize, *stride, *pad)
        np.testing.assert_array_equal(conv.im2col(img, *args, dy=2, dx=2), col)
        np.testing.assert_array_equal(conv.col2im(other, *stride, *pad, *dims, dy=2, dx=2), back)
    with pytest.raises(AssertionError, match="positive"):
        conv_nd.im2col_nd(img, (20,) * ndim, stride, pad)


def _run_elementwise(kernel, x, shape, *sizes):
    """Compiles and runs an elementwise CUDA kernel on the CPU with a C++ compiler."""
    in_params, out_params, operation, name = kernel.generate(len(sizes[0]))
    source = next(p.split()[-1] for p in in_params.split(", ") if p.startswith("raw"))
    numbers = [p for p in in_params.split(", ") if not p.startswith("raw")]
    target = out_params.split()[1]
    code = f"""
        typedef double T; typedef int int32;
        extern "C" void {name}(const T* {source}, T* target, int n, const int* numbers) {{
          {"".join(f"const {p} = numbers[{i}];" for i, p in enumerate(numbers))}
          for (int i = 0; i < n; ++i) {{ T& {target} = target[i]; {operation} }}
        }}"""
    with utils.tempdir() as folder:
        library = f"{folder}/kernel.so"
        subprocess.run(["c++", "-shared", "-fPIC", "-x", "c++", "-o", library, "-"], input=code, text=True, check=True)
        run = getattr(ctypes.CDLL(library), name)
    result = np.empty(shape)
    x = np.ascontiguousarray(x)
    values = np.array([n for size in sizes for n in size], np.int32)
    run(
        *(ctypes.c_void_p(a.ctypes.data) for a in (x, result)),
        result.size,
        ctypes.c_void_p(values.ctypes.data),
    )
    return result


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_kernels_of_im2col_and_col2im(ndim):
    rng = np.random.RandomState(0)
    dims, ksize, stride, pad, dilate = (
        (7, 6, 5)[:ndim],
        (2, 3, 2)[:ndim],
        (2, 1, 3)[:ndim],
        (1, 0, 2)[:ndim],
        (1, 2, 2)[:ndim],
    )
    img = rng.randn(2, 3, *dims)
    col = conv_nd.im2col_nd(img, ksize, stride, pad, dilate=dilate)
    sizes = dims, col.shape[2 + ndim :], ksize, stride, pad, dilate
    np.testing.assert_array_equal(_run_elementwise(kernels.Im2colNDKernel, img, col.shape, *sizes), col)
    back = conv_nd.col2im_nd(col, stride, pad, dims, dilate)
    np.testing.assert_allclose(_run_elementwise(kernels.Col2imNDKernel, col, img.shape, *sizes), back, rtol=1e-12)


def test_im2col_pads_with_a_value():
    col = conv.im2col_cpu(np.zeros((1, 1, 2, 2), "f"), 3, 3, 1, 1, 1, 1, pval=-np.inf)
    assert np.isneginf(col[0, 0, 0, 0, 0]).all() and (col[0, 0, 1, 1] == 0).all()


def test_as_tuple():
    assert conv_nd.as_tuple(2, 3) == (2, 2, 2) and conv_nd.as_tuple([1, 2], 2) == (1, 2)
    with pytest.raises(AssertionError):
        conv_nd.as_tuple((1,), 2)


def test_parse_kwargs():
    def function(**kwargs):
        return argument.parse_kwargs(kwargs, ("a", 1), ("b", 2), train="train is gone")

    assert function() == (1, 2) and function(b=3) == (1, 3)
    with pytest.raises(TypeError, match=r"function\(\) got unexpected keyword argument\(s\) 'x', 'y'"):
        function(y=1, x=2)
    with pytest.raises(ValueError, match="train is gone"):
        function(train=True)
    with pytest.raises(TypeError, match="'x'"):
        argument.assert_kwargs_empty({"x": 1})
    with pytest.raises(TypeError, match=r"make_extension\(\) got unexpected keyword argument\(s\) 'every'"):
        chainer.training.make_extension(every=3)


def test_force():
    for x in (np.float32(1), f32(1), f32([1])):
        assert isinstance(utils.force_array(x), np.ndarray) and utils.force_array(x).dtype == "f"
        assert utils.force_array(x, "d").dtype == "d"
        assert utils.force_type(np.dtype("d"), x).dtype == "d"
    x = f32([1])
    assert utils.force_array(x) is x and utils.force_type(x.dtype, x) is x


def test_sum_to_and_size():
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(utils.sum_to(x, (3, 1)), x.sum(axis=(0, 2)).reshape(3, 1))
    assert utils.sum_to(x, ()) == x.sum() and utils.sum_to(x, (2, 3, 4)) is x
    with pytest.raises(TypeError, match="functions.sum_to"):
        utils.sum_to(chainer.Variable(x), (1,))
    assert utils.size_of_shape((2, 3)) == 6 and utils.size_of_shape(()) == 1
    assert type(utils.size_of_shape((np.int64(2),))) is int


def test_cached_property():
    class Object:
        calls = 0

        @cache.cached_property
        def y(self):
            self.calls += 1
            return var([1.0]) * 2

    obj = Object()
    assert obj.y is obj.y and obj.calls == 1
    with chainer.no_backprop_mode():
        assert obj.y.creator is None and obj.y is obj.y
    assert obj.y.creator is not None and obj.calls == 2
    with pytest.raises(AttributeError):
        obj.y = 1
    assert Object().y is not obj.y


def test_fp16_helper():
    class Function:
        seen = None

        @precision._fp16_mixed_precision_helper
        def forward(self, inputs):
            self.seen = [x.dtype for x in inputs]
            return inputs[0] * 2, None

    f = Function()
    half, single, index = np.ones(2, "e"), np.ones(2, "f"), np.ones(2, "i")
    assert f.forward((half, index))[0].dtype == "e" and f.seen == ["f", "i"]
    assert f.forward((half, single))[0].dtype == "f" and f.seen == ["f", "f"]


def dense():
    return f32([[0, 2, 0], [-1, 0, 3]])


def test_coo():
    x = dense()
    coo = utils.to_coo(x, ldnz=5)
    assert coo.data.array.tolist() == [2, -1, 3, 0, 0] and coo.order == "C" and coo.shape == (2, 3)
    assert coo.row.tolist() == [0, 1, 1, -1, -1] and coo.col.tolist() == [1, 0, 2, -1, -1]
    np.testing.assert_array_equal(coo.to_dense(), x)
    batch = np.stack([x, 2 * x, np.zeros_like(x)])
    coo = utils.to_coo(batch, requires_grad=True)
    assert coo.data.shape == (3, 3) and coo.data.requires_grad
    np.testing.assert_array_equal(coo.to_dense(), batch)
    with pytest.raises(ValueError, match="ndim"):
        utils.to_coo(x[0])


@pytest.mark.parametrize(
    "row, col, order",
    [
        ([0, 0, 1], [0, 2, 1], "C"),
        ([0, 1, 0], [0, 0, 1], "F"),
        ([1, 0, 0], [0, 1, 0], "other"),
        ([0, 1, -1], [2, 0, -1], "C"),
        ([[0, 1], [1, 0]], [[0, 1], [0, 1]], "F"),
        ([0], [0], "C"),
    ],
)
def test_coo_order(row, col, order):
    assert utils.get_order(np.array(row, "i"), np.array(col, "i")) == order


def test_coo_refuses():
    data, index = f32([1]), np.array([0], "i")
    for args, match in [
        ((f32(1), index, index, (1, 1)), "ndim of data"),
        ((data, index[None], index, (1, 1)), "must be the same"),
        ((data, index, index, (1,)), "length of shape"),
        ((data, index, index, (0, 1)), "greater than 0"),
        ((data, index, index, (1, 1), "D"), "order"),
        ((data, index, np.array([-1], "i"), (1, 1)), "invalid index"),
    ]:
        with pytest.raises(ValueError, match=match):
            utils.CooMatrix(*args)


@pytest.mark.parametrize("probs", [[1], [1, 2, 3, 4], [0, 0, 5], np.random.RandomState(0).rand(100) ** 4])
def test_walker_alias_represents_the_distribution(probs):
    alias = utils.WalkerAlias(probs)
    n = len(probs)
    mass = np.zeros(n)
    np.add.at(mass, alias.values[0::2], alias.threshold.astype("d") / n)
    np.add.at(mass, alias.values[1::2], (1 - alias.threshold.astype("d")) / n)
    np.testing.assert_allclose(mass, np.array(probs) / np.sum(probs), atol=1e-6)
    np.random.seed(0)
    sample = alias.sample((3, 4))
    assert sample.shape == (3, 4) and sample.dtype == "i" and not alias.use_gpu
    np.random.seed(0)
    np.random.uniform(0, n, (3, 4))
    after = np.random.random()
    np.random.seed(0)
    alias.sample((3, 4))
    assert np.random.random() == after  # sample drew no other numbers


def test_walker_alias_samples_of_the_original():
    np.random.seed(0)
    sample = utils.WalkerAlias([1, 2, 3, 4]).sample(12)
    assert sample.tolist() == [2, 3, 2, 2, 1, 2, 1, 3, 3, 1, 3, 2]


def test_experimental():
    with pytest.warns(FutureWarning, match="feature is experimental"):
        utils.experimental("feature")
    chainer.disable_experimental_feature_warning = True
    try:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            utils.experimental("feature")
    finally:
        chainer.disable_experimental_feature_warning = False


def test_final():
    class Base(utils.enable_final()):
        @utils.final
        def strict(self):
            pass

        @utils.final(action=DeprecationWarning)
        def lenient(self):
            pass

        def open(self):
            pass

    class Derived(Base):
        def open(self):
            pass

    with pytest.raises(TypeError, match="strict"):
        type(Base)("Wrong", (Derived,), {"strict": None})
    with pytest.warns(DeprecationWarning, match="lenient"):
        type(Base)("Old", (Derived,), {"lenient": None})


def test_arrays_of_different_kinds():
    utils._check_arrays_forward_compatible((f32(1), None))
    with pytest.raises(TypeError, match="(?s)label.*int"):
        utils._check_arrays_forward_compatible((f32(1), 2), "label")


def test_tempdir():
    import os

    with pytest.raises(ZeroDivisionError), utils.tempdir(prefix="compatgrad") as path:
        assert os.path.isdir(path) and "compatgrad" in path
        _ = 1 / 0
    assert not os.path.exists(path)


@pytest.mark.skipif(ORIGINAL, reason="compatgrad's lazy imports only")
def test_submodules_are_attributes():
    for name in (
        "argument",
        "array",
        "cache",
        "conv",
        "conv_nd",
        "imgproc",
        "precision",
        "sparse",
        "type_check",
    ):
        assert hasattr(utils, name)
