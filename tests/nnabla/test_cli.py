"""The commands of ``nnabla_cli``, compared with results of nnabla 1.39, and the conversion of network files."""

import csv
import os
import re
import subprocess
import sys
import types
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S
from compatgrad.formats import prototext
from compatgrad.nnabla.core import graph_def, modules
from compatgrad.nnabla.core.variable_batch_size import variable_batch_size
from compatgrad.nnabla.utils import callback, get_file_handle, nnabla_pb2, progress
from compatgrad.nnabla.utils.cli import cli, utility
from compatgrad.nnabla.utils.converter import convert_files
from compatgrad.nnabla.utils.converter.nnabla import NnpExporter, NnpImporter
from compatgrad.nnabla.utils.create_cache import CreateCache
from compatgrad.nnabla.utils.load import load
from compatgrad.nnabla.utils.load_function import _create_function_instance
from compatgrad.nnabla.utils.nnp_graph import NnpLoader, NnpNetworkPass
from compatgrad.nnabla.utils.save import save
from compatgrad.nnabla.utils.save_function import _create_function_nntxt
from tests.golden import nnabla_models, nnabla_parameters

pytest.importorskip("h5py")

# the costs and errors that nnabla's `nnabla_cli train` reports for the files below
COSTS = [
    4.985139936208725,
    1.2332723587751389,
    2.212241470813751,
    0.7963456213474274,
    1.2637851387262344,
    0.5931292586028576,
]
ERRORS = [0.9386473447084427, 1.395585149526596, 0.5416829213500023, 1.063780054450035, 0.602453887462616]
# the results of `forward` and `infer` with the trained network
FORWARD = [4.547794, 3.5753708]
INFERRED = [4.781779, 5.4629]


@pytest.fixture(autouse=True)
def no_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Changes to a temporary folder with the files data.csv and net.nnp."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "state_file_name", "")
    rng = np.random.RandomState(0)
    with open("data.csv", "w") as f:
        f.write("x__0:a,x__1:b,x__2:c,t\n")
        for _ in range(16):
            v = rng.randn(3)
            f.write(",".join(f"{q:.6f}" for q in v) + f",{v.sum() + 1:.6f}\n")
    rng = np.random.RandomState(1)

    def start(shape):
        return rng.randn(*shape) * 0.3

    x, t = nn.Variable((4, 3)), nn.Variable((4, 1))
    h = F.tanh(PF.affine(x, 5, w_init=start, name="a1"))
    y = PF.affine(h, 1, w_init=start, name="a2")
    loss, err = F.squared_error(y, t), F.mean(F.absolute_error(y, t))
    solver = S.Momentum(0.05)
    solver.set_parameters(nn.get_parameters())
    both = {"x": x, "t": t}
    names = {"x": "x", "t": "t"}
    contents = {
        "global_config": {"default_context": nn.Context(["cpu:float"], "CpuCachedArray", "0")},
        "training_config": {"max_epoch": 6, "iter_per_epoch": 4, "save_best": True},
        "networks": [
            {"name": "net", "batch_size": 4, "outputs": {"loss": loss}, "names": both},
            {"name": "val", "batch_size": 4, "outputs": {"err": err}, "names": both},
            {"name": "run", "batch_size": 4, "outputs": {"y": y}, "names": {"x": x}},
        ],
        "datasets": [
            {
                "name": "d",
                "uri": "data.csv",
                "cache_dir": None,
                "variables": both,
                "shuffle": False,
                "batch_size": 4,
                "no_image_normalization": True,
            }
        ],
        "optimizers": [
            {
                "name": "opt",
                "network": "net",
                "dataset": "d",
                "solver": solver,
                "weight_decay": 0.001,
                "lr_decay": 1.0,
                "lr_decay_interval": 1,
                "update_interval": 2,
                "data_variables": names,
                "generator_variables": {},
                "loss_variables": ["loss"],
            }
        ],
        "monitors": [
            {
                "name": "valid_error",
                "network": "val",
                "dataset": "d",
                "data_variables": names,
                "generator_variables": {},
                "monitor_variables": ["err"],
            }
        ],
        "executors": [{"name": "runtime", "network": "run", "data": ["x"], "output": ["y"]}],
    }
    save("net.nnp", contents)
    nn.clear_parameters()
    return tmp_path


