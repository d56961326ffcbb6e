"""MXNet's own examples: the language model, on synthetic words."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon


def train(run):
    run.path("word_language_model")
    from model import RNNModel

    mx.random.seed(0)
    rng = np.random.RandomState(1)
    words = rng.randint(0, 30, (200, 4))

    def language(mode):
        model = RNNModel(mode, 30, 12, 12, 2, dropout=0.0, tie_weights=True)
        model.initialize(mx.init.Xavier())
        hidden = model.begin_state(func=mx.nd.zeros, batch_size=4)
        model(mx.nd.array(words[:6]), hidden)
        parameters = [p for _, p in sorted(model.collect_params().items())]
        # weights are drawn here, as MXNet's random numbers cannot be reproduced
        weights = [rng.uniform(-0.3, 0.3, p.shape).astype("f") for p in parameters]
        for p, a in zip(parameters, run.perturb(weights), strict=True):
            p.set_data(mx.nd.array(a))
        trainer = gluon.Trainer(model.collect_params(), "sgd", {"learning_rate": 1.0, "momentum": 0.0, "wd": 0.0})
        criterion = gluon.loss.SoftmaxCrossEntropyLoss()
        place = 0
        while True:
            data, target = (
                mx.nd.array(words[place : place + 6]),
                mx.nd.array(words[place + 1 : place + 7]).reshape((-1,)),
            )
            hidden = [h.detach() for h in hidden] if isinstance(hidden, list) else hidden.detach()
            with autograd.record():
                output, hidden = model(data, hidden)
                loss = criterion(output, target) / target.size
            loss.backward()
            gluon.utils.clip_global_norm([p.grad() for p in parameters], 0.2 * 6 * 4)
            trainer.step(1)
            place = (place + 6) % 180
            yield {"loss": loss.sum().asscalar()}

    yield from run.together(lstm=language("lstm"), gru=language("gru"), tanh=language("rnn_tanh"))
