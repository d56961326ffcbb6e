"""Extensions of the trainer: schedules, reports, evaluation, snapshots."""

import importlib
import io
import json
import os
from types import SimpleNamespace

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, chainer, f32
from tests.chainer.test_training import DATA, Line, X, make_trainer, mock_trainer, ours_only

training, S = chainer.training, chainer.serializers
extensions = training.extensions
graph_extension = importlib.import_module(f"{extensions.__name__}.computational_graph")


@pytest.mark.parametrize(
    "shift,values",
    [
        (extensions.ExponentialShift("lr", 0.5, init=8), [8, 4, 2, 1]),
        (extensions.ExponentialShift("lr", 0.5, target=0.5), [1, 0.5, 0.5, 0.5]),
        (extensions.ExponentialShift("lr", 2, init=-1, target=-3), [-1, -2, -3, -3]),
        (extensions.InverseShift("lr", 1, 2, init=36), [36, 9, 4, 2.25]),
        (extensions.LinearShift("lr", (1, 2), (1, 3)), [1, 1, 1.5, 2]),
        (extensions.PolynomialShift("lr", 2, 2, init=4), [4, 1, 0, 0]),
        (extensions.PolynomialShift("lr", 1, 4, init=4, target=2), [4, 3, 2, 2]),
        (extensions.StepShift("lr", 0.5, 2, init=4), [4, 4, 2, 2]),
        (extensions.MultistepShift("lr", 0.5, [2, 3], 4), [4, 4, 2, 1]),
        (extensions.WarmupShift("lr", 1, 2, 5), [1, 3, 5, 5]),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, training.Extension) else None,
)
def test_shifts(shift, values):
    trainer = mock_trainer((3, "iteration"))
    optimizer = chainer.optimizers.SGD(1.0)
    trainer.updater.get_optimizer = {"main": optimizer}.get
    seen = []
    trainer.extend(lambda t: seen.append(optimizer.lr), name="see", priority=1000, call_before_training=True)
    trainer.extend(shift)
    trainer.run()
    np.testing.assert_allclose([*seen[:1], *seen[2:], optimizer.lr], values, rtol=1e-12)

    values = {}
    shift.serialize(S.DictionarySerializer(values))
    assert int(values["_t"]) == 3
    shift.serialize(S.NpzDeserializer(values))
    if "_last_value" in values:
        optimizer.lr = 77
        shift.initialize(trainer)
        assert optimizer.lr == seen[-1] or optimizer.lr == values["_last_value"]


def test_shift_arguments():
    with pytest.raises(ValueError, match="negative rate"):
        extensions.ExponentialShift("lr", -1)
    with pytest.raises(ValueError, match="negative gamma"):
        extensions.InverseShift("lr", -1, 1)


def test_log_and_print(tmp_path):
    out = io.StringIO()
    trainer, model = make_trainer(tmp_path, (2, "epoch"))
    trainer.extend(extensions.LogReport(["main/loss"], postprocess=lambda e: e.update(extra=1)))
    trainer.extend(extensions.LogReport(filename="log_{iteration}", trigger=(4, "iteration")))
    trainer.extend(extensions.observe_lr())
    trainer.extend(extensions.PrintReport(["epoch", "main/loss", "missing", "lr"], "LogReport_1", out=out))
    trainer.extend(extensions.ProgressBar(update_interval=1))
    trainer.run()
    with open(tmp_path / "out" / "log") as f:
        log = json.load(f)
    assert [(e["epoch"], e["iteration"], e["extra"]) for e in log] == [(1, 3, 1), (2, 6, 1)]
    assert set(log[0]) == {"epoch", "iteration", "elapsed_time", "main/loss", "extra"}
    with open(tmp_path / "out" / "log_4") as f:
        (entry,) = json.load(f)
    assert entry["main/n"] == 4 and "lr" in entry
    header, row = out.getvalue().replace("\033[J", "").splitlines()
    assert header == "epoch       main/loss   missing     lr        "
    assert row.split() == ["1", f"{entry['main/loss']:g}", "0.1"] and len(row) == len(header) + 2
    with pytest.raises(TypeError, match="log report"):
        extensions.PrintReport(["epoch"], log_report=3, out=out)(trainer)


def test_progress_bar(capsys):
    class Out(io.StringIO):
        pass

    trainer = mock_trainer((4, "iteration"), iter_per_epoch=2)
    trainer.extend(extensions.ProgressBar(update_interval=2))
    trainer.run()
    out = capsys.readouterr().out
    assert "     total [" + "#" * 25 + "." * 25 + "] 50.00%" in out
    assert "         2 iter, 1 epoch / 4 iterations" in out and "iters/sec" in out
    assert out.count("\033[4A") == 2 and out.endswith("\033[J")


