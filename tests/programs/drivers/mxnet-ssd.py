"""SSD with symbols: the program's symbol of a ResNet with its extra layers and losses, trained by Module.fit."""

import _mxnet
import mxnet as mx
import numpy as np


def train(run):
    for folder in ("symbol", "train"):
        run.path(folder)
    _mxnet.streams()
    import symbol_builder
    from metric import MultiBoxMetric

    rng = np.random.RandomState(1)
    images = rng.normal(size=(8, 3, 64, 64))
    corner, size = rng.uniform(0, 0.5, (8, 2, 2)), rng.uniform(0.2, 0.5, (8, 2, 2))
    boxes = np.concatenate([rng.randint(0, 3, (8, 2, 1)), corner, corner + size], axis=2)

    def training(network, from_layers, **sizes):
        net = symbol_builder.get_symbol_train(
            network,
            3,
            [*from_layers, ""],
            [-1, -1, 32],
            strides=[-1, -1, 2],
            pads=[-1, -1, 1],
            sizes=[[0.2, 0.27], [0.37, 0.45], [0.54, 0.62]],
            ratios=[[1, 2, 0.5], [1, 2, 0.5, 3, 1.0 / 3], [1, 2, 0.5]],
            min_filter=16,
            nms_topk=20,
            **sizes,
        )
        module = mx.mod.Module(net, label_names=("label",))
        data = mx.io.NDArrayIter(mx.nd.array(images), mx.nd.array(boxes), 4, label_name="label")
        module.bind(data.provide_data, data.provide_label)
        module.init_params(mx.init.Xavier())
        _mxnet.perturb(run, module)

        def body(report):
            def end(batch):
                cls_prob, loc_loss, cls_label, det = (o.asnumpy() for o in module.get_outputs())
                report(
                    {
                        **dict(batch.eval_metric.get_name_value()),
                        "prob": cls_prob.max(axis=1).mean(),
                        "loc": loc_loss.sum(),
                        "assigned": (cls_label > 0).sum(),
                        "scores": det[:, :, 1].sum(),
                    }
                )

            module.fit(
                data,
                eval_metric=MultiBoxMetric(),
                batch_end_callback=end,
                optimizer="sgd",
                num_epoch=99,
                optimizer_params={"learning_rate": 0.004, "momentum": 0.9, "wd": 0.0005, "rescale_grad": 1.0},
            )

        return _mxnet.stepwise(body)

    yield from run.together(
        resnet=training("resnet", ["_plus6", "_plus7"], num_layers=18, image_shape="3,64,64"),
        mobilenet=training("mobilenet", ["conv_12_relu", "conv_14_relu"]),
    )
