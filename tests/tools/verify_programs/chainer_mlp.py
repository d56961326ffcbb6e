import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(6, 12)
            self.l2 = L.Linear(12, 12)
            self.l3 = L.Linear(12, 3)

    def forward(self, x):
        h = F.dropout(F.relu(self.l1(x)), 0.3)
        h = F.dropout(F.tanh(self.l2(h)), 0.3)
        return self.l3(h)


rng = np.random.RandomState(0)
model = L.Classifier(Net())
optimizer = chainer.optimizers.MomentumSGD(0.1).setup(model)
for _ in range(3):
    x, t = rng.rand(9, 6).astype("f"), rng.randint(0, 3, 9).astype("i")
    optimizer.update(model, x, t)
