"""SegNet and SSD with the library's losses and target coding, on random images and boxes."""

import _chainer
import chainer
import chainer.functions as F
import numpy as np


def train(run):
    _chainer.uninstalled()
    run.path()
    run.without("chainercv.utils.bbox._nms_gpu_post")  # compiled code for GPUs
    from chainercv.links import PixelwiseSoftmaxClassifier, SegNetBasic
    from chainercv.links.model.segnet import segnet_basic
    from chainercv.links.model.ssd import SSD, GradientScaling, Multibox, Normalize, multibox_loss

    segnet_basic.L = _chainer.Narrow(8)
    rng = np.random.RandomState(1)

    def training(model, data, optimizer):
        with chainer.no_backprop_mode():
            model(*chainer.dataset.concat_examples(data[:2]))  # initializes parameters whose sizes depend on the input
        run.perturb(_chainer.arrays(model))
        optimizer.setup(model)
        optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(rate=0.0005))
        for link in model.links():
            if isinstance(link, Normalize):
                link.scale.update_rule.add_hook(GradientScaling(2))
        updater = chainer.training.updaters.StandardUpdater(chainer.iterators.SerialIterator(data, 4), optimizer)
        return _chainer.updates(updater, model)

    def segmentation():
        data = [
            (rng.uniform(0, 255, (3, 32, 32)).astype(run.dtype), rng.randint(-1, 5, (32, 32)).astype("i"))
            for _ in range(16)
        ]
        weight = rng.uniform(0.5, 2, 5).astype(run.dtype)
        model = PixelwiseSoftmaxClassifier(SegNetBasic(n_class=5), class_weight=weight)
        return training(model, data, chainer.optimizers.MomentumSGD(lr=0.1, momentum=0.9))

    class Extractor(chainer.Chain):
        insize, grids = 32, (8, 4, 1)

        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.conv1 = chainer.links.Convolution2D(3, 8, 3, 4, 1)
                self.normalize = Normalize(8, initial=chainer.initializers.Constant(20))
                self.conv2 = chainer.links.Convolution2D(8, 8, 3, 2, 1)
                self.conv3 = chainer.links.Convolution2D(8, 8, 4)

        def forward(self, x):
            h = F.relu(self.conv1(x))
            middle = F.relu(self.conv2(h))
            return [self.normalize(h), middle, F.relu(self.conv3(middle))]

    class Training(chainer.Chain):
        def __init__(self, ssd):
            super().__init__()
            with self.init_scope():
                self.ssd = ssd

        def forward(self, images, locations, labels):
            loss_loc, loss_conf = multibox_loss(*self.ssd(images), locations, labels, 3)
            chainer.report({"loc": loss_loc, "conf": loss_conf}, self)
            return loss_loc + loss_conf

    def detection():
        ssd = SSD(
            extractor=Extractor(),
            multibox=Multibox(n_class=5, aspect_ratios=((2,), (2, 3), (2,))),
            steps=(4, 8, 32),
            sizes=(6, 12, 20, 30),
            mean=0,
        )
        data = []
        for _ in range(16):
            begin = rng.uniform(0, 16, (2, 2))
            boxes = np.concatenate([begin, begin + rng.uniform(8, 16, (2, 2))], 1).astype(run.dtype)
            located, labels = ssd.coder.encode(boxes, rng.randint(0, 4, 2).astype("i"))
            data.append((rng.uniform(-1, 1, (3, 32, 32)).astype(run.dtype), located.astype(run.dtype), labels))
        return training(Training(ssd), data, chainer.optimizers.MomentumSGD(lr=0.01, momentum=0.9))

    yield from run.together(segnet=segmentation(), ssd=detection())
