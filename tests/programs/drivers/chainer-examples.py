"""Chainer's own examples: their networks, iterators, converters and updaters, on made data.

The classifiers of images have a sixteenth of their channels.
"""

import collections
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
            net.make_encoder(64, 4, 32), net.make_decoder(64, 4, 32, binary_check=True), net.make_prior(4), k=2
        )
        run.perturb(_chainer.arrays(model))
        data = (rng.uniform(size=(128, 64)) > 0.5).astype(run.dtype)
        updater = chainer.training.updaters.StandardUpdater(
            chainer.iterators.SerialIterator(data, 16), chainer.optimizers.Adam().setup(model), loss_func=model
        )
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
        return _chainer.updates(
            updater.DCGANUpdater(models=(gen, dis), device="@numpy", iterator=iterator, optimizer=optimizers), gen, dis
        )

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
            chainer.iterators.SerialIterator(data, 4), chainer.optimizers.Adam(1e-3).setup(model)
        )
        return _chainer.updates(updater, model)

    def imagenet(name, kind, optimizer):
        net = load("imagenet", name)
        net.L = _chainer.Narrow(16)
        model = getattr(net, kind)()
        images = rng.uniform(size=(4, 3, model.insize, model.insize)).astype(run.dtype)
        data = chainer.datasets.TupleDataset(images, rng.randint(0, 60, 4).astype("i"))
        model(*chainer.dataset.concat_examples(data[:2]))  # sizes that depend on the input
        run.perturb(_chainer.arrays(model))
        optimizer.setup(model)
        updater = chainer.training.updaters.StandardUpdater(chainer.iterators.SerialIterator(data, 2), optimizer)
        return _chainer.updates(updater, model)

    def word2vec(kind, out):
        script = load("word2vec", "train_word2vec")
        words = rng.randint(0, 30, 400).astype("i")
        counts = collections.Counter(words.tolist())
        if out == "hsm":
            tree = chainer.links.BinaryHierarchicalSoftmax.create_huffman_tree(counts)
            loss = chainer.links.BinaryHierarchicalSoftmax(10, tree)
        elif out == "ns":
            loss = chainer.links.NegativeSampling(10, [counts[w] for w in range(30)], 5)
        else:
            loss = script.SoftmaxCrossEntropyLoss(10, 30)
        model = getattr(script, kind)(30, 10, loss)
        run.perturb(_chainer.arrays(model))
        updater = chainer.training.updaters.StandardUpdater(
            script.WindowIterator(words, 3, 20),
            chainer.optimizers.Adam().setup(model),
            converter=script.convert,
            device="@numpy",
        )
        return _chainer.updates(updater, model)

    def captions(kind):
        script = load("image_captioning", "model")
        model = getattr(script, kind)(vocab_size=20, hidden_size=10, dropout_ratio=0.2, ignore_label=-1)
        features = rng.normal(size=(12, 16)).astype(run.dtype)
        sentences = rng.randint(0, 20, (12, 7)).astype("i")
        if kind == "LSTMLanguageModel":
            sentences[::2, 5:] = -1
        model(features[:2], sentences[:2])
        run.perturb(_chainer.arrays(model))
        optimizer = chainer.optimizers.Adam().setup(model)
        while True:
            for place in (0, 4, 8):
                optimizer.update(model, features[place : place + 4], sentences[place : place + 4])
                with chainer.using_config("train", False), chainer.no_backprop_mode():
                    loss = model(features, sentences)
                    words = model.predict(features[:2], bos=0, eos=1, max_caption_length=4)
                yield {"loss": loss.array, "words": words.sum()}

    momentum = chainer.optimizers.MomentumSGD
    yield from run.together(
        vae=vae(),
        dcgan=dcgan(),
        wavenet=wavenet(),
        alex=imagenet("alex", "Alex", momentum(0.01)),
        googlenet=imagenet("googlenet", "GoogLeNet", momentum(0.01)),
        googlenetbn=imagenet("googlenetbn", "GoogLeNetBN", momentum(0.01)),
        resnet50=imagenet("resnet50", "ResNet50", chainer.optimizers.CorrectedMomentumSGD(0.01)),
        resnext50=imagenet("resnext50", "ResNeXt50", momentum(0.01)),
        hierarchical=word2vec("SkipGram", "hsm"),
        negative=word2vec("ContinuousBoW", "ns"),
        words=word2vec("SkipGram", "original"),
        captions=captions("LSTMLanguageModel"),
        ncaptions=captions("NStepLSTMLanguageModel"),
    )