def run(monkeypatch, *words):
    nn.clear_parameters()
    monkeypatch.setattr(sys, "argv", ["nnabla_cli", *words])
    cli.main()


def test_training_and_running(folder, monkeypatch):
    run(monkeypatch, "train", "-c", "net.nnp", "-p", "net.nnp", "-o", "out")
    report = [line.split(": ") for line in open("out/monitoring_report.yml").read().splitlines()]
    assert [float(v) for k, *v in report if k == "  cost" for v in v] == pytest.approx(COSTS, rel=1e-4)
    errors = [float(v) for k, *v in report if k == "  valid_error" for v in v]
    assert errors == pytest.approx(ERRORS, rel=1e-4)
    assert sorted(p.name for p in (folder / "out").glob("*.nnp")) == ["results.nnp", "results_current_6.nnp"]
    run(monkeypatch, "forward", "-c", "out/results.nnp", "-d", "data.csv", "-o", "forward")
    rows = list(csv.reader(open("forward/output_result.csv")))
    assert rows[0] == ["x__0:a", "x__1:b", "x__2:c", "t", "y"] and len(rows) == 17
    assert [float(row[4]) for row in rows[1:3]] == pytest.approx(FORWARD, rel=1e-4)
    np.arange(12, dtype=np.float32).tofile("in.bin")
    run(monkeypatch, "infer", "-c", "out/results.nnp", "-b", "4", "-o", "inferred", "in.bin")
    found = [np.fromfile(f"inferred_{i}.bin", np.float32).item() for i in range(4)]
    assert [found[0], found[3]] == pytest.approx(INFERRED, rel=1e-4)


def test_networks_as_text_beside_the_results(folder, monkeypatch):
    run(monkeypatch, "train", "-c", "net.nnp", "-o", "trained")
    with zipfile.ZipFile("net.nnp") as archive:
        assert (folder / "trained/network.nntxt").read_bytes() == archive.read("network.nntxt")


def test_training_without_epochs_saves_the_parameters(folder, monkeypatch):
    with zipfile.ZipFile("net.nnp") as archive:
        text = archive.read("network.nntxt").decode()
    assert "max_epoch: 6" in text
    (folder / "zero.nntxt").write_text(text.replace("max_epoch: 6", "max_epoch: 0"))
    run(monkeypatch, "train", "-c", "zero.nntxt", "-o", "trained")
    with zipfile.ZipFile("trained/results.nnp") as archive:
        assert {"nnp_version.txt", "zero.nntxt", "parameter.h5"} < set(archive.namelist())


def test_forward_writes_texts_as_paths(folder, monkeypatch):
    """Below "." without `--replace_path`, and "././" is never written."""
    rows = (folder / "data.csv").read_text().splitlines()
    more = ["x__0:a,x__1:b,x__2:c,t,file", *(f"{row},{'./' * (i % 2)}im/{i}.csv" for i, row in enumerate(rows[1:]))]
    (folder / "named.csv").write_text("\n".join(more) + "\n")
    (folder / "im").mkdir()
    for i in range(16):
        (folder / f"im/{i}.csv").write_text("0\n")
    run(monkeypatch, "forward", "-c", "net.nnp", "-d", "named.csv", "-o", "out")
    written = list(csv.reader(open("out/output_result.csv")))
    assert [row[4] for row in written[1:4]] == ["./im/0.csv", "./im/1.csv", "./im/2.csv"]


