"""Arrays of .npy files in memory that the caller makes."""

import io

import numpy as np
import pytest

from compatgrad.core.kept_memory import empty
from compatgrad.formats import npy

RANDOM = np.random.RandomState(0)
ARRAYS = {
    "large": RANDOM.rand(300, 400),
    "order of Fortran": np.asfortranarray(RANDOM.rand(300, 400)),
    "no axis": np.array(3.5),
    "no elements": np.zeros((0, 4), np.int16),
    "bytes": RANDOM.randint(0, 256, (700, 401)).astype(np.uint8),
    "fields": np.array([(1, 2.5), (3, 4.5)], [("a", np.int32), ("b", np.float64)]),
    "dates": np.array(["2020-01-01", "2021-02-03"], "datetime64[D]"),
    "the other order of bytes": np.arange(5, dtype=">f4"),
    "texts": np.array(["a", "bcd"]),
}


class Reader(io.RawIOBase):
    """A file that gives few bytes at a time, without `readinto`."""

    readinto = None

    def __init__(self, data):
        self.file = io.BytesIO(data)

    def read(self, size=-1):
        return self.file.read(min(size, 1000) if size >= 0 else 1000)

    def seek(self, *to):
        return self.file.seek(*to)

    def tell(self):
        return self.file.tell()


def saved(*arrays):
    file = io.BytesIO()
    for array in arrays:
        np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("kind", [io.BytesIO, Reader])
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name, kind):
    file = kind(saved(ARRAYS[name], np.arange(3)))
    for expected in (ARRAYS[name], np.arange(3)):  # the file is then positioned after the array
        found = npy.read_array(file, "the file", False, empty)
        np.testing.assert_array_equal(found, expected, strict=True)
        assert found.flags.writeable and found.dtype == expected.dtype


def test_a_file_becomes_shorter_while_it_is_read():
    data = saved(ARRAYS["large"])

    class Shrinks(io.BytesIO):
        def readinto(self, memory):
            return 0

        def read(self, size=-1):
            return b"" if size > 100_000 else super().read(size)

    with pytest.raises(ValueError, match="the file cannot be read: 960000 bytes are missing at its end"):
        npy.read_array(Shrinks(data), "the file", False, empty)
    with pytest.raises(ValueError, match="the file is cut off"):
        npy.read_array(io.BytesIO(data[:-1]), "the file", False, empty)
