"""Reading parameter files: those of the frameworks, and damaged or hostile ones.

tests/golden/interop_files.py recorded the files and their contents.
"""

import os
import pathlib
import pickle
import random
import resource
import struct
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
import torch

from compatgrad import interop
from compatgrad.interop import files
from tests.golden import files as golden_files

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "interop_files"
EXPECTED = {}
for framework in ("chainer", "mxnet", "nnabla"):
    EXPECTED.update(golden_files.read(GOLDEN / f"{framework}.json"))
MODEL = "updater/model:main/"


def needs(name):
    """Return the path of a recorded file; skip the test if the file needs h5py, which is not installed."""
    if "h5" in name:
        pytest.importorskip("h5py")
    return GOLDEN / name


def check(tensors, expected):
    """Compare names, their order, shapes, dtypes and values."""
    found = {name: [list(t.shape), str(t.dtype)[6:], t.flatten().tolist()] for name, t in tensors.items()}
    assert list(found.items()) == [(name, value) for name, value in expected.items() if isinstance(value, list)]


# ---- what the frameworks wrote ----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", EXPECTED)
def test_files_of_the_frameworks(name):
    contents = files.load(needs(name), refuse=False)
    check(contents.tensors, EXPECTED[name])
    assert contents.empty == [key for key, value in EXPECTED[name].items() if value is None]
    assert list(contents.refused) == [key for key, value in EXPECTED[name].items() if isinstance(value, str)]
    if not contents.refused:
        check(interop.read_parameters(str(needs(name))), EXPECTED[name])


def test_bfloat16_of_mxnet(tmp_path):
    from compatgrad.formats.params import Stored, write

    value = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    write(str(tmp_path / "a.params"), [Stored((2,), value)], ["x"])
    (found,) = interop.read_parameters(tmp_path / "a.params").values()
    assert found.dtype == torch.bfloat16 and found.tolist() == [1.5, -2.0]


@pytest.mark.parametrize(
    "name", ["model.npz", "model.h5", "parameters.h5", "network_h5.nnp", "network_protobuf.nnp", "gluon.params"]
)
def test_the_content_identifies_files_without_a_suffix(name, tmp_path):
    path = tmp_path / "snapshot_iter_10"
    path.write_bytes(needs(name).read_bytes())
    check(interop.read_parameters(path), EXPECTED[name])


@pytest.mark.parametrize("prefix", [MODEL, MODEL.rstrip("/")])
@pytest.mark.parametrize("name", ["trainer.npz", "trainer.h5"])
def test_the_model_of_a_trainer(name, prefix):
    found = interop.read_parameters(needs(name), prefix)
    expected = {key[len(MODEL) :]: v for key, v in EXPECTED[name].items() if key.startswith(MODEL)}
    assert len(expected) == 9
    check(found, expected)
    inner = interop.read_parameters(needs(name), prefix=MODEL + "predictor/l1")
    assert sorted(inner) == ["W", "b"]


def test_text_in_a_snapshot_points_to_the_model():
    with pytest.raises(ValueError, match="'extensions/LogReport/_summary/_names'.* text .*'updater/model:main/'"):
        interop.read_parameters(GOLDEN / "trainer.npz")


def test_prefixes_end_where_parts_do(tmp_path):
    np.savez(tmp_path / "a.npz", **{"l1/W": np.ones(2), "l10/W": np.zeros(3), "d0_w": np.ones(1)})
    assert list(interop.read_parameters(tmp_path / "a.npz", "l1")) == ["W"]
    assert list(interop.read_parameters(tmp_path / "a.npz", "d0_")) == ["w"]
    assert len(interop.read_parameters(tmp_path / "a.npz", "")) == 3
    for missing in ("l", "d0", "x/", "l1/W/"):
        with pytest.raises(ValueError, match="a.npz.*no name begins with .*'l1', 'l10', 'd0_w'"):
            interop.read_parameters(tmp_path / "a.npz", missing)
    np.savez(tmp_path / "snapshot.npz", **{"updater/model:main/l/W": np.ones(2), "updater/iteration": np.int64(1)})
    with pytest.raises(ValueError, match="no name begins with 'updater/model:man/'.*the prefix 'updater/model:main/'"):
        interop.read_parameters(tmp_path / "snapshot.npz", "updater/model:man/")
    with pytest.raises(ValueError, match="'l1/W' is a parameter itself"):
        interop.read_parameters(tmp_path / "a.npz", "l1/W")


