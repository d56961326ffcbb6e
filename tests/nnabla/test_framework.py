"""The training loop of nnabla.experimental.framework, and modules of nnabla that programs import."""

import logging

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S
from compatgrad.nnabla import callback, communicator, communicators, lms
from compatgrad.nnabla.experimental import framework
from compatgrad.nnabla.utils.data_iterator import data_iterator_simple
from compatgrad.nnabla.utils.data_source_implements import SimpleDataSource


@pytest.fixture(autouse=True)
def no_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


class Recorded(framework.Worker):
    """Records the calls of its steps."""

    def __init__(self, *args, **kwargs):
        self.calls = []
        super().__init__(*args, **kwargs)

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        known = ("calls", "_data", "_loss", "_solver", "_comm", "_updater", "_evaluator")
        if name in known or not callable(found) or name.startswith("__"):
            return found

        def call(*args, **kwargs):
            self.calls.append((name, *args))
            return found(*args, **kwargs)

        return call


def test_the_steps_of_a_training_come_in_order():
    worker = Recorded(None, max_epoch=2, iter_per_epoch=2)
    framework.Trainer(worker).train()
    names = [name for name, *_ in worker.calls if name not in ("max_epoch", "iter_per_epoch", "_loopCallbackCondition")]
    start = [
        "load_checkpoint",
        "training_prepare",
        "_ctx_init",
        "_var_init",
        "_comm_init",
        "_data_init",
        "_graph_init",
        "_loss_init",
        "_solver_init",
        "_monitor_init",
        "save_model_at_start",
    ]
    evaluation = ["_eval_callback_on_start", "_eval_data_feeder", "_eval_graph_forward", "_eval_callback_on_finish"]
    update = [
        "iter_loop_start",
        "update_in_iteration",
        "_solver_zero_grad",
        "_train_data_feeder",
        "_loss_forward_callback_on_start",
        "_loss_forward",
        "_loss_forward_callback_on_finish",
        "_loss_backward_callback_on_start",
        "_loss_backward",
        "_loss_backward_callback_on_finish",
        "_solver_update_callback_on_start",
        "_solver_update",
        "_solver_update_callback_on_finish",
        "iter_loop_end",
    ]
    epoch = [
        "epoch_loop_start",
        "evaluate_at_epoch_start",
        *evaluation,
        *update,
        *update,
        "epoch_loop_end",
        "save_checkpoint_at_epoch_end",
    ]
    end = ["evaluate_at_training_end", *evaluation, "save_model_at_end", "training_complete"]
    assert names == [*start, *epoch, *epoch, *end]
    feeds = [rest for name, *rest in worker.calls if name == "_train_data_feeder"]
    assert feeds == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
    assert [rest for name, *rest in worker.calls if name == "_eval_callback_on_start"] == [[0], [1], [2]]


def test_a_training():
    class Lines(framework.Data):
        class CustomDataSource(SimpleDataSource):
            def __init__(self):
                def sample(i):
                    x = np.array([i / 8 - 1], np.float32)
                    return x, 3 * x + 1

                super().__init__(sample, 16, shuffle=True, rng=np.random.RandomState(0))

        def __data_iterator__(self, source):
            return data_iterator_simple(source._load_func, 16, 8, shuffle=False)

        def next(self):
            return self._data_iterator.next()

    class Fit(framework.Worker):
        def _graph_init(self):
            self.x, self.t = nn.Variable((8, 1)), nn.Variable((8, 1))
            self.y = PF.affine(self.x, 1)

        def _loss_init(self):
            self._loss = F.mean(F.squared_error(self.y, self.t))

        def _solver_init(self):
            self._solver = S.Momentum(0.1, 0.5)
            self._solver.set_parameters(nn.get_parameters())

        def _train_data_feeder(self, i, e, ag):
            self.x.d, self.t.d = self._data.next()

        def _loopCallbackCondition(self, i=0, e=0, ag=0, toExecute=lambda i, e, ag: True):
            return e < 20

    worker = Fit(Lines(), max_epoch=30, iter_per_epoch=4)
    trainer = framework.Trainer(worker)
    trainer.train()
    found = nn.get_parameters()
    np.testing.assert_allclose([found["affine/W"].d.item(), found["affine/b"].d.item()], [3, 1], atol=0.05)
    assert trainer.brief() is None and trainer.start_epoch == 0


