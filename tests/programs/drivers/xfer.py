"""Meta-learning by Leap over several tasks, and repurposed networks: fine-tuning and random freezing."""

import _mxnet
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon


def train(run):
    run.path("leap")
    run.path("xfer-ml")
    run.without("sklearn", "emukit", "gpy", "GPy")
    _mxnet.streams()
    from xfer import NeuralNetworkFineTuneRepurposer, NeuralNetworkRandomFreezeRepurposer

    rng = np.random.RandomState(1)

    def meta():
        from leap import Leap

        tasks = [
            [(mx.nd.array(x), mx.nd.array(x @ w)) for x in rng.normal(size=(3, 4, 2))] for w in rng.normal(size=(3, 2))
        ]
        net = gluon.nn.Dense(1, in_units=2)
        net.initialize(mx.init.Normal(1.0))
        _mxnet.perturb(run, net)
        leap, loss = Leap(net), gluon.loss.L2Loss()
        meta_trainer = gluon.Trainer(list(leap.parameters()), "sgd", {"learning_rate": 0.01})
        while True:
            losses = []
            for task in tasks:
                leap.to(net)
                leap.init_task()
                trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
                for x, y in task:
                    with autograd.record():
                        value = loss(net(x), y)
                    value.backward()
                    leap.update(mx.nd.mean(value), net)
                    trainer.step(4)
                    losses.append(_mxnet.mean(value))
                leap.accumulate()
            leap.load()
            meta_trainer.step(1)
            leap.zero()
            leap.clear_acc()
            yield {"loss": sum(losses), "state": sum(mx.nd.norm(p.data()).asscalar() for p in leap.parameters())}

    images, labels = rng.normal(size=(12, 6)), rng.randint(0, 3, 12)

    def repurposed(make):
        net = mx.sym.Variable("data")
        for i, width in enumerate((10, 8, 4)):
            net = mx.sym.FullyConnected(net, num_hidden=width, name=f"fc{i}")
            net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}") if i < 2 else net
        source = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
        data = mx.io.NDArrayIter(mx.nd.array(images), mx.nd.array(labels), 4)
        source.bind(data.provide_data, data.provide_label)
        source.init_params(mx.init.Xavier())
        _mxnet.perturb(run, source)

        def body(report):
            def end(batch):
                module = batch.locals["self"]
                report(
                    {name: mx.nd.norm(a).asscalar() for name, a in module.get_params()[0].items()}
                    | {"prob": module.get_outputs()[0].asnumpy().max(axis=1).mean()}
                )

            mx.callback.Speedometer = lambda batch_size: end  # the program reports each batch to it
            make(source).repurpose(data)

        return _mxnet.stepwise(body)

    def tuned(source):
        return NeuralNetworkFineTuneRepurposer(source, "relu1", 3, batch_size=4, num_epochs=99)

    def frozen(source):
        return NeuralNetworkRandomFreezeRepurposer(source, 3, ["fc0"], ["fc1"], batch_size=4, num_epochs=99)

    yield from run.together(meta=meta(), tuned=repurposed(tuned), frozen=repurposed(frozen))
