"""Array functions against NumPy; also runs on the original (with `-c /dev/null`, to ignore the project's pytest
configuration)."""

import importlib

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, F, chainer, f32, var

gradient_check = importlib.import_module(f"{chainer.__name__}.gradient_check")
InvalidType = chainer.utils.type_check.InvalidType


def rand(*shape):
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape)


X, Y, CUBE = rand(3, 4), rand(3, 4) + 1, rand(2, 3, 4)
IMAGES = rand(2, 4, 4, 6)
ORDER = np.array([2, 0, 1], np.int32)
MASK = X > 0
SEQUENCES = rand(4, 2), rand(3, 2), rand(3, 2), rand(1, 2)


def pad_rows(*xs, n=4, value=0.0):
    return np.stack([np.concatenate([x, np.full((n - len(x), *x.shape[1:]), value)]) for x in xs])


def by_time(*xs):
    return tuple(np.stack([x[i] for x in xs if i < len(x)]) for i in range(len(xs[0])))


def added(x, rows, b):
    y = x.copy()
    np.add.at(y, rows, b)
    return y


def patches(x, k=2, stride=2):
    n, c, h, w = x.shape
    cols = [x[:, :, i : h - k + i + 1 : stride, j : w - k + j + 1 : stride] for i in range(k) for j in range(k)]
    return np.stack(cols, 2).reshape(n, c * k * k, *cols[0].shape[2:])