def test_gradients_of_several_batches_and_processes():
    from compatgrad.nnabla.experimental.framework.updater import Updater

    calls = []

    def note(name):
        return lambda *where: calls.append((name, *where))

    updater = Updater(
        note("feed"),
        note("zero"),
        note("update"),
        note("forward"),
        note("backward"),
        comm_all_reduce=note("reduce"),
        solver_update_callback_on_start=[note("a"), note("b")],
        accum_grad=2,
        comm=object(),
        grads=[1],
    )
    updater.update(3, 4)
    batches = [(name, 3, 4, k) for k in range(2) for name in ("feed", "forward", "backward")]
    assert calls == [("zero", 3, 4), *batches, *[(name, 3, 4) for name in ("reduce", "a", "b", "update")]]
    calls.clear()
    updater.comm = None
    updater.update(0, 0)
    assert ("reduce", 0, 0) not in calls


def test_scheduler_of_memory_leaves_results_alone(caplog):
    scheduler = lms.SwapInOutScheduler(nn.Context(["cpu:float"]), nn.Context(["cpu:float"]), size=10)
    x = nn.Variable((2, 3)).apply(need_grad=True)
    x.d = 1
    y = F.sum(PF.affine(x, 2) ** 2)
    solver = S.Sgd(0.1)
    solver.set_parameters(nn.get_parameters())
    with caplog.at_level(logging.WARNING), scheduler as entered:
        y.forward(clear_no_need_grad=True)
        solver.zero_grad()
        y.backward(clear_buffer=True)
        solver.update()
    assert entered is scheduler and scheduler.prefetch_size == 15 and not caplog.records
    y.forward(function_pre_hook=scheduler.function_pre_hook, function_post_hook=scheduler.function_post_hook)


def test_hooks_of_solvers_by_the_module_of_callbacks():
    w = nn.Variable.from_numpy_array(np.ones(2, np.float32), need_grad=True)
    solver = S.Sgd(0.1)
    solver.set_parameters({"w": w})
    calls = []
    callback.set_solver_pre_hook("mine", lambda: calls.append("pre"))
    callback.set_solver_post_hook("mine", lambda: calls.append("post"))
    solver.update()
    callback.unset_solver_pre_hook("mine")
    callback.unset_solver_post_hook("mine")
    solver.update()
    assert sorted(calls) == ["post", "pre"]


def test_modules_of_the_original():
    from compatgrad.nnabla.recompute import recompute, recompute_fn

    assert nn.recompute is recompute and recompute_fn is nn.recompute_fn
    assert communicator.DataParallelCommunicator is communicators.DataParallelCommunicator


def test_graphs_for_tensorboard(tmp_path):
    pytest.importorskip("tensorboardX")
    from compatgrad.nnabla.experimental.tb_graph_writer import GraphDef, TBGraphWriter

    x = nn.Variable((2, 3, 4, 4))
    with nn.parameter_scope("c1"):
        h = F.relu(PF.batch_normalization(PF.convolution(x, 8, (3, 3), pad=(1, 1))))
    with nn.parameter_scope("f1"):
        y = PF.affine(h, 10)
    events = []
    with TBGraphWriter(log_dir=str(tmp_path / "log")) as writer:
        writer.file_writer.add_event = events.append
        writer.from_variable(y + y, output_name="out")
        writer.from_graph_def(nn.graph_def.create_graph_from_variable("net", y))
    first, second = (GraphDef.FromString(event.graph_def) for event in events)
    nodes = {node.name: node for node in first.node}
    assert len(nodes) == len(first.node) == 19
    assert nodes["out"].input == ["Add20"]
    assert list(nodes["Add20"].input) == ["f1/affine/v_Affine0_0"] * 2
    assert list(nodes["f1/affine/Affine0"].input) == ["v_ReLU0_0", "f1/affine/W", "f1/affine/b"]
    assert [d.size for d in nodes["Input_0"].attr["shape"].shape.dim] == [2, 3, 4, 4]
    for graph in (first, second):
        names = {node.name for node in graph.node}
        assert all(name in names for node in graph.node for name in node.input)
