"""SSD, YOLOv3 and FCN: small networks of the program's classes, its targets and losses, in the steps of its scripts."""

import _mxnet
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon


def train(run):
    run.path()
    run.without("requests", "portalocker", "tqdm", "cv2")
    _mxnet.streams()
    from gluoncv.loss import MixSoftmaxCrossEntropyLoss, SSDMultiBoxLoss
    from gluoncv.model_zoo import FCN, SSD, YOLOV3, DarknetV3, resnetv1b, segbase
    from gluoncv.model_zoo.ssd.target import SSDTargetGenerator
    from gluoncv.model_zoo.yolo.yolo_target import YOLOV3PrefetchTargetGenerator

    rng = np.random.RandomState(1)
    corner, size = rng.uniform(0, 30, (1, 3, 2)), rng.uniform(10, 30, (1, 3, 2))
    boxes, ids = mx.nd.array(np.concatenate([corner, corner + size], 2)), mx.nd.array([[[0], [2], [1]]])
    images = mx.nd.array(rng.normal(size=(1, 3, 64, 64)))

    def prepared(net, x):
        net.initialize()
        with autograd.train_mode():
            out = net(x)
        _mxnet.no_dropout(net)
        _mxnet.perturb(run, net)
        return out

    def ssd():
        several = mx.nd.array(rng.normal(size=(4, 3, 64, 64)))  # as the last layers normalize single pixels
        net = SSD(
            "mobilenet0.25",
            64,
            ["relu22_fwd", "relu26_fwd"],
            [32],
            [12, 20, 32, 50],
            [[1, 2, 0.5]] * 3,
            [16, 32, 64],
            ["a", "b", "c"],
        )
        _, _, anchors = prepared(net, several)
        targets = SSDTargetGenerator(iou_thresh=0.5, stds=(0.1, 0.1, 0.2, 0.2), negative_mining_ratio=-1)
        cls_target, box_target, _ = targets(anchors, None, mx.nd.tile(boxes, (4, 1, 1)), mx.nd.tile(ids, (4, 1, 1)))
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.0001, "momentum": 0.9, "wd": 0.0005})
        loss = SSDMultiBoxLoss()
        while True:
            with autograd.record():
                cls, box, _ = net(several)
                total, cls_loss, box_loss = loss([cls], [box], [cls_target], [box_target])
                autograd.backward(total)
            trainer.step(4)
            yield {"cls": _mxnet.mean(cls_loss[0]), "box": _mxnet.mean(box_loss[0])}

    def yolo():
        base = DarknetV3([1] * 5, [8, 8, 16, 16, 32, 32])
        stages = [base.features[:7], base.features[7:9], base.features[9:]]
        net = YOLOV3(
            stages,
            [16, 8, 8],
            [[10, 13, 16, 30], [30, 31, 22, 45], [46, 40, 56, 58]],
            [8, 16, 32],
            ["a", "b", "c"],
            alloc_size=(16, 16),
        )
        _, anchors, offsets, maps, *_ = prepared(net, images)
        targets = YOLOV3PrefetchTargetGenerator(num_class=3)(images, maps, anchors, offsets, boxes, ids, None)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.0001, "momentum": 0.9, "wd": 0.0005})
        while True:
            with autograd.record():
                losses = net(images, boxes, *targets)
                autograd.backward([sum(losses)])
            trainer.step(1)
            yield dict(zip(("obj", "center", "scale", "cls"), map(_mxnet.mean, losses), strict=True))

    def fcn():
        segbase.get_backbone = lambda name, pretrained, **options: resnetv1b.ResNetV1b(  # a short ResNet-50
            resnetv1b.BottleneckV1b, [1, 1, 1, 1], deep_stem=True, stem_width=64, **options
        )
        net = FCN(4, aux=True, pretrained_base=False, crop_size=32)
        small, labels = mx.nd.array(rng.normal(size=(1, 3, 32, 32))), mx.nd.array(rng.randint(-1, 4, (1, 32, 32)))
        prepared(net, small)
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-4, "momentum": 0.9, "wd": 1e-4})
        criterion = MixSoftmaxCrossEntropyLoss(True, aux_weight=0.5)
        while True:
            with autograd.record():
                loss = criterion(*net(small), labels)
            loss.backward()
            trainer.step(1)
            yield {"loss": _mxnet.mean(loss)}

    yield from run.together(ssd=ssd(), yolo=yolo(), fcn=fcn())
