"""Unusual calls that MXNet accepts: numbers out of a dtype's range, keys of arrays and negative steps, and others."""

import math
import subprocess
import sys

import numpy as np
import pytest

import compatgrad.mxnet as mx

BOXES = [[0, 0.5, 0.1, 0.1, 0.2, 0.2], [0, 0.4, 0.1, 0.1, 0.2, 0.2], [1, 0.3, 0.1, 0.1, 0.14, 0.14],
         [-1, 0.6, 0.5, 0.5, 0.7, 0.8]]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_number_beyond_the_type_is_infinite(dtype):
    x = mx.nd.array([1, -2], dtype=dtype)
    assert (x * 1e300).asnumpy().tolist() == [math.inf, -math.inf]
    assert (1e300 - x).asnumpy().tolist() == [math.inf] * 2
    assert (x / 1e300).asnumpy().tolist() == [0, 0]
    assert (x < 1e300).asnumpy().tolist() == [1, 1]
    assert mx.nd.minimum(x, 1e300).asnumpy().tolist() == [1, -2]
    assert (x % 1e300).asnumpy().tolist() == [1, math.inf]
    assert mx.nd.full((1,), -1e300, dtype=dtype).asnumpy().tolist() == [-math.inf]
    x[:] = 1e300
    assert x.asnumpy().tolist() == [math.inf] * 2
    x[0] = -1e300
    assert x.asnumpy().tolist() == [-math.inf, math.inf]
    assert mx.nd.array([1.0], dtype="float64").asnumpy().item() * 1e300 == 1e300


def test_box_nms_drops_boxes_of_the_background():
    def kept(background):
        y = mx.nd.contrib.box_nms(mx.nd.array(BOXES), overlap_thresh=0.5, id_index=0, background_id=background)
        return y.asnumpy()[:, :2].round(2).tolist()

    none = [-1.0, -1.0]
    np.testing.assert_allclose(kept(-1), [[0, 0.5], [1, 0.3], none, none], rtol=1e-6)
    np.testing.assert_allclose(kept(0), [[-1, 0.6], [1, 0.3], none, none], rtol=1e-6)


@pytest.mark.parametrize("value", ["number", "whole", "broadcast"])
@pytest.mark.parametrize("key", [
    (slice(None, None, -1), [0, 2], slice(3, None, -2)), ([1, 0], slice(None, None, -1)),
    (0, slice(2, None, -1), [3, 0, 1]), (None, slice(None, None, -2), [0, 1]),
])  # fmt: skip
def test_assignment_by_arrays_beside_slices_that_run_backwards(key, value):
    expected = np.arange(120).reshape(2, 3, 4, 5)
    shape = expected[key].shape
    v = {"number": 7, "whole": -np.arange(math.prod(shape)).reshape(shape), "broadcast": -np.arange(shape[-1])}[value]
    x = mx.nd.array(expected, dtype="int32")
    expected[key] = v
    x[key] = v if value == "number" else mx.nd.array(v, dtype="int32")
    assert (x.asnumpy() == expected).all()


def test_broadcast_like_adds_axes():
    assert mx.nd.ones((10,)).broadcast_like(mx.nd.ones((3, 4, 10))).shape == (3, 4, 10)
    with pytest.raises(mx.MXNetError, match="cannot be broadcast"):
        mx.nd.ones((3, 10)).broadcast_like(mx.nd.ones((10,)))


def test_ctc_takes_the_blank_as_a_label():
    loss = mx.gluon.loss.CTCLoss()
    label = mx.nd.array([[2, 1, 2, 2], [3, 2, 2, 2]])
    y = loss(mx.nd.ones((2, 20, 4)), label, None, mx.nd.array([2, 3])).asnumpy()
    np.testing.assert_allclose(y, [18.828207, 16.505817], rtol=1e-5)


def test_arrays_of_parameters_are_not_checked():
    zero, one = mx.nd.zeros((2,)), mx.nd.ones((2,))
    assert mx.nd.sample_gamma(one, zero).asnumpy().tolist() == [0, 0]
    assert mx.nd.random.normal(one, zero).asnumpy().tolist() == [1, 1]
    assert mx.nd.sample_exponential(zero).asnumpy().tolist() == [math.inf] * 2
    assert mx.nd.sample_poisson(-one).asnumpy().tolist() == [0, 0]
    with pytest.raises(mx.MXNetError, match="beta must be positive"):
        mx.nd.random.gamma(1, 0, shape=(2,)).asnumpy()


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_cumulative_sums_of_float16_are_rounded_at_each_step(axis):
    x = np.random.RandomState(0).normal(size=(3, 70)).astype(np.float16)
    assert np.array_equal(mx.np.cumsum(mx.np.array(x, dtype="float16"), axis=axis).asnumpy(), np.cumsum(x, axis=axis))


