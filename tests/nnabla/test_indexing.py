"""x[key] and x[key] = value of Variables and NdArrays, against NumPy."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F

X = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
KEYS = [
    0,
    -1,
    (1, 2),
    (1, 2, 3, 4),
    (slice(None), 1),
    slice(0, 1),
    slice(None, None, -1),
    (Ellipsis, 2),
    (Ellipsis,),
    (),
    (1, Ellipsis, slice(1, 3)),
    (slice(None), slice(2, None, -2)),
    (slice(-1, None),),
    (slice(5, 9),),
    None,
    (None, 1),
    (Ellipsis, None),
    (slice(None), None, 1),
    (1, None, slice(None), None, 2),
    (0, slice(3, 1)),
    [1, 0, 1],
    ([1, 0],),
    ([1, 0], [2, 1]),
    np.array([[1, 0], [0, 0]]),
    ([-1, 0], [-2, 1], [0, -1]),
    ([1, 0], None),
    (None, [1, 0]),
    (None, [1, 0], [1, 1], None),
    X > 50,
    (X > 50, None),
]


def key_id(key):
    if isinstance(key, tuple):
        return ",".join(map(key_id, key))
    return "array" if isinstance(key, np.ndarray) else str(key).replace("None", "_").replace(" ", "")


@pytest.mark.parametrize("kind", [nn.NdArray, nn.Variable])
@pytest.mark.parametrize("key", KEYS, ids=key_id)
def test_like_numpy(kind, key):
    expected = X[key]
    rng = np.random.RandomState(0)
    for make in (lambda s: rng.standard_normal(s), lambda s: np.float64(7), lambda s: rng.standard_normal(s[-1:])):
        with nn.auto_forward():
            x = kind.from_numpy_array(X)
            y = x[key]
            assert y.shape == expected.shape
            np.testing.assert_array_equal(y.d if kind is nn.Variable else y.data, expected)
            value = np.float32(make(expected.shape))
            if value.ndim and value.ndim < expected.ndim and isinstance(key, tuple) and any(k is None for k in key):
                continue  # with new axes in the key, nnabla requires a value with all axes
            x[key] = value
            z = X.copy()
            z[key] = value
            np.testing.assert_array_equal(x.d if kind is nn.Variable else x.data, z)


@pytest.mark.parametrize("key", KEYS, ids=key_id)
def test_gradients(key):
    x = nn.Variable.from_numpy_array(X, need_grad=True)
    y = x[key]
    w = np.random.RandomState(0).standard_normal(y.shape).astype(np.float32)
    expected = np.zeros_like(X)
    np.add.at(expected, key, w)
    x.grad.zero()
    y.forward()
    y.backward(w)
    np.testing.assert_allclose(x.g, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "key, error",
    [
        (2, IndexError),
        (-3, IndexError),
        ((0,) * 5, IndexError),
        ((Ellipsis, Ellipsis), IndexError),
        ("a", TypeError),
        (1.5, TypeError),
        ({}, TypeError),
        (([0, 1], slice(1, 2)), NotImplementedError),
        ((slice(None), [1]), NotImplementedError),
        ((slice(None, None, 0),), RuntimeError),
    ],
)
@pytest.mark.parametrize("kind", [nn.NdArray, nn.Variable])
def test_errors(kind, key, error):
    x = kind.from_numpy_array(X)
    with pytest.raises(error):
        x[key]
    if error is not RuntimeError:
        with pytest.raises(error):
            x[key] = 1
    assert kind is nn.NdArray or x.parent is None


def test_index_variables_are_read_at_each_forward():
    x = nn.Variable.from_numpy_array(np.arange(6.0))
    i = nn.Variable.from_numpy_array(np.array([1, 1, 4]), need_grad=False)
    y = x[i]
    assert y.parent.name == "GatherNd"
    x.need_grad = True
    for index in ([1, 1, 4], [0, 5, 0], [2.0, 3.0, -1.0]):
        i.d = np.array(index)
        x.grad.zero()
        y.forward()
        y.backward()
        places = np.array(index).astype(int)
        assert y.d.tolist() == np.arange(6.0)[places].tolist()
        assert x.g.tolist() == np.bincount(places % 6, minlength=6).tolist()
    i.d = [0, 6, 1]
    with pytest.raises(RuntimeError, match="6"):
        y.forward()


def test_arrays_of_several_axes_as_index():
    x = nn.Variable.from_numpy_array(X)
    rows, columns = np.array([[1, 0], [1, 1]]), np.array([[2, 1], [0, 2]])
    y = x[nn.Variable.from_numpy_array(rows), nn.Variable.from_numpy_array(columns)]
    y.forward()
    np.testing.assert_array_equal(y.d, X[rows, columns])
    y = x[nn.NdArray.from_numpy_array(rows), nn.NdArray.from_numpy_array(columns)]
    np.testing.assert_array_equal(y.data, X[rows, columns])
    with pytest.raises(NotImplementedError):
        x[[1, 0], nn.Variable.from_numpy_array(np.array([1, 2]))]


def test_setitem_puts_a_function_into_the_graph():
    x = nn.Variable.from_numpy_array(np.arange(6.0).reshape(2, 3), need_grad=True)
    u = nn.Variable.from_numpy_array(np.array([10.0, 20.0]), need_grad=True)
    y = x * 1
    y[0, 1:] = u
    assert y.parent.name == "ScatterNd"
    z = F.sum(y * y)
    x.g, u.g = 0, 0
    z.forward()
    z.backward()
    assert z.d == 0 + 100 + 400 + 9 + 16 + 25
    assert x.g.tolist() == [[0, 0, 0], [6, 8, 10]] and u.g.tolist() == [20, 40]


def test_setitem_on_a_leaf():
    x = nn.Variable.from_numpy_array(np.arange(4))
    keep = x.data
    x[1] = 9
    x[[0, 3]] = nn.NdArray.from_numpy_array(np.array([7, 8]))
    x.forward()
    assert x.d.tolist() == [7, 9, 2, 8] and keep.data.tolist() == [7, 9, 2, 8] and keep.dtype == np.float32
    x = nn.Variable.from_numpy_array(np.arange(4))
    for wrong in (np.ones(3), nn.Variable((2, 2))):
        with pytest.raises(RuntimeError):
            x[0:2] = wrong
    assert x.parent is None and x.d.dtype == np.int64


def test_setitem_of_ndarrays_writes_in_place():
    a = nn.NdArray.from_numpy_array(np.arange(4))
    same, v = a, nn.Variable((4,))
    v.data = a
    a[1] = 9
    a[[3, 0]] = [7.5, 8.5]
    assert a is same and a.data.tolist() == [8.5, 9, 2, 7.5] and v.d.tolist() == a.data.tolist()
    part = a.narrow(0, 2, 2)
    part[0] = 1
    assert a.data.tolist() == [8.5, 9, 1, 7.5]
