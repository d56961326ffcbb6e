"""Memory of training steps of nnabla on a static graph like a ResNet's: 17 convolutions with 32 maps of 32 x 32.

python -m tests.benchmarks.memory_nnabla cold|warm [BATCH]
cold: the increase of the process's peak by two steps, which include the first use of every kernel.
warm: the same after a step of the network on one image.
"""

import sys

import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import nnabla.solvers as S
import numpy as np

from tests.benchmarks import memory


def conv_bn(h, name):
    h = PF.convolution(h, 32, (3, 3), pad=(1, 1), with_bias=False, name="conv" + name)
    return PF.batch_normalization(h, name="bn" + name)


def network(batchsize):
    random = np.random.RandomState(0)
    x = nn.Variable.from_numpy_array(random.rand(batchsize, 3, 32, 32).astype(np.float32))
    t = nn.Variable.from_numpy_array(random.randint(0, 10, (batchsize, 1)).astype(np.int32))
    h = F.relu(conv_bn(x, "0"))
    for i in range(8):
        inside = F.relu(conv_bn(h, f"{i}a"))
        h = F.relu(conv_bn(inside, f"{i}b") + h)
    y = PF.affine(F.average_pooling(h, (32, 32)), 10, name="fc")
    return F.mean(F.softmax_cross_entropy(y, t))


def stepper(batchsize):
    loss = network(batchsize)
    solver = S.Momentum(0.01)
    solver.set_parameters(nn.get_parameters())

    def step():
        loss.forward(clear_no_need_grad=True)
        solver.zero_grad()
        loss.backward(clear_buffer=True)
        solver.update()

    return step


if __name__ == "__main__":
    if sys.argv[1] == "warm":
        stepper(1)()
    step = stepper(int(sys.argv[2]) if len(sys.argv) > 2 else 48)
    memory.report_growth(step)
