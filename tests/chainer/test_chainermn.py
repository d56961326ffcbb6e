"""ChainerMN in one process."""

import copy
import importlib

import numpy as np
import pytest

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.chainermn as chainermn
from compatgrad.chainer.training import extensions
from compatgrad.chainermn import functions as MF
from compatgrad.chainermn import links as ML

NAMES = ("naive", "flat", "non_cuda_aware", "pure_nccl", "dummy")
pytestmark = pytest.mark.filterwarnings("ignore:.*experimental.*:FutureWarning")


@pytest.fixture
def comm(monkeypatch):
    monkeypatch.setattr(chainer, "disable_experimental_feature_warning", True)
    return chainermn.create_communicator("naive")


def f32(*values):
    return np.array(values, np.float32)


# ---- communicators ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_name_gives_a_group_of_one(name):
    comm = chainermn.create_communicator(name)
    assert isinstance(comm, chainermn.CommunicatorBase)
    assert comm.rank == comm.intra_rank == comm.inter_rank == 0 and comm.size == comm.intra_size == comm.inter_size == 1
    module = importlib.import_module(f"compatgrad.chainermn.communicators.{name}_communicator")
    assert type(comm).__name__ in dir(module)
    assert comm.get_config("batched_copy") is True and comm.get_config()["batched_copy"] is True
    other = comm.split(3, 1)
    assert type(other) is type(comm) and other is not comm and other.get_config("batched_copy") is False
    assert comm.mpi_comm.Get_size() == 1 and comm.mpi_comm.allgather(2) == [2]
    comm.finalize()


def test_creation_errors():
    create = chainermn.create_communicator
    with pytest.raises(ValueError, match='Unrecognized communicator: "carrier_pigeon"'):
        create("carrier_pigeon")
    with pytest.raises(ValueError, match="only available at 'pure_nccl'"):
        create("naive", allreduce_grad_dtype=np.float16)
    with pytest.raises(TypeError, match="foo"):
        create("naive", foo=1)
    with pytest.raises(ValueError, match="allreduce_grad_dtype"):
        create(allreduce_grad_dtype=np.int32)
    with pytest.warns(DeprecationWarning, match="hierarchical"):
        assert type(create("hierarchical")).__name__ == "PureNcclCommunicator"
    assert create(allreduce_grad_dtype="float16").get_config("allreduce_grad_dtype") == np.float16
    two = type("Two", (), {"rank": 0, "size": 2})()
    with pytest.raises(RuntimeError, match="2 processes, and no launcher"):
        create("naive", two)
    comm = create("naive")
    with pytest.raises(ValueError, match="Unknown config"):
        comm.set_config("speed")
    with pytest.raises(KeyError):
        comm.get_config("speed")


def test_arrays(comm):
    x = f32(1, 2)
    assert comm.bcast(x) is x
    for y in (comm.gather(x)[0], comm.allgather(x)[0], comm.alltoall((x,))[0], comm.allreduce(x), comm.scatter((x,))):
        assert y is not x and y.tolist() == [1, 2]
    assert comm.scatter(f32(1, 2)[None]).tolist() == [1, 2]
    for call in (comm.bcast, comm.gather, comm.allgather, comm.allreduce):
        with pytest.raises(TypeError):
            call((x, x))
        with pytest.raises(TypeError, match="int8"):
            call(np.zeros(1, np.int8))
        with pytest.raises(TypeError, match="Message object"):
            call(1.5)
        with pytest.raises(ValueError, match="All message objects"):
            call([1, 2])
    with pytest.raises(ValueError, match="length of data"):
        comm.alltoall((x, x))
    with pytest.raises(ValueError, match="size"):
        comm.scatter((x, x))


def test_there_is_no_other_process(comm):
    for call in (lambda r: comm.send(f32(1), r, 0), lambda r: comm.recv(r, 0), lambda r: comm.send_obj(1, r)):
        with pytest.raises(RuntimeError, match="no rank 1.*alone: no launcher"):
            call(1)
        with pytest.raises(ValueError, match="deadlock"):
            call(0)
    with pytest.raises(RuntimeError, match="no rank 2"):
        comm.bcast(f32(1), root=2)


def test_objects(comm):
    obj = {"a": 1}
    assert comm.bcast_obj(obj) is obj and comm.gather_obj(obj) == [obj] and comm.allreduce_obj(3) == 3
    with pytest.raises(AssertionError):
        comm.bcast_obj(None)


