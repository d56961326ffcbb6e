"""NVC-Net: the program's own trainer, with adversarial, spectral and content losses, on short sounds."""

import types

import _nnabla
import nnabla as nn
import numpy as np


def mel(sr, n_fft, n_mels, fmin, fmax):
    """Triangular filters on the mel scale, in place of librosa's."""
    edges = np.linspace(*(2595 * np.log10(1 + f / 700) for f in (fmin, fmax)), n_mels + 2)
    edges = 700 * (10 ** (edges / 2595) - 1)
    f = np.linspace(0, sr / 2, n_fft // 2 + 1)
    widths = np.diff(edges)[:, None]
    return np.maximum(0, np.minimum(((f - edges[:-1, None]) / widths)[:-1], ((edges[1:, None] - f) / widths)[1:]))


def train(run):
    run.path()
    run.without("librosa", "librosa.filters", "seaborn", "soundfile")
    from hparams import hparams
    from model.model import Discriminator, NVCNet
    from train import Trainer
    from utils import audio, optim

    audio.librosa_mel_fn = mel
    nn.seed(0)
    audio.prng = np.random.RandomState(2)
    rng = np.random.RandomState(1)
    hp = hparams
    for name, value in {
        "batch_size": 2,
        "segment_length": 2048,
        "n_speaker_embedding": 8,
        "ndf": 4,
        "num_D": 2,
        "n_layers_D": 2,
        "ngf": 4,
        "n_residual_layers": 2,
        "ratios": [4, 2, 2],
        "n_spk_layers": 2,
        "window_sizes": [256, 128],
        "n_speakers": 3,
        "split_low": 2,
        "split_hight": 4,
        "output_path": ".",
        "sr": 22050,
    }.items():
        setattr(hp, name, value)
    hp.comm = types.SimpleNamespace(rank=0, all_reduce=lambda *_, **__: None)

    class Data:
        size = 16

        @staticmethod
        def next():
            return rng.normal(size=(2, 1, 2048)).cumsum(-1) * 0.02, rng.randint(0, 3, (2, 1))

    gen, dis = NVCNet(hp), Discriminator(hp)
    optimizers = [optim.Optimizer(name="Adam", alpha=1e-4, beta1=0.5, beta2=0.9) for _ in range(2)]
    trainer = Trainer(gen, optimizers[0], dis, optimizers[1], {"train": Data}, rng, hp)
    trainer.callback_on_start()
    for model in (gen, dis):
        _nnabla.perturb(run, model.get_parameters(grad_only=True))
    step = 0
    while True:
        trainer.train_on_batch(step)
        step += 1
        yield {name: meter.val for name, meter in trainer.monitor.meters.items()}
