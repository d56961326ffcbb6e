"""Legacy networks in torch's DistributedDataParallel: two processes, the gradients of one."""

import os

import numpy as np
import pytest
import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
from compatgrad import interop

pytestmark = pytest.mark.skipif(
    not (torch.distributed.is_available() and torch.distributed.is_gloo_available()), reason="torch has no gloo"
)
RANKS = 2


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.first = L.Convolution2D(1, 3, 2)
            self.last = L.Linear(12, 2)

    def forward(self, x):
        return self.last(F.tanh(self.first(x)))


class NormNet(Net):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.norm = L.BatchNormalization(3)

    def forward(self, x):
        return self.last(F.tanh(self.norm(self.first(x))))


def chainer_net(cls=Net):
    np.random.seed(0)
    return interop.as_torch_module(cls())


def gluon_net():
    mx.random.seed(0)
    block = mx.gluon.nn.HybridSequential()
    block.add(mx.gluon.nn.Conv2D(3, 2, activation="tanh"), mx.gluon.nn.Dense(2))
    block.initialize(mx.init.Xavier())
    return interop.as_torch_module(block, example_inputs=[torch.zeros(1, 1, 3, 3)])


def mixed_net():
    """A legacy network between layers of torch."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(1, 1, 1), chainer_net(), torch.nn.Linear(2, 2))


MAKERS = {"chainer": chainer_net, "gluon": gluon_net, "mixed": mixed_net, "norm": lambda: chainer_net(NormNet)}


def batch(step):
    return torch.rand(8, 1, 3, 3, generator=torch.Generator().manual_seed(step))


def penalized(model, x):
    """A loss with the size of its gradient by the input."""
    x = x.clone().requires_grad_()
    loss = (model(x) ** 2).mean(1)
    (g,) = torch.autograd.grad(loss.sum(), x, create_graph=True)
    return (loss + 0.01 * (g**2).sum((1, 2, 3))).mean()


def plain(model, x):
    return (model(x) ** 2).mean()


LOSSES = {"plain": plain, "penalized": penalized}
RUNS = [(name, loss) for name in MAKERS for loss in LOSSES]


def train(model, loss_of):
    """The gradients of three steps of `loss_of(model, batch)`, and the parameters in the end."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    gradients = []
    for step in range(3):
        optimizer.zero_grad()
        loss_of(model, batch(step)).backward()
        gradients.append([p.grad.clone() for p in model.parameters()])
        optimizer.step()
    return gradients, [p.detach().clone() for p in model.parameters()]


def work(rank, folder):
    """One process, which sees every second item of each batch."""
    torch.set_num_threads(1)
    store = torch.distributed.FileStore(os.path.join(folder, "store"), RANKS)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=RANKS)
    results = {}
    for name, loss in RUNS:
        module = MAKERS[name]()
        if rank:  # the numbers of the first process are the ones that count
            for t in module.state_dict().values():
                t.add_(1)
        model = DistributedDataParallel(module)
        gradients, parameters = train(model, lambda m, x, f=LOSSES[loss]: f(m, x[rank::RANKS]))
        model.eval()
        prediction = model(batch(9)).detach()  # hands the first process's buffers to the others
        results[name, loss] = gradients, parameters, prediction, [b.clone() for b in model.buffers()]
    torch.save(results, os.path.join(folder, f"{rank}.pt"))
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ddp")
    torch.multiprocessing.spawn(work, (str(folder),), nprocs=RANKS)
    return [torch.load(folder / f"{rank}.pt") for rank in range(RANKS)]


@pytest.mark.parametrize("name, loss", RUNS)
def test_processes_agree(ranks, name, loss):
    first, second = (result[name, loss] for result in ranks)
    torch.testing.assert_close(first, second, rtol=0, atol=0)


@pytest.mark.parametrize("name, loss", RUNS)
def test_gradients_are_those_of_the_batch(ranks, name, loss):
    whole, f = MAKERS[name](), LOSSES[loss]
    if any(True for _ in whole.buffers()):  # each process normalizes by its own items
        expected = train(whole, lambda m, x: sum(f(m, x[rank::RANKS]) for rank in range(RANKS)) / RANKS)
    else:
        expected = train(whole, f)
    torch.testing.assert_close(ranks[0][name, loss][:2], expected, rtol=1e-4, atol=1e-5)


def test_running_statistics(ranks):
    """Those of the first process, which the legacy network predicts with in every process."""
    net = chainer_net(NormNet)
    parameters, prediction, buffers = ranks[1]["norm", "plain"][1:]
    with torch.no_grad():
        for t, value in zip([*net.parameters(), *net.buffers()], [*parameters, *buffers], strict=True):
            assert not torch.equal(t, value)
            t.copy_(value)
    torch.testing.assert_close(net.eval()(batch(9)).detach(), prediction)
