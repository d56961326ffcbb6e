import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd

net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(12, activation="relu"), gluon.nn.Dropout(0.3), gluon.nn.Dense(12, activation="tanh"))
net.add(gluon.nn.Dropout(0.3), gluon.nn.Dense(3))
net.initialize(mx.init.Xavier())
net.hybridize()
loss = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
rng = np.random.RandomState(0)
for _ in range(3):
    x, t = nd.array(rng.rand(9, 6)), nd.array(rng.randint(0, 3, 9))
    with autograd.record():
        y = loss(net(x), t)
    y.backward()
    trainer.step(9)
net.export("exported")  # which needs compiled blocks; under verify they are not
