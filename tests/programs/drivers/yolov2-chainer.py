"""Darknet19 and YOLOv2 with their losses, on random images and boxes; Chainer 1, without the calls to the GPU."""

import contextlib
import io

import _chainer
import _chainer1
import chainer
import numpy as np


def train(run):
    _chainer1.install()
    run.path()
    run.without("cv2")
    run.sources(lambda text: text.replace(".data.get()", ".data"))
    chainer.Variable.to_gpu = lambda self: None
    import darknet19
    import yolov2

    darknet19.L = yolov2.L = _chainer.Narrow(16)
    rng = np.random.RandomState(1)

    def optimizer(model, lr):
        run.perturb(_chainer.arrays(model))
        optimizer = chainer.optimizers.MomentumSGD(lr=lr, momentum=0.9)
        optimizer.use_cleargrads()
        return optimizer.setup(model)

    def classifier():
        model = darknet19.Darknet19Predictor(darknet19.Darknet19())
        model.predictor.train = model.predictor.finetune = True
        sgd = optimizer(model, 0.001)
        sgd.add_hook(chainer.optimizer_hooks.WeightDecay(0.0005))
        while True:
            x = chainer.Variable(rng.uniform(size=(4, 3, 64, 64)).astype(run.dtype))
            t = chainer.Variable(np.identity(10, dtype=run.dtype)[rng.randint(0, 10, 4)])
            _, loss, accuracy = model(x, t)
            sgd.zero_grads()
            loss.backward()
            sgd.update()
            yield {"loss": loss.array, "accuracy": accuracy.array}

    def boxes():
        for _ in range(rng.randint(1, 3)):
            x, y, w, h = rng.uniform(0.2, 0.8, 4)
            yield {"x": x, "y": y, "w": w, "h": h, "label": rng.randint(10)}

    def detector():
        model = yolov2.YOLOv2Predictor(yolov2.YOLOv2(n_classes=10, n_boxes=5))
        model.predictor.train = True
        sgd = optimizer(model, 1e-4)
        while True:
            x = chainer.Variable(rng.uniform(size=(2, 3, 64, 64)).astype(run.dtype))
            with contextlib.redirect_stdout(io.StringIO()):
                loss = model(x, [list(boxes()) for _ in range(2)])
            sgd.zero_grads()
            loss.backward()
            sgd.update()
            yield {"loss": loss.array}

    yield from run.together(classifier=classifier(), detector=detector())
