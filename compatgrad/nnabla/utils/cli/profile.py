"""``profile``: measures the parts of a training."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from ...ext_utils import import_extension_module
from ...logger import logger
from .. import callback
from .. import load as loading
from ..progress import configure_progress, progress
from ._steps import ResultTable, adds, assign, command, open_iterators, read_batches

__all__ = ["add_profile_command", "profile"]

SECONDS, CALLS = 1.0, 100  # each part runs at least for this time, and at least this number of times


def profile(
    config: Any, name: str, func: Callable[[], Any], result_dict: dict[str, float], synchromize: Callable[[], Any]
) -> dict[str, float]:
    """Measures the average time of a call of a function, over at least a second and at least 100 calls.

    Args:
        config: has no effect.
        name: the name of the result.
        func: the function, without arguments.
        result_dict: dict in which the milliseconds are stored under the name.
        synchromize: function that waits until all work that was started has ended.

    Returns:
        `result_dict`.

    Raises:
        Nothing.

    Example:
        >>> from compatgrad.nnabla.utils.cli.profile import profile
        >>> list(profile(None, "exp", lambda: np.exp(1.0), {}, lambda: None))
        ['exp']

    Source: `nnabla.utils.cli.profile.profile` of nnabla 1.39.0.
    """
    func()
    synchromize()
    spent, count, start = 0.0, 0, time.time()
    while time.time() < start + SECONDS or count < CALLS:
        begun = time.time()
        func()
        synchromize()
        spent += time.time() - begun
        count += 1
    result_dict[name] = spent * 1000 / count
    logger.log(99, f"{name} {result_dict[name]:f}(ms)")
    return result_dict


def _functions(target: Any) -> tuple[list[Any], list[Any]]:
    """The functions of a forward pass and of a backward pass, in order."""
    forward: list[Any] = []
    backward: list[Any] = []
    target.forward(clear_no_need_grad=True, function_pre_hook=forward.append)
    target.backward(clear_buffer=True, function_pre_hook=backward.append)
    return [f for f in forward if f.name != "Sink"], [f for f in backward if f.name != "Sink"]


def _profile_optimizer(o: Any, iterators: list[Any], synchronize: Callable[[], Any]) -> dict[str, float]:
    result: dict[str, float] = {}
    owner = f"optimizer {o.name!r}"

    def measure(name: str, func: Callable[[], Any]) -> None:
        profile(None, name, func, result, synchronize)

    weights = [p for name, p in o.parameters.items() if name.endswith(("/W", "/b"))]
    for p in weights:
        p.data.zero()
    measure("load_dataset", lambda: read_batches(iterators))
    data = read_batches(iterators)
    for v, name in o.dataset_assign.items():
        measure(f"let_data ({name} to {v.name})", partial(assign, {v: name}, {}, data, owner))
    for v, generator in o.generator_assign.items():
        measure(f"generate_data ({v.name})", partial(assign, {}, {v: generator}, data, owner))
    forward, backward = _functions(o.target)
    for f in forward:
        measure(f"forward_function ({f.name} : {f.name})", partial(f.forward, inputs=f.inputs, outputs=f.outputs))
    measure("prepare_backward", lambda: None)
    for f in backward:
        measure(f"backward_function ({f.name} : {f.name})", partial(f.backward, inputs=f.inputs, outputs=f.outputs))

    def without_zero_grad() -> None:
        for p in weights:
            p.grad.zero()
        o.target.backward(clear_buffer=True)

    measure("forward_all", lambda: o.target.forward(clear_no_need_grad=True))
    measure("backward_all", lambda: o.target.backward(clear_buffer=True))
    measure("backward_all(wo param zero_grad)", without_zero_grad)
    if o.weight_decay > 0:
        measure(f"weight_decay ({o.solver.name})", lambda: o.solver.weight_decay(o.weight_decay))
    measure(f"update ({o.solver.name})", o.solver.update)
    measure("monitor_loss", lambda: [np.mean(v.variable_instance.d) for v in o.loss_variables])
    return result


def _synchronize(context: Any) -> Callable[[], Any]:
    try:
        extension = import_extension_module(context.backend[0].split(":")[0])
    except ImportError:
        return lambda: None
    return lambda: extension.synchronize(device_id=context.device_id)


@command
def profile_command(args: Any) -> bool:
    """Measures the parts of a training and writes the milliseconds by part and optimizer to `profile.csv` in a folder.
    The weights of the networks become 0.

    Example:
        nnabla_cli profile -c net.nntxt -o results
    """
    os.makedirs(args.outdir, exist_ok=True)
    callback.update_status(args)
    configure_progress(os.path.join(args.outdir, "progress.txt"))
    info = loading.load([args.config])
    synchronize = _synchronize(info.global_config.default_context)
    table = ResultTable("time in ms")
    with ExitStack() as stack:
        iterators = open_iterators(stack, info.optimizers.values())
        for o in info.optimizers.values():
            logger.log(99, f"Profiling optimizer '{o.name}' with network '{o.network.name}' ...")
            used = [iterators[make] for make in o.data_iterators.values()]
            table.add(f"optimizer '{o.name}' with network '{o.network.name}'", _profile_optimizer(o, used, synchronize))
    table.write(os.path.join(args.outdir, "profile.csv"))
    logger.log(99, "Profile Completed.")
    progress(None)
    callback.update_status("finished")
    return True


@adds("profile -c net.nnp -o out", "profile_command", config="net.nnp")
def add_profile_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("profile", help="measure the times of the parts of a training")
    parser.add_argument("-c", "--config", required=True, help=".nnp or .nntxt file")
    parser.add_argument("-o", "--outdir", required=True, help="folder for profile.csv")
    parser.set_defaults(func=profile_command)
