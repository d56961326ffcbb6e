"""Large networks of Gluon's model zoo, hybridized, as MXNet programs."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon.model_zoo import vision

from tests.benchmarks import large
from tests.benchmarks.worker import serve

random = np.random.RandomState(0)
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()


def classifier(mode, batch, network):
    net = network(classes=large.CLASSES)
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    x = nd.array(random.rand(batch, 3, large.SIZE, large.SIZE))
    t = nd.array(random.randint(0, large.CLASSES, batch))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})

    def train():
        with autograd.record():
            loss = loss_fn(net(x), t)
        loss.backward()
        trainer.step(batch)
        nd.waitall()

    def infer():
        net(x).wait_to_read()

    return {"train": train, "infer": infer}[mode]


NETWORKS = {
    "resnet18": vision.resnet18_v1,
    "resnet50": vision.resnet50_v1,
    "vgg16": vision.vgg16,
    "mobilenet2": vision.mobilenet_v2_1_0,
}

if __name__ == "__main__":
    programs = {
        name: lambda mode, batch, network=network: classifier(mode, batch, network)
        for name, network in NETWORKS.items()
    }
    serve(large.programs(programs), warm=large.WARM)
