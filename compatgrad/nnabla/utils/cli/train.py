"""``train``: trains the networks of a file by the file's training configuration."""

from __future__ import annotations

import glob
import os
import tempfile
import time
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import numpy as np

from compatgrad.core.files import replacing

from ..._init import available_contexts
from ...config import nnabla_config
from ...logger import logger
from ...parameter import save_parameters
from .. import callback
from .. import load as loading
from ..communicator_util import current_communicator, single_or_rankzero
from ..nnp_format import nnp_version
from ..progress import configure_progress, progress
from ._steps import adds, assign, command, optimizer_states
from .utility import load_train_state

__all__ = ["add_train_command"]


class _Training:
    """A run of a file's optimizers and monitors. It writes the best parameters to `results.nnp` and the state after
    epoch N to `results_current_N.nnp`."""

    def __init__(self, args: Any, info: Any) -> None:
        self.args, self.info = args, info
        self.config = info.training_config
        self.comm = current_communicator()
        self.config.iter_per_epoch //= self.comm.size if self.comm else 1
        self.best: float | None = None
        self.saved = {"current": (0, 0.0)}  # epoch and time of the last save
        self.stopped = False  # whether a hook has stopped the training, which another process will resume
        self.time_limit = callback.get_timelimit(args)  # in seconds; -1 for no limit

    # ---- computation ---------------------------------------------------------------------------------------
    def _reserved(self, name: str, iteration: int) -> float:
        """The value of a name that begins with %."""
        config = self.config
        values = {
            "%iter": iteration,
            "%max_iter": config.max_epoch * config.iter_per_epoch,
            "%epoch": iteration // config.iter_per_epoch,
            "%epochf": iteration / config.iter_per_epoch,
            "%max_epoch": config.max_epoch,
            "%progress": iteration / config.iter_per_epoch / config.max_epoch,
        }
        if name not in values:
            raise ValueError(f"unknown data {name!r}; known: {', '.join(values)}")
        return values[name]

    def _mean(self, value: float) -> float:
        """The mean over all processes."""
        if not self.comm:
            return value
        from ..._nd_array import NdArray

        array = NdArray.from_numpy_array(np.array([value], np.float32))
        self.comm.all_reduce([array], division=True, inplace=True)
        return float(array.data[0])

    def update(self, iteration: int, iterators: Mapping[Any, Any]) -> float | None:
        """Runs one iteration of all optimizers that are due. Returns the cost of the last one, or None if there is no
        cost."""
        cost = None
        batches: dict[Any, Any] = {}
        for o in self.info.optimizers.values():
            if iteration + 1 < o.start_iter or (o.end_iter and iteration + 1 > o.end_iter):
                continue
            data: dict[str, Any] = {}
            for make in o.data_iterators.values():
                if make not in batches:
                    batches[make] = iterators[make].next()
                data.update(zip(iterators[make].variables, batches[make], strict=True))
            for v, name in o.dataset_assign.items():
                if name not in data and name.startswith("%"):
                    data[name] = np.full(v.variable_instance.shape, self._reserved(name, iteration), np.float32)
            assign(o.dataset_assign, o.generator_assign, data, f"optimizer {o.name!r}")
            self._step(o, iteration)
            cost = sum(float(np.mean(v.variable_instance.d)) for v in o.loss_variables)
        return cost

    def _step(self, o: Any, iteration: int) -> None:
        first = iteration % o.update_interval == 0
        last = iteration % o.update_interval == o.update_interval - 1
        for v in o.loss_variables:
            v.variable_instance.persistent = True  # persistent, because its value is read after the pass
        o.target.forward(clear_no_need_grad=True)
        if first:
            o.solver.zero_grad()
        o.target.backward(grad=1.0 / o.loss_variables[0].variable_instance.size, clear_buffer=True)
        if not last:
            return
        if self.comm:
            self.comm.all_reduce([p.grad for p in o.parameters.values()], division=True, inplace=False)
        if o.weight_decay > 0:
            o.solver.weight_decay(o.weight_decay)
        if o.scheduler is not None:
            o.solver.set_learning_rate(o.scheduler.get_learning_rate(iteration))
        o.solver.update()

    def evaluate(self, iterators: Mapping[Any, Any]) -> dict[str, float]:
        """The mean of each monitor's variables over the monitor's data."""
        errors = {}
        for name, m in self.info.monitors.items():
            used = [iterators[make] for make in m.data_iterators.values()]
            batches = max(d.size for d in used) // max(d.batch_size for d in used)
            total = 0.0
            for _ in range(batches):
                data: dict[str, Any] = {}
                for iterator in used:
                    data.update(zip(iterator.variables, iterator.next(), strict=True))
                assign(m.dataset_assign, m.generator_assign, data, f"monitor {name!r}")
                for v in m.monitor_variables:
                    v.variable_instance.persistent = True
                m.target.forward(clear_no_need_grad=True, clear_buffer=True)
                total += sum(float(np.mean(v.variable_instance.d)) for v in m.monitor_variables)
            error = self._mean(total / batches) if batches else 0.0
            if not np.isfinite(error):
                logger.log(99, "Validation error is Nan")
                error = 0.0
            errors[name] = error
        valid = errors.get("valid_error", 0.0)
        return errors | {"": valid}

    # ---- files --------------------------------------------------------------------------------------------------
    def save(self, name: str, kind: str | None, with_states: bool = False) -> None:
        """Writes the network definitions, the parameters and optionally the states of solvers to `name`.nnp in the
        folder of results, or to the path that a hook returns."""
        base = os.path.join(self.args.outdir, name)
        target = (callback.result_base(base, kind, self.args.outdir) or base) + ".nnp"
        format_ = nnabla_config.get("MISC", "nnp_param_format", fallback=".h5")
        with (
            tempfile.TemporaryDirectory() as folder,
            replacing(target) as file,
            zipfile.ZipFile(file, "w") as archive,
        ):
            parameters = os.path.join(folder, f"parameter{format_}")
            save_parameters(parameters)
            archive.writestr("nnp_version.txt", f"{nnp_version()}\n")
            archive.writestr(*_definition(self.args.config))
            archive.write(parameters, f"parameter{format_}")
            for part, content in optimizer_states(self.info.optimizers.values()).items() if with_states else ():
                archive.writestr(part, content)
        callback.save_train_snapshot()

    def save_current(self, epoch: int, force: bool = False) -> None:
        """Writes the state after `epoch`, at most every 180 seconds or 11 epochs; removes the previous one."""
        last, when = self.saved["current"]
        if not force and time.time() - when <= 180.0 and epoch - last <= 10:
            return
        name = f"results_current_{epoch}"
        self.save(name, "current", with_states=True)
        for path in glob.glob(os.path.join(glob.escape(self.args.outdir), "results_current_*.nnp")):
            if os.path.basename(path) != f"{name}.nnp":
                os.unlink(path)
        self.saved["current"] = (epoch, time.time())

    def resume(self) -> int:
        """Loads the last state; returns its epoch, 0 if there is none."""
        pattern = os.path.join(glob.escape(self.args.outdir), "results_current_*.nnp")
        found = {int(os.path.splitext(path)[0].rsplit("_", 1)[1]): path for path in glob.glob(pattern)}
        if not found:
            return 0
        epoch = max(found)
        self.best, best_epoch = callback.get_best_from_status(self.args)
        if best_epoch is not None:
            logger.log(99, f"Best error {self.best} recorded at epoch {best_epoch} in previous training.")
        logger.log(99, f"Load parameter from [{os.path.basename(found[epoch])}]")
        load_train_state(found[epoch], self.info)
        return epoch

    # ---- the loop -----------------------------------------------------------------------------------------------
    def run(self) -> bool:
        """Runs the training; returns False where the cost is not finite."""
        config = self.config
        done = self.resume() if self.args.resume else 0
        logger.log(99, f"Training epoch {done + 1} of {config.max_epoch} begin")
        rng = np.random.RandomState(self.comm.rank if self.comm else 0)
        makers = [
            m
            for part in (*self.info.optimizers.values(), *self.info.monitors.values())
            for m in part.data_iterators.values()
        ]
        with ExitStack() as stack:
            iterators: dict[Any, Any] = {}
            for make in makers:
                if make not in iterators:
                    iterator = stack.enter_context(make())
                    if self.comm and self.comm.size > 1:
                        iterator = iterator.slice(rng, self.comm.size, self.comm.rank)
                    iterators[make] = iterator
            start = time.time()
            callback.update_status(("epoch.max", config.max_epoch))
            callback.update_status(("epoch.current", min(done + 1, config.max_epoch)))
            callback.update_status("processing", True, start)
            for epoch in range(done, config.max_epoch):
                if not self._epoch(epoch, iterators, start, done):
                    return False
                if self.stopped:
                    return False
        if single_or_rankzero() and done < config.max_epoch:
            self.save_current(config.max_epoch, force=True)
        return True

    def _epoch(self, epoch: int, iterators: Mapping[Any, Any], start: float, done: int) -> bool:
        config = self.config
        costs = []
        for i in range(config.iter_per_epoch):
            cost = self.update(epoch * config.iter_per_epoch + i, iterators)
            if cost is not None:
                costs.append(cost)
                progress(f"Training : cost={cost:0.6f}", i / config.iter_per_epoch)
            past = time.time() - start
            steps = (epoch - done) * config.iter_per_epoch + i + 1
            whole = past * (config.max_epoch - done) * config.iter_per_epoch / steps
            callback.update_time_train(prediction=whole)
            if 0 < self.time_limit < whole:
                logger.log(99, f"Expected training time ({whole:.3f}s) will exceed time limit ({self.time_limit}s).")
                return False
        cost = self._mean(sum(costs) / len(costs)) if costs else 0.0
        if not np.isfinite(cost):
            logger.log(99, "Cost is Nan")
            return False
        number = epoch + 1
        errors: dict[str, float] = {}
        if number % config.monitor_interval == 0 or number <= 5:
            errors = self.evaluate(iterators)
            valid = errors.pop("")
            if single_or_rankzero() and (not config.save_best or not self.best or valid <= self.best):
                self.best = valid
                callback.update_status(("best.valid_error", valid))
                callback.update_status(("best.epoch", number))
                self.save("results", "best")
        if single_or_rankzero():
            with open(os.path.join(self.args.outdir, "monitoring_report.yml"), "a") as file:
                file.write(f"{epoch}:\n  cost: {cost}\n")
                file.writelines(f"  {name}: {error}\n" for name, error in errors.items())
            for name, error in {"cost": cost, **errors}.items():
                callback.update_status((["monitoring_report", number, name], error))
            self.save_current(number)
            callback.update_status(("epoch.current", number))
            callback.update_status()
        past = time.time() - start
        whole = past * (config.max_epoch - done) / (number - done)
        shown = " {" + ", ".join(f"{k}={v:.6f}" for k, v in errors.items()) + "}" if errors else ""
        ending = f"time=({past:.1f}s /{whole:.1f}s) "  # ends with a space in nnabla, too
        logger.log(99, f"epoch {number} of {config.max_epoch} cost={cost:.6f} {shown} {ending}")
        times = SimpleNamespace(start_time=start, past_time=past, estimate_time=whole)
        if single_or_rankzero() and not callback.check_training_time(self.args, self.config, times, number, done):
            self.save_current(number, force=True)
            self.stopped = True
        return True