def test_cumulative_sums_of_booleans_are_counts():
    x = mx.np.array([True, False, True])
    y = mx.np.cumsum(mx.np.array(x, dtype=bool))
    assert y.dtype == np.int64 and y.asnumpy().tolist() == [1, 1, 2]
    y = mx.np.cumsum(mx.np.array([100, 100], dtype="int8"))
    assert y.dtype == np.int8 and y.asnumpy().tolist() == [100, -56]


def test_clip_of_np_arrays_by_one_limit():
    x = mx.np.array([-1.0, 2.0])
    assert x.clip(min=0).asnumpy().tolist() == [0, 2] and x.clip(None, 1).asnumpy().tolist() == [-1, 1]


def test_a_process_ends_well_while_profiling(tmp_path):
    program = (
        "import compatgrad; compatgrad.install(); import mxnet as mx; P = mx.profiler\n"
        "P.set_config(profile_all=True, filename='q.json'); P.set_state('run'); P.dump(); P.set_state('stop')\n"
        "P.set_state('run'); mx.nd.ones((2,)).sqrt().wait_to_read(); P.dump(False); P.set_state('run')\n"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr


def test_ranges_step_in_their_dtype():
    assert mx.nd.arange(1.3, 7.2, 1.3, dtype="int32").asnumpy().tolist() == [1, 2, 3, 4, 5]
    assert mx.nd.arange(0, 5, 0.3).asnumpy()[11] == np.float32(11) * np.float32(0.3)
    assert mx.nd.arange(350.0, 356, 2.5, dtype="float16").asnumpy().tolist() == [350, 352.5, 355]


def test_an_array_in_the_place_of_a_dtype_gives_its_own():
    like = mx.nd.ones((2,), dtype="float16")
    assert mx.nd.ones((3,)).astype(like).dtype == np.float16
    assert mx.nd.ones((3,)).astype(mx.nd.ones((2,)), copy=False).dtype == np.float32


@pytest.mark.parametrize(
    ("dtype", "value", "kept"),
    [
        ("uint8", 300, 44), ("uint8", -1, 255), ("uint8", 300.5, 44), ("uint8", 1e40, 0), ("uint8", True, 1),
        ("int32", 2**40 + 5, -(2**31)), ("int32", -(2**31) - 1, -(2**31)), ("int32", 1e40, -(2**31)),
        ("float32", 10**30, np.float32(1e30)), ("float32", 10**40, np.inf), ("float16", -1e6, -np.inf),
    ],
)  # fmt: skip
def test_numbers_that_a_dtype_does_not_hold_are_written_as_by_mxnet(dtype, value, kept):
    x = mx.nd.zeros((2,), dtype=dtype)
    x[:] = value
    assert x.asnumpy().tolist() == [kept, kept] == mx.nd.full((2,), value, dtype=dtype).asnumpy().tolist()


def test_creation_refuses_what_it_does_not_know():
    for create in (mx.nd.zeros, mx.nd.ones, lambda *a, **k: mx.nd.eye(2, **k)):
        with pytest.raises(mx.MXNetError, match="'chape'"):
            create((2,), chape=3)
    with pytest.raises(TypeError, match="val: expected a number, got str"):
        mx.nd.full((2,), "1")
    with pytest.raises(TypeError, match="ndarray: expected a NumPy array, got list"):
        mx.nd.from_numpy([1])


def test_errors_name_arguments_that_are_no_arrays():
    for call, name in (
        (lambda: mx.nd.histogram([1.0], 2), "a"),
        (lambda: mx.nd.contrib.isnan([1.0]), "data"),
        (lambda: mx.nd.contrib.rand_zipfian([1], 2, 5), "true_classes"),
        (lambda: mx.nd.to_dlpack_for_read(3), "data"),
    ):
        with pytest.raises(AssertionError, match=f"argument {name} must have NDArray type"):
            call()
    with pytest.raises(AssertionError, match="concatenate: expected NDArrays, got int"):
        mx.nd.concatenate([mx.nd.zeros((2,)), 1])
    with pytest.raises(ValueError, match="range_max: expected at least 1, got -5"):
        mx.nd.contrib.rand_zipfian(mx.nd.array([1]), 2, -5)
    with pytest.raises(TypeError, match="handle: expected a torch tensor or an NDArray, got int"):
        mx.nd.NDArray(3)
