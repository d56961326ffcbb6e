"""Layers as objects, loss scaling, and the inspection of graphs with viewers, profilers and tracers."""

import csv
import io

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S
from compatgrad.nnabla.experimental import parametric_function_classes as L
from compatgrad.nnabla.experimental.mixed_precision_training import DynamicLossScalingUpdater
from compatgrad.nnabla.experimental.viewers import SimpleGraph
from compatgrad.nnabla.utils import function_profile, inspection, profiler


@pytest.fixture(autouse=True)
def no_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


class Net(L.Module):
    def __init__(self, seed):
        rng = np.random.RandomState(seed)
        self.conv = L.Conv2d(2, 4, (3, 3), pad=(1, 1), rng=rng)
        self.bn = L.BatchNorm2d(4)
        self.up = L.Deconv2d(4, 6, (2, 2), stride=(2, 2), rng=rng, with_bias=False)
        self.fc = L.Affine(6 * 8 * 8, 3, rng=rng, fix_parameters=True)

    def __call__(self, x, test=False):
        return self.fc(self.up(F.relu(self.bn(self.conv(x), test))))


def test_layers_are_the_functions(tmp_path):
    net = Net(0)
    x = nn.Variable.from_numpy_array(np.random.RandomState(1).randn(2, 2, 4, 4).astype(np.float32))
    y = net(x, test=True)
    y.forward()
    assert list(net.get_parameters()) == ["conv/W", "conv/b", "bn/beta", "bn/gamma", "up/W"]
    params = net.get_parameters(grad_only=False)
    assert {name: p.shape for name, p in params.items() if p.size > 4} == {
        "conv/W": (4, 2, 3, 3),
        "up/W": (4, 6, 2, 2),
        "fc/W": (384, 3),
    }
    h = F.convolution(x, params["conv/W"], params["conv/b"], pad=(1, 1))
    bn = [params[f"bn/{name}"] for name in ("beta", "gamma", "mean", "var")]
    h = F.relu(F.batch_normalization(h, *bn, batch_stat=False))
    h = F.affine(F.deconvolution(h, params["up/W"], stride=(2, 2)), params["fc/W"], params["fc/b"])
    h.forward()
    np.testing.assert_allclose(y.d, h.d, rtol=1e-6)
    path = str(tmp_path / "net.protobuf")
    net.save_parameters(path)
    other = Net(5)
    other.load_parameters(path)
    z = other(x, test=True)
    z.forward()
    np.testing.assert_array_equal(z.d, y.d)
    assert not nn.get_parameters(grad_only=False)
    other.more = L.Embed(3, 2)
    with pytest.raises(ValueError, match="has no parameter more/W"):
        other.load_parameters(path)


def test_the_loss_scale_is_reduced_after_overflows():
    w = nn.Variable.from_numpy_array(np.array([1e-3], np.float32)).apply(need_grad=True)
    solver = S.Sgd(1.0)
    solver.set_parameters({"w": w})
    loss = F.sum(w * 2)
    calls = []
    updater = DynamicLossScalingUpdater(
        solver, loss, lambda: calls.append(updater.scale), scale=2.0**127, N=0, weight_decay=0.5, accum_grad=2
    )
    updater.update()
    assert calls == [2.0**127] * 2 + [2.0**126] * 2 + [2.0**125] * 2
    np.testing.assert_allclose(w.d, 1e-3 - 4 - 5e-4, rtol=1e-6)
    updater.update()
    assert updater.scale == 2.0**126


def net(x):
    h = PF.convolution(x, 4, (3, 3), name="c")
    return F.mean(F.softmax_cross_entropy(PF.affine(F.relu(h), 3, name="f"), nn.Variable((2, 1))))


def test_drawing():
    pytest.importorskip("graphviz")
    x = nn.Variable((2, 1, 5, 5))
    x.name = "input"
    y = net(x)
    text = SimpleGraph(vname_color_map={"input": "yellow"}).create_graphviz_digraph(y).source
    for part in ("Convolution\nc/conv", "fillcolor=pink", "fillcolor=yellow", "label=input", "Affine\nf/affine"):
        assert part in text.replace("\\n", "\n"), part
    assert text.count("->") == 15
    assert "(2, 1, 5, 5)" in SimpleGraph(verbose=True).create_graphviz_digraph(y).source


