"""The convolutional acoustic models with CTC and Gram-CTC, on synthetic sound (the recurrent layer has
no gradient on a CPU).

The repository was committed during a renaming of its modules; the driver maps the names in its imports.
"""

import sys
import types
import unittest.mock

import _chainer
import chainer
import chainer.functions as F
import numpy as np


def train(run):
    _chainer.numpy_for_cupy()
    sys.modules["cupy.cuda"] = unittest.mock.MagicMock()  # the recurrent layer imports it
    run.path()
    run.path("run", "ctc", "cnn")
    run.sources(
        lambda text: text.replace("collections.Sequence", "(tuple, list)"),
        # private helpers that Chainer 7 lacks: sums to and from a shape
        lambda text: text.replace(
            "from chainer.functions.array.broadcast import _backward_one",
            "_backward_one = lambda xp, shape, dtype, g: chainer.utils.sum_to(g, shape)",
        ).replace("from chainer import function, cuda", "import chainer\nfrom chainer import function, cuda"),
    )
    import asr.nn
    from asr.nn import nn

    vars(asr.nn).update(vars(nn))
    sys.modules["asr.stream"] = asr.nn
    import model as models
    from asr.loss.gram_ctc import gram_ctc
    from asr.optimizers import get_optimizer

    rng = np.random.RandomState(1)
    words, length = 8, 12

    def batch():
        x = rng.normal(size=(3, 3, 11, length)).astype(run.dtype)
        t = rng.randint(1, words, (3, 4)).astype("i")
        return x, t, rng.randint(1, words, (3, 4)).astype("i"), np.array([12, 10, 9], "i"), np.array([4, 3, 3], "i")

    def training(model, loss, rate=0.001):
        with chainer.no_backprop_mode():
            model(batch()[0])  # initializes parameters whose sizes depend on the input
        run.perturb(_chainer.arrays(model))
        optimizer = get_optimizer("adam", rate, 0.9).setup(model)
        optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(1))
        optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1e-5))
        while True:
            value = loss(model, *batch())
            optimizer.update(lossfun=lambda value=value: value)
            yield {"loss": value.array}

    def acoustic(architecture):
        return models.build_model(
            types.SimpleNamespace(
                vocab_size=words,
                ndim_audio_features=3,
                ndim_h=6,
                ndim_dense=8,
                kernel_size=(3, 5),
                num_conv_layers=2,
                dropout=0.1,
                weightnorm=False,
                wgain=1,
                num_mel_filters=11,
                architecture=architecture,
            )
        )

    def ctc(model, x, t, _, x_length, t_length):
        return F.connectionist_temporal_classification(model(x), t, 0, x_length, t_length)

    def gram(model, x, t, bigrams, x_length, t_length):
        return gram_ctc(
            model(x),
            chainer.Variable(t),
            chainer.Variable(bigrams),
            0,
            chainer.Variable(x_length),
            chainer.Variable(t_length),
        )

    trainings = {"gram": training(acoustic("zhang"), gram)}
    for architecture in ("zhang", "zhang+residual", "zhang+layernorm", "glu", "relu+layernorm+residual"):
        trainings[architecture] = training(acoustic(architecture), ctc)
    yield from run.together(**trainings)
