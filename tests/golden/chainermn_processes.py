"""What ChainerMN computes in two and three processes: each value of each rank, by name.

    LEGACY -m tests.golden.chainermn_processes

records them. LEGACY is a Python with Chainer 7.8.1 and, in its environment, mpi4py and MPICH (`pip install mpi4py
mpich`, in an environment made by venv). The test runs `values` on compatgrad, by `python -m compatgrad launch`.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np

DATA = pathlib.Path(__file__).with_suffix(".json.gz")
SIZES = (2, 3)


def rows(seed, *shape):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("f")


def plain(value):
    """Arrays as lists of Python's floats."""
    return json.loads(json.dumps(value, default=lambda a: np.asarray(a).astype(float).tolist()))


def parameters(model):
    return {name: param.array.copy() for name, param in sorted(model.namedparams())}


def gradients(model):
    return {name: None if p.grad is None else p.grad.copy() for name, p in sorted(model.namedparams())}


def values(comm):
    """All values of this process."""
    out = {}
    for part in (optimizers, batch_normalization, functions, chain_list, data, iterators, extensions):
        out.update(part(comm))
    return {name: plain(value) for name, value in out.items()}


def optimizers(comm):
    """Five calls of update(), of which the first one broadcasts; and four of update(lossfun, ...)."""
    import chainer
    import chainer.functions as F
    import chainer.links as L
    import chainermn

    make = {
        "SGD": lambda: chainer.optimizers.SGD(0.5),
        "MomentumSGD": lambda: chainer.optimizers.MomentumSGD(0.5),
        "Adam": lambda: chainer.optimizers.Adam(0.1),
    }
    rank = comm.rank
    for zero_fill in (True, False):
        for kind in make:
            model = chainer.Chain(
                a=L.Linear(2, 2, initialW=rows(rank, 2, 2)), b=L.Linear(2, 1, initialW=rows(10 + rank, 1, 2))
            )
            optimizer = chainermn.create_multi_node_optimizer(make[kind](), comm, zero_fill=zero_fill)
            optimizer.setup(model)
            optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(0.7))
            trace = []
            for step in range(5):
                x, t = rows(100 + 10 * step + rank, 3, 2), rows(200 + 10 * step + rank, 3, 1)
                model.cleargrads()
                # with zero_fill, some ranks have no gradients of `a`
                h = model.a(x) if not zero_fill or rank == 0 else chainer.Variable(x)
                F.mean_squared_error(model.b(h), t).backward()
                optimizer.update()
                trace.append([optimizer.t, parameters(model), gradients(model)])
            yield f"optimizer {kind} zero_fill={zero_fill}", trace
    model = L.Classifier(L.Linear(4, 3, initialW=rows(3 + rank, 3, 4)))
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(0.05), comm).setup(model)
    trace = []
    for step in range(4):
        optimizer.update(model, rows(300 + 10 * step + rank, 5, 4), np.arange(5, dtype="i") % 3)
        trace.append([float(model.loss.array), parameters(model)])
    yield "optimizer lossfun", trace


def batch_normalization(comm):
    import chainer
    import chainermn.links as ML

    for dtype in ("float32", "float64"):
        with chainer.using_config("dtype", np.dtype(dtype)):
            start = {"initial_gamma": np.array([1, 2, 3], dtype), "initial_beta": np.array([0, 1, -1], dtype)}
            link = ML.MultiNodeBatchNormalization(3, comm, **start)
            trace = []
            for step in range(3):
                x = chainer.Variable(rows(400 + 10 * step + comm.rank, 4, 3, 2).astype(dtype))
                y = link(x)
                link.cleargrads()
                y.grad = rows(500 + 10 * step + comm.rank, *y.shape).astype(dtype)
                y.backward()
                grads = [x.grad, link.gamma.grad.copy(), link.beta.grad.copy()]
                trace.append([y.array, grads, link.avg_mean.copy(), link.avg_var.copy()])
            with chainer.using_config("train", False):
                trace.append(link(rows(600 + comm.rank, 2, 3, 2).astype(dtype)).array)
            yield f"batch normalization {dtype}", trace