def test_models(comm):
    model = chainer.Chain(a=L.Linear(2, 1), b=L.Linear(None, 1), c=L.Linear(1, 1))
    model.a.W.grad = f32([2, 4])
    model.a.b.cleargrad()
    model.c.cleargrads()
    comm.bcast_data(model)
    comm.multi_node_mean_grad(model)
    assert model.a.W.grad.tolist() == [[2, 4]] and model.a.b.grad is None
    with pytest.warns(DeprecationWarning):
        comm.allreduce_grad(model, zero_fill=True)
    assert model.a.b.grad.tolist() == [0] and model.c.W.grad.tolist() == [[0]] and model.b.W.array is None
    model.a.W.grad = f32([np.nan, 1])
    with chainer.using_config("debug", True), pytest.raises(ValueError, match="diverged"):
        comm.multi_node_mean_grad(model)


# ---- training --------------------------------------------------------------------------------------------------------


def test_the_first_update_takes_over_parameters(comm):
    model = L.Linear(1, 1, initialW=1.0)
    inner = chainer.optimizers.SGD(0.5)
    optimizer = chainermn.create_multi_node_optimizer(inner, comm)
    assert optimizer.setup(model) is optimizer and not isinstance(optimizer, chainer.Optimizer)
    loss = lambda x: F.sum(model(x))  # noqa: E731
    optimizer.update(loss, f32([2]))
    assert optimizer.t == 0 and model.W.array.tolist() == [[1]]
    optimizer.update(loss, f32([2]))
    assert optimizer.t == 1 and model.W.array.tolist() == [[0]]
    optimizer.lr = 0.25
    assert inner.lr == 0.25
    model.W.grad = f32([4])
    optimizer.update()
    assert model.W.array.tolist() == [[-1]]
    copy.deepcopy(optimizer)


def test_double_buffering_is_one_step_behind(comm):
    with pytest.raises(ValueError, match="double buffering"):
        chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(1), comm, double_buffering=True)
    model = L.Linear(1, 1, initialW=0.0, nobias=True)
    optimizer = chainermn.create_multi_node_optimizer(
        chainer.optimizers.SGD(1), chainermn.create_communicator("pure_nccl"), double_buffering=True
    ).setup(model)
    seen = []
    for gradient in (1, 10, 100, 1000):
        model.W.grad = f32([gradient])
        optimizer.update()
        seen.append(float(model.W.array[0, 0]))
    assert seen == [0, 0, -10, -110]