def test_evaluator(tmp_path):
    trainer, model = make_trainer(tmp_path, (2, "epoch"))
    iterator = chainer.iterators.SerialIterator(DATA, 5, repeat=False, shuffle=False)
    modes = []

    def eval_func(x, t):
        modes.append((chainer.config.train, chainer.config.enable_backprop))
        return model(x, t)

    hooked = []
    evaluator = extensions.Evaluator(iterator, model, eval_hook=hooked.append, eval_func=eval_func)
    trainer.extend(evaluator)
    trainer.run()
    assert hooked == [evaluator] * 2 and set(modes) == {(False, False)} and len(modes) == 6
    expected = np.mean([model(X[i : i + 5], 3 * X[i : i + 5] - 1).array for i in (0, 5, 10)])
    np.testing.assert_allclose(trainer.observation["validation/main/loss"], expected, rtol=1e-5)
    evaluator.name = None
    np.testing.assert_allclose(evaluator()["main/loss"], expected, rtol=1e-5)
    with pytest.warns(UserWarning, match="repeat"):
        extensions.Evaluator(chainer.iterators.SerialIterator(DATA, 5), model)
    assert evaluator.get_all_targets() == {"main": model} and evaluator.get_iterator("main") is iterator


def test_evaluator_with_progress_bar(capsys):
    iterator = chainer.iterators.SerialIterator(DATA, 6, repeat=False, shuffle=False)
    extensions.Evaluator(iterator, Line(), progress_bar=True)()
    out = capsys.readouterr().out
    assert "validation [" + "#" * 25 + "." * 25 + "] 50.00%" in out and "         6 / 12 iterations" in out


def test_snapshots(tmp_path):
    trainer, model = make_trainer(tmp_path, (5, "iteration"))
    trainer.extend(extensions.snapshot(n_retains=2), trigger=(1, "iteration"))
    trainer.extend(extensions.snapshot_object(model, lambda t: "model"), trigger=(5, "iteration"))
    removed = []

    def age(t):
        for name in os.listdir(t.out):
            number = int(name.rsplit("_", 1)[-1]) if "iter" in name else 0
            os.utime(os.path.join(t.out, name), (number, number))
        removed.append(len(os.listdir(t.out)))

    trainer.extend(age, priority=-200)
    trainer.run()
    assert sorted(os.listdir(trainer.out)) == ["model", "snapshot_iter_4", "snapshot_iter_5"]
    loaded = Line()
    S.load_npz(os.path.join(trainer.out, "model"), loaded)
    assert loaded.a.array == model.a.array
    resumed, model = make_trainer(tmp_path, (6, "iteration"), seed=1)
    resumed.extend(extensions.snapshot(autoload=True, condition=lambda: False), trigger=(1, "iteration"))
    resumed.extend(lambda t: removed.append(t.updater.iteration), name="see")
    resumed.run()
    assert removed[-1] == 6 and removed[-2] != 5
    with pytest.raises(TypeError, match="together"):
        extensions.snapshot(S.save_npz, writer=extensions.snapshot_writers.SimpleWriter())
    with pytest.warns(DeprecationWarning, match="n_retains"):
        assert extensions.snapshot(num_retain=3).n_retains == 3
    with pytest.raises(TypeError):
        extensions.snapshot(keep=3)


def test_snapshot_on_error(tmp_path):
    trainer, model = make_trainer(tmp_path)

    def fail(t):
        if t.updater.iteration == 2:
            raise KeyError

    trainer.extend(fail, name="fail")
    trainer.extend(extensions.snapshot(snapshot_on_error=True))
    with pytest.raises(KeyError):
        trainer.run(show_loop_exception_msg=ORIGINAL)
    assert os.listdir(trainer.out) == ["snapshot_iter_2"]


@pytest.mark.parametrize(
    "name", ["SimpleWriter", "ThreadWriter", "ProcessWriter", "ThreadQueueWriter", "ProcessQueueWriter"]
)
def test_snapshot_writers(tmp_path, name):
    trainer, model = make_trainer(tmp_path, (3, "iteration"))
    writer = getattr(extensions.snapshot_writers, name)()
    trainer.extend(extensions.snapshot(target=model, writer=writer), trigger=(1, "iteration"))
    trainer.run()
    assert sorted(os.listdir(trainer.out)) == [f"snapshot_iter_{i}" for i in (1, 2, 3)]
    loaded = Line()
    S.load_npz(os.path.join(trainer.out, "snapshot_iter_3"), loaded)
    assert loaded.b.array == model.b.array


@ours_only
def test_snapshot_queue_survives_an_error(tmp_path, capsys):
    def savefun(path, target):
        raise OSError("disk full")

    writer = extensions.snapshot_writers.ThreadQueueWriter(savefun)
    writer("a", str(tmp_path), {})
    writer("b", str(tmp_path), {})
    writer.finalize()
    assert capsys.readouterr().err.count("OSError: disk full") == 2


def test_dump_graph(tmp_path):
    trainer, _ = make_trainer(tmp_path, (2, "iteration"))
    kept = []
    trainer.extend(extensions.dump_graph("main/loss", filename="g.dot"))
    trainer.extend(lambda t: kept.append(t.observation["main/loss"].creator is not None), name="see")
    trainer.run()
    with open(tmp_path / "out" / "g.dot") as f:
        assert f.read().startswith("digraph")
    assert kept == [True, False] and not chainer.config.keep_graph_on_report
    trainer, _ = make_trainer(tmp_path, (2, "iteration"))
    trainer.extend(extensions.DumpGraph("main/n"))
    with pytest.raises(TypeError, match="Variable"):
        trainer.run(show_loop_exception_msg=False)
    assert not chainer.config.keep_graph_on_report
    assert not graph_extension.is_return_code_zero(["no-such-command"])
    assert not graph_extension.is_return_code_zero(["false"])