def functions(comm):
    """Results and gradients; the losses differ from rank to rank."""
    import chainer
    import chainer.functions as F
    import chainermn.functions as MF

    rank, size = comm.rank, comm.size
    x = chainer.Variable(rows(700 + rank, 2))
    y = MF.bcast(comm, x if rank == 0 else None)
    F.sum(y * y * (rank + 1)).backward()
    yield "bcast", [y.array, x.grad]
    x = chainer.Variable(rows(710 + rank, rank + 1, 2))
    ys = MF.allgather(comm, x)
    F.sum(sum(F.sum(v * v) * (rank + 1) for v in ys)).backward()
    yield "allgather", [[v.array for v in ys], x.grad]
    xs = [chainer.Variable(rows(720 + 10 * rank + i, rank + 1, i + 1)) for i in range(size)]
    ys = MF.alltoall(comm, xs)
    sum(F.sum(v * v) * (rank + 1) for v in ys).backward()
    yield "alltoall", [[v.array for v in ys], [v.grad for v in xs]]
    x = chainer.Variable(rows(770 + rank, 2))
    ys = MF.gather(comm, x)
    if rank == 0:
        sum(F.sum(v * v) * (i + 1) for i, v in enumerate(ys)).backward()
    else:
        ys.grad = np.zeros_like(ys.array)
        ys.backward()
    yield "gather", [[v.array for v in ys] if rank == 0 else ys.array, x.grad]
    xs = [chainer.Variable(rows(780 + i, i + 1)) for i in range(size)]
    y = MF.scatter(comm, xs if rank == 0 else None)
    F.sum(y * y * (rank + 1)).backward()
    yield "scatter", [y.array, [v.grad for v in xs] if rank == 0 else None]


def chain_list(comm):
    """A ring: the first process has the first part and the last one."""
    import chainer
    import chainer.functions as F
    import chainer.links as L
    import chainermn

    rank, size = comm.rank, comm.size

    class Part(chainer.Chain):
        def __init__(self):
            super().__init__(l=L.Linear(3, 3, initialW=rows(800 + rank, 3, 3)))

        def __call__(self, x):
            return F.tanh(self.l(x))

    class Ring(chainermn.MultiNodeChainList):
        def __init__(self):
            super().__init__(comm=comm)
            if rank == 0:
                self.add_link(Part(), None, 1)
                self.add_link(Part(), size - 1, None)
            else:
                self.add_link(Part(), rank - 1, (rank + 1) % size)

    net = Ring()
    y = net(chainer.Variable(rows(810, 2, 3))) if rank == 0 else net()
    net.cleargrads()
    (F.sum(y * y) if rank == 0 else y).backward()
    yield "chain list", [y.array, gradients(net)]


def data(comm):
    import chainermn

    for size in (1, 5, 7, 12):
        for kwargs in ({}, {"force_equal_length": False}, {"shuffle": True, "seed": 0}):
            given = list(range(size)) if comm.rank == 0 else None
            name = f"scatter_dataset {size} {' '.join(sorted(kwargs))}"
            yield name, list(chainermn.scatter_dataset(given, comm, **kwargs))


def iterators(comm):
    import chainer
    import chainermn.iterators as MI

    serial = chainer.iterators.SerialIterator
    np.random.seed(5 + comm.rank)
    iterator = MI.create_synchronized_iterator(serial(list(range(10)), 3, shuffle=True), comm)
    yield "synchronized iterator", [next(iterator) for _ in range(5)]
    np.random.seed(6 + comm.rank)
    examples = [(np.float32(i), np.int32(i % 3)) for i in range(7)]
    iterator = MI.create_multi_node_iterator(serial(examples, 3, shuffle=True), comm)
    seen = []
    for _ in range(4):
        batch = [[float(a), float(c)] for a, c in next(iterator)]
        seen.append([batch, iterator.epoch, bool(iterator.is_new_epoch), float(iterator.epoch_detail)])
    yield "multi-node iterator", seen


def extensions(comm):
    import chainer
    import chainer.links as L
    import chainermn

    class Evaluator(chainer.training.extensions.Evaluator):
        def evaluate(self):
            return {"a": 1.0 + comm.rank, "b": np.float32(2.5 * comm.rank)}

    evaluator = chainermn.create_multi_node_evaluator(Evaluator({"main": None}, {"main": None}), comm)
    yield "evaluator", {name: float(value) for name, value in evaluator.evaluate().items()}
    model = chainer.Chain(bn=L.BatchNormalization(2))
    model.bn.avg_mean[:] = comm.rank
    model.bn.avg_var[:] = comm.rank * 2 + 1
    model.bn.N = 3
    chainermn.extensions.AllreducePersistent(model, comm)()
    yield "AllreducePersistent", [model.bn.avg_mean, model.bn.avg_var, model.bn.N]


def main(target):
    """Runs in each process: writes the values of all of them to the file `target`."""
    import chainer
    import chainermn

    warnings.simplefilter("ignore")
    chainer.disable_experimental_feature_warning = True
    comm = chainermn.create_communicator("naive")
    every = comm.gather_obj(values(comm))
    if comm.rank == 0:
        pathlib.Path(target).write_text(json.dumps(every, sort_keys=True))


def record():
    from tests.golden import files

    versions = files.versions("chainer")
    mpiexec = pathlib.Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        sys.exit(f"{sys.executable} has no mpiexec beside it: pip install mpi4py mpich")
    found = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "values.json"
            subprocess.run([mpiexec, "-n", str(size), sys.executable, __file__, target], check=True)
            found[str(size)] = json.loads(target.read_text())
    files.write(DATA, found, versions)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        record()