def test_command_line_by_the_path_of_its_file(folder):
    """As programs call it: `python cli.__file__ forward`."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "COMPATGRAD_NO_COMPILE": "1"}
    words = [sys.executable, cli.__file__, "forward", "-c", "net.nnp", "-d", "data.csv", "-o", "out"]
    subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)
    assert (folder / "out/output_result.csv").exists()


def test_training_goes_on(folder, monkeypatch):
    def shorten(text, epochs):
        (folder / "net.nntxt").write_text(text.replace("max_epoch: 6", f"max_epoch: {epochs}"))

    run(monkeypatch, "convert", "net.nnp", "whole.nnp", "--nnp-parameter-nntxt", "-b", "-1")
    text = str(NnpImporter("net.nnp").execute().protobuf)
    shorten(text, 3)
    run(monkeypatch, "train", "-c", "net.nntxt", "-p", "net.nnp", "-o", "out")
    shorten(text, 5)
    run(monkeypatch, "train", "-c", "net.nntxt", "-o", "out", "-r")
    report = open("out/monitoring_report.yml").read()
    assert [line for line in report.splitlines() if not line.startswith(" ")] == ["0:", "1:", "2:", "3:", "4:"]
    costs = [float(line.split(": ")[1]) for line in report.splitlines() if line.startswith("  cost")]
    assert costs == pytest.approx(COSTS[:5], rel=1e-4)  # as without interruption: restores the states
    assert (folder / "out" / "results_current_5.nnp").exists()
    assert not (folder / "out" / "results_current_3.nnp").exists()


def test_forward_writes_images_and_matrices(folder, monkeypatch):
    pytest.importorskip("PIL")
    x = nn.Variable((4, 3))
    image = F.reshape(F.concatenate(*[F.sigmoid(x)] * 4, axis=1), (4, 3, 2, 2))
    matrix = F.reshape(F.concatenate(x, x, axis=1), (4, 2, 3))
    network = {"name": "n", "batch_size": 4, "outputs": {"i": image, "m": matrix}, "names": {"x": x}}
    save(
        "pictures.nnp",
        {"networks": [network], "executors": [{"name": "e", "network": "n", "data": ["x"], "output": ["i", "m"]}]},
    )
    run(monkeypatch, "forward", "-c", "pictures.nnp", "-d", "data.csv", "-o", "out", "--result_outdir", "files")
    rows = list(csv.reader(open("out/output_result.csv")))
    assert rows[0][4:] == ["i", "m"]
    assert rows[5][4:] == ["./files/0_0000/4.png", "./files/1_0000/4.csv"]
    numbers = [float(v) for v in rows[5][:3]]
    found = [[float(v) for v in row] for row in csv.reader(open("out/files/1_0000/4.csv"))]
    np.testing.assert_allclose(found, [numbers, numbers], rtol=1e-5)
    assert (folder / "out/files/0_0000/4.png").stat().st_size


def test_evaluations_and_their_deviation(folder, monkeypatch):
    x = nn.Variable((4, 3))
    y = x + F.randn(0, 1, shape=(4, 3))
    executor = {
        "name": "e",
        "network": "n",
        "data": ["x"],
        "output": ["y"],
        "num_evaluations": 200,
        "repeat_evaluation_type": "std",
    }
    save(
        "noise.nnp",
        {"networks": [{"name": "n", "batch_size": 4, "outputs": {"y": y}, "names": {"x": x}}], "executors": [executor]},
    )
    run(monkeypatch, "forward", "-c", "noise.nnp", "-d", "data.csv", "-o", "out")
    rows = list(csv.reader(open("out/output_result.csv")))
    found = np.array([[float(v) for v in row[4:]] for row in rows[1:]])
    assert found.shape == (16, 3) and 0.7 < found.min() and found.max() < 1.4


def test_parameters_as_text_and_back(folder, monkeypatch):
    run(monkeypatch, "decode_param", "-p", "net.nnp", "-o", "texts")
    assert (folder / "texts/a1~affine~W.txt").read_text().startswith("(3, 5)\n")
    expected = {k: v.d.copy() for k, v in nn.get_parameters().items()}
    run(monkeypatch, "encode_param", "-i", "texts", "-p", "again.h5")
    nn.clear_parameters()
    nn.load_parameters("again.h5")
    found = nn.get_parameters()
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name].d, value, rtol=1e-6)


def test_dump(folder, monkeypatch, capsys):
    run(monkeypatch, "dump", "-F", "-V", "net.nnp")
    lines = capsys.readouterr().out.splitlines()
    assert "  Optimizer[0]: opt" in lines
    assert any(re.match(r"  Executor \[0\]: +\(In\) Data +variable\[0\]: Name:x +Shape:\[-1, 3\]", x) for x in lines)
    assert any("Type: Affine" in line for line in lines) and any("Input1: Name: a1/affine/W" in x for x in lines)
    run(monkeypatch, "dump", "-n", "y", "net.nnp", "-E", "0")
    assert "Variable Name: y                    Shape: [-1, 1]" in capsys.readouterr().out
    run(monkeypatch, "dump", "-v", "--dump-limit", "1", "net.nnp")
    assert "NNP has 3 network(s)." in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["--nnp-parameter-h5", "--nnp-parameter-nntxt", None])
def test_converted_networks_compute_the_same(folder, monkeypatch, kind):
    run(monkeypatch, "convert", "net.nnp", "other.nnp", "-E", "0", *([kind] if kind else []))
    x = np.random.RandomState(3).randn(4, 3)
    outputs = []
    for name in ("net.nnp", "other.nnp"):
        network = NnpLoader(name).get_network("run", batch_size=4)
        network.inputs["x"].d = x
        network.outputs["y"].forward()
        outputs.append(network.outputs["y"].d.copy())
    np.testing.assert_array_equal(*outputs)
    assert NnpLoader("other.nnp").get_network_names() == ["run"]


def test_parts_of_a_network(folder, monkeypatch):
    run(monkeypatch, "convert", "net.nnp", "part.nnp", "-E", "0", "-S", "0-1,2-")
    first, second = (NnpLoader(f"part_{name}.nnp").get_network("run", batch_size=4) for name in ("0_1", "2_2"))
    whole = NnpLoader("net.nnp").get_network("run", batch_size=4)
    x = np.random.RandomState(3).randn(4, 3)
    whole.inputs["x"].d = first.inputs["x"].d = x
    whole.outputs["y"].forward()
    (h,) = first.outputs.values()
    h.forward()
    (i,) = second.inputs.values()
    i.d = h.d
    second.outputs["y"].forward()
    np.testing.assert_allclose(second.outputs["y"].d, whole.outputs["y"].d, rtol=1e-6)


def test_repetitions_are_written_out(tmp_path):
    nnabla_models.files(str(tmp_path))
    executor = tmp_path / "executor.nntxt"
    executor.write_text('executor { name: "e" network_name: "net" parameter_variable { variable_name: "h0" } }')
    converted = NnpImporter(str(tmp_path / "loop.nnp"), str(executor)).execute()
    NnpExporter(converted, -1).execute(str(tmp_path / "flat.nnp"))
    results = []
    for name in ("loop.nnp", "flat.nnp"):
        built = NnpLoader(str(tmp_path / name)).get_network("net", batch_size=2)
        built.inputs["x"].d = np.random.RandomState(1).rand(2, 3, 4)
        built.outputs["y"].forward()
        results.append(built.outputs["y"].d.copy())
    np.testing.assert_array_equal(*results)
    assert [f.name for f in converted.protobuf.network[0].function][:2] == ["RecurrentInput", "cell_Loop_0"]

    executor.write_text(
        'executor { name: "e" network_name: "Training" '
        'parameter_variable { variable_name: "Convolution_2{RepeatStart}/W" } }'
    )
    proto = NnpImporter(str(tmp_path / "imagenet/Resnet-18.nnp"), str(executor)).execute().protobuf
    assert not proto.network[0].repeat_info
    assert [p.variable_name for p in proto.executor[0].parameter_variable] == [
        "Convolution_2[0]/W",
        "Convolution_2[1]/W",
    ]
    functions = [f.name for f in proto.network[0].function]
    assert functions.index("Add2_RepeatStart_0") < functions.index("Convolution_2_RepeatStart_1")
    held = {p.variable_name for p in proto.parameter}
    assert all(v.name in held for v in proto.network[0].variable if v.type == "Parameter")


def test_what_cannot_be_converted(folder, monkeypatch, capsys):
    def arguments(**changes):
        given = {
            "import_format": "NNP",
            "export_format": "NNP",
            "nnp_no_expand_network": False,
            "split": None,
            "nnp_import_executor_index": None,
            "nnp_exclude_parameter": False,
            "nnp_parameter_h5": False,
            "nnp_parameter_nntxt": False,
            "batch_size": 1,
            "config": None,
            "nnp_version": None,
        }
        return SimpleNamespace(**{**given, **changes})

    for changes, error, what in (
        ({"export_format": "TFLITE"}, NotImplementedError, "TFLITE"),
        ({"import_format": "ONNX"}, NotImplementedError, "ONNX"),
        ({"import_format": "TF_PB"}, NotImplementedError, "TF_PB"),
        ({"nnp_version": "1.20.0"}, ValueError, "nnp_version"),
        ({"split": "0-1"}, ValueError, "-E"),
        ({"split": "0-9", "nnp_import_executor_index": 0}, ValueError, "functions 0 to 2"),
        ({"nnp_import_executor_index": 1}, ValueError, "no executor 1"),
    ):
        with pytest.raises(error, match=what):
            convert_files(arguments(**changes), ["net.nnp"], "a.nnp")
    with pytest.raises(ValueError, match="into a folder"):
        convert_files(arguments(), ["net.nnp"], "a.txt")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(SystemExit):
        run(monkeypatch, "convert", "net.nnp", "net.onnx")
    assert "pip install onnx onnxscript" in capsys.readouterr().out and not (folder / "net.onnx").exists()
    with pytest.raises(SystemExit):
        run(monkeypatch)


def test_data_sets_as_caches(folder, monkeypatch, capsys):
    run(monkeypatch, "conv_dataset", "data.csv", "data.cache")
    assert list((folder / "data.cache").glob("cache_*"))
    with pytest.raises(SystemExit):
        run(monkeypatch, "conv_dataset", "data.csv", "data.cache")
    run(monkeypatch, "conv_dataset", "-F", "data.csv", "data.cache")
    assert "Number of Data: 16" in capsys.readouterr().out
    run(monkeypatch, "forward", "-c", "net.nnp", "-d", "data.csv", "-o", "a")
    assert CreateCache.create.__defaults__[0] is True
    run(monkeypatch, "conv_dataset", "data.csv", "data")  # nnabla allows any folder name for a .csv source
    assert sorted(os.listdir("data")) == sorted(os.listdir("data.cache"))
    with pytest.raises(SystemExit):
        run(monkeypatch, "conv_dataset", "data.cache", "other")
    assert "conv_dataset can convert .cache to .cache, not to other" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run(monkeypatch, "conv_dataset", "data.txt", "new.cache")
    assert "not data.txt" in capsys.readouterr().out and not os.path.exists("new.cache")


def test_helpers():
    assert [utility.str_to_num(t) for t in ("12", "2k", "1.5M", "x", "")] == [12, 2048, 1572864, -1, -1]
    assert utility.is_float("1e3") and not utility.is_float("a.png")
    with pytest.raises(ValueError, match="'d' of shape .* variable 'v'"):
        utility.let_data_to_variable(nn.Variable((2, 3)), np.zeros((4, 5)), data_name="d", variable_name="v")


def test_functions_of_messages_and_messages_of_functions():
    x = nn.Variable.from_numpy_array(np.array([[-1.0, 2.0]], np.float32))
    g = graph_def.create_graph_from_variable("n", F.elu(x, alpha=0.5))
    (entry,) = g.default_graph().functions.values()
    message = nnabla_pb2.Function()
    _create_function_nntxt(message, "mine", entry)
    assert (message.name, message.type, message.elu_param.alpha) == ("mine", "ELU", 0.5)
    function = _create_function_instance(nn.get_current_context(), message)
    assert function.arguments == {"alpha": 0.5} and function.name == "ELU"
    y, z = function(x), nn.Variable()
    y.forward()
    np.testing.assert_allclose(y.d, [[0.5 * np.expm1(-1), 2]], rtol=1e-6)
    function.setup([x], [z])
    function.forward([x], [z])
    np.testing.assert_array_equal(z.d, y.d)
    message.type = "Tango"
    with pytest.raises(ValueError, match="'mine' is of the unknown type 'Tango'"):
        _create_function_instance(nn.get_current_context(), message)


@pytest.mark.parametrize("extension", [".nntxt", ".protobuf", ".nnp", ".h5"])
def test_files_by_their_formats(tmp_path, extension):
    path = str(tmp_path / f"a{extension}")
    with get_file_handle.get_file_handle_save(path, extension) as file:
        if extension == ".nnp":
            file.writestr("name", "text")
        elif extension == ".h5":
            file["name"] = np.arange(3)
        else:
            file.write("text" if extension == ".nntxt" else b"text")
    with get_file_handle.get_file_handle_load(None, path, extension) as file:
        if extension == ".nnp":
            with get_file_handle.get_file_handle_load(file, "name", ".nntxt") as member:
                assert member.read() == b"text"
        elif extension == ".h5":
            assert list(file["name"]) == [0, 1, 2]
        else:
            assert file.read() in ("text", b"text")
    assert get_file_handle.get_buf_type("opt_Adam_optimizer.h5.optimizer") == "h5"
    with pytest.raises(ValueError, match="no format"), get_file_handle.get_file_handle_save(path, ".txt"):
        pass


@pytest.mark.parametrize("extension", [".h5", ".protobuf"])
def test_states_of_optimizers(folder, extension):
    info = load(["net.nnp"], prepare_data_iterator=False)
    solver = info.optimizers["opt"].solver
    for name, state in solver.get_states().items():
        for v in state.pstate.values():
            v.d = len(name)
    files = utility.save_optimizer_states("states", extension, info)
    expected = (
        "states_opt_Momentum_optimizer.h5.optimizer" if extension == ".h5" else ("states_optimizer.protobuf.optimizer")
    )
    assert files == [expected]
    with zipfile.ZipFile("state.nnp", "w") as archive:
        archive.write(files[0], files[0][len("states_") :])
    nn.clear_parameters()
    again = load(["net.nnp"], prepare_data_iterator=False)
    utility.load_train_state("state.nnp", again)
    for name, state in again.optimizers["opt"].solver.get_states().items():
        assert state.pstate and all((v.d == len(name)).all() for v in state.pstate.values())


def test_messages_for_googles_modules():
    text_format = pytest.importorskip("google.protobuf.text_format")
    text = (nnabla_parameters.GOLDEN / "network.nntxt").read_text()
    merged, own = nnabla_pb2.NNablaProtoBuf(), nnabla_pb2.NNablaProtoBuf()
    text_format.Merge(text, merged)
    prototext.merge(text, own)
    assert merged == own and text_format.MessageToString(merged) == str(own)
    assert nnabla_pb2.DESCRIPTOR.message_types_by_name["Function"].fields_by_name["name"].number == 1
    assert nnabla_pb2.Solver.DESCRIPTOR.fields_by_name["states"].message_type.GetOptions().map_entry


def test_members_of_network_definitions(tmp_path):
    x = nn.Variable((4, 3))
    graph = graph_def.create_graph_from_variable("n", PF.affine(x, 2), {"x": x})
    network = graph["n"]
    assert "n" in graph and graph.get("other") is None and graph.get("n") is network and network["inputs"] == ["x"]
    (function,) = network.functions.values()
    copy = function.clone()
    copy.inputs.append("more")
    assert function["inputs"] != copy.inputs and copy["type"] == "Affine"
    other = network.clone()
    variable_batch_size(other)
    assert other.variables["x"].shape == (-1, 3) and network.variables["x"].shape == (4, 3) and other.batch_size == 4
    made = graph_def.ProtoGraph({"n": other})
    made["again"] = network
    made["note"] = 3
    made.set_parameters({"affine/W": nn.Variable((3, 2))})
    assert list(made.networks) == ["n", "again"] and made.note == 3 and list(made.get_parameters()) == ["affine/W"]
    changes = NnpNetworkPass()
    changes.drop_function(function.name)
    assert network.promote(None) is network and not network.promote(changes).functions
    other.save(str(tmp_path / "a.nntxt"), include_parameter=True, variable_batch_size=False)
    assert NnpLoader(str(tmp_path / "a.nntxt")).get_network_names() == ["n"]
    assert modules.complete_dims(3, 2) == (3, 3) and modules.get_conv_same_pad((3, 5)) == (1, 2)
    with pytest.raises(ValueError, match="one number or 2"):
        modules.complete_dims((1, 2, 3), 2)


def test_functions_by_their_types():
    x = nn.Variable.from_numpy_array(np.array([[-1.0, 2.0]], np.float32))
    elu = nn.function.ELU(nn.get_current_context(), alpha=0.5)
    y = elu(x)
    y.forward()
    np.testing.assert_allclose(y.d, [[0.5 * np.expm1(-1), 2]], rtol=1e-6)
    assert (elu.name, elu.info.type_name, elu.args) == ("ELU", "ELU", {"alpha": 0.5})
    assert len(nn.function.Split(nn.get_current_context(), 1)(x, n_outputs=2)) == 2
    with pytest.raises(TypeError, match="ELU takes alpha"):
        nn.function.ELU(nn.get_current_context(), beta=1)
    with pytest.raises(AttributeError, match="'Nothing'"):
        nn.function.Nothing  # noqa: B018


def test_hooks_of_a_program_follow_commands(folder, monkeypatch):
    calls = []
    hooks = types.ModuleType("hooks")

    def hook(name, result=None):
        def called(*args, **kwargs):
            calls.append((name, *args, *kwargs.values()))
            return result(*args) if callable(result) else result

        setattr(hooks, name, called)

    monkeypatch.setattr(callback, "callback_list", [hooks])
    for name in ("update_status", "save_train_snapshot", "update_time_train", "process_evaluation_result"):
        hook(name)
    hook("add_train_command_arg", lambda parser: parser.add_argument("--job"))
    hook("result_base", lambda base, kind, folder: os.path.join(folder, "mine") if kind == "best" else None)
    hook("check_training_time", lambda args, config, times, epoch, last: epoch < 2)
    run(monkeypatch, "train", "-c", "net.nnp", "-p", "net.nnp", "-o", "out", "--job", "7")
    assert os.path.exists("out/mine.nnp") and os.path.exists("out/results_current_2.nnp")
    assert not os.path.exists("out/results_current_6.nnp")  # the hook stopped the training
    reported = [args for name, *args in calls if name == "update_status"]
    assert reported[0][0].job == "7"
    states = [args[0] for args in reported if isinstance(args[0], tuple)]
    assert [value for key, value in states if key == "epoch.current"] == [1, 1, 2]
    assert all(args[0] != "finished" for args in reported)
    assert len([c for c in calls if c[0] == "save_train_snapshot"]) == 3
    assert all(c[1] > 0 for c in calls if c[0] == "update_time_train")

    calls.clear()
    run(monkeypatch, "forward", "-c", "out/mine.nnp", "-d", "data.csv", "-o", "forward")
    assert ("process_evaluation_result", "forward", os.path.join("forward", "output_result.csv")) in calls
    assert calls[-1] == ("update_status", "finished", False, None)

    hook("alternative_cli", lambda args: 0)
    run(monkeypatch, "train", "-c", "net.nnp", "-o", "other")
    assert not os.path.exists("other")

    hook("alternative_cli")
    hook("get_timelimit", 1e-9)
    with pytest.raises(SystemExit):
        run(monkeypatch, "train", "-c", "net.nnp", "-o", "late")
    assert ("update_status", "failed", False, None) in calls
