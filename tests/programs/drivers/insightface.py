"""MobileFaceNet with the margin losses (SphereFace, ArcFace, CosFace in one) and the triplet loss, by Module.fit."""

import sys
import types

import _mxnet
import mxnet as mx
import numpy as np


class Settings(dict):
    """A stand-in for easydict's class."""

    __setattr__, __getattr__ = dict.__setitem__, dict.__getitem__


def train(run):
    _mxnet.streams()
    sys.modules["easydict"] = types.SimpleNamespace(EasyDict=Settings)
    run.path("recognition")
    run.without("sklearn", "verification", "flops_counter", "cv2")
    import sample_config

    sys.modules["config"] = sample_config
    import train as program

    config = program.config
    rng = np.random.RandomState(1)
    images, labels = rng.randint(0, 256, (6, 3, 112, 112)), rng.randint(0, 10, 6)
    config.update(
        net_name="fmobilefacenet",
        emb_size=128,
        net_output="GDC",
        net_blocks=[1, 1, 1, 1],
        num_classes=10,
        triplet_alpha=0.35,
        image_shape=(112, 112, 3),
        per_batch_size=3,
    )

    def training(loss, **margins):
        config.update(loss_name=loss, **margins)
        module = mx.mod.Module(program.get_symbol(Settings(per_batch_size=3)))
        data = mx.io.NDArrayIter(mx.nd.array(images), mx.nd.array(labels), 3)
        module.bind(data.provide_data, data.provide_label)
        module.init_params(mx.init.Normal(0.1))
        _mxnet.perturb(run, module)
        metrics = [mx.metric.create(program.LossValueMetric() if "triplet" in loss else program.AccMetric())]

        def body(report):
            def end(batch):
                embedding, *rest = (o.asnumpy() for o in module.get_outputs())
                report(
                    {
                        "embedding": np.abs(embedding).mean(),
                        "loss": rest[-1].mean(),
                        "first": rest[0].max(),
                        **dict(batch.eval_metric.get_name_value()),
                    }
                )

            module.fit(
                data,
                eval_metric=metrics,
                batch_end_callback=end,
                num_epoch=99,
                optimizer=mx.optimizer.SGD(learning_rate=1e-4, momentum=0.9, wd=0.0005, rescale_grad=1.0),
            )

        return _mxnet.stepwise(body)

    yield from run.together(
        combined=training("margin_softmax", loss_s=16.0, loss_m1=1.1, loss_m2=0.3, loss_m3=0.2),
        triplet=training("triplet"),
    )
