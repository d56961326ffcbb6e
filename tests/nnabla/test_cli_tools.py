"""The commands of ``nnabla_cli`` that measure, compare, plot and rewrite."""

import csv
import os
import re
import sys

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
from compatgrad.nnabla.core import graph_def
from compatgrad.nnabla.utils.cli import cli, compare_with_cpu, profile
from compatgrad.nnabla.utils.load import load
from compatgrad.nnabla.utils.nnp_graph import NnpLoader
from compatgrad.nnabla.utils.save import save
from tests.nnabla.test_cli import folder, no_parameters, run  # noqa: F401

pytest.importorskip("h5py")


def rows(path):
    with open(path) as file:
        return list(csv.reader(file))


def test_profile_measures_each_part(folder, monkeypatch):  # noqa: F811
    monkeypatch.setattr(profile, "SECONDS", 0.0)
    monkeypatch.setattr(profile, "CALLS", 2)
    run(monkeypatch, "profile", "-c", "net.nnp", "-o", "out")
    header, *found = rows("out/profile.csv")
    assert header == ["time in ms", "optimizer 'opt' with network 'net'"]
    assert [name for name, _ in found] == [
        "load_dataset", "let_data (x to x)", "let_data (t to t)",
        "forward_function (Affine : Affine)", "forward_function (Tanh : Tanh)",
        "forward_function (SquaredError : SquaredError)", "prepare_backward",
        "backward_function (SquaredError : SquaredError)", "backward_function (Affine : Affine)",
        "backward_function (Tanh : Tanh)", "forward_all", "backward_all", "backward_all(wo param zero_grad)",
        "weight_decay (Momentum)", "update (Momentum)", "monitor_loss",
    ]  # fmt: skip
    assert all(float(ms) > 0 for name, ms in found if name != "prepare_backward")


def test_profile_counts_calls_and_seconds(monkeypatch):
    calls = []
    monkeypatch.setattr(profile, "SECONDS", 0.0)
    result = profile.profile(None, "part", lambda: calls.append(1), {}, lambda: calls.append(2))
    assert list(result) == ["part"] and calls == [1, 2] * 101


def test_comparison_of_two_files(folder, monkeypatch):  # noqa: F811
    run(monkeypatch, "compare_with_cpu", "-c", "net.nnp", "-c2", "net.nnp", "-o", "out")
    header, *same = rows("out/compare_with_cpu.csv")
    assert header == ["1-Correl", "optimizer 'opt' with network 'net'"]
    names = [name for name, _ in same]
    assert names[0].startswith("forward_function (@net/Affine, ")
    assert any(n.startswith("backward_function (") for n in names)
    assert names[-4:] == [
        f"update (Momentum, {p})" for p in ("a1/affine/W", "a1/affine/b", "a2/affine/W", "a2/affine/b")
    ]
    assert all(float(v) == 0 for _, v in same)

    def doubled(x, y):  # makes all results of the second file wrong
        return real(x, y * 2)

    real = compare_with_cpu.calc_norm_diff
    monkeypatch.setattr(compare_with_cpu, "calc_norm_diff", doubled)
    run(monkeypatch, "compare_with_cpu", "-c", "net.nnp", "-c2", "net.nnp", "-o", "out")
    found = [float(v) for _, v in rows("out/compare_with_cpu.csv")[1:]]
    assert len(found) == len(same) and set(found) == {0.5, 0.0} and found.count(0.5) > 10  # 0: one element


def test_norm_of_a_difference():
    a, b = np.array([[0.0, 2.0], [4.0, 6.0]]), np.array([[0.0, 2.0], [4.0, 10.0]])
    assert compare_with_cpu.calc_norm_diff(a, b) == pytest.approx(
        (np.sqrt(3) / np.std(b), np.sqrt(5), np.std(b), np.sqrt(3))
    )
    assert compare_with_cpu.calc_norm_diff(a * 0, b * 0) == (0, 0, 0, 0)