def blocks(x, r=2):
    n, c, h, w = x.shape
    y = x.reshape(n, c, h // r, r, w // r, r).transpose(0, 3, 5, 1, 2, 4)
    return y.reshape(n, r * r * c, h // r, w // r)


# name, function, the NumPy equivalent, inputs
CASES = [
    ("broadcast", F.broadcast, lambda x, y: np.broadcast_arrays(x, y), (X, rand(4))),
    ("broadcast_to", lambda x: F.broadcast_to(x, (2, 3, 4)), lambda x: np.broadcast_to(x, (2, 3, 4)), (X,)),
    ("concat", lambda *xs: F.concat(xs, axis=0), lambda *xs: np.concatenate(xs), (X, Y)),
    ("depth2space", lambda x: F.depth2space(F.space2depth(x, 2), 2), lambda x: x, (IMAGES,)),
    ("diagonal", lambda x: F.diagonal(x, 1, 0, 2), lambda x: x.diagonal(1, 0, 2), (CUBE,)),
    ("dstack", lambda *xs: F.dstack(xs), lambda *xs: np.dstack(xs), (X, Y)),
    ("dstack, vectors", lambda *xs: F.dstack(xs), lambda *xs: np.dstack(xs), (X[0], Y[0])),
    ("expand_dims", lambda x: F.expand_dims(x, -2), lambda x: np.expand_dims(x, -2), (X,)),
    ("flatten", F.flatten, np.ravel, (X,)),
    ("flip", lambda x: F.flip(x, -2), lambda x: np.flip(x, -2), (CUBE,)),
    ("fliplr", F.fliplr, np.fliplr, (CUBE,)),
    ("flipud", F.flipud, np.flipud, (CUBE,)),
    (
        "get_item",
        lambda x: F.get_item(x, ([2, 0, 2], slice(None, 0, -1))),
        lambda x: x[[2, 0, 2], :0:-1],
        (X,),
    ),
    ("get_item, mask", lambda x: F.get_item(x, MASK), lambda x: x[MASK], (X,)),
    ("hstack", lambda *xs: F.hstack(xs), lambda *xs: np.hstack(xs), (X, Y[:, :2])),
    ("hstack, numbers", lambda *xs: F.hstack(xs), lambda *xs: np.hstack(xs), (np.array(1.0), np.array(2.0))),
    ("im2col", lambda x: F.im2col(x, 2, stride=2), patches, (IMAGES,)),
    (
        "moveaxis",
        lambda x: F.moveaxis(x, (0, 1), (-1, 0)),
        lambda x: np.moveaxis(x, (0, 1), (-1, 0)),
        (CUBE,),
    ),
    ("pad", lambda x: F.pad(x, ((1, 0), (0, 2)), "constant", constant_values=3),
     lambda x: np.pad(x, ((1, 0), (0, 2)), "constant", constant_values=3), (X,)),
    ("pad, values", lambda x: F.pad(x, 1, "constant", constant_values=(3, 4)),
     lambda x: np.pad(x, 1, "constant", constant_values=(3, 4)), (X,)),
    ("pad_sequence", lambda *xs: F.pad_sequence(xs), pad_rows, SEQUENCES),
    ("pad_sequence, length", lambda *xs: F.pad_sequence(xs, length=6, padding=-1),
     lambda *xs: pad_rows(*xs, n=6, value=-1), SEQUENCES),
    ("permutate", lambda x: F.permutate(x, ORDER), lambda x: x[ORDER], (X,)),
    (
        "permutate, inv",
        lambda x: F.permutate(x, ORDER, axis=1, inv=True),
        lambda x: x[:, np.argsort(ORDER)],
        (CUBE,),
    ),
    ("repeat", lambda x: F.repeat(x, (0, 2, 1), axis=0), lambda x: np.repeat(x, (0, 2, 1), axis=0), (X,)),
    ("reshape", lambda x: F.reshape(x, (2, -1)), lambda x: x.reshape(2, -1), (X,)),
    ("rollaxis", lambda x: F.rollaxis(x, -1, 1), lambda x: np.rollaxis(x, -1, 1), (CUBE,)),
    ("scatter_add", lambda x, b: F.scatter_add(x, [1, 1], b), lambda x, b: added(x, [1, 1], b), (X, Y[:2])),
    ("select_item", lambda x: F.select_item(x, ORDER), lambda x: x[[0, 1, 2], ORDER], (X,)),
    ("separate", lambda x: F.separate(x, axis=1), lambda x: tuple(x.swapaxes(0, 1)), (X,)),
    ("space2depth", lambda x: F.space2depth(x, 2), blocks, (IMAGES,)),
    ("split_axis", lambda x: F.split_axis(x, 2, axis=-1), lambda x: np.split(x, 2, axis=-1), (X,)),
    (
        "split_axis, places",
        lambda x: F.split_axis(x, [1, 3], axis=1),
        lambda x: np.split(x, [1, 3], axis=1),
        (X,),
    ),
    ("squeeze", lambda x: F.squeeze(x, axis=-1), lambda x: x.squeeze(-1), (X[:, None, :, None],)),
    ("stack", lambda *xs: F.stack(xs, axis=1), lambda *xs: np.stack(xs, axis=1), (X, Y)),
    ("swapaxes", lambda x: F.swapaxes(x, 0, -1), lambda x: x.swapaxes(0, -1), (CUBE,)),
    ("tile", lambda x: F.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)), (X,)),
    ("transpose", lambda x: F.transpose(x, (1, 2, 0)), lambda x: x.transpose(1, 2, 0), (CUBE,)),
    ("transpose_sequence", lambda *xs: F.transpose_sequence(xs), by_time, SEQUENCES),
    ("transpose_sequence, equal", lambda *xs: F.transpose_sequence(xs), by_time, (X, Y)),
    ("vstack", lambda *xs: F.vstack(xs), lambda *xs: np.vstack(xs), (X, Y[:2])),
    ("vstack, vectors", lambda *xs: F.vstack(xs), lambda *xs: np.vstack(xs), (X[0], Y[0])),
    ("where", lambda x, y: F.where(MASK, x, y), lambda x, y: np.where(MASK, x, y), (X, rand(4))),
]  # fmt: skip


@pytest.mark.parametrize(("_name", "function", "reference", "inputs"), CASES, ids=[c[0] for c in CASES])
def test_values_and_gradients(_name, function, reference, inputs):
    expected = reference(*inputs)
    actual = function(*[chainer.Variable(x.copy()) for x in inputs])
    several = isinstance(expected, (tuple, list))
    for y, e in zip(actual if several else [actual], expected if several else [expected], strict=True):
        np.testing.assert_array_equal(y.array, e)
        assert y.dtype == e.dtype
    gys = tuple(rand(*y.shape) for y in (actual if several else [actual]))
    gradient_check.check_backward(function, inputs, gys)
    ggxs = tuple(rand(*x.shape)[::-1] if x.ndim else rand() for x in inputs)
    gradient_check.check_double_backward(function, inputs, gys, ggxs)


