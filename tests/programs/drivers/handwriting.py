"""Recognition of lines by a CNN, LSTMs and CTC, and segmentation into words by an SSD."""

import _mxnet
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon


def train(run):
    run.path()
    _mxnet.on_cpu()
    _mxnet.streams()
    run.without(
        "skimage",
        "skimage.draw",
        "mxboard",
        "cv2",
        "leven",
        "ocr.utils.iam_dataset",
        "ocr.utils.draw_text_on_image",
        "ocr.utils.draw_box_on_image",
    )
    from ocr import handwriting_line_recognition as lines
    from ocr import word_and_line_segmentation as words

    np.seterr(all="warn")  # the program sets it to raise
    vision = gluon.model_zoo.vision

    def untrained(pretrained, ctx):
        """A ResNet-34 with fewer and narrower layers."""
        net = vision.ResNetV1(vision.BasicBlockV1, [1, 1, 1, 1], [64, 16, 24, 32, 48])
        net.initialize(mx.init.Xavier(), ctx=ctx)
        net(mx.nd.zeros((1, 3, 32, 32)))
        return net

    lines.resnet34_v1 = words.resnet34_v1 = untrained
    rng = np.random.RandomState(1)
    images = mx.nd.array(rng.normal(size=(4, 1, 32, 64)))

    def recognition():
        net = lines.Network(rnn_hidden_states=12, rnn_layers=2, max_seq_len=8, ctx=mx.cpu())
        net(images)
        _mxnet.no_dropout(net)
        _mxnet.perturb(run, net)
        labels = np.full((4, 8), -1.0)
        labels[:, :3] = rng.randint(0, len(lines.alphabet_dict), (4, 3))
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 1e-3, "clip_gradient": 2})
        ctc_loss = gluon.loss.CTCLoss()
        while True:
            with autograd.record():
                loss = ctc_loss(net(images), mx.nd.array(labels))
            loss.backward()
            trainer.step(4)
            yield {"loss": _mxnet.mean(loss)}

    def segmentation():
        net = words.SSD(2, mx.cpu())
        squares = mx.nd.array(rng.normal(size=(1, 1, 128, 128)))
        net(squares)
        _mxnet.perturb(run, net)
        corner, size = rng.uniform(0, 0.5, (1, 3, 2)), rng.uniform(0.2, 0.5, (1, 3, 2))
        boxes = mx.nd.array(np.concatenate([rng.randint(0, 2, (1, 3, 1)), corner, corner + size], axis=2))
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 1e-3})
        cls_loss, box_loss = gluon.loss.SoftmaxCrossEntropyLoss(), words.SmoothL1Loss()
        while True:
            with autograd.record():
                anchors, classes, predicted = net(squares)
                target, mask, cls_target = net.training_targets(anchors, classes, boxes)
                of_class, of_box = cls_loss(classes, cls_target), box_loss(predicted, target, mask)
                loss = of_class + of_box
            loss.backward()
            trainer.step(1)
            yield {"class": _mxnet.mean(of_class), "box": _mxnet.mean(of_box), "assigned": _mxnet.mean(mask)}

    yield from run.together(recognition=recognition(), segmentation=segmentation())