def test_unchain_variables(tmp_path):
    trainer, _ = make_trainer(tmp_path, (1, "iteration"))
    trainer.extend(extensions.unchain_variables())
    with chainer.using_config("keep_graph_on_report", True):
        trainer.run()
    assert trainer.observation["main/loss"].creator is None


def test_fail_on_nonnumber(tmp_path):
    trainer, model = make_trainer(tmp_path)
    trainer.extend(extensions.FailOnNonNumber())
    model.b.array[...] = np.inf
    with pytest.raises(RuntimeError, match="'main' diverge"):
        trainer.run(show_loop_exception_msg=False)
    assert trainer.updater.iteration == 1


def test_micro_average():
    trainer = mock_trainer((4, "iteration"))
    seen = []
    trainer.extend(lambda t: t.observation.update(n=t.updater.iteration, d=10), name="x", priority=400)
    trainer.extend(extensions.MicroAverage("n", "d", "ratio", (2, "iteration")))
    trainer.extend(lambda t: seen.append(t.observation.get("ratio")), name="see")
    trainer.run()
    assert seen == [None, 0.15, None, 0.35]


def test_micro_average_of_small_integers():
    """NumPy 2 alone would let the sums of int8 numbers overflow."""
    average = extensions.MicroAverage("n", "d", "ratio", (3, "iteration"))
    reporter = chainer.Reporter()
    with reporter:
        for i in (1, 2, 3):
            observation = {"n": np.int8(100), "d": np.array(50, "int8")}
            average(SimpleNamespace(observation=observation, updater=SimpleNamespace(iteration=i)))
    assert reporter.observation == {"ratio": 2.0}


def test_parameter_statistics(tmp_path):
    trainer, model = make_trainer(tmp_path, (2, "iteration"))
    model.name = "line"
    statistics = extensions.ParameterStatistics(
        model, {"two": lambda x: np.array([x[0], 1])}, report_grads=False, prefix="p", trigger=(2, "iteration")
    )
    statistics.register_statistics("max", np.max)
    trainer.extend(statistics)
    values = []
    trainer.extend(lambda t: values.append(float(model.a.array)), name="see", priority=1000)
    trainer.run()
    observed = trainer.observation
    assert {k for k in observed if k.startswith("p/")} == {
        f"p/line/{n}/data/{s}" for n in "ab" for s in ("two/0", "two/1", "max")
    }
    assert observed["p/line/a/data/max"] == pytest.approx(np.mean(values))
    default = extensions.ParameterStatistics(model, trigger=(1, "iteration"), skip_nan_params=True)
    model.a.grad = f32(np.nan)
    reported = {}
    with chainer.Reporter().scope(reported):
        default(trainer)
    assert len(reported) == 2 * 2 * (5 + 7) - 6 and np.isnan(reported["line/a/grad/percentile"])
    assert reported["line/b/data/zeros"] == 0


def test_plots(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    trainer, model = make_trainer(tmp_path, (2, "epoch"))
    shown = []

    def postprocess(figure, axes, summary):
        shown.append([line.get_ydata().tolist() for line in axes.get_lines()])

    report = extensions.PlotReport(["main/loss", "missing"], "epoch", filename="a.png", postprocess=postprocess)
    trainer.extend(report)
    trainer.extend(extensions.VariableStatisticsPlot(model, file_name="b.png", max_sample_size=2))
    for kwargs in (
        {"plot_mean": False},
        {"plot_std": False, "percentile_sigmas": 50},
        {"percentile_sigmas": (), "report_grad": False},
    ):
        filename = f"{len(kwargs)}{'plot_mean' in kwargs}.png"
        trainer.extend(extensions.VariableStatisticsPlot([model.a], filename=filename, **kwargs))
    trainer.run()
    assert {"a.png", "b.png", "1True.png", "2False.png"} <= set(os.listdir(trainer.out))
    assert [len(y) for y in shown[-1]] == [2] and json.loads(json.dumps(report._data)) == {
        "main/loss": [[e, y] for e, y in zip((1, 2), shown[-1][0], strict=True)],
        "missing": [],
    }
    values = {}
    report.serialize(S.DictionarySerializer(values))
    other = extensions.PlotReport("main/loss", filename="a.png")
    other.serialize(S.NpzDeserializer(values))
    assert other._data["main/loss"][1][0] == 2


def test_variable_statistics_plot_arguments():
    with pytest.raises(ValueError, match="at least one"):
        extensions.VariableStatisticsPlot([()])
    with pytest.raises(ValueError, match="Nothing"):
        extensions.VariableStatisticsPlot(Line(), plot_mean=False, plot_std=False, percentile_sigmas=())