INVALID = [
    lambda: F.concat([f32(X), f32(X[:2])]),
    lambda: F.dstack([f32(X), f32(X[:2])]),
    lambda: F.expand_dims(f32(X), 4),
    lambda: F.flip(f32(X), 2),
    lambda: F.hstack([f32(X), f32(X[:2])]),
    lambda: F.pad_sequence([f32(X), f32(X[:, :2])]),
    lambda: F.pad_sequence([f32(X)], length=2),
    lambda: F.reshape(f32(X), (5, 2)),
    lambda: F.resize_images(IMAGES, (2, 2)),
    lambda: F.select_item(f32(X), ORDER[:2]),
    lambda: F.select_item(f32(X), f32(ORDER)),
    lambda: F.split_axis(f32(X), 3, axis=1),
    lambda: F.split_axis(f32(X), [5], axis=1),
    lambda: F.stack([]),
    lambda: F.transpose_sequence([f32(X[:2]), f32(X)]),
    lambda: F.vstack([f32(X), f32(X.T)]),
    lambda: F.where(ORDER, f32(X[:, 0]), f32(X[:, 1])),
    lambda: F.where(MASK, f32(X), Y),
]


@pytest.mark.parametrize("call", INVALID)
def test_inputs_that_do_not_fit(call):
    with pytest.raises(InvalidType):
        call()


ERRORS = [
    (lambda: F.flip(f32(X), 1.0), TypeError),
    (lambda: F.permutate(f32(X), f32(ORDER)), ValueError),
    (lambda: F.repeat(f32(X), -1), ValueError),
    (lambda: F.repeat(f32(X), 1.5), TypeError),
    (lambda: F.rollaxis(f32(X), "x"), TypeError),
    (lambda: F.scatter_add(f32(X), 0, f32(X)), ValueError),
    (lambda: F.split_axis(f32(X), 1.5, 0), TypeError),
    (lambda: F.squeeze(f32(X), 0), ValueError),
    (lambda: F.tile(f32(X), (1, -1)), ValueError),
    (lambda: F.tile(f32(X), 1.5), TypeError),
    (lambda: var(X)[5], IndexError),
    (lambda: var(X)[0, 0, 0], IndexError),
    (lambda: F.as_strided(var(X), (4, 4), (4, 1), 0), ValueError),
    (lambda: F.where(MASK, f32(X), 0.0), TypeError),
]


@pytest.mark.parametrize(("call", "error"), ERRORS)
def test_wrong_arguments(call, error):
    with pytest.raises(error):
        call()


def test_a_class_takes_the_docstring_of_its_function():
    text = F.array.concat.Concat.__doc__
    assert text.startswith("The node of `chainer.functions.concat`")
    assert "    axis: the axis along which they are joined" in text and "xs:" not in text
    assert text.count("Source:") == 1 and text.endswith("array.concat.Concat` of Chainer 7.8.1.")


def test_errors_name_what_is_wrong():
    with pytest.raises(IndexError, match="axis1 and axis2 .* Actual: 0 and 5"):
        F.swapaxes(var(X), 0, 5)
    with pytest.raises(ValueError, match="strides must be as many as the axes of shape"):
        F.as_strided(var(X), (2, 2), (1,))


def test_same_variable_where_nothing_changes():
    x = var(X)
    assert F.reshape(x, (3, 4)) is x
    assert F.broadcast_to(x, (3, 4)) is x
    assert F.concat([x], axis=0) is not x
    with chainer.using_config("enable_backprop", False):
        assert F.cast(x, np.float32) is x


def test_views_share_memory():
    x = var(X)
    for y in (F.transpose(x), F.swapaxes(x, 0, 1), F.rollaxis(x, 1), F.reshape(x, (4, 3)), x[1:]):
        assert np.shares_memory(y.array, x.array)


@pytest.mark.parametrize(
    ("y", "name"),
    [
        (lambda x: F.hstack([x, x]), "Hstack"),
        (lambda x: F.pad_sequence([x, x]), "PadSequence"),
        (lambda x: F.permutate(x, ORDER), "Permutate"),
        (lambda x: F.rollaxis(x, 1), "Rollaxis"),
        (lambda x: F.split_axis(x, 2, 1)[0], "SplitAxis"),
        (lambda x: F.transpose_sequence([x, x])[0], "TransposeSequence"),
    ],
)
def test_creators_are_the_original_classes(y, name):
    assert y(var(X)).creator.label == name


