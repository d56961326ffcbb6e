"""Reading and writing .params and symbol files, and errors for damaged ones."""

import json
import pathlib
import pickle
import struct

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import nd
from compatgrad.mxnet.base import MXNetError
from tests.golden import mxnet_params as golden

FILES = sorted(p.stem for p in golden.GOLDEN.glob("*.params"))


@pytest.fixture(autouse=True)
def legacy_semantics():
    yield
    mx.npx.reset_np()


def test_files_of_the_original_are_read():
    assert len(FILES) == 7
    golden.check_files(mx, golden.GOLDEN)


@pytest.mark.parametrize("name", FILES)
def test_files_are_written_as_the_original_writes_them(name, tmp_path):
    golden.save_files(mx, tmp_path)
    assert (tmp_path / f"{name}.params").read_bytes() == (golden.GOLDEN / f"{name}.params").read_bytes()


def test_symbol_files(tmp_path):
    with mx.name.NameManager():
        symbol, shapes = golden.network(mx)
    expected = np.load(golden.GOLDEN / "network.npy")
    loaded = mx.sym.load(str(golden.GOLDEN / "network-symbol.json"))
    for s in (symbol, loaded, pickle.loads(pickle.dumps(loaded))):
        np.testing.assert_allclose(golden.outputs(mx, s, shapes), expected, rtol=1e-5, atol=1e-6)
    theirs = (golden.GOLDEN / "network-symbol.json").read_text()
    assert json.loads(symbol.tojson()) == json.loads(theirs) == json.loads(loaded.tojson())


def shape64(*dims):
    return struct.pack(f"<i{len(dims)}q", len(dims), *dims)


def whole(*arrays, names=()):
    head = struct.pack("<QQQ", 0x112, 0, len(arrays)) + b"".join(arrays)
    return head + struct.pack("<Q", len(names)) + b"".join(struct.pack("<Q", len(n)) + n for n in names)


def test_older_versions():
    values = struct.pack("<4f", 1, 2, 3, 4)
    tail = struct.pack("<iii", 1, 0, 0) + values
    # the oldest version begins with the number of dimensions, where later ones have a magic number
    oldest = struct.pack("<III", 2, 2, 2) + tail
    v1 = struct.pack("<I", 0xF993FAC8) + shape64(4) + tail
    on_gpu = struct.pack("<Ii", 0xF993FAC9, 0) + shape64(1, 4) + struct.pack("<iii", 2, 3, 0) + values
    nothing = struct.pack("<Ii", 0xF993FAC9, 0) + shape64()
    a, b, c, d = nd.load_frombuffer(whole(oldest, v1, on_gpu, nothing))
    assert a.asnumpy().tolist() == [[1, 2], [3, 4]] and b.asnumpy().tolist() == [1, 2, 3, 4]
    assert c.shape == (1, 4) and c.context == mx.cpu() and d is None
    # a str stands for bytes, a character for each
    assert nd.load_frombuffer(whole(v1, names=[b"x"]).decode("latin-1"))["x"].shape == (4,)


def test_a_row_sparse_file_with_a_wrong_storage_shape():
    # the shape of the stored values is (0, 2), though the file has one row
    rows = struct.pack("<Ii", 0xF993FAC9, 1) + shape64(0, 2) + shape64(3, 2) + struct.pack("<iii", 1, 0, 0)
    rows += struct.pack("<i", 6) + shape64(1) + struct.pack("<2fq", 5, 6, 1)
    (x,) = nd.load_frombuffer(whole(rows))
    assert x.stype == "row_sparse" and x.asnumpy().tolist() == [[0, 0], [5, 6], [0, 0]]