def test_layouts_and_byte_orders_of_numpy(tmp_path):
    values = np.arange(6.0).reshape(2, 3)
    arrays = {"big": values.astype(">f4"), "fortran": np.asfortranarray(values), "complex": values * 1j}
    np.savez(tmp_path / "a.npz", scalar=np.float16(2), flags=np.array([True, False]), none=np.zeros((0, 3)), **arrays)
    found = interop.read_parameters(tmp_path / "a.npz")
    assert found["big"].dtype == torch.float32 and found["big"].tolist() == values.tolist()
    assert found["fortran"].is_contiguous() and found["fortran"].tolist() == values.tolist()
    assert found["complex"].dtype == torch.complex128
    assert found["scalar"].shape == () and found["scalar"].dtype == torch.float16
    assert found["flags"].dtype == torch.bool and found["none"].shape == (0, 3)


# ---- what is refused --------------------------------------------------------------------------------------------
EXPLODED = []


def explode():
    EXPLODED.append(1)


class Bomb:
    """A pickle that runs code."""

    def __reduce__(self):
        return explode, ()


def boxed(value):
    array = np.empty((), object)
    array[()] = value
    return array


@pytest.mark.parametrize(
    "value", [Bomb(), [1], np.array([None, None]), "x" * 10000], ids=["code", "list", "two", "long"]
)
def test_pickles_are_not_loaded(value, tmp_path):
    np.savez(tmp_path / "a.npz", fine=np.ones(2), x=value if isinstance(value, np.ndarray) else boxed(value))
    with pytest.raises(ValueError, match="a.npz.*'x'.*pickled Python objects, which are never loaded"):
        interop.read_parameters(tmp_path / "a.npz")
    assert not EXPLODED


def with_member(path, name, content, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr(name, content)


def npy(header, data=b""):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def test_a_pickle_that_would_take_memory_is_refused(tmp_path):
    payload = pickle.dumps(np.array(None), protocol=2)
    assert payload.startswith(b"\x80\x02")
    # a memo index of 2 ** 31 - 1, for which pickle would allocate a table
    big = payload[:2] + b"Nr\xff\xff\xff\x7f0" + payload[2:]
    header = "{'descr': '|O', 'fortran_order': False, 'shape': (), }"
    with_member(tmp_path / "a.npz", "x.npy", npy(header, payload))
    assert files.load(tmp_path / "a.npz").empty == ["x"]
    with_member(tmp_path / "a.npz", "x.npy", npy(header, big))
    with pytest.raises(ValueError, match="never loaded"):
        interop.read_parameters(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "array",
    [np.array("text"), np.array([b"bytes"]), np.zeros(2, "datetime64[s]"), np.zeros(2, "f4,i4"), np.longdouble(1)],
)
def test_dtypes_that_torch_lacks(array, tmp_path):
    np.savez(tmp_path / "a.npz", fine=np.ones(2), **{"l1/W": array})
    with pytest.raises(ValueError, match=r"a\.npz: parameter 'l1/W': expected numbers, found"):
        interop.read_parameters(tmp_path / "a.npz")


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(3,)", "(-1,)", "(1, 2" + ", 1" * 40 + ")", "(2, 'a')", "2"])
def test_npz_whose_header_does_not_fit_its_data(shape, tmp_path):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    with_member(tmp_path / "a.npz", "x.npy", npy(header, bytes(4)))
    with pytest.raises(ValueError, match="a.npz.*x"):
        interop.read_parameters(tmp_path / "a.npz")


def test_archives_that_unpack_to_too_much(tmp_path):
    path = tmp_path / "a.npz"
    zeros = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2500000,), }", bytes(10**7))
    with_member(path, "x.npy", zeros)
    assert interop.read_parameters(path)["x"].shape == (2_500_000,)
    content = path.read_bytes()
    path.write_bytes(content.replace(struct.pack("<I", len(zeros)), struct.pack("<I", 2**31)))
    with pytest.raises(ValueError, match="a.npz.*'x.npy' announces 2147483648 bytes.*cannot hold"):
        interop.read_parameters(path)
    with_member(
        path, "x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", bytes(4)), zipfile.ZIP_LZMA
    )
    with pytest.raises(ValueError, match="a.npz.*'x.npy' is compressed by method 14"):
        interop.read_parameters(path)
    # two entries refer to the same bytes
    with_member(path, "x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }", os.urandom(4000)))
    content = path.read_bytes()
    entry = content[content.index(b"PK\x01\x02") : content.index(b"PK\x05\x06")]
    end = bytearray(content[content.index(b"PK\x05\x06") :])
    end[8:12], end[12:16] = struct.pack("<HH", 2, 2), struct.pack("<I", 2 * len(entry))
    path.write_bytes(content[: content.index(b"PK\x01\x02")] + entry + entry.replace(b"x.npy", b"y.npy") + bytes(end))
    with pytest.raises(ValueError, match="overlap"):
        interop.read_parameters(path)


