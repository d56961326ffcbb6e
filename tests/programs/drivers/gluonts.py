"""DeepAR, a transformer, N-BEATS and a feed-forward network: whole estimators, with the program's trainer."""

import threading

import _mxnet
import mxnet as mx
import numpy as np


def train(run):
    run.path("src")
    _mxnet.streams()
    from gluonts.dataset.common import ListDataset
    from gluonts.model.deepar import DeepAREstimator
    from gluonts.model.n_beats import NBEATSEstimator
    from gluonts.model.simple_feedforward import SimpleFeedForwardEstimator
    from gluonts.model.transformer import TransformerEstimator
    from gluonts.mx.trainer import Trainer
    from gluonts.mx.trainer.callback import Callback

    rng = np.random.RandomState(1)
    series = [
        {"start": "2020-01-01 00:00", "target": 5 + np.sin(np.arange(200) / 4) + rng.normal(size=200) / 10}
        for _ in range(4)
    ]
    update, reports = mx.metric.Loss.update, {}

    class Perturbing(Callback):
        def on_network_initializing_end(self, training_network):
            # initialized again in the order of the parameters, as implementations differ in the order of deferred ones
            training_network.initialize(mx.init.Xavier(), force_reinit=True)
            _mxnet.perturb(run, training_network)

    def reporting(metric, labels, preds):
        """A metric, to which the trainer passes each batch's loss after the step."""
        update(metric, labels, preds)
        reports[threading.get_ident()]({"loss": _mxnet.mean(preds)})

    mx.metric.Loss.update = reporting

    def estimator(kind, **options):
        def body(report):
            reports[threading.get_ident()] = report
            trainer = Trainer(ctx=mx.cpu(), epochs=1, num_batches_per_epoch=999, callbacks=[Perturbing()])
            model = kind(freq="D", prediction_length=6, context_length=12, trainer=trainer, batch_size=4, **options)
            model.train(ListDataset(series, freq="D"))

        return _mxnet.stepwise(body)

    yield from run.together(
        deepar=estimator(DeepAREstimator, num_cells=8, dropout_rate=0.0),
        transformer=estimator(TransformerEstimator, model_dim=8, num_heads=2, dropout_rate=0.0),
        nbeats=estimator(NBEATSEstimator, num_stacks=2, widths=[8], num_block_layers=[2]),
        feedforward=estimator(SimpleFeedForwardEstimator, num_hidden_dimensions=[8]),
    )
