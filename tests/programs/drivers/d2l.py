"""The book's networks on `mx.np` arrays: residual and recurrent networks, sequence to sequence, BERT, anchor boxes."""

import _mxnet
import mxnet as mx
import numpy as np


def train(run):
    run.path()
    run.without("pandas", "requests", "IPython", "matplotlib_inline")
    mx.npx.set_np()
    _mxnet.streams()
    from d2l import mxnet as d2l
    from mxnet import autograd, gluon
    from mxnet.gluon import nn, rnn

    rng = np.random.RandomState(1)
    device = mx.cpu()

    def words(*shape):
        return mx.np.array(rng.randint(0, 20, shape), dtype="int32")

    def prepared(net, *x):
        net.initialize(mx.init.Xavier())
        net(*x)
        _mxnet.no_dropout(net)
        _mxnet.perturb(run, net)
        return net

    def residual():
        net = nn.Sequential()
        net.add(
            nn.Conv2D(8, 3, padding=1),
            nn.BatchNorm(),
            nn.Activation("relu"),
            d2l.Residual(8),
            d2l.Residual(16, use_1x1conv=True, strides=2),
            nn.GlobalAvgPool2D(),
            nn.Dense(5),
        )
        x, y = mx.np.array(rng.normal(size=(6, 3, 8, 8)).astype("f")), mx.np.array(rng.randint(0, 5, 6))
        prepared(net, x)
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.002})
        while True:
            loss, right = d2l.train_batch_ch13(net, x, y, gluon.loss.SoftmaxCrossEntropyLoss(), trainer, [device])
            yield {"loss": loss, "right": right}

    def recurrent():
        state = mx.np.zeros((1, 3, 12))
        net = prepared(d2l.RNNModel(rnn.GRU(12), 20), words(3, 5), [state])
        x, y = words(3, 5), words(3, 5)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
        while True:
            perplexity, _ = d2l.train_epoch_ch8(
                net,
                [(x, y)],
                gluon.loss.SoftmaxCrossEntropyLoss(),
                lambda batch_size: trainer.step(batch_size),
                device,
                False,
            )
            yield {"perplexity": perplexity}

    def bert():
        x = words(3, 8), mx.np.array(rng.randint(0, 2, (3, 8))), mx.np.array([8, 6, 4]), words(3, 2) % 4
        net = prepared(d2l.BERTModel(20, 16, 32, 2, 2, 0.0, max_len=10), *x)
        y = mx.np.ones((3, 2)), words(3, 2), mx.np.array([0, 1, 0])
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
        while True:
            with autograd.record():
                mlm, nsp, losses = d2l._get_batch_loss_bert(
                    net, gluon.loss.SoftmaxCELoss(), 20, *([part] for part in (*x, *y))
                )
            for loss in losses:
                loss.backward()
            trainer.step(1)
            yield {"mlm": _mxnet.mean(mlm[0]), "nsp": _mxnet.mean(nsp[0])}

    class Translator(d2l.AttentionDecoder):
        """The decoder, which is in the book's text but not in its module."""

        def __init__(self):
            super().__init__()
            self.attention, self.embedding = d2l.AdditiveAttention(12, 0), nn.Embedding(20, 10)
            self.rnn, self.dense = rnn.GRU(12, 1), nn.Dense(20, flatten=False)

        def init_state(self, enc_outputs, enc_valid_lens):
            return enc_outputs[0].swapaxes(0, 1), enc_outputs[1], enc_valid_lens

        def forward(self, x, state):
            outputs, hidden, lens = state
            steps = []
            for step in self.embedding(x).swapaxes(0, 1):
                context = self.attention(mx.np.expand_dims(hidden[0][-1], 1), outputs, outputs, lens)
                both = mx.np.concatenate((context, mx.np.expand_dims(step, 1)), -1)
                y, hidden = self.rnn(both.swapaxes(0, 1), hidden)
                steps.append(y)
            return self.dense(mx.np.concatenate(steps)).swapaxes(0, 1), None

    def translation():
        x, lens = (words(3, 6), words(3, 5)), mx.np.array([6, 4, 2])
        net = prepared(d2l.EncoderDecoder(d2l.Seq2SeqEncoder(20, 10, 12, 1), Translator()), *x, lens)
        loss = d2l.MaskedSoftmaxCELoss()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.005})
        y, y_lens = words(3, 5), mx.np.array([5, 3, 2])
        while True:
            with autograd.record():
                value = loss(net(*x, lens)[0], y, y_lens)
            value.backward()
            d2l.grad_clipping(net, 1)
            trainer.step(y_lens.sum())
            yield {"loss": _mxnet.mean(value)}

    def anchors():
        boxes = d2l.multibox_prior(mx.np.zeros((1, 3, 6, 6)), sizes=[0.3, 0.5], ratios=[1, 2, 0.5])
        labels = mx.np.array([[[0, 0.1, 0.08, 0.52, 0.92], [1, 0.55, 0.2, 0.9, 0.88]]])
        predictor = prepared(nn.Dense(boxes.shape[1] * 4), mx.np.ones((1, 7)))
        trainer = gluon.Trainer(predictor.collect_params(), "sgd", {"learning_rate": 0.01})
        while True:
            offset, mask, classes = d2l.multibox_target(boxes, labels)
            with autograd.record():
                loss = gluon.loss.L1Loss()(predictor(mx.np.ones((1, 7))) * mask, offset * mask)
            loss.backward()
            trainer.step(1)
            yield {"loss": _mxnet.mean(loss), "classes": float(classes.sum())}

    yield from run.together(
        residual=residual(), recurrent=recurrent(), bert=bert(), translation=translation(), anchors=anchors()
    )
