"""Chainer's own examples: VAE, DCGAN and WaveNet with their networks and updaters, on made data."""

import importlib.util

import _chainer
import chainer
import numpy as np


def train(run):
    def load(folder, name):
        path = run.repo / folder / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"{folder}_{name}", str(path))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    rng = np.random.RandomState(1)

    def vae():
        net = load("vae", "net")
        model = net.AvgELBOLoss(
            net.make_encoder(64, 4, 32), net.make_decoder(64, 4, 32, binary_check=True), net.make_prior(4), k=2)
        run.perturb(_chainer.arrays(model))
        data = (rng.uniform(size=(128, 64)) > 0.5).astype(run.dtype)
        updater = chainer.training.updaters.StandardUpdater(
            chainer.iterators.SerialIterator(data, 16), chainer.optimizers.Adam().setup(model), loss_func=model)
        return _chainer.updates(updater, model)

    def dcgan():
        net, updater = load("dcgan", "net"), load("dcgan", "updater")
        gen, dis = net.Generator(n_hidden=16, ch=32), net.Discriminator(ch=32)
        run.perturb(_chainer.arrays(gen, dis))
        optimizers = {}
        for name, model in (("gen", gen), ("dis", dis)):
            optimizers[name] = chainer.optimizers.Adam(alpha=0.0002, beta1=0.5).setup(model)
            optimizers[name].add_hook(chainer.optimizer_hooks.WeightDecay(0.0001), "hook_dec")
        data = rng.uniform(0, 255, (64, 3, 32, 32)).astype(run.dtype)
        iterator = chainer.iterators.SerialIterator(data, 8)
        return _chainer.updates(updater.DCGANUpdater(
            models=(gen, dis), device="@numpy", iterator=iterator, optimizer=optimizers), gen, dis)

    def wavenet():
        run.path("wavenet")
        net = load("wavenet", "net")
        encoder = net.UpsampleNet(6, 8, channels=[8, 8], upscale_factors=[4, 4])
        model = chainer.links.Classifier(net.EncoderDecoderModel(encoder, net.WaveNet(2, 3, 16, 8, 16, True)))
        data = []
        for _ in range(16):
            quantized = rng.randint(0, 16, 65)
            one_hot = np.identity(16, dtype=run.dtype)[quantized].T[:, :, None]
            condition = rng.normal(size=(6, 4, 1)).astype(run.dtype)
            data.append((one_hot[:, :-1], condition, quantized[1:, None].astype("i")))
        data = [(x[:, :, 0], c[:, :, 0], t[:, 0]) for x, c, t in data]
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            model(*chainer.dataset.concat_examples(data[:2]))  # sizes that depend on the input
        run.perturb(_chainer.arrays(model))
        updater = chainer.training.updaters.StandardUpdater(
            chainer.iterators.SerialIterator(data, 4), chainer.optimizers.Adam(1e-3).setup(model))
        return _chainer.updates(updater, model)

    yield from run.together(vae=vae(), dcgan=dcgan(), wavenet=wavenet())
