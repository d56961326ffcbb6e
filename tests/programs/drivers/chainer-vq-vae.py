"""VQ-VAE with WaveNet: its network, losses and updater, on synthetic sound, with both kinds of output distribution."""

import _chainer
import chainer
import numpy as np


def train(run):
    run.path()
    run.without("librosa")
    _chainer.double(run)
    from net import VAE, ConditionEmbed, Encoder
    from updaters import VQVAE_StandardUpdater
    from utils import ExponentialMovingAverage, MuLaw
    from WaveNet import WaveNet

    rng = np.random.RandomState(1)
    length, levels = 128, 16

    def sound(logistic):
        raw = np.sin(np.arange(length + 1) * rng.uniform(0.1, 0.5) + rng.uniform(0, 6)).astype(run.dtype)
        quantized = MuLaw(levels).transform(raw)
        one_hot = np.identity(levels, dtype=run.dtype)[quantized].T[:, :, None]
        raw = raw[None, :, None]
        target = raw[:, 1:] if logistic else quantized[1:, None]
        return raw, one_hot[:, :-1], np.int32(rng.randint(2)), target

    def training(logistic):
        wavenet = WaveNet(2, 3, 2, levels, 8, 16, 8, levels, logistic, 3 * 3, -40, 8 + 4, 0)
        decoder = wavenet if logistic else ExponentialMovingAverage(wavenet, 0.99)
        loss = wavenet.calculate_logistic_loss if logistic else chainer.functions.softmax_cross_entropy
        model = VAE(Encoder(8), decoder, ConditionEmbed(2, 4, 8), 8, 5, 0.25, loss)
        if logistic:  # wide, as for narrow ones the loss is the logarithm of a difference of two numbers near 1
            wavenet.proj2.b.array[6:] = 3
        data = [sound(logistic) for _ in range(12)]
        with chainer.no_backprop_mode():
            model(*chainer.dataset.concat_examples(data[:2]))  # initializes parameters whose sizes depend on the input
        run.perturb(_chainer.arrays(model))
        updater = VQVAE_StandardUpdater(
            chainer.iterators.SerialIterator(data, 3), chainer.optimizers.Adam(2e-3).setup(model)
        )
        return _chainer.updates(updater, model)

    yield from run.together(softmax=training(False), logistic=training(True))
