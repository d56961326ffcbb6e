"""Parameter files: files of nnabla 1.39.0 are read, and the written files are identical to nnabla's.

tests/golden/nnabla_parameters.py recorded the files, and checks with real nnabla those that `save_files` writes.
"""

import io
import zipfile

import numpy as np
import pytest

import compatgrad.nnabla as nn
from compatgrad.formats import prototext
from compatgrad.nnabla.utils import nnabla_pb2
from tests.golden import nnabla_parameters
from tests.golden.nnabla_parameters import GOLDEN, held, make_parameters

h5py = pytest.importorskip("h5py")


@pytest.fixture(autouse=True)
def no_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


@pytest.mark.parametrize("name", ["values.h5", "values.protobuf"])
def test_recorded_file_is_read(name):
    make_parameters(nn)
    expected = held(nn)
    nn.clear_parameters()
    nn.load_parameters(str(GOLDEN / name))
    assert held(nn) == expected
    counts = nn.get_parameters()["a/deep/scope/counts"].data
    assert counts.dtype == (np.int64 if name.endswith("h5") else np.float32)


def test_written_files_are_those_of_nnabla(tmp_path):
    nnabla_parameters.save_files(nn, tmp_path)
    assert (tmp_path / "values.protobuf").read_bytes() == (GOLDEN / "values.protobuf").read_bytes()
    with h5py.File(tmp_path / "values.h5") as ours, h5py.File(GOLDEN / "values.h5") as theirs:
        names = []
        theirs.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        assert len(names) == 5
        for name in names:
            assert ours[name].dtype == theirs[name].dtype and ours[name].shape == theirs[name].shape
            np.testing.assert_array_equal(ours[name][()], theirs[name][()])
            assert dict(ours[name].attrs) == dict(theirs[name].attrs)


@pytest.mark.parametrize("name", ["network_h5.nnp", "network_protobuf.nnp", "network.nntxt"])
def test_files_with_a_network(name):
    proto = nn.load_parameters(str(GOLDEN / name))
    assert list(nn.get_parameters(grad_only=False)) == [
        "conv/W",
        "conv/b",
        "bn/beta",
        "bn/gamma",
        "bn/mean",
        "bn/var",
        "affine/W",
        "affine/b",
    ]
    assert list(nn.get_parameters())[2:4] == ["bn/beta", "bn/gamma"]
    assert nn.get_parameters()["conv/W"].shape == (3, 1, 3, 3)
    (network,) = proto.network
    assert network.batch_size == 4 and proto.executor[0].data_variable[0].variable_name == "x"
    convolution = network.function[0]
    assert convolution.type == "Convolution"
    assert convolution.WhichOneof("parameter") == nnabla_pb2.function_field("Convolution")
    assert list(convolution.convolution_param.stride.dim) == [1, 1]


@pytest.mark.parametrize("extension", [".h5", ".protobuf"])
def test_open_files(extension):
    make_parameters(nn)
    expected = held(nn)
    file = io.BytesIO()
    nn.save_parameters(file, extension=extension)
    nn.clear_parameters()
    with nn.parameter_scope("inner"):
        nn.load_parameters(file, extension=extension)
        assert held(nn) == expected
    assert next(iter(nn.get_parameters())) == "inner/z/W"


def test_parameters_given(tmp_path):
    make_parameters(nn)
    chosen = {"renamed/b": nn.get_parameters(grad_only=False)["z/b"]}
    nn.save_parameters(str(tmp_path / "p.h5"), chosen)
    nn.clear_parameters()
    proto = nn.load_parameters(tmp_path / "p.h5", needs_proto=True)
    assert [k for k, *_ in held(nn)] == ["renamed/b"]
    assert [p.variable_name for p in proto.parameter] == ["renamed/b"]
    assert not proto.parameter[0].need_grad


def test_loading_overwrites_in_place():
    make_parameters(nn)
    w = nn.parameter.get_parameter_or_create("z/W", (2, 3))
    w.d = 0
    nn.load_parameters(str(GOLDEN / "values.h5"))
    np.testing.assert_array_equal(w.d, np.linspace(-1, 2, 6, dtype=np.float32).reshape(2, 3))