def _definition(path: str) -> tuple[str, bytes]:
    """The name and the text of the file with the networks, which is `path` or a part of a .nnp file."""
    if not path.endswith(".nnp"):
        with open(path, "rb") as file:
            return os.path.basename(path), file.read()
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist() if n.endswith((".nntxt", ".prototxt")))
        return os.path.basename(name), archive.read(name)


@command
def train_command(args: Any) -> bool:
    """Trains the networks of a file by its training configuration, and writes the results into a folder.

    Returns:
        Whether it succeeded; False, with a message, where the address of a data set is empty.

    Raises:
        OSError: a file cannot be read or written.
        ValueError: a file is damaged, or has no training configuration.

    Example:
        nnabla_cli train -c net.nntxt -o results
    """
    os.makedirs(args.outdir, exist_ok=True)
    callback.update_status(args)
    if single_or_rankzero():
        configure_progress(os.path.join(args.outdir, "progress.txt"))
    info: SimpleNamespace = loading.load(
        [args.config], prepare_data_iterator=None, exclude_parameter=True, context=args.context
    )
    if not hasattr(info, "training_config"):
        raise ValueError(f"{args.config} has no training_config, so it cannot be trained")
    if any(not dataset.uri.strip() for dataset in info.datasets.values()):
        logger.log(99, "Fatal error. Dataset URI is empty.")
        return False
    if args.param:
        load_train_state(args.param, info)
    if single_or_rankzero():
        logger.log(99, f"Train with contexts {available_contexts}")
        if args.config.endswith(".nnp"):  # the networks as text, beside the results
            name, text = _definition(args.config)
            with replacing(os.path.join(args.outdir, name)) as file:
                file.write(text)
    training = _Training(args, info)
    if info.training_config.max_epoch * info.training_config.iter_per_epoch > 0:
        result = training.run()
    else:
        logger.log(99, "0 epoch learning. (Just save parameter.)")
        if single_or_rankzero():
            training.save("results", None, with_states=True)
        result = True
    if not training.stopped:
        logger.log(99, "Training Completed." if result else "Training Incompleted.")
        callback.update_status("finished" if result else "failed")
    progress(None)
    return result or training.stopped


@adds("train -c net.nnp -o out", "train_command", resume=False)
def add_train_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("train", help="train a network")
    parser.add_argument("-c", "--config", required=True, help=".nnp or .nntxt file")
    parser.add_argument("-p", "--param", help="file of parameters to start from")
    parser.add_argument("-o", "--outdir", required=True, help="folder for results")
    parser.add_argument("-r", "--resume", action="store_true", help="resume the training of the results folder")
    parser.add_argument("-C", "--context", help="context, such as cpu or cudnn:0")
    callback.add_train_command_arg(parser)
    parser.set_defaults(func=train_command)
