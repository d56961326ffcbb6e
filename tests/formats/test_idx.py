"""IDX files, whole and damaged, by the reader and by the frontends."""

import gzip

import numpy as np
import pytest

from compatgrad.chainer.datasets import _mnist_helper
from compatgrad.formats import idx

ARRAY = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
GOOD = b"\0\0\x08\x03" + np.array(ARRAY.shape, ">i4").tobytes() + ARRAY.tobytes()


def test_whole_files(tmp_path):
    for data in (GOOD, gzip.compress(GOOD, mtime=0)):
        (tmp_path / "a").write_bytes(data)
        for ndim in (None, 3):
            np.testing.assert_array_equal(idx.read(str(tmp_path / "a"), ndim), ARRAY)
        with pytest.raises(ValueError, match="a is not an IDX file of bytes in 1 dimensions"):
            idx.read(str(tmp_path / "a"), 1)
    with pytest.raises(FileNotFoundError):
        idx.read(str(tmp_path / "b"))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\x08",
        GOOD[:-1],
        GOOD + b"0",
        GOOD[:9],
        b"\0\0\x08\0" + GOOD[4:],
        b"\0\0\x0d" + GOOD[3:],
        b"\0\0\x08\x03" + b"\x7f\xff\xff\xff" * 3,
        gzip.compress(GOOD, mtime=0)[:-9],
        gzip.compress(GOOD, mtime=0)[:-8] + bytes(8),
        b"\x1f\x8b" + bytes(20),
    ],
)
def test_damaged_files(data, tmp_path):
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ValueError, match="a is (not an IDX file|cut off)"):
        idx.read(str(tmp_path / "a"))


def test_chainer_takes_no_part_of_a_file_for_the_whole(tmp_path, monkeypatch):
    """Half of the pixels of each image were taken for all of them."""
    images = b"\0\0\x08\x03" + np.array([2, 28, 28], ">i4").tobytes() + bytes(784)
    (tmp_path / "x").write_bytes(gzip.compress(images, mtime=0))
    (tmp_path / "y").write_bytes(gzip.compress(b"\0\0\x08\x01\0\0\0\2ab", mtime=0))
    monkeypatch.setattr(_mnist_helper.download, "cached_download", lambda url: str(tmp_path / url))
    with pytest.raises(ValueError, match="x is cut off: 784 bytes"):
        _mnist_helper.make_npz(str(tmp_path / "out.npz"), ["x", "y"])
