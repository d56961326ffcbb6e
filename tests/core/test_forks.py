"""Processes forked after a step with OpenMP's threads compute; they must not wait for the threads, which fork drops."""

import os
import subprocess
import sys

import pytest

SETUP = """
import multiprocessing, os, signal
import numpy as np, torch
torch.set_num_threads(2)
n = 100_000
"""
STEPS = {
    "chainer": """
import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F, links as L
link, x = L.Linear(n, 4, nobias=True, initialW=1), np.ones((4, n), "f")
def step():
    y = F.sum(F.exp(link(x) * 0))
    link.cleargrads()
    y.backward()
    return float(y.array)
class Data(chainer.dataset.DatasetMixin):
    def __len__(self):
        return 4
    def get_example(self, i):
        return F.resize_images(np.ones((1, 3, 224, 224), "f"), (256, 256)).array[0] * i
def iterate():
    it = chainer.iterators.MultiprocessIterator(Data(), 2, repeat=False, shuffle=False, n_processes=2)
    found = [x.max() for batch in it for x in batch]
    it.finalize()
    return found
""",
    "nnabla": """
import compatgrad.nnabla as nn, compatgrad.nnabla.functions as F, compatgrad.nnabla.parametric_functions as PF
from compatgrad.nnabla.utils.data_iterator import data_iterator_simple
x = nn.Variable((4, n))
x.d = 1
y = F.sum(F.exp(PF.affine(x, 4) * 0))
def step():
    y.forward()
    y.backward()
    return float(y.d)
def iterate():
    def load(i):
        v = nn.Variable.from_numpy_array(np.full((1, 3, 224, 224), i, "f"))
        y = F.interpolate(v, output_size=(256, 256), mode="linear")
        y.forward()
        return y.d[0]
    with data_iterator_simple(load, 4, 2, shuffle=False) as it:
        return [a.max() for _ in range(2) for a in it.next()[0]]
""",
    "mxnet": """
import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, gluon, nd
net = gluon.nn.Dense(4, in_units=n, use_bias=False)
net.initialize(mx.init.One())
def step():
    with autograd.record():
        y = nd.exp(net(nd.ones((4, n))) * 0).sum()
    y.backward()
    return y.asscalar()
class Data(gluon.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return nd.contrib.BilinearResize2D(nd.ones((1, 3, 224, 224)), height=256, width=256)[0] * i
def iterate():
    return [v for batch in gluon.data.DataLoader(Data(), 2, num_workers=2) for v in batch.asnumpy().max(axis=(1, 2, 3))]
""",
}
RUN = """
assert step() == 16
for _ in range(CHILDREN):
    pid = os.fork()
    if not pid:
        signal.alarm(60)
        os._exit(0 if step() == 16 else 1)
    assert os.waitpid(pid, 0)[1] == 0
def work(i):
    signal.alarm(60)
    return step()
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, range(CHILDREN)) == [16] * CHILDREN
signal.alarm(60)
assert np.allclose(iterate(), [0, 1, 2, 3])
assert step() == 16
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("frontend", STEPS)
def test_children_compute(frontend):
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    code = SETUP + STEPS[frontend] + RUN.replace("CHILDREN", environment.get("COMPATGRAD_TEST_CHILDREN", "3"))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout == "done\n", done.stderr[-3000:]
