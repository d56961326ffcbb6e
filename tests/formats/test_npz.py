"""Archives of arrays: what the reader refuses, and that it runs nothing."""

import io
import pickle
import zipfile

import numpy as np
import pytest

from compatgrad.formats.npz import Archive, is_pickled_none


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("unpickled",)


def test_none_of_every_origin_is_recognized():
    array = np.asarray(None)
    by_protocol = [pickle.dumps(array, protocol=p) for p in range(6)]
    old_name = by_protocol[3].replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    for payload in [*by_protocol, old_name]:
        assert is_pickled_none(payload)
    for payload in [b"", b"garbage", pickle.dumps(None), pickle.dumps(Bomb()), by_protocol[2][:-5]]:
        assert not is_pickled_none(payload)


def test_entries(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3), none=np.asarray(None), bomb=np.array([Bomb()]))
    with Archive(tmp_path / "a.npz") as archive:
        assert list(archive) == ["x", "none", "bomb"] and len(archive) == 3 and "y" not in archive
        assert archive["x"].tolist() == [0, 1, 2] and archive["none"][()] is None
        with pytest.raises(ValueError, match="'bomb' in .*a.npz.* is a pickled object"):
            archive["bomb"]
        with pytest.raises(KeyError, match="'y' is not in"):
            archive["y"]


def test_damaged_archives(tmp_path):
    whole = io.BytesIO()
    np.savez(whole, x=np.arange(100))
    data = whole.getvalue()
    for bad, words in ((b"", "not an npz"), (pickle.dumps(Bomb()), "not an npz"), (data[:-30], "truncated or damaged")):
        (tmp_path / "a.npz").write_bytes(bad)
        with pytest.raises(zipfile.BadZipFile, match=f"a.npz.* is {words}"):
            Archive(tmp_path / "a.npz")
    at = data.index(np.arange(100).tobytes()[:64])
    with Archive(io.BytesIO(data[:at] + b"\1" + data[at + 1 :])) as archive:
        with pytest.raises(zipfile.BadZipFile, match="'x' in .* is truncated or damaged"):
            archive["x"]
