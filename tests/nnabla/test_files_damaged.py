"""Damaged network files: errors name the file, and no other file is read or written."""

import os
import zipfile

import numpy as np
import pytest

import compatgrad.nnabla as nn
from compatgrad.nnabla import functions as F
from compatgrad.nnabla import parametric_functions as PF
from compatgrad.nnabla import solvers as S
from compatgrad.nnabla.utils.load import load
from compatgrad.nnabla.utils.nnp_graph import NnpLoader
from compatgrad.nnabla.utils.save import save


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The members of a valid .nnp file, by name; changes to a temporary folder."""
    monkeypatch.chdir(tmp_path)
    nn.clear_parameters()
    x = nn.Variable((4, 3, 4, 4))
    y = PF.affine(F.relu(PF.convolution(x, 2, (2, 2), name="c")), 2, name="a")
    network = {"name": "n", "batch_size": 4, "outputs": {"y": y}, "names": {"x": x}}
    executor = {"name": "e", "network": "n", "data": ["x"], "output": ["y"]}
    save("good.nnp", {"networks": [network], "executors": [executor]})
    with zipfile.ZipFile("good.nnp") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    yield parts
    nn.clear_parameters()


def write(name, parts):
    with zipfile.ZipFile(name, "w") as archive:
        for part, content in parts.items():
            archive.writestr(part, content)


def build_all(file):
    loader = NnpLoader(file)
    return [loader.get_network(name, batch_size=2) for name in loader.get_network_names()]


READERS = {
    "load": lambda file: load(file, batch_size=2),
    "NnpLoader": build_all,
    "graph_def": lambda file: [network() for network in nn.graph_def.load(file).networks.values()],
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "old, new, error",
    [
        (b'type: "ReLU"', b'type: "Nope"', ValueError),
        (b'type: "ReLU"', b'type: "Convolution"', TypeError),
        (b'input: "x"', b'input: "zz"', ValueError),
        (b"base_axis: 1", b"base_axis: 9223372036854775807", (IndexError, ValueError, RuntimeError)),
        (b"dim: 3", b"dim: 5", (ValueError, RuntimeError)),
        (b"network {", b"netwrok {", ValueError),
    ],
)
def test_errors_name_the_file(files, reader, old, new, error):
    assert old in files["network.nntxt"]
    write("bad.nnp", files | {"network.nntxt": files["network.nntxt"].replace(old, new)})
    nn.clear_parameters()
    with pytest.raises(error, match="bad.nnp"):
        READERS[reader]("bad.nnp")


@pytest.mark.parametrize("reader", READERS)
def test_archives_that_cannot_be_read(files, reader):
    whole = open("good.nnp", "rb").read()
    for content in (b"", b"no archive", whole[: len(whole) // 2]):
        with open("bad.nnp", "wb") as file:
            file.write(content)
        with pytest.raises(zipfile.BadZipFile, match="bad.nnp"):
            READERS[reader]("bad.nnp")
    os.mkdir("folder.nnp")
    with pytest.raises(IsADirectoryError, match="folder.nnp"):
        READERS[reader]("folder.nnp")


def test_other_members_of_an_archive_are_not_read(files, tmp_path):
    # a nested .nnp file, which is no network of the archive, must not be read
    write("good2.nnp", files | {"inner.nnp": open("good.nnp", "rb").read(), "../outside.txt": b"x", "/abs.bin": b"x"})
    nn.clear_parameters()
    assert list(load("good2.nnp").networks) == ["n"] and len(nn.get_parameters()) == 4
    assert not (tmp_path.parent / "outside.txt").exists() and not os.path.exists("/abs.bin")
    write("other.nnp", {"nnp_version.txt": b"0.1\n", "inner.nnp": open("good.nnp", "rb").read()})
    assert list(load("other.nnp").networks) == []


@pytest.mark.parametrize("extension", [".h5", ".protobuf", ".nntxt"])
def test_errors_name_damaged_solver_states(tmp_path, extension):
    w = nn.Variable.from_numpy_array(np.ones(2, np.float32), need_grad=True)
    solver = S.Momentum()
    solver.set_parameters({"w": w})
    path = tmp_path / f"bad{extension}"
    path.write_bytes(b"\x07 no states")
    with pytest.raises((OSError, ValueError), match=f"bad{extension}"):
        solver.load_states(str(path))
    assert solver.get_states()["w"].t == 0


def test_bytes_as_file_names_are_refused():
    with pytest.raises(TypeError, match="got bytes"):
        nn.load_parameters(b"x.h5")
