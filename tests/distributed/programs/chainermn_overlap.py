"""Gradients that ChainerMN's optimizer sends while backward goes on, in two processes, each of which checks them."""

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
import numpy as np
import random_networks

comm = chainermn.create_communicator("pure_nccl")
rank, size = comm.rank, comm.size
UNITS = 520  # more than 1 MiB a layer, the size of the first message


class Net(chainer.Chain):
    """Three layers, the first of which is used twice, and one that only even steps use."""

    def __init__(self, seed):
        super().__init__()
        random = np.random.RandomState(seed)
        weight = lambda: random.uniform(-0.05, 0.05, (UNITS, UNITS)).astype("f")  # noqa: E731
        with self.init_scope():
            self.a = L.Linear(UNITS, UNITS, initialW=weight())
            self.b = L.Linear(UNITS, UNITS, initialW=weight())
            self.c = L.Linear(UNITS, UNITS, initialW=weight())
            self.sometimes = L.Linear(UNITS, UNITS, initialW=weight())

    def forward(self, x, step=0):
        h = F.tanh(self.a(F.tanh(self.a(x))))
        h = F.tanh(self.b(h))
        if step % 2 == 0:
            h = F.tanh(self.sometimes(h))
        return F.sum(self.c(h) ** 2) / x.size


def batch(step, which):
    return np.random.RandomState(10 * step + which).uniform(-1, 1, (4, UNITS)).astype("f")


def optimizer_of(net):
    made = chainermn.create_multi_node_optimizer(chainer.optimizers.MomentumSGD(0.5), comm).setup(net)
    made.add_hook(chainer.optimizer_hooks.WeightDecay(1e-3))
    return made


def same_as_after_backward():
    """The numbers are those of gradients that are exchanged after backward, bit by bit."""
    early, late = Net(rank), Net(rank)
    first, second = optimizer_of(early), optimizer_of(late)
    for step in range(6):
        x = batch(step, rank)
        first.update(lambda: early(x, step))  # noqa: B023
        loss = late(x, step)
        late.cleargrads()
        loss.backward()
        second.update()
        for (name, p), (_, q) in zip(sorted(early.namedparams()), sorted(late.namedparams()), strict=True):
            np.testing.assert_array_equal(p.array, q.array, err_msg=name)
            np.testing.assert_array_equal(p.grad, q.grad, err_msg=name)
    sums = comm.allreduce_obj([[float(p.array.astype("d").sum()) for _, p in sorted(early.namedparams())]])
    assert sums[0] == sums[1]


def as_one_process():
    """The losses are those of one process that has the batches of both."""
    net, alone = Net(0), Net(0)
    optimizer = optimizer_of(net)
    other = chainer.optimizers.MomentumSGD(0.5).setup(alone)
    other.add_hook(chainer.optimizer_hooks.WeightDecay(1e-3))
    optimizer.update(lambda: net(batch(0, rank)))  # copies the parameters
    for step in range(1, 4):
        optimizer.update(lambda: net(batch(step, rank), step))  # noqa: B023
        other.update(lambda: (alone(batch(step, 0), step) + alone(batch(step, 1), step)) / 2)  # noqa: B023
    np.testing.assert_allclose(net.a.W.array, alone.a.W.array, rtol=1e-4, atol=1e-6)


def messages_leave_during_backward():
    net = Net(rank)
    optimizer = optimizer_of(net)
    optimizer.update(lambda: net(batch(0, rank)))
    counts = []
    original = type(optimizer)._backward

    def backward(self, loss, target):
        original(self, loss, target)
        counts.append(self._means.buckets._sent)

    type(optimizer)._backward = backward
    optimizer.update(lambda: net(batch(1, rank), 0))
    type(optimizer)._backward = original
    # the gradients of c make the first message; what is left after backward is at most the last one
    assert counts[0] >= 1, counts


def functions_that_communicate():
    """Backward itself communicates, while one process sends gradients that the other does not have yet."""

    class Normalized(Net):
        def __init__(self):
            super().__init__(1)
            with self.init_scope():
                self.normalize = chainermn.links.MultiNodeBatchNormalization(UNITS, comm)

        def forward(self, x, step):
            h = F.tanh(self.c(F.tanh(self.b(self.normalize(self.a(x))))))
            if (step + rank + 1) % 2:
                h = self.sometimes(h)  # its gradients make the first message
            return F.sum(h**2) / x.size

    early, late = Normalized(), Normalized()
    made = chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(0.1), comm).setup(early)
    other = chainer.optimizers.SGD(0.1).setup(late)
    made.update(early, batch(0, rank), 0)
    for step in range(1, 4):
        made.update(early, batch(step, rank), step)
        loss = late(batch(step, rank), step)
        late.cleargrads()
        loss.backward()
        comm.multi_node_mean_grad(late, zero_fill=True)
        other.update()
    for (name, p), (_, q) in zip(sorted(early.namedparams()), sorted(late.namedparams()), strict=True):
        np.testing.assert_allclose(p.array, q.array, 1e-4, 1e-6, err_msg=name)


