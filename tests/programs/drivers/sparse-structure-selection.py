"""ResNet and ResNeXt with scaling factors of blocks and groups, which a proximal gradient method makes sparse."""

import os
import sys

import _mxnet
import mxnet as mx
import numpy as np


def train(run):
    os.environ["MXNET_OPTIMIZER_AGGREGATION_SIZE"] = "0"  # its optimizer takes one parameter at a time
    run.sources(run.python2)
    for folder in ("config", "symbol", "core", ""):
        run.path(folder)
    _mxnet.streams()
    import cfgs

    sys.modules["config"] = cfgs
    mx.optimizer.clip = mx.nd.clip  # older programs use this name
    import optimizer
    import resnet
    import resnext
    import solver

    # newer versions of MXNet call this method
    optimizer.APGNAG.create_state_multi_precision = mx.optimizer.SGD.create_state
    optimizer.APGNAG.update_multi_precision = optimizer.APGNAG.update
    rng = np.random.RandomState(1)
    images, labels = rng.normal(size=(12, 3, 64, 64)), rng.randint(0, 5, 12)

    def training(network):
        symbol = network(units=[1, 2], num_stage=2, filter_list=[16, 64, 128], num_classes=5, data_type="imagenet")
        data = mx.io.NDArrayIter(mx.nd.array(images), mx.nd.array(labels), 4)
        fit = solver.Solver(symbol, ("data",), ("softmax_label",), data.provide_data, data.provide_label)
        fit.module.bind(data.provide_data, data.provide_label)
        fit.module.init_params(mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2))
        _mxnet.perturb(run, fit.module)

        def body(report):
            def end(batch):
                args, _ = fit.module.get_params()
                prob = batch.locals["self"].module.get_outputs()[0].asnumpy()
                lambdas = {name: a.sum().asscalar() for name, a in args.items() if name.startswith("lambda")}
                report({"prob": prob.max(axis=1).mean(), **lambdas, **dict(batch.eval_metric.get_name_value())})

            fit.fit(
                data,
                batch_end_callback=end,
                optimizer="apgnag",
                num_epoch=99,
                kvstore="local",
                optimizer_params={
                    "learning_rate": 0.02,
                    "wd": 1e-4,
                    "momentum": 0.9,
                    "lambda_name": "lambda",
                    "gamma": 0.05,
                },
            )

        return _mxnet.stepwise(body)

    yield from run.together(resnet=training(resnet.resnet), resnext=training(resnext.resnext))