def test_a_trainer(comm, tmp_path):
    data = chainermn.scatter_dataset([(f32(i), f32(2 * i)) for i in range(8)], comm, shuffle=True, seed=0)
    assert len(data) == 8 and [int(data[i][0][0]) for i in range(8)] == [6, 2, 1, 7, 3, 0, 5, 4]
    model = L.Classifier(L.Linear(1, 1), F.mean_squared_error)
    model.compute_accuracy = False
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(0.1), comm).setup(model)
    updater = chainer.training.StandardUpdater(chainer.iterators.SerialIterator(data, 4), optimizer)
    trainer = chainer.training.Trainer(updater, (3, "epoch"), out=str(tmp_path))
    tests = chainer.iterators.SerialIterator(data, 4, repeat=False, shuffle=False)
    evaluator = extensions.Evaluator(tests, model)
    assert chainermn.create_multi_node_evaluator(evaluator, comm) is evaluator
    trainer.extend(evaluator)
    aggregated = []
    trainer.extend(chainermn.extensions.ObservationAggregator(comm, "main/loss", "mean"))
    note = lambda t: aggregated.append(float(t.observation["mean"].array))  # noqa: E731
    trainer.extend(note, name="note", trigger=(1, "iteration"), priority=-1)
    trainer.extend(chainermn.extensions.AllreducePersistent(model, comm))
    snapshot = extensions.snapshot(filename="at_{.updater.iteration}")
    trainer.extend(chainermn.extensions.multi_node_snapshot(comm, snapshot, [[0]]), trigger=(1, "epoch"))
    trainer.run()
    assert len(aggregated) == 6 and updater.get_optimizer("main").t == 5
    assert "validation/main/loss" in trainer.observation or evaluator().keys() == {"validation/main/loss"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["at_2.0", "at_4.0", "at_6.0"]


def test_generic_evaluator(comm):
    class Evaluator(chainermn.extensions.GenericMultiNodeEvaluator):
        def calc_local(self, x):
            return float(x.sum())

        def aggregate(self, results):
            return sum(results)

    iterator = chainer.iterators.SerialIterator([f32(i) for i in range(20)], 1, repeat=False)
    assert Evaluator(comm, iterator, None)(None) == 190


def test_checkpointer(comm, tmp_path):
    class Trainer:
        out = str(tmp_path)

        def __init__(self, iteration):
            self.iteration = iteration
            self.updater = self

        def serialize(self, serializer):
            self.iteration = serializer("iteration", self.iteration)

    with pytest.warns(DeprecationWarning):
        save, load = (chainermn.create_multi_node_checkpointer("cp", comm, cp_interval=2) for _ in range(2))
    assert save.get_stats() == "No stats available"
    for i in range(8):
        save(Trainer(i))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cp.0.6", "cp.0.7"] and "avg=" in save.get_stats()
    (tmp_path / "cp.0.notes").write_text("of somebody else")
    trainer = Trainer(0)
    load.maybe_load(trainer)
    assert trainer.updater.iteration == 7
    save.finalize()
    assert [p.name for p in tmp_path.iterdir()] == ["cp.0.notes"]


def test_early_stopping(comm):
    trigger = chainermn.extensions.MultiNodeEarlyStoppingTrigger(
        comm, monitor="loss", check_trigger=(1, "iteration"), patience=2, max_trigger=(50, "iteration")
    )
    updater = type("Updater", (), {"iteration": 0, "epoch": 0, "epoch_detail": 0, "previous_epoch_detail": 0})()
    trainer = type("Trainer", (), {"observation": {}, "updater": updater})()
    stopped = []
    for loss in (3.0, 2.0, 2.5, 2.6, 2.7):
        updater.iteration += 1
        trainer.observation = {"loss": loss}
        stopped.append(trigger(trainer))
        assert trainer.observation["loss_aggregated"] == loss
    assert stopped[:3] == [False] * 3 and any(stopped)
    assert trigger.get_training_length() == (50, "iteration")


def test_parts_of_a_dataset(comm):
    assert tuple(chainermn.scatter_index(5, comm)) == (0, 5)
    parts = importlib.import_module("compatgrad.chainermn.datasets.scatter")._scatter_index
    # the parts of 5 examples in ChainerMN 7.8.1
    assert [p[1:] for p in parts(5, 2, True)] == [(0, 3), (2, 5)]
    assert [p[1:] for p in parts(5, 2, False)] == [(0, 3), (3, 5)]
    assert [p[1:] for p in parts(7, 3, False)] == [(0, 3), (3, 5), (5, 7)]
    assert chainermn.datasets.create_empty_dataset([1, 2]) == [(), ()]
    with pytest.raises(AssertionError):
        chainermn.scatter_dataset([1], comm, root=1)


def test_iterators(comm):
    serial = chainer.iterators.SerialIterator
    iterator = chainermn.iterators.create_multi_node_iterator(serial(f32(1, 2, 3), 2, shuffle=False), comm)
    assert next(iterator) == [1, 2] and iterator.current_position == 2 and not iterator.is_new_epoch
    pairs = [(np.float32(i), np.int32(i)) for i in range(3)]
    iterator = chainermn.iterators.create_multi_node_iterator(serial(pairs, 2, shuffle=False), comm)
    assert iterator.next() == pairs[:2]
    with pytest.raises(TypeError, match="Multi node iterator supports"):
        next(chainermn.iterators.create_multi_node_iterator(serial(["a", "b"], 2), comm))
    inner = serial(list(range(10)), 3, shuffle=True)
    np.random.seed(5)
    iterator = chainermn.iterators.create_synchronized_iterator(inner, comm)
    np.random.seed(5)
    seed = np.random.randint(0, 2**32 - 1, dtype=np.int64)
    assert next(iterator) == np.random.RandomState(seed).permutation(10)[:3].tolist()
    with pytest.raises(ValueError, match="order_sampler"):
        chainermn.iterators.create_synchronized_iterator(object(), comm)


# ---- functions and links ---------------------------------------------------------------------------------------------


def test_functions(comm):
    x = chainer.Variable(f32(1, 2))
    (y,) = MF.allgather(comm, x)
    (z,) = MF.gather(comm, x)
    (a,) = MF.alltoall(comm, [x])
    loss = F.sum(y * z * a * MF.bcast(comm, x) * MF.scatter(comm, [x]))
    loss.backward()
    np.testing.assert_allclose(x.grad, [5, 80])
    with pytest.raises(ValueError, match="length of xs"):
        MF.alltoall(comm, [x, x])
    for call in (lambda r: MF.send(x, comm, r), lambda r: MF.recv(comm, r)):
        with pytest.raises(ValueError, match="rank must be different"):
            call(0)
        with pytest.raises(RuntimeError, match="no rank 1"):
            call(1)


def test_pseudo_connect(comm):
    order = []

    class Note(chainer.FunctionNode):
        def __init__(self, name):
            self.what = name

        def forward(self, inputs):
            return (inputs[0].copy(),)

        def backward(self, indexes, grads):
            order.append((self.what, grads[0].array.tolist()))
            return grads

    delegate, actual = (Note(n).apply((chainer.Variable(f32(1, 2)),))[0] for n in ("delegate", "actual"))
    (y,) = MF.pseudo_connect(delegate, actual)
    y.grad = f32(3, 4)
    y.backward()
    assert dict(order) == {"delegate": [0, 0], "actual": [3, 4]}
    (y,) = MF.pseudo_connect(None, chainer.Variable(f32(5)))
    assert y.array.tolist() == [5]


def test_batch_normalization_is_that_of_one_process(comm):
    with pytest.raises(ValueError, match="does not support pigeon"):
        ML.MultiNodeBatchNormalization(2, comm, communication_backend="pigeon")
    with pytest.raises(ValueError, match="nccl"):
        ML.MultiNodeBatchNormalization(2, comm, communication_backend="nccl")
    x = np.random.RandomState(0).normal(size=(4, 2, 3)).astype("f")
    link = ML.MultiNodeBatchNormalization(2, comm, initial_gamma=f32(2, 3))
    assert link.avg_var.tolist() == [0, 0]
    y = link(x)
    mean, var = x.mean((0, 2)), x.var((0, 2))
    expected = (x - mean[:, None]) / np.sqrt(var + 2e-5)[:, None] * f32(2, 3)[:, None]
    np.testing.assert_allclose(y.array, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(link.avg_mean, 0.1 * mean, rtol=1e-5)
    np.testing.assert_allclose(link.avg_var, 0.1 * var * 12 / 11, rtol=1e-5)
    again = copy.deepcopy(link)
    assert again.comm is comm and again.avg_mean is not link.avg_mean and again.gamma is not link.gamma
    link.start_finetuning()
    link(x, finetune=True)
    np.testing.assert_allclose(link.avg_mean, mean, rtol=1e-5)
    with chainer.using_config("train", False):
        np.testing.assert_allclose(link(x).array, expected, rtol=0.1, atol=0.2)
    bare = ML.MultiNodeBatchNormalization(2, comm, use_gamma=False, use_beta=False)
    assert not list(bare.params()) and bare(x).shape == x.shape


def test_create_mnbn_model(comm):
    model = chainer.Chain(a=chainer.Sequential(L.Linear(3, 2), F.relu, L.BatchNormalization(2)), b=L.Linear(2, 2))
    model.a[2].avg_mean[:] = 7
    new = ML.create_mnbn_model(model, comm)
    norm = new.a[2]
    assert isinstance(norm, ML.MultiNodeBatchNormalization) and norm.avg_mean.tolist() == [7, 7]
    assert isinstance(model.a[2], L.BatchNormalization) and new.b is not model.b
    (item,) = ML.create_mnbn_model(chainer.ChainList(L.BatchNormalization(2)), comm)
    assert isinstance(item, ML.MultiNodeBatchNormalization)


def test_chain_list(comm):
    class Net(chainermn.MultiNodeChainList):
        def __init__(self):
            super().__init__(comm=comm)
            self.add_link(L.Linear(2, 3, initialW=1), None, 0)
            self.add_link(L.Linear(3, 1, initialW=1), 0, None)

    net = Net()
    y = net(chainer.Variable(f32([1, 2])))
    assert y.array.tolist() == [[9]]
    net.cleargrads()
    F.sum(y).backward()
    assert net[0].W.grad.tolist() == [[1, 2]] * 3
    with pytest.raises(ValueError, match="rank_out is None"):
        net.add_link(L.Linear(1, 1))
    far = chainermn.MultiNodeChainList(comm)
    far.add_link(L.Linear(2, 3), None, 1)
    with pytest.raises(RuntimeError, match="no rank 1"):
        far(f32([1, 2]))
    lost = chainermn.MultiNodeChainList(comm)
    lost.add_link(L.Linear(2, 3), None, 0)
    with pytest.raises(ValueError, match="queue is not empty"):
        lost(chainer.Variable(f32([1, 2])))


def test_recurrent_networks(comm):
    rnn = ML.create_multi_node_n_step_rnn(L.NStepLSTM(1, 2, 3, 0), comm)
    h, c, ys, sent = rnn([np.zeros((2, 2), "f")])
    assert h.shape == c.shape == (1, 1, 3) and ys[0].shape == (2, 3) and sent is None
    with pytest.raises(ValueError, match="NStepRNN"):
        ML.create_multi_node_n_step_rnn(L.Linear(1, 1), comm)
    with pytest.raises(RuntimeError, match="no rank 1"):
        ML.create_multi_node_n_step_rnn(L.NStepGRU(1, 2, 3, 0), comm, rank_out=1)([np.zeros((2, 2), "f")])
