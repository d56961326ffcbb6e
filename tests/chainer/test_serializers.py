"""Saving and loading, and files that are damaged or hostile."""

import importlib
import io
import pickle
import zipfile

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, chainer, f32

S = chainer.serializers
npz = importlib.import_module(chainer.__name__ + ".serializers.npz")
ours_only = pytest.mark.skipif(ORIGINAL, reason="the original unpickles whatever it is given")


class Thing:
    """Serializes its attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)

    def serialize(self, serializer):
        for name, value in self.__dict__.items():
            if isinstance(value, Thing):
                value.serialize(serializer[name])
            else:
                self.__dict__[name] = serializer(name, value)


def thing():
    return Thing(w=f32([[1, 2], [3, 4]]), n=7, child=Thing(b=f32([5, 6]), empty=None, text="three words é"))


def blank():
    return Thing(w=f32(np.zeros((2, 2))), n=0, child=Thing(b=f32([0, 0]), empty=f32([1]), text=""))


def check(loaded):
    assert loaded.w.tolist() == [[1, 2], [3, 4]] and loaded.n == 7 and type(loaded.n) is int
    assert loaded.child.b.tolist() == [5, 6]
    assert loaded.child.empty is None


@pytest.mark.parametrize("compression", [False, True])
def test_npz(tmp_path, compression):
    path = str(tmp_path / "a.npz")
    S.save_npz(path, thing(), compression)
    target = blank()
    w = target.w
    S.load_npz(path, target)
    check(target)
    assert target.w is w  # loading writes into the array instead of replacing it
    assert target.child.text == "three words é"
    with np.load(path, allow_pickle=True) as f:
        assert set(f) == {"w", "n", "child/b", "child/empty", "child/text"}
        assert f["child/empty"].dtype == object and f["child/empty"][()] is None


def test_npz_from_a_file_object_and_below_a_path():
    file = io.BytesIO()
    S.save_npz(file, {"model/w": f32([1, 2]), "other": 3})
    file.seek(0)
    target = Thing(w=f32([0, 0]))
    S.load_npz(file, target, path="model/")
    assert target.w.tolist() == [1, 2]


def test_npz_strict_and_ignored_names(tmp_path):
    path = str(tmp_path / "a.npz")
    S.save_npz(path, {"w": f32([1, 2])})
    with pytest.raises(KeyError, match="'?x'? is not"):
        S.load_npz(path, Thing(w=f32([0, 0]), x=f32([3])))
    target = Thing(w=f32([0, 0]), x=f32([3]))
    S.load_npz(path, target, strict=False)
    assert target.w.tolist() == [1, 2] and target.x.tolist() == [3]
    for ignored in ("w", ["w"], lambda name: name == "w", ["v", lambda name: name == "w"]):
        target = Thing(w=f32([0, 0]))
        S.load_npz(path, target, ignore_names=ignored)
        assert target.w.tolist() == [0, 0]
    with pytest.raises(ValueError, match="ignore_names"):
        S.load_npz(path, Thing(w=f32([0, 0])), ignore_names=[1])


def test_npz_types():
    load = S.NpzDeserializer({"f": np.float32(2.5), "i": np.array(-(2**60)), "b": np.array(True)})
    assert load("i", 0) == -(2**60)
    assert load("b", False) is True
    assert load("f", 0.0) == 2.5
    assert load("f", None) == 2.5
    half = np.zeros((), np.float16)
    assert load("f", half) is half and half == 2.5
    with pytest.raises(TypeError, match="float32"):
        load("f", 0)
    with pytest.raises(TypeError, match="int64"):
        load("i", np.uint32(0))


def test_dictionary_serializer():
    target = {}
    s = S.DictionarySerializer(target)
    assert s["/a/"]("/b", 3) == 3 and s["a"]("none", None) is None
    assert set(target) == {"a/b", "a/none"} and target["a/b"].shape == ()
    assert set(npz.serialize(thing())) == {"w", "n", "child/b", "child/empty", "child/text"}


EXPLOSIONS = []


def explode():
    EXPLOSIONS.append(1)
    return "done"


class Bomb:
    """A pickle that runs code."""

    def __reduce__(self):
        return explode, ()


@ours_only
@pytest.mark.parametrize(
    "value", [Bomb(), {"a": 1}, np.array([None, None]), np.array([None], object), np.array(7, object)]
)
def test_npz_refuses_pickles_unless_asked(tmp_path, value):
    path = str(tmp_path / "a.npz")
    array = np.empty((), object)
    array[()] = value
    np.savez(path, x=value if isinstance(value, np.ndarray) else array)
    EXPLOSIONS.clear()
    with pytest.raises(ValueError, match="'x' in .*a.npz.*allow_pickle=True"):
        S.load_npz(path, Thing(x=None))
    assert not EXPLOSIONS
    loaded = Thing(x=None)
    S.load_npz(path, loaded, allow_pickle=True)
    assert loaded.x is not None
    assert bool(EXPLOSIONS) == isinstance(value, Bomb)


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        S.load_npz(str(tmp_path / "missing.npz"), thing())
    pytest.importorskip("h5py")
    with pytest.raises(OSError, match="missing"):
        S.load_hdf5(str(tmp_path / "missing.h5"), thing())


@ours_only
@pytest.mark.parametrize("part", [0.0, 0.02, 0.5, 0.99])
def test_truncated_npz(tmp_path, part):
    path = tmp_path / "a.npz"
    S.save_npz(str(path), thing())
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(zipfile.BadZipFile, match="a.npz"):
        S.load_npz(str(path), blank())


@ours_only
@pytest.mark.parametrize("content", [b"hello world", pickle.dumps([1, 2, 3])])
def test_no_npz(tmp_path, content):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(zipfile.BadZipFile, match="a.npz.* is not an npz archive"):
        S.load_npz(str(path), blank())
    with pytest.raises(zipfile.BadZipFile, match="BytesIO"):
        S.load_npz(io.BytesIO(content), blank())


@ours_only
def test_damaged_npz_entry(tmp_path):
    path = tmp_path / "a.npz"
    S.save_npz(str(path), {"x": np.arange(1000.0)}, compression=False)
    content = bytearray(path.read_bytes())
    content[4000] ^= 255
    path.write_bytes(content)
    with pytest.raises(zipfile.BadZipFile, match="'x' in .*a.npz"):
        S.load_npz(str(path), Thing(x=np.zeros(1000)))


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = str(tmp_path / "a.h5")
    source = thing()
    del source.child.text  # h5py cannot store NumPy strings
    S.save_hdf5(path, source, compression=5)
    with h5py.File(path, "r") as f:
        assert set(f) == {"w", "n", "child"} and f["w"].compression_opts == 5 and f["n"].compression is None
        assert f["child/empty"].shape is None
    target = blank()
    del target.child.text
    w = target.w
    S.load_hdf5(path, target)
    check(target)
    assert target.w is w
    column_major = Thing(w=np.zeros((2, 2), order="F"))
    if not ORIGINAL:
        S.load_hdf5(path, column_major)
        assert column_major.w.tolist() == [[1, 2], [3, 4]]


def test_hdf5_strict(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = str(tmp_path / "a.h5")
    S.save_hdf5(path, {"w": f32([1, 2]), "n": 3})
    with h5py.File(path, "r") as f:
        with pytest.raises(KeyError):
            S.HDF5Deserializer(f)("x", 1)
        with pytest.raises(ValueError, match="Inexistent group"):
            S.HDF5Deserializer(f)["child"]("x", 1)
        loose = S.HDF5Deserializer(f, strict=False)
        assert loose("x", 1) == 1 and loose["child"]("x", 2) == 2
        assert loose("n", 1) == 3 and loose("w", None).tolist() == [1, 2]


def test_hdf5_keys_may_begin_with_a_slash(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(str(tmp_path / "a.h5"), "w") as f:
        S.HDF5Serializer(f.create_group("below"))["/child/W"]("n", 3)
        assert f["below/child/W/n"][()] == 3
        assert S.HDF5Deserializer(f["below"])["/child/W"]("n", 0) == 3


@ours_only
def test_hdf5_dictionary_is_compressed_and_errors_name_the_key(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = str(tmp_path / "a.h5")
    S.save_hdf5(path, {"scalar": 1, "w": f32([1, 2])}, compression=5)
    with h5py.File(path, "r") as f:
        assert f["w"].compression_opts == 5
    with pytest.raises(TypeError, match="'bad'"):
        S.save_hdf5(path, {"bad": object()})
    truncated = tmp_path / "b.h5"
    truncated.write_bytes((tmp_path / "a.h5").read_bytes()[:100])
    with pytest.raises(OSError, match="b.h5|truncated"):
        S.load_hdf5(str(truncated), thing())


@ours_only
def test_without_h5py(monkeypatch, tmp_path):
    monkeypatch.setitem(importlib.import_module("sys").modules, "h5py", None)
    for call in (
        lambda: S.save_hdf5(str(tmp_path / "a.h5"), thing()),
        lambda: S.load_hdf5(str(tmp_path / "a.h5"), thing()),
        lambda: S.HDF5Serializer(None),
        lambda: S.HDF5Deserializer(None),
    ):
        with pytest.raises(RuntimeError, match="pip install h5py"):
            call()
    assert not importlib.import_module(chainer.__name__ + ".serializers.hdf5")._available