GOOD = struct.pack("<Ii", 0xF993FAC9, 0) + shape64(2, 2) + struct.pack("<iii", 1, 0, 0) + bytes(16)
CSR = struct.pack("<Ii", 0xF993FAC9, 2) + shape64(1) + shape64(2, 2) + struct.pack("<iii", 1, 0, 0)
CSR += struct.pack("<i", 6) + shape64(3) + struct.pack("<i", 6) + shape64(1) + bytes(4)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"x" * 300, "expected the magic number 0x112, found 0x7878"),
        (b"\x12\x01", "expected 8 bytes for the magic number, found 2"),
        (whole(GOOD)[:-20], r"array 0 of 1, byte \d+: expected 16 bytes for the data of shape \(2, 2\)"),
        (struct.pack("<QQQ", 0x112, 0, 2**60), "arrays announced"),
        (whole(struct.pack("<Ii", 0xF993FAC9, 0) + shape64(2**40, 2**40) + bytes(12)), "larger than any memory"),
        (whole(struct.pack("<Ii", 0xF993FAC9, 0) + shape64(2**40) + b"\1" + bytes(11)), "expected 4398046511104 bytes"),
        (whole(struct.pack("<Iii", 0xF993FAC9, 0, 77) + bytes(99)), "at most 32 dimensions of the shape, found 77"),
        (whole(struct.pack("<Ii", 0xF993FAC9, 9) + bytes(99)), r"storage type in \[0, 1, 2\], found 9"),
        (whole(GOOD.replace(struct.pack("<iii", 1, 0, 0), struct.pack("<iii", 1, 0, 99))), "type flag of the data"),
        (whole(CSR + struct.pack("<4q", 0, 1, 1, 5)), "indices from 5 to 5, expected 0 to 1"),
        (whole(CSR + struct.pack("<4q", 0, 2, 1, 0)), "never fall"),
        (whole(GOOD, names=[b"a", b"b"]), "no names or one for each of the 1 arrays, found 2"),
        (whole(GOOD, names=[b"\xff"]), "not UTF-8"),
        (b"\x80", "expected 8 bytes"),
        (whole(GOOD.replace(struct.pack("<ii", 1, 0), struct.pack("<ii", 77, 0))), "device type in 1..6, found 77"),
    ],
)
def test_damaged_files(content, words, tmp_path):
    path = tmp_path / "weights.params"
    path.write_bytes(content)
    with pytest.raises(MXNetError, match=words) as e:
        nd.load(str(path))
    assert "weights.params" in str(e.value)
    with pytest.raises(MXNetError, match=words):
        nd.load_frombuffer(content)


def test_any_damage_raises_our_error():
    content = (golden.GOLDEN / "sparse.params").read_bytes()
    for n in range(len(content)):
        with pytest.raises(MXNetError):
            nd.load_frombuffer(content[:n])
    r = np.random.RandomState(0)
    for _ in range(400):
        changed = bytearray(content)
        for at in r.randint(len(changed), size=3):
            changed[at] = r.randint(256)
        try:
            nd.load_frombuffer(bytes(changed))
        except MXNetError:
            pass


def test_bad_arguments(tmp_path):
    x = nd.ones((2,))
    with pytest.raises(MXNetError, match='cannot open "nowhere.params": No such file'):
        nd.load("nowhere.params")
    with pytest.raises(MXNetError, match="cannot write"):
        nd.save(str(tmp_path / "no" / "folder"), x)
    with pytest.raises(TypeError, match="fname required to be a string"):
        nd.load(3)
    with pytest.raises(TypeError, match="buf required to be a string or bytes"):
        nd.load_frombuffer(3)
    for data in (3, (x,), "x"):
        with pytest.raises(ValueError, match="list of arrays or a dict"):
            nd.save(str(tmp_path / "a"), data)
    for data in ([1], {1: x}, {"a": 1}, [mx.np.ones(2)]):
        with pytest.raises(TypeError):
            nd.save(str(tmp_path / "a"), data)
    with pytest.raises(ValueError, match="NumPy semantics"):
        mx.npx.save(str(tmp_path / "a"), mx.np.ones(2))
    with pytest.raises(MXNetError, match="is no symbol: no JSON"):
        mx.sym.load_json("xx")
    with pytest.raises(MXNetError, match="expected an object with 'nodes'"):
        mx.sym.load_json("{}")
    with pytest.raises(MXNetError, match="node 0: KeyError"):
        mx.sym.load_json('{"nodes": [{}], "heads": []}')
    with pytest.raises(MXNetError, match="cannot read"):
        mx.sym.load("nowhere.json")


def test_shape_semantics():
    path = str(golden.GOLDEN / "np.params")
    with pytest.raises(MXNetError, match="saved under NumPy's shape semantics"):
        nd.load(path)
    with mx.util.np_shape(True):
        assert nd.load(path)["scalar"].shape == ()


def test_numpy_archives(tmp_path):
    mx.npx.set_np()
    path = str(tmp_path / "a.npz")
    mx.npx.savez(path, mx.np.ones((2,)), weight=mx.np.arange(3))
    loaded = mx.npx.load(path)
    assert list(loaded) == ["weight", "arr_0"] or list(loaded) == ["arr_0", "weight"]
    assert loaded["weight"].tolist() == [0, 1, 2] and type(loaded["weight"]) is mx.np.ndarray
    assert pathlib.Path(path).exists()


def test_arrays_of_the_other_kind_of_shape_are_refused(tmp_path):
    """As in MXNet 1.9.1: without np_shape a length of 0 means "unknown"; with it, an axis without elements."""
    file = str(tmp_path / "arrays")
    for saved in (False, True):
        with mx.np_shape(saved):
            nd.save(file, [nd.ones((2, 1))])
            assert nd.load(file)[0].shape == (2, 1)
        with mx.np_shape(not saved), pytest.raises(MXNetError, match="saved under NumPy's shape semantics"):
            nd.load(file)
