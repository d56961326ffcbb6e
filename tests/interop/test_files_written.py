"""Writing parameter files, and the command that converts them."""

import json
import os
import struct
import subprocess
import sys

import numpy as np
import pytest
import torch

from compatgrad import interop
from compatgrad.formats import safetensors as own
from compatgrad.interop import files
from compatgrad.tools import convert
from tests.interop.test_files import EXPECTED, GOLDEN, MODEL, ROOT, boxed, check


# ---- what is written --------------------------------------------------------------------------------------------
def every_type():
    kinds = [*own.DTYPES.values()]
    tensors = {str(kind)[6:]: torch.tensor([[0, 1, 3]]).to(kind) for kind in kinds}
    return {**tensors, "größe/W": torch.zeros(0, 2), "scalar": torch.tensor(2.5), "last": torch.ones(3).t()}


def same(a, b):
    assert list(a) == list(b)
    for name in a:
        assert a[name].dtype == b[name].dtype and a[name].shape == b[name].shape and torch.equal(a[name], b[name]), name


@pytest.mark.parametrize("ending", [".safetensors", ".pt", ".pth"])
def test_written_and_read(ending, tmp_path):
    path = tmp_path / ("a" + ending)
    interop.write_parameters(path, every_type())
    same(
        interop.read_parameters(path) if ending == ".safetensors" else torch.load(path, weights_only=True), every_type()
    )
    assert os.listdir(tmp_path) == [path.name]


def test_tensors_without_names_are_refused_in_words(tmp_path):
    with pytest.raises(TypeError, match="tensors: expected a dict from names to tensors, got list"):
        interop.write_parameters(tmp_path / "a.safetensors", [torch.ones(2)])
    assert not list(tmp_path.iterdir())