def test_graph_profiler():
    y = net(nn.Variable((2, 1, 5, 5)))
    solver = S.Sgd()
    solver.set_parameters(nn.get_parameters())
    made = profiler.GraphProfiler(y, device_id=0, ext_name="cpu", solver=solver, n_run=3, time_scale="u")
    made.run()
    file = io.StringIO()
    profiler.GraphProfilerCsvWriter(made, file).write()
    rows = list(csv.reader(io.StringIO(file.getvalue())))
    assert rows[0] == ["num. of run", "3"]
    named = {row[1]: row for row in rows if len(row) == 8}
    assert list(named)[1:] == ["Convolution", "ReLU", "Affine", "SoftmaxCrossEntropy", "Mean"]
    assert named["Convolution"][0] == "c/conv" and named["Convolution"][6:] == ["3", "3"]
    assert float(named["Convolution"][4]) > 0
    assert {row[0] for row in rows if row} >= {"forward all", "backward all", "training_n_run"}
    with pytest.raises(NotImplementedError):
        profiler.convert_time_scale(1, "h")


def test_function_profiles(capsys):
    @function_profile.profile(condition=lambda x, skip=False: not skip, print_freq=2)
    def work(x, skip=False):
        return sorted(range(x))

    for skip in (False, True, True):
        assert work(3, skip=skip) == [0, 1, 2]
    assert work.profiler.ncalls == 1
    assert "Function Profiling" not in capsys.readouterr().out
    work(3)
    out = capsys.readouterr().out
    assert "function work" in out and "{built-in method builtins.sorted}" in out
    assert work.profiler.ncalls == 0


def test_nan_tracer(capsys):
    x = nn.Variable.from_numpy_array(np.array([1.0, 0.0], np.float32))
    x.need_grad = True
    y = F.sum(F.log(x * 1.0) * 2)
    tracer = inspection.NanInfTracer(trace_nan=False)
    with pytest.raises(ValueError, match=r"output 0 of the function 'Log' .*inputs \[\(2,\)\]"), tracer.trace():
        y.forward(function_post_hook=tracer.forward_post_hook)
    assert capsys.readouterr().out.splitlines()[-1] == "\tLog <-- ERROR"
    nan = inspection.NanInfTracer(trace_inf=False, need_details=False)
    with nan.trace():
        y.forward(function_post_hook=nan.forward_post_hook)
        y.backward(function_post_hook=nan.backward_post_hook)
    x.d = [1.0, -1.0]
    with pytest.raises(ValueError, match="has nan or inf as its values.$"), nan.trace():
        y.forward(function_post_hook=nan.forward_post_hook)
    assert inspection.NanInfTracer(False, False).forward_post_hook is None


def test_time_profiler(tmp_path, capsys):
    y = net(nn.Variable((2, 1, 5, 5)))
    tp = inspection.TimeProfiler("cpu", "")
    for _ in range(3):
        with tp.scope("forward"):
            y.forward(function_pre_hook=tp.pre_hook, function_post_hook=tp.post_hook)
        with tp.scope("backward"):
            y.backward(function_pre_hook=tp.pre_hook, function_post_hook=tp.post_hook)
        tp.calc_elapsed_time()
    results = tp.get_all_results()
    assert {scope: len(times) for scope, times in results.items()} == {"summary": 2, "forward": 5, "backward": 5}
    assert all(len(times) == 3 for scope in results.values() for times in scope.values())
    tp.to_csv(str(tmp_path))
    rows = list(csv.DictReader(open(tmp_path / "profile_detail.csv")))
    assert [row["original_key"] for row in rows][:2] == ["Convolution", "ReLU"]
    assert {row["num_forward"] for row in rows} == {row["num_backward"] for row in rows} == {"2"}
    summary = list(csv.DictReader(open(tmp_path / "profile_summary.csv")))
    total = sum(float(row["time_forward"]) for row in rows)
    assert 0 < total < float(summary[0]["time"])
    tp()
    assert "### backward ###" in capsys.readouterr().out
    with pytest.raises(NotImplementedError):
        inspection.TimeProfiler("tpu", "0")


def test_pretty_print(capsys):
    printer = inspection.pprint(net(nn.Variable((2, 1, 5, 5))), forward=True, summary=True, hidden=True, printer=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "c/conv/Convolution(Convolution)"
    assert "\tInputs: [(2, 1, 5, 5), (4, 1, 3, 3), (4,)]" in lines
    assert sum(line.startswith("\t\tStd: ") for line in lines) == 20
    assert [f["name"] for f in printer.functions][1:3] == ["ReLU(ReLU)", "f/affine/Affine(Affine)"]