def test_as_strided_reads_and_writes_memory():
    x = chainer.Variable(np.arange(8.0))
    y = F.as_strided(x, (3, 4), (2, 1))
    np.testing.assert_array_equal(y.array, [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]])
    y.grad = np.ones((3, 4))
    y.backward()
    np.testing.assert_array_equal(x.grad, [1, 1, 2, 2, 2, 2, 1, 1])
    np.testing.assert_array_equal(F.as_strided(x[2:], (2,), (1,), 3).array, [3, 4])


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_gradient_of_other_paddings_is_the_inner_part(mode):
    x = chainer.Variable(X.copy())
    y = F.pad(x, 1, mode)
    np.testing.assert_array_equal(y.array, np.pad(X, 1, mode))
    y.grad = rand(5, 6)
    y.backward()
    np.testing.assert_array_equal(x.grad, y.grad[1:-1, 1:-1] if y.grad is not None else rand(5, 6)[1:-1, 1:-1])


def test_resize_images():
    x = chainer.Variable(f32([[[[0, 2], [4, 6]]]]))
    np.testing.assert_allclose(F.resize_images(x, (3, 3)).array[0, 0], [[0, 1, 2], [2, 3, 4], [4, 5, 6]])
    apart = F.resize_images(x, (4, 2), align_corners=False)
    np.testing.assert_allclose(apart.array[0, 0, :, 0], [0, 1, 3, 4])
    nearest = F.resize_images(x, (2, 4), mode="nearest", align_corners=False)
    np.testing.assert_array_equal(nearest.array[0, 0], [[0, 0, 2, 2], [4, 4, 6, 6]])
    F.sum(nearest).backward()
    np.testing.assert_array_equal(x.grad, np.full((1, 1, 2, 2), 2))


def test_spatial_transformers_move_and_fade():
    images = chainer.Variable(np.arange(9.0).reshape(1, 1, 3, 3))
    theta = chainer.Variable(np.array([[[1.0, 0, 1], [0, 1, 0]]]))  # one pixel to the left
    points = F.spatial_transformer_grid(theta, (3, 3))
    np.testing.assert_allclose(points.array[0, :, 0], [[0, 1, 2], [-1, -1, -1]])
    y = F.spatial_transformer_sampler(images, points)
    np.testing.assert_allclose(y.array[0, 0], [[1, 2, 0], [4, 5, 0], [7, 8, 0]])
    F.sum(y[:, :, :, :2]).backward()
    np.testing.assert_allclose(images.grad[0, 0], [[0, 1, 1]] * 3)


def test_points_a_pixel_away_from_the_image_have_no_gradient():
    images = chainer.Variable(np.arange(1.0, 6).reshape(1, 1, 1, 5))
    points = chainer.Variable(np.array([[[[-2, -1.5, -1.25, -1, 1, 1.25, 1.5]], [[0.0] * 7]]]))
    F.sum(F.spatial_transformer_sampler(images, points)).backward()
    np.testing.assert_allclose(points.grad[0, 0, 0], [0, 0, 2, 2, -10, -10, 0])


def test_copy_stays_on_the_cpu():
    x = var(X)
    y = F.copy(x, -1)
    assert np.shares_memory(y.array, x.array)
    F.sum(y).backward()
    np.testing.assert_array_equal(x.grad, np.ones_like(x.array))


@pytest.mark.skipif(ORIGINAL, reason="the original warns only under debug")
def test_debug_mode_checks_indices():
    with chainer.using_config("debug", True):
        with pytest.raises(ValueError):
            F.permutate(var(X), np.array([0, 0, 1]))
        with pytest.raises(ValueError):
            F.select_item(var(X), np.array([0, 1, 4]))
        with pytest.raises(ValueError):
            F.get_item(var(X), (Ellipsis, Ellipsis))
        with pytest.raises(ValueError):
            F.split_axis(var(X), [3, 1], 1)


@pytest.mark.parametrize("index", [3, -4])
def test_an_index_beyond_the_first_axis_has_numpy_s_error(index):
    """Python asks a Variable for such an index at the end of each loop over it."""
    array = np.arange(6.0).reshape(3, 2)
    with pytest.raises(IndexError) as expected:
        array[index]
    for x in (array, chainer.Variable(array)):
        with pytest.raises(IndexError) as raised:
            F.get_item(x, index)
        assert str(raised.value) == str(expected.value)
    assert [row.array.tolist() for row in chainer.Variable(array)] == array.tolist()


@pytest.mark.parametrize("index", [0, 5])
@pytest.mark.parametrize("x", [3.0, None, [1.0, 2.0]], ids=["float", "None", "list"])
def test_an_index_into_what_is_no_array(x, index):
    with pytest.raises(TypeError):
        F.get_item(x, index)
