"""The training loop: order, errors, snapshots, triggers and extensions."""

import importlib
import io

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, F, chainer

training, S = chainer.training, chainer.serializers
extensions, triggers = training.extensions, training.triggers
testing = importlib.import_module(chainer.__name__ + ".testing")
parallel = importlib.import_module(f"{training.__name__}.updaters.multiprocess_parallel_updater")
ours_only = pytest.mark.skipif(ORIGINAL, reason="the original fails here")


class Line(chainer.Link):
    """Squared error of a * x + b."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = chainer.Parameter(1.0, shape=())
            self.b = chainer.Parameter(0.5, shape=())

    def forward(self, x, t):
        a, b = (F.broadcast_to(p, x.shape) for p in (self.a, self.b))
        difference = a * x + b - t
        loss = F.sum(difference * difference) / len(x)
        chainer.report({"loss": loss, "n": len(x)}, self)
        return loss


X = np.linspace(-1, 1, 12, dtype=np.float32)
DATA = chainer.datasets.TupleDataset(X, 3 * X - 1)


def make_trainer(tmp_path, stop=(3, "epoch"), seed=0, **kwargs):
    np.random.seed(seed)
    model = Line()
    optimizer = chainer.optimizers.MomentumSGD(0.1).setup(model)
    iterator = chainer.iterators.SerialIterator(DATA, 4)
    updater = training.updaters.StandardUpdater(iterator, optimizer, **kwargs)
    return training.Trainer(updater, stop, out=str(tmp_path / "out")), model


def mock_trainer(*args, **kwargs):
    return testing.get_trainer_with_mock_updater(*args, **kwargs)


def run_counting(trainer, trigger):
    """Runs the trainer; returns the iterations at which the trigger fires."""
    fired = []
    trainer.extend(lambda t: fired.append(t.updater.iteration), name="count", trigger=trigger)
    trainer.run()
    return fired


# trainer


def test_training_fits_the_line(tmp_path):
    trainer, model = make_trainer(tmp_path, (30, "epoch"))
    trainer.run()
    assert trainer.updater.iteration == 90 and trainer.updater.epoch == 30
    np.testing.assert_allclose([model.a.array, model.b.array], [3, -1], atol=0.05)
    assert trainer.observation["main/n"] == 4 and float(trainer.observation["main/loss"].array) < 0.01
    assert trainer.elapsed_time > 0
    with pytest.raises(RuntimeError, match="multiple times"):
        trainer.run()


def test_resumed_training_equals_an_uninterrupted_one(tmp_path):
    def make(stop):
        trainer, model = make_trainer(tmp_path, stop)
        trainer.extend(extensions.LogReport(trigger=(2, "iteration"), filename=None))
        trainer.extend(extensions.ExponentialShift("lr", 0.9))
        return trainer, model

    first, _ = make((7, "iteration"))
    first.run()
    snapshot = io.BytesIO()
    S.save_npz(snapshot, first)
    state = np.random.get_state()

    resumed, model = make((5, "epoch"))
    snapshot.seek(0)
    S.load_npz(snapshot, resumed)
    np.random.set_state(state)
    resumed.run()
    through, expected = make((5, "epoch"))
    through.run()
    assert resumed.updater.iteration == 15 and resumed.elapsed_time > first.elapsed_time
    assert (model.a.array, model.b.array) == (expected.a.array, expected.b.array)
    logs = [t.get_extension("LogReport").log for t in (resumed, through)]
    assert [e["iteration"] for e in logs[0]] == [2, 4, 6, 8, 10, 12, 14]
    for a, b in zip(*logs, strict=True):
        assert a["main/loss"] == pytest.approx(b["main/loss"], rel=1e-6)


def test_extensions_names_priorities_triggers():
    trainer = mock_trainer((2, "iteration"))
    called = []

    class Ext(training.Extension):
        priority = 150

        def __init__(self, tag):
            self.tag = tag

        def initialize(self, trainer):
            called.append((self.tag, "initialize"))

        def __call__(self, trainer):
            called.append((self.tag, trainer.updater.iteration))

        def finalize(self):
            called.append((self.tag, "finalize"))

    @training.make_extension(trigger=(2, "iteration"), priority=training.PRIORITY_WRITER)
    def writer(trainer):
        called.append(("w", trainer.updater.iteration))

    trainer.extend(lambda t: called.append(("l", t.updater.iteration)))
    trainer.extend(Ext("a"), call_before_training=True)
    trainer.extend(Ext("b"), name="b", priority=200)
    trainer.extend(Ext("c"))
    trainer.extend(writer)
    assert isinstance(trainer.get_extension("Ext_1"), Ext) and trainer.get_extension("Ext_1").name == "Ext_1"
    trainer.run()
    assert called == [
        ("b", "initialize"),
        ("a", "initialize"),
        ("c", "initialize"),
        ("a", 0),
        ("b", 1),
        ("a", 1),
        ("c", 1),
        ("l", 1),
        ("w", 2),
        ("b", 2),
        ("a", 2),
        ("c", 2),
        ("l", 2),
        ("b", "finalize"),
        ("a", "finalize"),
        ("c", "finalize"),
    ]
    with pytest.raises(ValueError, match="'?nobody'? not found"):
        trainer.get_extension("nobody")
    with pytest.raises(ValueError, match="training"):
        trainer.extend(lambda t: None, name="training")
    for error, name in ((ValueError, "invoke_before_training"), (TypeError, "anything")):
        with pytest.raises(error, match=name):
            trainer.extend(Ext("d"), **{name: True})
        with pytest.raises(error, match=name):
            training.make_extension(**{name: True})
    with pytest.raises(AttributeError, match="initialize"):
        Ext("e").invoke_before_training  # noqa: B018


def test_exceptions(capsys):
    trainer = mock_trainer((5, "iteration"))
    handled = []

    def bad_handler(trainer, exc, tb):
        raise ValueError("in the handler")

    @training.make_extension(on_error=bad_handler, priority=3)
    def fails(trainer):
        raise KeyError("in the loop")

    @training.make_extension(
        on_error=lambda t, exc, tb: handled.append((exc, tb)), priority=2, finalizer=lambda: handled.append("finalized")
    )
    def other(trainer):
        pass

    trainer.extend(fails)
    trainer.extend(other)
    with pytest.raises(KeyError, match="in the loop") as e:
        trainer.run()
    assert handled[0][0] is e.value and handled[0][1] is not None and handled[1:] == ["finalized"]
    assert trainer.updater.finalize.call_count == 1
    err = capsys.readouterr().err
    assert "in the loop" in err and "in the handler" in err and "Traceback" in err


@ours_only
def test_quiet_exceptions(capsys):
    trainer = mock_trainer((5, "iteration"))

    @training.make_extension(on_error=lambda t, exc, tb: 1 / 0)
    def fails(trainer):
        raise KeyError

    trainer.extend(fails)
    with pytest.raises(KeyError):
        trainer.run(show_loop_exception_msg=False)
    err = capsys.readouterr().err
    assert "main training loop" not in err and "division by zero" in err


# updaters


def test_converter_device_and_loss_func(tmp_path):
    seen = []

    def converter(batch, device):
        seen.append(device)
        x, t = chainer.dataset.concat_examples(batch, device)
        return {"x": x, "t": t}

    trainer, model = make_trainer(
        tmp_path, (1, "iteration"), converter=converter, device=-1, loss_scale=8, loss_func=lambda x, t: model(x, t) * 2
    )
    updater = trainer.updater
    assert updater.device == updater.input_device == chainer.get_device("@numpy")
    a = model.a.array.copy()
    trainer.run()
    assert seen == [-1]
    scaled = model.a.array - a
    trainer, model = make_trainer(tmp_path, (1, "iteration"))
    trainer.run()
    np.testing.assert_allclose(scaled, 2 * (model.a.array - a), rtol=1e-5)
    assert (
        updater.get_iterator("main").dataset is DATA
        and updater.get_optimizer("main") is (updater.get_all_optimizers()["main"])
    )


def test_auto_new_epoch(tmp_path):
    trainer, _ = make_trainer(tmp_path, (2, "epoch"))
    trainer.run()
    optimizer = trainer.updater.get_optimizer("main")
    assert optimizer.epoch == 2 and optimizer.use_auto_new_epoch
    trainer, _ = make_trainer(tmp_path, (2, "epoch"), auto_new_epoch=False)
    trainer.run()
    assert trainer.updater.get_optimizer("main").epoch == 0


def test_parallel_updater_equals_one_device():
    def make(cls, **kwargs):
        model = Line()
        optimizer = chainer.optimizers.SGD(0.1).setup(model)
        iterator = chainer.iterators.SerialIterator(DATA, 4, shuffle=False)
        return cls(iterator, optimizer, **kwargs), model

    one, expected = make(training.updaters.StandardUpdater, loss_func=lambda x, t: expected(x, t) * 2)
    two, model = make(training.updaters.ParallelUpdater, devices={"main": "@numpy", "second": "@numpy"})
    for _ in range(4):
        one.update()
        two.update()
    for name in "ab":
        np.testing.assert_allclose(getattr(model, name).array, getattr(expected, name).array, rtol=1e-5)
    trainer = training.Trainer(two, (1, "iteration"))
    assert two.epoch == 1 and trainer.updater is two
    with pytest.raises(ValueError, match="models or devices"):
        make(training.updaters.ParallelUpdater)
    with pytest.raises(KeyError, match="main"):
        make(training.updaters.ParallelUpdater, devices={"second": "@numpy"})


def test_multiprocess_parallel_updater_says_what_it_needs():
    updater = training.updaters.MultiprocessParallelUpdater
    if not updater.available():
        with pytest.raises(Exception, match="NCCL"):
            updater([], None, devices=[0])
    with pytest.raises(RuntimeError, match="GPU"):
        parallel.gather_params(Line())


# triggers


@pytest.mark.parametrize(
    "trigger,fired",
    [
        ((2, "iteration"), [2, 4, 6]),
        ((0.5, "epoch"), [2, 3, 5, 6]),
        ((1, "epoch"), [3, 6]),
        (training.get_trigger(None), []),
        (lambda t: t.updater.iteration == 4, [4]),
        (triggers.ManualScheduleTrigger([1, 4], "iteration"), [1, 4]),
        (triggers.ManualScheduleTrigger(1.2, "epoch"), [4]),
        (triggers.OnceTrigger(), [1]),
    ],
)
def test_triggers(trigger, fired):
    assert run_counting(mock_trainer((6, "iteration"), iter_per_epoch=3), trigger) == fired


def test_trigger_arguments():
    for cls in (triggers.IntervalTrigger, triggers.ManualScheduleTrigger):
        with pytest.raises(ValueError, match="unit"):
            cls(1, "week")
    for wrong in (3, (3,), (3, "epoch", 1)):
        with pytest.raises(TypeError, match=r"trigger: expected .*a pair such as \(20, 'epoch'\).*, got .*3"):
            training.get_trigger(wrong)
    interval = training.get_trigger((2, "epoch"))
    assert interval.get_training_length() == (2, "epoch") and str(interval) == "IntervalTrigger(2, 'epoch')"
    with pytest.raises(TypeError, match="patients"):
        triggers.EarlyStoppingTrigger(patience=1, patients=2)


def save_and_load(source, target, drop=()):
    values = {}
    source.serialize(S.DictionarySerializer(values))
    for name in drop:
        del values[name]
    target.serialize(S.NpzDeserializer(values))


def test_triggers_are_saved():
    first = mock_trainer((4, "iteration"), iter_per_epoch=3)
    trigger = triggers.ManualScheduleTrigger([2, 4], "iteration")
    run_counting(first, trigger)
    assert trigger.finished
    loaded = triggers.ManualScheduleTrigger([2, 4], "iteration")
    save_and_load(trigger, loaded)
    assert loaded.finished and loaded._previous_iteration == 4

    old = triggers.ManualScheduleTrigger([2, 4], "iteration")
    with pytest.warns(UserWarning, match="not saved"):
        save_and_load(trigger, old, ("previous_iteration", "previous_epoch_detail", "finished"))
    assert not old.finished
    assert run_counting(mock_trainer((1, "iteration"), 3), old) == []

    once = triggers.OnceTrigger(call_on_resume=True)
    assert once(None) and once.finished and not once(None)
    resumed = triggers.OnceTrigger(call_on_resume=True)
    save_and_load(once, resumed)
    assert not resumed.finished and resumed(None) and resumed.finished


def observing(values, **kwargs):
    """A trainer whose observation has one of these values per iteration."""
    trainer = mock_trainer((len(values), "iteration"), **kwargs)
    trainer.extend(lambda t: t.observation.update(x=values[t.updater.iteration - 1]), name="x", priority=500)
    return trainer


def test_best_value_triggers():
    values = [3, 1, 5, 5, 2, 0, 9, 9]
    every_two = (2, "iteration")
    for trigger, fired in (
        (triggers.MaxValueTrigger("x", every_two), [2, 4, 8]),
        (triggers.MinValueTrigger("x", every_two), [2, 6]),
        (triggers.BestValueTrigger("x", lambda best, new: new == best - 3, every_two), [2]),
    ):
        assert run_counting(observing(values), trigger) == fired
    other = triggers.MaxValueTrigger("x", (2, "iteration"))
    save_and_load(trigger, other)
    assert float(other._best_value) == 2.0


def test_early_stopping():
    def stop_at(values, **kwargs):
        trainer = observing(values)
        trainer.stop_trigger = triggers.EarlyStoppingTrigger((1, "iteration"), "x", **kwargs)
        trainer.run()
        return trainer.updater.iteration

    assert stop_at([3, 2, 2, 1, 1, 1, 0, 0], patience=2) == 6
    assert stop_at([3, 2, 2, 1, 1, 1, 0, 0], mode="max", patients=1) == 2
    assert stop_at([3] * 20, max_trigger=(2, "iteration")) == 2
    assert triggers.EarlyStoppingTrigger(monitor="accuracy").best == -np.inf
    assert triggers.EarlyStoppingTrigger().get_training_length() == (100, "epoch")


def test_time_trigger():
    class Clock:
        elapsed_time = 0

    trigger = triggers.TimeTrigger(2)
    fired = []
    for Clock.elapsed_time in (1, 2.5, 3, 4.5, 9, 9.1):
        fired.append(trigger(Clock))
    assert fired == [False, True, False, True, True, True]