def test_safetensors_by_its_definition(tmp_path):
    tensors = {
        "b": torch.tensor([True]),
        "w": torch.tensor([[1.0], [2.0]], dtype=torch.float64),
        "h": torch.ones(2).half(),
    }
    interop.write_parameters(tmp_path / "a.safetensors", tensors)
    content = (tmp_path / "a.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    assert length % 8 == 0
    header = json.loads(content[8 : 8 + length])
    assert header.pop("__metadata__") == {"format": "pt"}
    assert list(header) == ["b", "w", "h"]
    assert header["w"] == {"dtype": "F64", "shape": [2, 1], "data_offsets": [0, 16]}
    assert header["h"] == {"dtype": "F16", "shape": [2], "data_offsets": [16, 20]}
    assert header["b"] == {"dtype": "BOOL", "shape": [1], "data_offsets": [20, 21]}
    assert content[8 + length :] == struct.pack("<dd", 1, 2) + b"\x00\x3c\x00\x3c" + b"\x01"


def test_safetensors_by_its_package(tmp_path):
    package = pytest.importorskip("safetensors.torch")
    interop.write_parameters(tmp_path / "a.safetensors", every_type())
    found = package.load_file(tmp_path / "a.safetensors")
    same({name: found[name] for name in every_type()}, every_type())
    package.save_file({name: t.contiguous() for name, t in every_type().items()}, tmp_path / "b.safetensors")
    found = interop.read_parameters(tmp_path / "b.safetensors")
    same({name: found[name] for name in every_type()}, every_type())


W = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


@pytest.mark.parametrize(
    ("header", "data", "match"),
    [
        ({"w": W}, bytes(3), "expected 4 bytes of data, found 3"),
        ({"w": W}, bytes(5), "expected 4 bytes of data, found 5"),
        ({"w": {**W, "data_offsets": [1, 5]}}, bytes(5), "'w' to begin at byte 0, found 1"),
        ({"w": W, "v": W}, bytes(4), "to begin at byte 4, found 0"),
        ({"w": {**W, "shape": [2]}}, bytes(4), "8 bytes for 'w'"),
        ({"w": {**W, "shape": [2**40, 2**40]}}, bytes(4), "bytes for 'w'"),
        ({"w": {**W, "shape": [-1]}}, bytes(4), "shape of 'w'"),
        ({"w": {**W, "shape": [True]}}, bytes(4), "shape of 'w'"),
        ({"w": {**W, "shape": [2**61] * 10**6}}, bytes(4), "shape of 'w'"),
        ({"w": {**W, "dtype": "F7"}}, bytes(4), "type of 'w'.*found F7"),
        ({"w": {**W, "dtype": []}}, bytes(4), "type of 'w'"),
        ({"w": {**W, "data_offsets": [0]}}, bytes(4), "'w' begin and end"),
        ({"w": {**W, "data_offsets": [4, 0]}}, bytes(4), "'w'"),
        ({"w": {}}, bytes(4), "dtype, shape and data_offsets of 'w'"),
        ({}, b"", "expected parameters.*found none"),
        ([], b"", "found a content that begins with"),
        ("{" + "[" * 100_000, b"", "RecursionError|JSON|Expecting"),
        ('{"w": 1, "w": 2}', b"", "'w' twice"),
    ],
)
def test_invalid_safetensors(header, data, match, tmp_path):
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    with pytest.raises(ValueError, match=f"(?s)a.safetensors.*({match})"):
        interop.read_parameters(tmp_path / "a.safetensors")


@pytest.mark.parametrize("ending", [".safetensors", ".pt"])
def test_only_the_tensors_themselves_are_written(ending, tmp_path):
    large = torch.zeros(100_000)
    tensors = {
        "view": large[:3],
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "transposed": torch.arange(6).reshape(2, 3).t(),
        "conjugate": torch.tensor([1.0, 2.0]).mul(1j).conj().imag,
    }
    path = tmp_path / ("a" + ending)
    interop.write_parameters(path, tensors)
    assert path.stat().st_size < 4000
    found = interop.read_parameters(path) if ending == ".safetensors" else torch.load(path, weights_only=True)
    assert found["transposed"].tolist() == [[0, 3], [1, 4], [2, 5]] and found["conjugate"].tolist() == [-1, -2]
    assert type(found["parameter"]) is torch.Tensor and not found["parameter"].requires_grad


def test_a_refused_write_leaves_the_file_unchanged(tmp_path):
    path = tmp_path / "a.safetensors"
    interop.write_parameters(path, {"x": torch.ones(1)})
    before = path.read_bytes()
    one = torch.ones(1)
    for tensors, match in [
        ({"fine": one, "x": one.to(torch.complex64)}, "'x': safetensors has no type for complex64"),
        ({"fine": one, "x": one.to_sparse()}, "'x' must be a dense tensor"),
        ({"x": torch.empty(1, device="meta")}, "'x' must be a dense tensor"),
        ({"x": np.ones(1)}, "'x' must be a tensor, not ndarray"),
        ({3: one}, "must be a string, not 3"),
        ({"\udc80": one}, "the name is not valid text"),
        ({"__metadata__": one}, "the name '__metadata__' is reserved"),
    ]:
        with pytest.raises(ValueError, match=match):
            interop.write_parameters(path, tensors)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.safetensors"]
    with pytest.raises(ValueError, match="a.txt: expected a name that ends in .safetensors, .pt or .pth, found '.txt'"):
        interop.write_parameters(tmp_path / "a.txt", {"x": one})
    with pytest.raises(FileNotFoundError, match="no such folder.*nowhere"):
        interop.write_parameters(tmp_path / "nowhere" / "a.pt", {"x": one})
    (tmp_path / "folder.pt").mkdir()
    with pytest.raises(ValueError, match="folder.pt: expected a file, found a folder"):
        interop.write_parameters(tmp_path / "folder.pt", {"x": one})


def test_a_failure_while_writing_leaves_nothing(tmp_path, monkeypatch):
    def fail(file, tensors):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    path = tmp_path / "a.safetensors"
    interop.write_parameters(path, {"x": torch.ones(1)})
    monkeypatch.setattr(own, "write", fail)
    for target in (path, tmp_path / "b.safetensors"):
        with pytest.raises(OSError, match="No space"):
            interop.write_parameters(target, {"x": torch.zeros(1)})
    assert os.listdir(tmp_path) == ["a.safetensors"]
    assert interop.read_parameters(path)["x"].item() == 1


def test_a_symbolic_link_stays_a_link(tmp_path):
    os.symlink(tmp_path / "real.pt", tmp_path / "link.pt")
    interop.write_parameters(tmp_path / "link.pt", {"x": torch.ones(1)})
    assert (tmp_path / "link.pt").is_symlink() and torch.load(tmp_path / "real.pt")["x"].item() == 1


# ---- names ------------------------------------------------------------------------------------------------------
def test_rename():
    a, b, c = torch.zeros(1), torch.ones(1), torch.full((1,), 2.0)
    tensors = {"l1/W": a, "l10/W": b, "d0_w": c}
    assert list(files.rename(tensors, [("l1", "fc")])) == ["fc/W", "l10/W", "d0_w"]
    assert list(files.rename(tensors, [("l1/W", "x.weight"), ("d0_", "d.")])) == ["x.weight", "l10/W", "d.w"]
    assert list(files.rename(tensors, [("l1/", ""), ("", "net.")])) == ["W", "net.l10/W", "net.d0_w"]
    swapped = files.rename(tensors, [("l1", "l10"), ("l10", "l1")])
    assert list(swapped) == ["l10/W", "l1/W", "d0_w"] and swapped["l1/W"] is b
    with pytest.raises(ValueError, match="'l1/W' and 'l10/W' would both become 'l10/W'"):
        files.rename(tensors, [("l1", "l10")])
    with pytest.raises(ValueError, match="l=x renames nothing; names begin with 'l1', 'l10', 'd0_w'"):
        files.rename(tensors, [("l", "x")])
    with pytest.raises(ValueError, match="'l1/W' would have no name"):
        files.rename(tensors, [("l1/W", "")])


# ---- the command ------------------------------------------------------------------------------------------------
def test_convert(tmp_path, capsys):
    snapshot, out = tmp_path / "snapshot_iter_6", str(tmp_path / "model.safetensors")
    snapshot.write_bytes((GOLDEN / "trainer.npz").read_bytes())
    arguments = [str(snapshot), out, "--model", "main", "--map", "predictor/l1/W=l1.weight", "--map", "predictor=net"]
    assert convert.main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == "" and printed.out.splitlines() == [
        f"{snapshot}: a .npz archive of Chainer; 9 parameters, 36 values, 148 bytes",
        f"{out}: written, {os.path.getsize(out):,} bytes",
    ]
    found = interop.read_parameters(out)
    original = EXPECTED["trainer.npz"]
    assert {"l1.weight", "net/l1/b", "net/bn/N"} < set(found) and len(found) == 9
    assert found["l1.weight"].flatten().tolist() == original[MODEL + "predictor/l1/W"][2]

    before = os.stat(out)
    assert convert.main(arguments) == 1
    assert "model.safetensors exists: --force replaces it" in capsys.readouterr().err
    assert os.stat(out) == before
    assert convert.main([*arguments, "--force"]) == 0
    assert os.stat(out).st_ino != before.st_ino


def test_convert_lists_parameters_without_a_value(tmp_path, capsys):
    assert convert.main([str(GOLDEN / "blank.npz"), str(tmp_path / "a.pt")]) == 0
    assert "  left out, having no value: l2/W\n" in capsys.readouterr().out
    assert len(torch.load(tmp_path / "a.pt")) == 8
    assert convert.main([str(GOLDEN / "blank.npz"), str(tmp_path / "b.pt"), "--prefix", "l2"]) == 0
    np.savez(tmp_path / "none.npz", x=boxed(None))
    assert convert.main([str(tmp_path / "none.npz"), str(tmp_path / "c.pt")]) == 1
    assert "none.npz: no parameter has a value" in capsys.readouterr().err
    assert not (tmp_path / "c.pt").exists()


def test_list(capsys):
    assert convert.main(["--list", str(GOLDEN / "blank.npz")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("8 parameters, 30 values, 124 bytes")
    assert lines[1].split() == ["l1/W", "(3,", "4)", "float32"]
    assert lines[-1].split() == ["l2/W", "no", "value"]
    assert convert.main(["--list", str(GOLDEN / "trainer.npz")]) == 0
    assert "extensions/LogReport/_log                            no tensor:  expected numbers, found text" in (
        capsys.readouterr().out
    )


def test_control_characters_in_names_are_escaped(tmp_path, capsys):
    np.savez(tmp_path / "a.npz", **{"x\x1b[31m": np.ones(1)})
    assert convert.main(["--list", str(tmp_path / "a.npz")]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "match"),
    [
        ([], 2, "IN"),
        (["a.npz"], 2, "OUT is missing"),
        (["a.npz", "b.pt", "--list"], 2, "--list takes no OUT"),
        (["a.npz", "b.pt", "--map", "x"], 2, "expected OLD=NEW, got 'x'"),
        (["a.npz", "b.pt", "--prefix", "a", "--model", "b"], 2, "not allowed with"),
        (["a.npz", "b.txt"], 1, "b.txt: expected a name that ends in"),
        (["a.npz", "nowhere/b.pt"], 1, "no such folder"),
        (["missing.npz", "b.pt"], 1, "missing.npz"),
        (["a.npz", "b.pt", "--prefix", "y"], 1, "no name begins with 'y'"),
        (["a.npz", "b.pt", "--map", "y=z"], 1, "y=z renames nothing"),
        (["a.npz", "b.pt", "--map", "x="], 1, "would have no name"),
        (["complex.npz", "b.safetensors"], 1, "'x': safetensors has no type"),
    ],
)
def test_convert_refuses(arguments, code, match, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", x=np.ones(2))
    np.savez("complex.npz", x=np.ones(2) * 1j)
    try:
        found = convert.main(arguments)
    except SystemExit as error:
        found = error.code
    assert found == code
    assert match in capsys.readouterr().err
    assert sorted(os.listdir()) == ["a.npz", "complex.npz"]


def test_the_command_itself(tmp_path):
    def run(*arguments):
        command = [sys.executable, "-m", "compatgrad", *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    done = run("convert", GOLDEN / "types.params", tmp_path / "a.pth")
    assert (done.returncode, done.stderr) == (0, "") and "8 parameters" in done.stdout
    check(torch.load(tmp_path / "a.pth"), EXPECTED["types.params"])
    assert "--prefix PREFIX" in run("convert", "--help").stdout
    assert "convert parameter files" in run("--help").stdout
    done = run("convert", GOLDEN / "missing.npz", tmp_path / "b.pth")
    assert done.returncode == 1 and done.stderr.startswith("compatgrad: [Errno 2]") and "Traceback" not in done.stderr


def test_output_that_nobody_reads_to_the_end():
    command = [sys.executable, "-m", "compatgrad", "convert", "--list", str(GOLDEN / "trainer.npz")]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait() == 1


def test_example():
    pytest.importorskip("sklearn", reason="the example learns from scikit-learn's data")
    script = str(ROOT / "examples" / "mixed" / "convert_chainer_snapshot.py")
    command = [sys.executable, "-m", "compatgrad", "run", script, "--epoch", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "11 parameters" in done.stdout and "297 images: all predictions are equal" in done.stdout
