"""NdArray: values and dtypes, lazy filling, arrays that share memory, operators."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
from compatgrad.nnabla import solvers


def array(*values, dtype=np.float32):
    return nn.NdArray.from_numpy_array(np.array(values, dtype))


# ---- values and dtypes ---------------------------------------------------------------------------------------------
def test_fresh_arrays():
    a = nn.NdArray((2, 3))
    assert (a.shape, a.size, a.ndim, a.strides) == ((2, 3), 6, 2, [3, 1])
    assert (a.size_from_axis(), a.size_from_axis(0), a.size_from_axis(1)) == (6, 6, 3)
    assert not a.zeroing and not a.clear_called and a.modification_count == 0
    with pytest.raises(RuntimeError, match="dtype"):
        a.dtype  # noqa: B018
    assert a.get_data("r").dtype == np.float32 and not a.get_data("r").any()
    assert a.dtype == np.float32
    for same in (nn.NdArray(2, 3), nn.NdArray([2, 3]), nn.NdArray((np.int64(2), 3))):
        assert same.shape == (2, 3)
    assert nn.NdArray().shape == nn.NdArray(()).shape == ()
    for wrong in ("x", 2.5, (2, -1)):
        with pytest.raises(ValueError):
            nn.NdArray(wrong)


def test_assignment_takes_over_the_dtype():
    a = nn.NdArray((2,))
    for dtype in (np.float64, np.int64, np.uint8, np.float16, np.bool_):
        a.data = np.ones(2, dtype)
        assert a.dtype == dtype and a.data.dtype == dtype
    a.data = [1, 2]
    assert a.dtype == np.int64
    a.data = 2.5  # a number fills the array and keeps its dtype
    assert a.dtype == np.int64 and a.data.tolist() == [2, 2]
    a.data = 1 << 60  # float64 cannot represent all integers of this size
    assert a.data.tolist() == [1 << 60] * 2
    b = nn.NdArray((2, 2))
    b.data = [1.5, 2.5]
    assert b.data.tolist() == [[1.5, 2.5]] * 2 and b.dtype == np.float64
    with pytest.raises(ValueError):
        b.data = np.zeros(3)
    with pytest.raises(TypeError):
        b.data = "a"
    for wrong in (None, np.zeros(2, np.complex64)):
        with pytest.raises(RuntimeError, match="dtype"):
            b.data = wrong


def test_from_numpy_array_copies():
    given = np.arange(3)
    a = nn.NdArray.from_numpy_array(given)
    given[0] = 9
    assert a.data.tolist() == [0, 1, 2] and a.dtype == np.int64
    with pytest.raises(AssertionError):
        nn.NdArray.from_numpy_array([1])


def test_data_is_live_and_reading_is_not_writing():
    a = array(1, 2)
    a.data[0] = 5
    assert a.data.tolist() == [5, 2]
    count = a.modification_count
    seen = a.get_data("r")
    with pytest.raises(ValueError):
        seen[0] = 1
    assert a.get_data("r", np.float16).dtype == np.float16 and a.dtype == np.float32
    assert a.modification_count == count
    a.get_data("rw", np.int32)[1] = 7
    assert a.dtype == np.int32 and a.data.tolist() == [5, 7]
    with pytest.raises(AssertionError, match="mode"):
        a.get_data("x")


def test_zeroing_until_somebody_may_write():
    a = array(1, 2)
    for ask in (
        lambda: a.data,
        lambda: a.get_data("rw"),
        lambda: a.cast(np.float32),
        lambda: a.fill(0),
        lambda: a.cast(np.float32, nn.get_current_context()),
        lambda: a.copy_from(nn.NdArray(2)),
    ):
        a.zero()
        assert a.zeroing
        assert not a.get_data("r").any() and a.zeroing
        ask()
        assert not a.zeroing and not a.data.any()
    a.data = 0
    assert a.zeroing


def test_zero_and_fill_keep_the_dtype():
    a = array(1, 2, dtype=np.int64)
    a.zero()
    assert a.dtype == np.int64
    a.fill(3)
    assert a.data.dtype == np.int64 and a.data.tolist() == [3, 3]
    b = nn.NdArray(2)
    b.fill(1)
    with pytest.raises(RuntimeError):
        b.dtype  # noqa: B018


def test_cast():
    a = array(1.5, -2.5)
    x = a.cast(np.int32)
    assert x.tolist() == [1, -2]
    x[0] = 4
    assert a.data.tolist() == [4, -2]
    assert a.cast(np.float64, nn.get_current_context()) is None and a.dtype == np.float64
    with pytest.raises(RuntimeError, match="dtype"):
        a.cast(np.complex64)


def test_copy_from():
    a, s = nn.NdArray((2, 2)), array(1, 2, 3, 4, dtype=np.uint8)
    assert a.copy_from(s) is a
    assert a.dtype == np.uint8 and a.data.tolist() == [[1, 2], [3, 4]]
    a.data[0] = 9
    assert s.data.tolist() == [1, 2, 3, 4]
    s.zero()  # a zeroed array has no memory: its copy is float32, unless the dtype is to be kept
    assert a.copy_from(s, use_current_context=False).dtype == np.uint8
    s.zero()
    assert a.copy_from(s).dtype == np.float32
    with pytest.raises(RuntimeError):
        a.copy_from(nn.NdArray(4), use_current_context=False)
    with pytest.raises(RuntimeError, match=r"\(5,\)"):
        a.copy_from(nn.NdArray(5))
    with pytest.raises(TypeError):
        a.copy_from(np.zeros(4))


def test_clear():
    a = array(1, 2)
    a.clear()
    assert a.clear_called
    a.fill(2)
    assert not a.clear_called and a.data.tolist() == [2, 2]


# ---- arrays that share memory --------------------------------------------------------------------------------------
def test_narrow_shares_memory_before_and_after_it_exists():
    for a in (nn.NdArray((4, 2)), nn.NdArray.from_numpy_array(np.zeros((4, 2), np.float32))):
        b, c = a.narrow(0, 0, 2), a.narrow(0, 2, 2)
        d = c.narrow(0, 1, 1)
        assert (b.shape, d.shape) == ((2, 2), (1, 2))
        b.fill(1)
        c.data = 2.0
        d.data = np.full((1, 2), 3, np.float32)
        assert a.data[:, 0].tolist() == [1, 1, 2, 3]
        b += c
        assert a.data[:, 0].tolist() == [3, 4, 2, 3]
        a.data[3] = 8
        assert d.data.tolist() == [[8, 8]] and c.data[1].tolist() == [8, 8]
        a.fill(5)
        assert (d.data == 5).all()
        d.copy_from(nn.NdArray.from_numpy_array(np.ones((1, 2), np.float32)))
        F.add_scalar(b, 1, outputs=[b])
        assert a.data[:, 1].tolist() == [6, 6, 5, 1]


def test_narrow_zeroing():
    a = array(1, 2, 3)
    b, c = a.narrow(0, 0, 1), a.narrow(0, 1, 2)
    b.zero()
    assert b.zeroing and not a.zeroing and not c.zeroing
    assert a.get_data("r").tolist() == [0, 2, 3]
    a.zero()
    assert a.zeroing and b.zeroing and c.zeroing
    b.fill(1)
    assert not a.zeroing and not b.zeroing and c.zeroing
    assert a.data.tolist() == [1, 0, 0]


def test_narrow_dtypes():
    a = nn.NdArray(4)
    b = a.narrow(0, 0, 2)
    with pytest.raises(RuntimeError):
        b.dtype  # noqa: B018
    b.data = np.arange(2)  # the array has not been read: writing into the part determines the dtype
    assert a.dtype == np.int64
    for wrong in (
        lambda: b.cast(np.float32),
        lambda: b.copy_from(array(1, 2)),
        lambda: b.get_data("rw", np.float16),
        lambda: setattr(b, "data", np.zeros(2, np.float32)),
        lambda: F.add_scalar(b, 1, outputs=[b]),
    ):
        with pytest.raises(RuntimeError, match="narrow"):
            wrong()
    assert b.get_data("r", np.float16).dtype == np.float16
    a.cast(np.float16)
    assert b.dtype == np.float16 and b.data.tolist() == [0, 1]
    b.data[1] = 7
    assert a.data.tolist() == [0, 7, 0, 0]
    a.data = np.arange(4.0)
    assert b.dtype == np.float64 and b.data.tolist() == [0, 1]
    a.data[0] = 3
    assert b.data[0] == 3


def test_narrow_errors():
    a = nn.NdArray((4, 2))
    for args, words in (
        ((1, 0, 1), "dim"),
        ((-1, 0, 1), "dim"),
        ((0, -1, 2), "start"),
        ((0, 0, -1), "length"),
        ((0, 3, 2), "exceed"),
    ):
        with pytest.raises(RuntimeError, match=words):
            a.narrow(*args)
    b = a.narrow(0, 1, 2)
    for start, length in ((0, 2), (1, 2), (2, 1), (0, 4)):
        with pytest.raises(RuntimeError, match="overlap"):
            a.narrow(0, start, length)
    with pytest.raises(RuntimeError, match="clear"):
        b.clear()
    assert a.narrow(0, 2, 0).shape == (0, 2)
    del b
    assert a.narrow(0, 0, 4).shape == (4, 2)  # allowed, because the part is deleted


def test_parts_keep_the_memory():
    a = array(1, 2, 3, 4)
    b = a.narrow(0, 1, 3)
    c = b.narrow(0, 1, 1)
    del a
    b.data[1] = 9
    del b
    assert c.data.tolist() == [9]


def test_view():
    a = nn.NdArray((2, 3))
    b = a.view((6,))
    b.data = np.arange(6)
    assert a.dtype == np.int64 and a.data.tolist() == [[0, 1, 2], [3, 4, 5]]
    a.cast(np.float32)
    a.data[0] = 7
    c = b.view((3, 2)).narrow(0, 0, 1)
    assert c.data.tolist() == [[7, 7]]
    c.fill(1)
    assert a.data[0].tolist() == [1, 1, 7] and b.data.tolist() == [1, 1, 7, 3, 4, 5]
    with pytest.raises(RuntimeError, match="6 elements"):
        a.view((5,))
    assert a == a and a != b and hash(a) != hash(b)
    d = nn.NdArray((4,))
    e = d.view((2, 2))
    d.fill(3)
    d.clear()
    assert d.clear_called and (e.data == 3).all()  # the memory is freed when the last array that shares it is
    e.zero()
    assert d.zeroing and not d.clear_called


@pytest.mark.parametrize("seed", range(8))
def test_families_behave_like_numpy_views(seed):
    rng = np.random.RandomState(seed)
    fresh = seed % 2
    values = np.zeros(24, np.float32) if fresh else rng.randint(0, 9, 24).astype(np.float32)
    root = nn.NdArray(24) if fresh else nn.NdArray.from_numpy_array(values)
    family = [(root, values)]
    for _ in range(60):
        a, x = family[rng.randint(len(family))]
        n = float(rng.randint(1, 9))
        kind = rng.randint(9)
        if kind == 0 and a.size:
            start = rng.randint(a.shape[0])
            length = rng.randint(a.shape[0] - start + 1)
            try:
                family.append((a.narrow(0, start, length), x[start : start + length]))
            except RuntimeError as e:
                assert "overlap" in str(e)
        elif kind == 1 and a.size % 2 == 0:
            shape = (2, a.size // 2)
            family.append((a.view(shape), x.reshape(shape)))
        elif kind == 2:
            a.fill(n)
            x[...] = n
        elif kind == 3:
            a.zero()
            x[...] = 0
        elif kind == 4:
            a += n
            x += n
        elif kind == 5:
            given = rng.randint(0, 9, a.shape).astype(np.float32)
            a.data = given
            x[...] = given
        elif kind == 6:
            given = rng.randint(0, 9, a.shape).astype(np.float32)
            a.copy_from(nn.NdArray.from_numpy_array(given))
            x[...] = given
        elif kind == 7:
            F.mul_scalar(a, 0.5, outputs=[a])
            x *= 0.5
        elif len(family) > 2:
            del family[rng.randint(1, len(family))]
        if rng.randint(3) == 0:
            for b, y in family:
                np.testing.assert_array_equal(b.get_data("r"), y)
    for b, y in family:
        np.testing.assert_array_equal(b.data, y)
        assert b.shape == y.shape


def test_variables_on_parts_of_one_array():
    data, grad = nn.NdArray(5), nn.NdArray(5)
    w, b = nn.Variable((1, 3), need_grad=True), nn.Variable((2,), need_grad=True)
    for v, start in ((w, 0), (b, 3)):
        v.data = data.narrow(0, start, v.size).view(v.shape)
        v.grad = grad.narrow(0, start, v.size).view(v.shape)
    data.data = np.arange(5, dtype=np.float32)
    y = F.sum(w * w) + F.sum(b * b)
    grad.zero()
    for times in (1, 2):
        y.forward()
        y.backward()
        np.testing.assert_allclose(grad.data, 2 * times * np.arange(5))
    assert y.d == 30
    solver = solvers.Sgd(lr=0.25)
    solver.set_parameters({"w": w, "b": b})
    solver.update()
    np.testing.assert_allclose(data.data, np.zeros(5), atol=1e-6)


def test_results_in_parts_and_views():
    x = nn.Variable.from_numpy_array(np.arange(4, dtype=np.float32))
    y = x * 2
    all_ = nn.NdArray(8)
    y.data = all_.narrow(0, 4, 4)
    z = y + 1
    z.forward()
    assert all_.data.tolist() == [0, 0, 0, 0, 0, 2, 4, 6]
    z.forward(clear_buffer=True)  # clear_buffer must not free memory that a part shares
    assert all_.data.tolist() == [0, 0, 0, 0, 0, 2, 4, 6] and z.d.tolist() == [1, 3, 5, 7]


# ---- operators -----------------------------------------------------------------------------------------------------
def test_operators_run_at_once():
    x, y = np.array([1.0, 2.0, 4.0], np.float32), np.array([3.0, 0.5, 2.0], np.float32)
    a, b = nn.NdArray.from_numpy_array(x), nn.NdArray.from_numpy_array(y)
    for f in (
        lambda p, q: p + q,
        lambda p, q: p - q,
        lambda p, q: p * q,
        lambda p, q: p / q,
        lambda p, q: p**q,
        lambda p, q: p + 2,
        lambda p, q: 2 - p,
        lambda p, q: p - 2,
        lambda p, q: p * 3,
        lambda p, q: 3 / p,
        lambda p, q: p / 3,
        lambda p, q: 2**p,
        lambda p, q: p**2,
        lambda p, q: -p,
        lambda p, q: +p,
        lambda p, q: p @ q,
    ):
        result = f(a, b)
        assert isinstance(result, nn.NdArray) and result.dtype == np.float32
        np.testing.assert_allclose(result.data, f(x, y), rtol=1e-6)
    v = nn.Variable.from_numpy_array(x)
    assert isinstance(v + b, nn.NdArray) and isinstance(b + v, nn.NdArray)
    for wrong in ("1", None, np.ones(3)):
        for z in (a, v):
            with pytest.raises(TypeError):
                z + wrong
            with pytest.raises(TypeError):
                z * wrong


def test_inplace_operators_write_into_the_array():
    a = array(1, 2, dtype=np.int64)
    same, view = a, a.view((2, 1))
    a += 1
    a *= 4
    a -= array(2, 3)
    a /= 2
    a -= 1
    a += array(0.5, 1)
    assert a is same and a.dtype == np.float32
    np.testing.assert_allclose(a.data, [2.5, 4.5])
    np.testing.assert_allclose(view.data, [[2.5], [4.5]])
    a *= array(2, 2)  # `*=` creates a new array
    assert a is not same and a.data.tolist() == [5, 9] and same.data.tolist() == [2.5, 4.5]
    b = a
    b /= array(5, 3)
    b **= 2
    assert b.data.tolist() == [1, 9] and a.data.tolist() == [5, 9]


@pytest.mark.parametrize(
    "shapes",
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((2,), (2, 3)),
        ((2, 3), (3, 4)),
        ((4, 2, 3), (3, 5)),
        ((3,), (4, 3, 5)),
        ((4, 2, 3), (3,)),
        ((2, 1, 2, 3), (4, 3, 5)),
        ((4, 2, 3), (4, 3, 2)),
    ],
)
def test_matmul(shapes):
    rng = np.random.RandomState(0)
    x, y = (rng.randn(*s).astype(np.float32) for s in shapes)
    expected = x @ y
    a = nn.NdArray.from_numpy_array(x) @ nn.NdArray.from_numpy_array(y)
    v = nn.Variable.from_numpy_array(x) @ nn.Variable.from_numpy_array(y)
    assert a.shape == v.shape == expected.shape
    v.forward()
    np.testing.assert_allclose(a.data, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(v.d, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(AssertionError):
        v @ 3


def test_results_own_their_memory():
    a = array(1, 2, 3, 4)
    for f in (
        F.identity,
        lambda x: x[1:3],
        lambda x: F.transpose(F.reshape(x, (2, 2)), (1, 0)),
        lambda x: F.broadcast(F.reshape(x, (1, 4)), (2, 4)),
    ):
        y = f(a)
        y.data[...] = 9
        assert a.data.tolist() == [1, 2, 3, 4]
        v = nn.Variable.from_numpy_array(np.array([1, 2, 3, 4], np.float32))
        live = v.d
        z = f(v)
        z.forward()
        before = z.d.copy()
        live[0] = v.d[1] = 5
        assert v.d.tolist() == [5, 5, 3, 4] and v.d is not live and np.shares_memory(v.d, live)
        z.forward()
        assert not (z.d == before).all()
        z.d[...] = 9
        assert live.tolist() == [5, 5, 3, 4]
    y = F.broadcast(F.reshape(a, (1, 4)), (2, 4))
    y.data[0, 0] = 9
    assert y.data[1, 0] == 1
    out = nn.NdArray(4)
    F.identity(a, outputs=[out])
    out.data[0] = 9
    assert a.data[0] == 1


def test_comparison():
    a = nn.NdArray(2)
    v = nn.Variable((2,))
    v.data = a
    assert v.data == a and v.data != nn.NdArray(2) and len({a, v.data}) == 1
    with pytest.raises(TypeError):
        a == 3  # noqa: B015


def test_a_number_in_a_part_has_no_dtype():
    """The parts of an array that nothing has typed yet take any dtype after `fill` (nnabla's all_reduce_callback)."""
    whole = nn.NdArray((6,))
    first, second = whole.narrow(0, 0, 4), whole.narrow(0, 4, 2)
    first.fill(3)
    first.cast(np.float16)
    second.fill(5)
    second.cast(np.float16)
    assert whole.data.tolist() == [3, 3, 3, 3, 5, 5] and whole.dtype == np.float16
    typed = nn.NdArray((6,))
    typed.data = np.zeros(6, np.float32)
    part = typed.narrow(0, 0, 2)
    part.fill(1)
    with pytest.raises(RuntimeError, match="cannot be cast"):
        part.cast(np.float16)
    assert typed.data.tolist() == [1, 1, 0, 0, 0, 0]


# nnabla 1.39.0's results
@pytest.mark.parametrize(
    "dtype, value, expected",
    [
        ("float64", 3.9, 3.9000000953674316),
        ("float16", 1e10, np.inf),
        ("float16", 65504, 65504),
        ("int32", 16777217, 16777216),
        ("int32", 1e10, -(2**31)),
        ("int32", np.nan, -(2**31)),
        ("int64", 1e10, 10**10),
        ("int64", np.inf, -(2**63)),
        ("uint8", -1, 255),
        ("uint8", 300, 44),
        ("uint8", 1e10, 0),
        ("int8", 300, 44),
        ("int8", -2.5, -2),
        ("bool", np.nan, True),
    ],
)
def test_numbers_that_arrays_are_filled_with(dtype, value, expected):
    whole = nn.NdArray((4,))
    whole.cast(np.dtype(dtype))
    whole.fill(value)
    part = nn.NdArray((4,))
    part.cast(np.dtype(dtype))
    part.narrow(0, 1, 2).fill(value)
    for a in (whole.data, part.data[1:3]):
        assert a.dtype == np.dtype(dtype)
        assert (a == np.array(expected, dtype)).all()