def failures():
    """A pass that fails in all processes, at different places, is as if it had not been: the next step is right. A pass
    that fails in one process is an error in the others."""
    net = Net(rank)
    optimizer = optimizer_of(net)
    optimizer.update(lambda: net(batch(0, rank)))

    class Fails(chainer.FunctionHook):
        def __init__(self, at):
            self.left = at

        def backward_preprocess(self, function, in_data, out_grad):
            self.left -= 1
            if not self.left:
                raise ArithmeticError("planned")

    before = net.a.W.array.copy()
    for places in ((1, 9), (9, 1), (4, 4)):
        try:
            with Fails(places[rank]):
                optimizer.update(lambda: net(batch(1, rank)))
        except ArithmeticError:
            pass
        else:
            raise AssertionError("no error")
        assert (net.a.W.array == before).all()
    optimizer.update(lambda: net(batch(2, rank)))
    assert len({float(s) for s in comm.allreduce_obj([net.a.W.array.astype("d").sum()])}) == 1
    before = net.a.W.array.copy()
    try:
        if rank:
            with Fails(5):
                optimizer.update(lambda: net(batch(3, rank)))
        else:
            optimizer.update(lambda: net(batch(3, rank)))
    except ArithmeticError:
        assert rank
    except RuntimeError as error:
        assert not rank and "the backward pass of another process ended with an exception" in str(error), error
    else:
        raise AssertionError("no error")
    assert (net.a.W.array == before).all()
    optimizer.update(lambda: net(batch(4, rank)))
    assert len({float(s) for s in comm.allreduce_obj([net.a.W.array.astype("d").sum()])}) == 1


def no_parameters():
    x = chainer.Parameter(np.ones(2, "f"))
    optimizer = optimizer_of(chainer.Chain())
    for step in range(2):
        optimizer.update(lambda: F.sum(x * 2))
        assert x.grad.tolist() == [2 * (step + 1)] * 2


class Sharing(chainer.Chain):
    """Parameters that two links share, and gradients that are one array in one process only: those of a sum's terms, of
    which one is transposed."""

    def __init__(self):
        super().__init__()
        weight = lambda: np.random.RandomState(5).uniform(-1, 1, (4, 4)).astype("d")  # noqa: E731
        with self.init_scope():
            self.first = L.Linear(4, 4, initialW=weight())
            self.second = self.first
            self.x, self.y, self.z = (chainer.Parameter(weight()) for _ in range(3))
        self.first.b.array = np.zeros(4)

    def forward(self, step, which):
        value = batch(step, which)[:, :4].astype("d")
        x = self.x + self.y + self.z.T if which else F.exp(self.x) * self.y * self.z
        return F.sum(self.second(F.sin(x)) * self.first(value))


def sharing():
    for kind, double in (("naive", False), ("pure_nccl", False), ("pure_nccl", True)):
        for early in (True, False):
            net, alone, before = Sharing(), Sharing(), None
            communicator = chainermn.create_communicator(kind, allreduce_grad_dtype="d" if kind != "naive" else None)
            made = chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(0.01), communicator, double).setup(net)
            other = chainer.optimizers.SGD(0.01).setup(alone)
            for each in (made, other):
                each.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))
            for step in range(5):
                loss = net(step, rank)
                if early:
                    made.update(lambda: loss)  # noqa: B023
                else:
                    net.cleargrads()
                    loss.backward()
                    made.update()
                if not step:
                    continue
                alone.cleargrads()
                ((alone(step, 0) + alone(step, 1)) / 2).backward()
                now = [param.grad.copy() for param in alone.params()]
                if before or not double:
                    for param, grad in zip(alone.params(), before if double else now, strict=True):
                        param.grad = grad
                    other.update()
                before = now
            if double:
                made.wait()
            for (name, p), (_, q) in zip(sorted(net.namedparams()), sorted(alone.namedparams()), strict=True):
                np.testing.assert_allclose(p.array, q.array, 1e-12, err_msg=f"{name} {kind} {double} {early}")


same_as_after_backward()
as_one_process()
messages_leave_during_backward()
failures()
no_parameters()
sharing()
functions_that_communicate()
random_networks.compare(chainermn.create_communicator("naive"), range(30))
print("done")
