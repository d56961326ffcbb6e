"""Convolutional sequence to sequence, its batches and its optimizer, on synthetic sentences.

The repository lacks its module for weight normalization (a submodule); a short stand-in is used.
"""

import sys
import types

import _chainer
import _sentences
import chainer
import chainer.functions as F


def convert_with_weight_normalization(link, *args, **kwargs):
    """A link whose filters are products of a direction and a length."""

    class Normalized(link):
        def __init__(self):
            super().__init__(*args, **kwargs)
            with self.init_scope():
                self.g = chainer.Parameter((self.W.array**2).sum(axis=(1, 2, 3)) ** 0.5)

        def forward(self, x):
            scale = self.g / F.sqrt(F.sum(self.W**2, axis=(1, 2, 3)))
            w = self.W * F.broadcast_to(scale[:, None, None, None], self.W.shape)
            return F.convolution_2d(x, w, self.b, self.stride, self.pad)

    return Normalized()


def train(run):
    run.path()
    run.without("nltk", "nltk.translate", "progressbar")
    name = "weight_normalization"
    inner = types.SimpleNamespace(convert_with_weight_normalization=convert_with_weight_normalization)
    sys.modules[name] = types.SimpleNamespace(weight_normalization=inner)
    _chainer.double(run)
    import net
    from seq2seq import seq2seq_pad_concat_convert

    model = net.Seq2seq(3, 20, 20, 12, max_length=12)
    run.perturb(_chainer.arrays(model))
    optimizer = chainer.optimizers.NesterovAG(lr=0.25, momentum=0.9).setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(0.1))
    updater = chainer.training.updaters.StandardUpdater(
        chainer.iterators.SerialIterator(_sentences.pairs(64, 20), 8),
        optimizer,
        converter=seq2seq_pad_concat_convert,
        device=-1,
    )
    for values in _chainer.updates(updater, model):
        words = model.translate([_sentences.pairs(1, 20)[0][0]], max_length=4)
        yield dict(values, words=sum(map(sum, words)))
