"""Iterators over files: wrong sizes, damaged files, and unusual files that are allowed."""

import gzip
import struct

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet.base import MXNetError


@pytest.fixture
def table(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,3\n4,5,6\n7,8,9\n")
    (tmp_path / "a.svm").write_text("1 0:1\n0 1:2\n2 2:3\n")
    return tmp_path


def made(table, kind, batch_size):
    if kind == "csv":
        return mx.io.CSVIter(data_csv=str(table / "a.csv"), data_shape=(3,), batch_size=batch_size)
    return mx.io.LibSVMIter(data_libsvm=str(table / "a.svm"), data_shape=(3,), batch_size=batch_size)


@pytest.mark.parametrize("kind", ["csv", "svm"])
def test_sizes_of_batches(table, kind):
    for size in (0, -1):
        with pytest.raises(MXNetError, match=f"batch_size: expected 1 or more, got {size}"):
            made(table, kind, size)
    (batch,) = made(table, kind, 5)  # two samples of the next epoch fill the batch up
    assert batch.pad == 2 and batch.index.tolist() == [0, 1, 2, 0, 1]
    with pytest.raises(MXNetError, match="number of input must be bigger than batch size"):
        next(made(table, kind, 7))


def test_rows_that_end_with_a_comma(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,3,\r\n4,5,6,\r\n")
    (batch,) = mx.io.CSVIter(data_csv=str(tmp_path / "a.csv"), data_shape=(3,), batch_size=2)
    assert batch.data[0].asnumpy().tolist() == [[1, 2, 3], [4, 5, 6]]
    (tmp_path / "a.csv").write_text("1,,3\n4,5,6\n")
    with pytest.raises(MXNetError, match="cannot read"):
        mx.io.CSVIter(data_csv=str(tmp_path / "a.csv"), data_shape=(3,), batch_size=2)


def test_unknown_types_are_refused(table):
    with pytest.raises(MXNetError, match="dtype: expected .* got 'foo'"):
        mx.io.CSVIter(data_csv=str(table / "a.csv"), data_shape=(3,), dtype="foo")


def test_comments_and_labels_of_several_numbers(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("# all\n1 0:1 # one: 2\n0 1:1\n")
    (batch,) = mx.io.LibSVMIter(data_libsvm=str(path), data_shape=(3,), batch_size=2)
    assert batch.data[0].asnumpy().tolist() == [[1, 0, 0], [0, 1, 0]]
    with pytest.raises(MXNetError, match=r"label_shape is \(1,\) without label_libsvm, got \(2,\)"):
        mx.io.LibSVMIter(data_libsvm=str(path), data_shape=(3,), label_shape=(2,))


def idx(*shape, data=None):
    size = int(np.prod(shape)) if data is None else 0
    return struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape) + (bytes(size) if data is None else data)


@pytest.mark.parametrize(
    "images, labels, words",
    [
        (idx(4, 2, 2), idx(3), r"images \(N, height, width\) and labels \(N,\).*\(4, 2, 2\).*\(3,\)"),
        (idx(4), idx(4), r"images \(N, height, width\)"),
        (idx(4, 2, 2), idx(4, 1), r"labels \(N,\)"),
        (idx(2**31, 2**31, 4, data=b""), idx(4), "cut off"),
        (idx(4, 2, 2)[:-1], idx(4), "cut off"),
        (b"", idx(4), "no IDX file|is not an IDX file"),
    ],
)
def test_files_of_digits_that_do_not_fit(tmp_path, images, labels, words):
    (tmp_path / "x").write_bytes(images)
    (tmp_path / "y").write_bytes(labels)
    with pytest.raises(MXNetError, match=words):
        mx.io.MNISTIter(image=str(tmp_path / "x"), label=str(tmp_path / "y"), batch_size=2)


@pytest.mark.parametrize("cut", [5, -4])
def test_packed_digits_that_are_cut_off(tmp_path, cut):
    (tmp_path / "x.gz").write_bytes(gzip.compress(idx(4, 2, 2))[:cut])
    (tmp_path / "y").write_bytes(idx(4))
    with pytest.raises(MXNetError, match="cannot read .*x.gz"):
        mx.io.MNISTIter(image=str(tmp_path / "x.gz"), label=str(tmp_path / "y"), batch_size=2)


@pytest.mark.parametrize("numbers", ["{:.6f}", "{:.7e}", "{:.3f} "])
def test_numbers_of_csv_files_are_those_of_numpy(tmp_path, numbers):
    """Plain decimals are read by `formats.decimals`, others by NumPy."""
    values = np.random.RandomState(0).randn(30, 7)
    path = str(tmp_path / "table.csv")
    with open(path, "w") as file:
        file.writelines(",".join(numbers.format(x) for x in row) + "\n" for row in values)
    batch = mx.io.CSVIter(data_csv=path, data_shape=(7,), batch_size=30).next()
    expected = np.loadtxt(path, np.float32, delimiter=",")
    np.testing.assert_array_equal(batch.data[0].asnumpy(), expected, strict=True)
