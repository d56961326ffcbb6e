import argparse

import chainer
import numpy as np
from chainer import Variable, cuda, optimizers

import net

parser = argparse.ArgumentParser()
parser.add_argument('--gpu', '-g', default=-1, type=int)
parser.add_argument('--epoch', '-e', default=3, type=int)
parser.add_argument('--unit', '-u', default=6, type=int)
args = parser.parse_args()
xp = cuda.cupy if args.gpu >= 0 else np

np.random.seed(0)
n, length = 120, 5
label = np.random.randint(0, 3, n).astype(np.int)
phase = np.random.rand(n, 1).astype(np.float)
noise = 0.1 * np.random.randn(n, length)
wave = np.sin((label[:, None] + 1) * np.arange(length)[None] / 3. + phase) + noise

model = net.Tagger(args.unit, 3)
if args.gpu >= 0:
    cuda.get_device_from_id(args.gpu).use()
    model.to_gpu()
optimizer = optimizers.Adam()
optimizer.setup(model)
print('parameters: {}'.format(sum(np.product(p.shape) for p in model.params())))

for epoch in range(args.epoch):
    order = np.random.permutation(n)
    total = 0
    for i in range(0, n, 20):
        index = order[i:i + 20]
        x = Variable(net.smoothed(xp, xp.asarray(wave[index].astype(np.float32))))
        t = Variable(xp.asarray(label[index].astype(np.int32)))
        loss = chainer.functions.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        total += float(cuda.to_cpu(loss.data)) * len(index)
    print('epoch {}  loss {:.4f}'.format(epoch + 1, total / n))