def broken_files(folder):
    for name in ("values.h5", "values.protobuf", "network_h5.nnp", "network_protobuf.nnp", "network.nntxt"):
        data = (GOLDEN / name).read_bytes()
        for part in (0.3, 0.6, 0.98):
            file = folder / f"{part}_{name}"
            file.write_bytes(data[: int(len(data) * part)])
            yield file
        if name != "network.nntxt":
            file = folder / f"junk_{name}"
            file.write_bytes(b"\xff\x00junk" * 50)
            yield file
    file = folder / "empty.h5"
    file.write_bytes(b"")
    yield file
    # a network whose second parameter has a wrong number of values
    file = folder / "shape.protobuf"
    message = nnabla_pb2.NNablaProtoBuf()
    for name, size, count in (("z/b", 3, 3), ("z/W", 7, 7)):
        message.parameter.add(variable_name=name, data=range(count)).shape.dim.extend([size])
    file.write_bytes(message.SerializeToString())
    yield file
    file = folder / "count.nntxt"
    file.write_text('parameter { variable_name: "z/b" shape { dim: 3 } data: 1 data: 2 }')
    yield file
    file = folder / "scope.nntxt"
    file.write_text('parameter { variable_name: "z" shape { dim: 1 } data: 1 }')
    yield file
    file = folder / "inner.nnp"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("parameter.protobuf", (GOLDEN / "values.protobuf").read_bytes())
        archive.writestr("network.nntxt", "network { name: 3 }")
    yield file


def test_broken_files_change_nothing(tmp_path):
    make_parameters(nn)
    nn.get_parameters()["z/W"].d = 5
    before = held(nn)
    tried = 0
    for file in broken_files(tmp_path):
        with pytest.raises((zipfile.BadZipFile, ValueError, OSError)) as info:
            nn.load_parameters(str(file))
        assert file.name in str(info.value) or "cannot load parameter" in str(info.value)
        assert held(nn) == before, file
        tried += 1
    assert tried == 24


def test_formats_that_do_not_exist(tmp_path):
    make_parameters(nn)
    before = held(nn)
    for name in ("p.npz", "p"):
        with pytest.raises(AssertionError, match=r"\.h5 and \.protobuf"):
            nn.save_parameters(str(tmp_path / name))
    assert len(nn.load_parameters(str(tmp_path / "p.npz")).parameter) == 0
    with pytest.raises(ValueError, match="extension"):
        nn.load_parameters(str(tmp_path / "p"))
    with pytest.raises(FileNotFoundError):
        nn.load_parameters(str(tmp_path / "missing.h5"))
    with pytest.raises(TypeError, match="int"):
        nn.load_parameters(3)
    assert held(nn) == before


def test_messages():
    message = nnabla_pb2.NNablaProtoBuf(version="é\n\"'\\")
    message.training_config.max_epoch = -3
    message.global_config.default_context.backends.extend(["cpu:float", "cpu"])
    optimizer = message.optimizer.add(name="o")
    optimizer.solver.adam_param.alpha = 0.001
    optimizer.solver.states["w"].t = 7
    optimizer.solver.states["w"].state_parameter["m"].data.extend([0.1, -1e-20, float("inf")])
    message.network.add().function.add().relu_param.SetInParent()
    for copy in (
        nnabla_pb2.NNablaProtoBuf(),
        prototext.merge(str(message), nnabla_pb2.NNablaProtoBuf()),
    ):
        if not copy.ListFields():
            copy.ParseFromString(message.SerializeToString())
        assert copy == message and str(copy) == str(message)
        assert copy.training_config.max_epoch == -3
        assert copy.optimizer[0].solver.WhichOneof("parameter") == "adam_param"
        assert copy.optimizer[0].solver.adam_param.alpha == np.float32(0.001)
        assert copy.network[0].function[0].HasField("relu_param")
        assert not copy.network[0].function[0].HasField("affine_param")
    with pytest.raises(AttributeError, match="no field 'lr'"):
        message.lr = 3
    with pytest.raises(TypeError, match="max_epoch.*int64"):
        message.training_config.max_epoch = 0.5
    with pytest.raises(AttributeError, match="in place"):
        message.optimizer = []


def test_text_as_people_write_it():
    text = """
    # a comment
    version: 'a' "b\\tc"  network < name: "n", batch_size: 0x10; variable { shape: { dim: [1, -1] dim: 3 } } >
    global_config: { default_context { backends: ["x", "y"] } } training_config { save_best: True }
    optimizer { solver { weight_decay: 1e-4 lr_decay: 5f } }"""
    message = prototext.merge(text, nnabla_pb2.NNablaProtoBuf())
    assert message.version == "ab\tc" and message.training_config.save_best is True
    assert message.network[0].batch_size == 16
    assert list(message.network[0].variable[0].shape.dim) == [1, -1, 3]
    assert message.global_config.default_context.backends == ["x", "y"]
    assert message.optimizer[0].solver.lr_decay == 5
    for bad, what in (
        ("network {\n name: }", "line 2.*quoted text"),
        ("network { nom: 1 }", "no field 'nom'"),
        ('network { name: "n"', "ends within"),
        ('version "a"', "colon"),
        ("training_config { max_epoch: a }", "int64"),
        ("version: $", r"unexpected '\$'"),
    ):
        with pytest.raises(nnabla_pb2.DecodeError, match=what):
            prototext.merge(bad, nnabla_pb2.NNablaProtoBuf())