def test_two_parameters_of_one_name(tmp_path):
    from compatgrad.formats.params import Stored, write

    write(str(tmp_path / "a.params"), [Stored((1,), torch.ones(1))] * 2, ["x", "x"])
    with pytest.raises(ValueError, match="a.params.*both parameter 'x'"):
        interop.read_parameters(tmp_path / "a.params")
    value = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", bytes(4))
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", value)
        archive.writestr("x.npy", value)
    with pytest.raises(ValueError, match="a.npz.*both parameter 'x'"):
        interop.read_parameters(tmp_path / "a.npz")
    message = (GOLDEN / "parameters.protobuf").read_bytes()
    (tmp_path / "a.protobuf").write_bytes(message * 2)
    with pytest.raises(ValueError, match="a.protobuf.*both parameter 'z/affine/W'"):
        interop.read_parameters(tmp_path / "a.protobuf")


def test_h5_files_that_announce_too_much_or_lead_elsewhere(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.h5"

    def refused(match, **kwargs):
        with h5py.File(path, "w") as file:
            file.create_dataset("fine", data=np.ones(3))
            for name in ("l/x", "y"):
                dataset = file.create_dataset(name, **kwargs)
                if name == "y":
                    dataset.attrs["need_grad"] = True  # the attribute makes this a file of nnabla
                    file["fine"].attrs["need_grad"] = file["l/x"].attrs["need_grad"] = True
                    break
                file.flush()
                (tmp_path / "b.h5").write_bytes(path.read_bytes())  # without the attribute, a file of Chainer
        for damaged in (path, tmp_path / "b.h5"):
            with pytest.raises(ValueError, match=f"{damaged.name}.*l/x.*{match}"):
                interop.read_parameters(damaged)

    refused("announces shape", shape=(2**40,), dtype="f4", chunks=(1000,))
    refused("announces chunks", shape=(10,), maxshape=(None,), dtype="f4", chunks=(10**9,))
    refused("text|objects", data="some text")
    refused("objects", shape=(2,), dtype=h5py.vlen_dtype(np.float32))
    (tmp_path / "secret").write_bytes(bytes(80))
    refused("another file", shape=(10,), dtype="f8", external=[(str(tmp_path / "secret"), 0, 80)])
    with h5py.File(path, "w") as file:
        layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "b.h5"), "fine", shape=(3,))
        file.create_virtual_dataset("x", layout)
        file["y"] = h5py.ExternalLink(str(tmp_path / "b.h5"), "fine")
    with pytest.raises(ValueError, match="a.h5.*'x' are in another file"):
        interop.read_parameters(path)