def test_files_that_cannot_be_compared(folder, monkeypatch, capsys):  # noqa: F811
    x = nn.Variable((2, 3))
    save("other.nnp", {"networks": [{"name": "n", "batch_size": 2, "outputs": {"y": F.relu(x)}, "names": {"x": x}}]})
    with pytest.raises(SystemExit):
        run(monkeypatch, "compare_with_cpu", "-c", "net.nnp", "-c2", "other.nnp", "-o", "out")
    assert "net.nnp and other.nnp differ" in capsys.readouterr().out


def test_plots(tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.series.txt").write_text("0 1.5\n10 0.5\n")
    (tmp_path / "b.timer.txt").write_text("0 60.0 1 60.0\n10 30.0 1 120.0\n")
    shown = []
    savefig = pyplot.Figure.savefig
    monkeypatch.setattr(pyplot.Figure, "savefig", lambda self, path: (savefig(self, path), shown.append(self.gca())))
    run(monkeypatch, "plot_series", "a.series.txt", "-l", "A", "-o", "a.png", "-x", "epochs", "-T", "10", "-L", "-1")
    run(monkeypatch, "plot_timer", "b.timer.txt", "-o", "b.png", "-u", "m", "-e")
    axes, timer = shown
    assert {"a.png", "b.png"} < set(os.listdir()) and axes.get_xlabel() == "epochs"
    assert axes.get_ylim()[1] == 10 and axes.get_xlim()[0] == -1
    (line,) = axes.get_lines()
    assert line.get_label() == "A" and line.get_xydata().tolist() == [[0, 1.5], [10, 0.5]]
    assert timer.get_ylabel() == "Total elapsed time [minutes]"
    assert timer.get_lines()[0].get_xydata().tolist() == [[0, 1], [10, 2]]


def test_functions_of_files(folder, monkeypatch, capsys):  # noqa: F811
    run(monkeypatch, "function_info", "net.nnp", "-x", "Tanh")
    assert capsys.readouterr().out.splitlines()[-4:] == ["AbsoluteError", "Affine", "Mean", "SquaredError"]
    run(monkeypatch, "function_info", "-o", "all.txt")
    everything = open("all.txt").read().split()
    assert len(everything) == 228 and everything == sorted(everything)  # nnabla 1.39 has 228 functions
    with pytest.raises(SystemExit):
        run(monkeypatch, "function_info", "-f", "ONNX")
    assert "all_support" in capsys.readouterr().out


def product(bias_shape=(1, 4), shared=False):
    """A matrix product in the form that converters from other formats produce."""
    x = nn.Variable((1, 3))
    w = nn.parameter.get_parameter_or_create("w", (3, 4), np.arange(12, dtype=np.float32).reshape(3, 4))
    b = nn.parameter.get_parameter_or_create("b", (4,), np.arange(4, dtype=np.float32))
    z = F.batch_matmul(F.reshape(x, (1, 1, 3)), F.reshape(w, (1, 3, 4)))
    y = F.add2(F.reshape(z, (1, 4)), F.reshape(b, bias_shape))
    return x, F.add2(F.relu(y), F.reshape(z, (1, 4))) if shared else F.relu(y)


@pytest.mark.parametrize("shared", [False, True])
def test_optimized_networks_compute_the_same(tmp_path, monkeypatch, shared, no_parameters):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    x, y = product(shared=shared)
    x.d = [[1, -2, 3]]
    y.forward()
    save(
        "net.nnp",
        {
            "networks": [{"name": "n", "batch_size": 1, "outputs": {"y": y}, "names": {"x": x}}],
            "executors": [{"name": "e", "network": "n", "data": ["x"], "output": ["y"]}],
        },
    )
    run(monkeypatch, "optimize", "net.nnp", "small.nnp")
    graph = graph_def.load("small.nnp")
    types = [f.type for f in graph.default_graph().forward_sequence()]
    assert types == ["Affine", "ReLU"] if not shared else "Affine" not in types and types.count("BatchMatmul") == 1
    found = graph(x)
    found.forward()
    np.testing.assert_array_equal(found.d, y.d)
    assert list(graph.executors) == ["e"]


def test_what_cannot_be_optimized(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["nnabla_cli", "optimize", "net.pb", "small.pb"])
    with pytest.raises(SystemExit):
        cli.main()
    assert "net.pb is no .nnp file" in capsys.readouterr().out


def test_commands_are_those_of_nnabla(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["nnabla_cli", "--help"])
    with pytest.raises(SystemExit):
        cli.main()
    listed = capsys.readouterr().out
    assert all(name in listed for name in ("profile", "compare_with_cpu", "plot_series", "plot_timer", "optimize"))


def test_onnx_models_of_files(tmp_path, monkeypatch, no_parameters):  # noqa: F811
    onnx = pytest.importorskip("onnx", reason="needs the extra compatgrad[onnx]")
    pytest.importorskip("onnxscript", reason="needs the extra compatgrad[onnx]")
    monkeypatch.chdir(tmp_path)
    x, z = nn.Variable((2, 3, 8, 8)), nn.Variable((2, 5))
    h = F.relu(PF.batch_normalization(PF.convolution(x, 4, (3, 3)), batch_stat=False))
    y = PF.affine(F.concatenate(F.reshape(F.max_pooling(h, (2, 2)), (2, -1)), F.tanh(z)), 2)
    save("net.nnp", {
        "networks": [{"name": "n", "batch_size": 2, "outputs": {"y": y}, "names": {"x": x, "z": z}}],
        "executors": [{"name": "e", "network": "n", "data": ["z", "x"], "output": ["y"]}],
    })  # fmt: skip
    run(monkeypatch, "convert", "net.nnp", "net.onnx", "-b", "3", "-c", "opset_18")
    assert not nn.get_parameters()
    model = onnx.load("net.onnx")
    assert [i.name for i in model.graph.input] == ["z", "x"] and [o.name for o in model.graph.output] == ["y"]
    assert model.opset_import[0].version == 18 and model.producer_name == "nnabla"
    arrays = {"x": np.random.randn(3, 3, 8, 8).astype("f"), "z": np.random.randn(3, 5).astype("f")}
    network = NnpLoader("net.nnp").get_network("n", batch_size=3)
    for name, array in arrays.items():
        network.inputs[name].d = array
    network.outputs["y"].forward()
    found = onnx.reference.ReferenceEvaluator(model).run(None, arrays)[0]
    np.testing.assert_allclose(found, network.outputs["y"].d, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("old, new, what", [
    ('"@n/Tanh"\n  type: "Tanh"', '"@n/Tanh"\n  type: "Tango"', "unknown type 'Tango'"),
    ("base_axis: 1", "base_axis: 77", "function '@n/Affine' of network 'n': .*base_axis must be"),
    ('network_name: "n"', 'network_name: "m"', "'e' names the network 'm'"),
])  # fmt: skip
def test_errors_of_broken_files_name_the_file(tmp_path, no_parameters, old, new, what):  # noqa: F811
    x = nn.Variable((2, 3))
    y = PF.affine(F.tanh(x), 2)
    save(str(tmp_path / "net.nntxt"), {
        "networks": [{"name": "n", "batch_size": 2, "outputs": {"y": y}, "names": {"x": x}}],
        "executors": [{"name": "e", "network": "n", "data": ["x"], "output": ["y"]}],
    })  # fmt: skip
    text = (tmp_path / "net.nntxt").read_text()
    broken = re.sub(re.escape(old).replace("\\\n\\ \\ ", r"\s+").replace("\\\n", r"\s+"), new, text)
    assert broken != text
    (tmp_path / "bro\u00e9ken.nntxt").write_text(broken)
    with pytest.raises((ValueError, RuntimeError), match="(?s)bro\u00e9ken.nntxt: .*" + what):
        load([str(tmp_path / "bro\u00e9ken.nntxt")])
