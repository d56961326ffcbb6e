"""The Estimator of gluon.contrib: what it trains, and what its handlers do."""

import logging

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import gluon, nd
from compatgrad.mxnet.gluon.contrib.estimator import (
    BatchEnd,
    BatchProcessor,
    CheckpointHandler,
    EarlyStoppingHandler,
    EpochEnd,
    Estimator,
    LoggingHandler,
    MetricHandler,
    TrainBegin,
    TrainEnd,
)

RNG = np.random.RandomState(0)
X = RNG.randn(64, 5).astype("float32")
Y = (X.sum(1) > 0).astype("int32")
W = RNG.randn(2, 5).astype("float32") * 0.1


def data():
    return gluon.data.DataLoader(gluon.data.ArrayDataset(X, Y), 16)


def estimator(**options):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(2, in_units=5))
    net.initialize()
    net[0].weight.set_data(nd.array(W))
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    made = Estimator(net, gluon.loss.SoftmaxCELoss(), trainer=trainer, context=mx.cpu(), **options)
    made.logger.handlers.clear()
    return made


def values(metrics):
    return dict(metric.get() for metric in metrics)


def test_numbers_are_the_originals():
    made = estimator()
    made.fit(data(), data(), epochs=3)
    found = values(made.train_metrics + made.val_metrics)
    expected = {"training accuracy": 0.953125, "training softmaxcrossentropyloss": 0.2585471,
                "validation accuracy": 0.96875, "validation softmaxcrossentropyloss": 0.2290528}  # fmt: skip
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5)
    made = estimator()
    made.fit(data(), batches=6)
    np.testing.assert_allclose(values(made.train_metrics)["training softmaxcrossentropyloss"], 0.2982008, rtol=1e-5)


def test_events_come_in_order():
    seen = []

    class Watch(TrainBegin, BatchEnd, EpochEnd, TrainEnd):
        def train_begin(self, estimator, *args, **kwargs):
            seen.append("begin")

        def batch_end(self, estimator, *args, **kwargs):
            assert kwargs["pred"][0].shape == (16, 2) and kwargs["loss"][0].shape == (16,)
            seen.append("batch")
            return len(seen) == 4

        def epoch_end(self, estimator, *args, **kwargs):
            seen.append("epoch")
            return True

        def train_end(self, estimator, *args, **kwargs):
            seen.append("end")

    class Halves(BatchProcessor):
        def fit_batch(self, estimator, train_batch, batch_axis=0):
            return super().fit_batch(estimator, [train_batch[0] / 2, train_batch[1]], batch_axis)

    estimator(batch_processor=Halves()).fit(data(), epochs=5, event_handlers=Watch())
    assert seen == ["begin", "batch", "batch", "batch", "epoch", "end"]


def test_log(caplog):
    made = estimator()
    made.logger.addHandler(caplog.handler)
    handler = LoggingHandler(log_interval=2, metrics=made.train_metrics)
    made.fit(data(), data(), epochs=1, event_handlers=[handler])
    text = caplog.text
    for words in ("using optimizer SGD with current learning rate 0.5000", "Train for 1 epochs.", "Validation Begin",
                  "[Epoch 0][Batch 2][Samples 48] time/interval:", "accuracy: ", "Train finished"):  # fmt: skip
        assert words in text, words
    assert logging.getLogger("Estimator") is not made.logger


def test_checkpoints(tmp_path):
    made = estimator()
    best = {"monitor": made.train_metrics[1], "mode": "min", "save_best": True}
    made.fit(data(), epochs=3, event_handlers=[CheckpointHandler(str(tmp_path), "m", max_checkpoints=2, **best)])
    names = {"m-best", "m-epoch1batch8", "m-epoch2batch12"}
    assert {p.stem for p in tmp_path.glob("*.params")} == {p.stem for p in tmp_path.glob("*.states")} == names
    assert (tmp_path / "m-symbol.json").exists()
    again, resumed = estimator(), CheckpointHandler(str(tmp_path), "m", resume_from_checkpoint=True)
    again.fit(data(), epochs=5, event_handlers=[resumed])
    assert resumed.trained_epoch == 2 and (tmp_path / "m-epoch4batch20.params").exists()
    whole = estimator()
    whole.fit(data(), epochs=5)
    np.testing.assert_allclose(again.net[0].weight.data().asnumpy(), whole.net[0].weight.data().asnumpy(), rtol=1e-6)
    with pytest.raises(ValueError, match="maximum number of epoch 5 reached"):
        estimator().fit(data(), epochs=5, event_handlers=[CheckpointHandler(str(tmp_path), "m", resume_from_checkpoint=True)])  # noqa: E501  # fmt: skip


def test_early_stopping():
    made = estimator()
    handler = EarlyStoppingHandler(made.train_metrics[1], mode="min", patience=2, min_delta=0.03)
    made.fit(data(), epochs=50, event_handlers=[handler])
    assert handler.stopped_epoch == 6
    with pytest.warns(UserWarning, match="smaller values of .* count as better"):
        assert EarlyStoppingHandler(made.train_metrics[1]).monitor_op(1, 2)


def test_bad_input():
    made = estimator()
    for call in (lambda: made.fit(data()), lambda: made.fit([1], epochs=1), lambda: Estimator(made.net, "loss"),
                 lambda: made.fit(data(), epochs=1, event_handlers=[MetricHandler([mx.metric.Accuracy()])]),
                 lambda: made.fit(data(), epochs=1, event_handlers="a"), lambda: LoggingHandler(log_interval="x"),
                 lambda: estimator(batch_processor=3), lambda: CheckpointHandler("/tmp", save_best=True)):  # fmt: skip
        with pytest.raises(ValueError):
            call()


def test_default_handlers_and_their_events():
    made = estimator()
    made.max_epoch, made.max_batch = 1, None
    stopping = EarlyStoppingHandler(made.val_metrics[0])
    kinds = [type(h).__name__.removesuffix("Handler") for h in made._prepare_default_handlers(None, [stopping])]
    assert kinds == ["GradientUpdate", "Metric", "EarlyStopping", "Stopping", "Logging"]
    kinds = [type(h).__name__.removesuffix("Handler") for h in made._prepare_default_validation_handlers(None)]
    assert kinds == ["Metric", "Logging"]
    told = made._categorize_handlers([stopping])  # train begin; epoch, batch begin; batch, epoch, train end
    assert told == ([stopping], [], [], [], [stopping], [stopping])