def test_h5_of_half_nnabla(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"], file["z"] = np.ones(2), np.ones(2)
        file["x"].attrs["need_grad"] = True
    with pytest.raises(ValueError, match="a.h5.*'z' has no attribute need_grad"):
        interop.read_parameters(tmp_path / "a.h5")


def test_sparse_arrays_beyond_memory(tmp_path):
    from compatgrad.formats.params import Stored, write

    stored = Stored((2**40, 4), torch.ones(1, 4), "row_sparse", [torch.tensor([3])])
    write(str(tmp_path / "a.params"), [stored], ["embedding"])
    with pytest.raises(ValueError, match="a.params: parameter 'embedding': expected a sparse array of at most"):
        interop.read_parameters(tmp_path / "a.params")


@pytest.mark.parametrize("extension", [e for e in files._FORMATS if "h" not in e] + ["", ".h5", ".nothing"])
def test_foreign_files(extension, tmp_path):
    if extension == ".h5":
        pytest.importorskip("h5py")
    path = tmp_path / ("a" + extension)
    foreign = {
        "empty": b"",
        "text": b"#!/bin/sh\necho no parameters here\n",
        "zeros": bytes(100),
        "png": b"\x89PNG\r\n",
    }
    if extension != ".npz":
        foreign["zip"] = (GOLDEN / "model.npz").read_bytes()
    if extension != ".params":
        foreign["params"] = (GOLDEN / "gluon.params").read_bytes()
    for kind, content in foreign.items():
        if extension in ("", ".nothing") and kind in ("zip", "params"):
            continue  # recognized by their content
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a[.\w]*: expected .*(found|could not read)") as caught:
            interop.read_parameters(path)
        assert str(caught.value).startswith(str(path)), kind


def test_archives_of_other_things(tmp_path):
    for name in ("a.npz", "a.nnp", "a.zip"):
        with_member(tmp_path / name, "readme.txt", "nothing")
        with pytest.raises(ValueError, match=f"{name}.*expected.*(found|cannot be read)"):
            interop.read_parameters(tmp_path / name)
    torch.save({"a": torch.ones(2)}, tmp_path / "a.pt")
    with pytest.raises(ValueError, match="a.pt: expected .*found a zip archive of"):
        interop.read_parameters(tmp_path / "a.pt")
    np.savez(tmp_path / "none.npz")
    with pytest.raises(ValueError, match="none.npz: expected parameters in a .npz archive of Chainer, found none"):
        interop.read_parameters(tmp_path / "none.npz")


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing.npz"):
        interop.read_parameters(tmp_path / "missing.npz")
    with pytest.raises(ValueError, match="expected a file, found a folder"):
        interop.read_parameters(tmp_path)
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(ValueError, match="expected a file, found a device or pipe"):
        interop.read_parameters(tmp_path / "pipe.npz")


def test_h5_without_h5py(monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    for name in ("model.h5", "parameters.h5", "network_h5.nnp"):
        with pytest.raises(ImportError, match=r"h5py: pip install h5py"):
            interop.read_parameters(GOLDEN / name)
    assert interop.read_parameters(GOLDEN / "network_protobuf.nnp")


def test_only_what_is_needed_is_imported():
    code = (
        "import sys; from compatgrad import interop; read = interop.read_parameters\n"
        "def has(*names): return [n for n in names if n in sys.modules]\n"
        "every = 'compatgrad.chainer', 'compatgrad.nnabla', 'compatgrad.mxnet', 'h5py', 'chainer', 'nnabla', 'mxnet'\n"
        f"print(has(*every)); read({str(GOLDEN / 'gluon.params')!r}); print(has(*every))\n"
        f"read({str(GOLDEN / 'model.npz')!r}); print(has(*every))\n"
        f"read({str(GOLDEN / 'parameters.protobuf')!r}); print(has(*every))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:4] == ["[]", "[]", "[]", "['compatgrad.nnabla']"]


# ---- files that were damaged on the way -------------------------------------------------------------------------
@pytest.fixture
def little_memory():
    """Limit the process to 256 MB more memory than it uses already."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def answered(path, content):
    """Return whether the file is read. A failure must be a quick ValueError that names the file, no MemoryError."""
    path.write_bytes(content)
    start = time.process_time()
    try:
        interop.read_parameters(path)
        return True
    except ValueError as error:
        assert str(error).startswith(str(path)), error
        cause = error
        while cause is not None:
            assert not isinstance(cause, MemoryError), cause
            cause = cause.__cause__ or cause.__context__
        return False
    finally:
        assert time.process_time() - start < 5


DAMAGED = [
    "blank.npz",
    "parameters.h5",
    "model.h5",
    "parameters.protobuf",
    "network.nntxt",
    "network_protobuf.nnp",
    "network_h5.nnp",
    "types.params",
    "sparse.params",
    "numpy.params",
    "tensors.safetensors",
]


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files(name, tmp_path, little_memory):
    path = tmp_path / ("damaged" + os.path.splitext(name)[1])
    if name.endswith(".safetensors"):
        interop.write_parameters(path, {"a": torch.arange(3), "b": torch.ones(2, 2), "c": torch.tensor(True)})
        content = path.read_bytes()
    else:
        content = needs(name).read_bytes()
    assert answered(path, content)
    # larger HDF5 files are cut at fewer places, as they are like the smallest one
    for size in range(0, len(content), {"model.h5": 64, "network_h5.nnp": 8}.get(name, 1)):
        read = answered(path, content[:size])
        assert not read or name.endswith((".protobuf", ".nntxt")), f"read, cut to {size} bytes"
    for seed in range(300):
        r = random.Random(seed)
        damaged = bytearray(content)
        for _ in range(r.choice([1, 1, 1, 2, 5, 20])):
            damaged[r.randrange(len(damaged))] ^= 1 << r.randrange(8)
        answered(path, bytes(damaged))
