"""``compare_with_cpu``: compares the numbers of the first training step of two files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from ...logger import logger
from ...parameter import get_parameters, parameter_scope
from .. import load as loading
from ..progress import configure_progress, progress
from ._steps import ResultTable, adds, assign, command, open_iterators, read_batches

__all__ = ["add_compare_with_cpu_command", "calc_norm_diff"]


def calc_norm_diff(data1: np.ndarray, data2: np.ndarray) -> tuple[float, float, float, float]:
    """The difference of two arrays, measured by standard deviations.

    Args:
        data1: an array.
        data2: an array with the same number of elements.

    Returns:
        The standard deviation of the difference divided by the larger standard deviation of the two arrays (0 where
        both are constant), the standard deviations of the two arrays, and that of the difference.

    Raises:
        ValueError: the arrays have different numbers of elements.

    Example:
        >>> from compatgrad.nnabla.utils.cli.compare_with_cpu import calc_norm_diff
        >>> [float(n) for n in calc_norm_diff(np.array([1.0, 3.0]), np.array([1.0, 5.0]))]
        [0.5, 1.0, 2.0, 1.0]

    Source: `nnabla.utils.cli.compare_with_cpu.calc_norm_diff` of nnabla 1.39.0.
    """
    std1, std2 = np.std(data1), np.std(data2)
    std = max(std1, std2)
    apart = np.std(data1.ravel() - data2.ravel())
    return (apart / std if std > 0 else 0), std1, std2, apart


def _step(o: Any) -> None:
    for v in o.network.variables.values():
        v.variable_instance.persistent = True
    o.target.forward()
    o.solver.zero_grad()
    o.target.backward(grad=1.0 / o.loss_variables[0].variable_instance.size)


def _pairs(o: Any, cpu: Any) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yields names and pairs of arrays: the results of the same functions of two networks, first of forward, then of
    backward."""
    found = [cpu.network.functions.get(f.name) for f in o.network.forward_sequence()]
    functions = list(zip(o.network.forward_sequence(), found, strict=True))
    for f, other in functions:
        if other is None or other.type != f.type:
            raise ValueError(f"compare_with_cpu: function {f.name!r} is not the same in both files")
        for name, other_name in zip(f.outputs, other.outputs, strict=True):
            v, w = o.network.find(name).variable_instance, cpu.network.find(other_name).variable_instance
            if v.shape != w.shape:
                raise ValueError(f"compare_with_cpu: {name!r} has the shapes {v.shape} and {w.shape}")
            yield f"forward_function ({f.name}, {name})", v.d, w.d
    for f, other in reversed(functions):
        for name, other_name in zip(f.inputs, other.inputs, strict=True):
            v, w = o.network.find(name).variable_instance, cpu.network.find(other_name).variable_instance
            if v.need_grad:
                yield f"backward_function ({f.name}, {name})", v.g, w.g


def _compare(o: Any, cpu: Any) -> dict[str, float]:
    result = {}

    def note(name: str, a: np.ndarray, b: np.ndarray) -> None:
        numbers = calc_norm_diff(a, b)
        logger.log(99, ", ".join([name, *(f"{n:f}" for n in numbers)]))
        result[name] = numbers[0]

    _step(o)
    _step(cpu)
    for name, a, b in _pairs(o, cpu):
        note(name, a, b)
    for part in (o, cpu):
        if part.weight_decay > 0:
            part.solver.weight_decay(part.weight_decay)
        part.solver.update()
    rates = zip(o.parameter_learning_rate_multipliers.items(), cpu.parameter_learning_rate_multipliers, strict=True)
    for (v, rate), w in rates:
        if rate > 0:
            note(f"update ({o.solver.name}, {v.name})", v.variable_instance.d, w.variable_instance.d)
    return result


@command
def compare_with_cpu_command(args: Any) -> bool:
    """Compares the first training step of two files: results of functions, gradients and updates. It writes
    `compare_with_cpu.csv` into a folder. The second file must have the same networks, and gets the data and parameters
    of the first.

    Raises:
        ValueError: optimizers, functions or shapes of the files differ.

    Example:
        nnabla_cli compare_with_cpu -c net.nntxt -c2 net_cpu.nntxt -o results
    """
    os.makedirs(args.outdir, exist_ok=True)
    configure_progress(os.path.join(args.outdir, "progress.txt"))
    loaded = []
    for scope, path in (("current", args.config), ("cpu", args.config2)):
        with parameter_scope(scope):
            loaded.append((loading.load([path]), get_parameters(grad_only=False)))
    (info, parameters), (info_cpu, parameters_cpu) = loaded
    if list(info.optimizers) != list(info_cpu.optimizers) or list(parameters) != list(parameters_cpu):
        raise ValueError(f"{args.config} and {args.config2} differ in their optimizers or parameters")
    table = ResultTable("1-Correl")
    with ExitStack() as stack:
        iterators = open_iterators(stack, info.optimizers.values())
        for o, cpu in zip(info.optimizers.values(), info_cpu.optimizers.values(), strict=True):
            title = f"optimizer '{o.name}' with network '{o.network.name}'"
            logger.log(99, f"Comparing {title} ...")
            for name, p in parameters.items():
                parameters_cpu[name].d = p.d
            data = read_batches([iterators[make] for make in o.data_iterators.values()])
            drawn = {v.name: g(v.variable_instance.shape) for v, g in o.generator_assign.items()}
            for part in (o, cpu):
                generators = {v: lambda _, array=drawn[v.name]: array for v in part.generator_assign}
                assign(part.dataset_assign, generators, data, f"optimizer {part.name!r}")
            table.add(title, _compare(o, cpu))
    table.write(os.path.join(args.outdir, "compare_with_cpu.csv"))
    logger.log(99, "Compare with CPU Completed.")
    progress(None)
    return True


@adds("compare_with_cpu -c a.nnp -c2 b.nnp -o out", "compare_with_cpu_command", config2="b.nnp")
def add_compare_with_cpu_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("compare_with_cpu", help="compare the numbers of two files' training")
    parser.add_argument("-c", "--config", required=True, help=".nnp or .nntxt file")
    parser.add_argument(
        "-c2", "--config2", required=True, help=".nnp or .nntxt file of the same network, whose context is the CPU"
    )
    parser.add_argument("-o", "--outdir", required=True, help="folder for compare_with_cpu.csv")
    parser.set_defaults(func=compare_with_cpu_command)
