"""Measures the time of each function of a graph."""

from __future__ import annotations

import csv
import os
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from .._version import __version__
from ..ext_utils import import_extension_module
from ..parameter import get_parameters

if TYPE_CHECKING:
    from ..solver import Solver
    from ..variable import Variable

__all__ = ["GraphProfiler", "GraphProfilerCsvWriter", "ProfileStat", "convert_time_scale"]


class ProfileStat(NamedTuple):
    """The time of one function of a graph, forward or backward.

    Args:
        parameter_scope: the scope of its parameters; None without parameters.
        inputs_shape: the shapes of its inputs.
        args_info: its arguments, pairs of name and value.
        function_name: its name.
        mean_time: the mean time of its runs, as str, in the profiler's unit.
        n_run: the number of runs.

    Example:
        >>> from compatgrad.nnabla.utils.profiler import ProfileStat
        >>> ProfileStat(None, [(2, 3)], {"inplace": False}.items(), "ReLU", "0.25", 10).mean_time
        '0.25'

    Source: `nnabla.utils.profiler.ProfileStat` of nnabla 1.39.0.
    """

    parameter_scope: str | None
    inputs_shape: list[tuple[int, ...]]
    args_info: Any
    function_name: str
    mean_time: str
    n_run: int


_SCALES = {"m": 1e3, "u": 1e6, "n": 1e9}


def convert_time_scale(sec: float, format: str = "m") -> float:
    """Converts seconds.

    Args:
        sec: the time in seconds.
        format: the unit of the result: "m" for milliseconds, "u" for microseconds, "n" for nanoseconds.

    Returns:
        The time in that unit.

    Raises:
        NotImplementedError: `format` is unknown.

    Example:
        >>> from compatgrad.nnabla.utils.profiler import convert_time_scale
        >>> convert_time_scale(0.5), convert_time_scale(0.5, "u")
        (500.0, 500000.0)

    Source: `nnabla.utils.profiler.convert_time_scale` of nnabla 1.39.0.
    """
    if format not in _SCALES:
        raise NotImplementedError(f"convert_time_scale: format must be m, u or n, got {format!r}")
    return sec * _SCALES[format]


class GraphProfiler:
    """Measures each function of a graph, forward and backward, the whole graph, and a training step.

    Each of these runs once before the measurement, so that the measurement does not include the allocation of memory.

    Args:
        graph: the Variable at the end of the graph.
        device_id: the number of the device to synchronize with.
        ext_name: the device's backend: "cpu", "cuda" or "cudnn". Another name raises ModuleNotFoundError.
        solver: the solver of the training step; None does not measure training steps. The measurement updates the
            solver's parameters.
        n_run: the maximum number of runs. A number below 1 raises AssertionError.
        max_measure_execution_time: the time in seconds after which no further run starts.
        time_scale: the unit of the results, as for `convert_time_scale`.
        backward_accum: whether backward adds to the gradients of the inputs instead of replacing them.

    Example:
        >>> from compatgrad.nnabla.utils.profiler import GraphProfiler
        >>> y = F.sum(F.relu(nn.Variable((2, 3), need_grad=True)))
        >>> profiler = GraphProfiler(y, device_id=0, ext_name="cpu", n_run=2)
        >>> profiler.run()
        >>> [(stat.function_name, stat.inputs_shape, stat.n_run) for stat in profiler.get_result()["forward"]]
        [('ReLU', [(2, 3)], 2), ('Sum', [(2, 3)], 2)]

    Source: `nnabla.utils.profiler.GraphProfiler` of nnabla 1.39.0.
    """

    def __init__(
        self,
        graph: Variable,
        device_id: str | int,
        ext_name: str,
        solver: Solver | None = None,
        n_run: int = 100,
        max_measure_execution_time: float = 1,
        time_scale: str = "m",
        backward_accum: bool = False,
    ):
        if n_run < 1:
            raise AssertionError(f"GraphProfiler: n_run must be 1 or more, got {n_run}")
        self.graph = graph
        self.solver = solver
        self.n_run = n_run
        self.device_id = str(device_id)
        self.ext_name = ext_name
        self.ext_module = import_extension_module(ext_name)
        self.max_measure_execution_time = max_measure_execution_time
        self.time_scale = time_scale
        self.backward_accum = backward_accum
        self.result = {}
        self.name2val = {v: k for k, v in get_parameters().items()}

    def _measure(self, run, *args):
        # returns the mean time as str, and the number of runs
        def once():
            begun = time.perf_counter()
            run(*args)
            self.ext_module.synchronize(device_id=self.device_id)
            return time.perf_counter() - begun

        once()  # the first run allocates memory
        begun, times = time.perf_counter(), []
        while len(times) < self.n_run:
            times.append(once())
            if time.perf_counter() - begun > self.max_measure_execution_time:
                break
        return f"{convert_time_scale(sum(times) / len(times), self.time_scale):.8}", len(times)

    def _profile(self, target):
        results = self.result[target] = []

        def visit(f):
            inputs, outputs = f.inputs, f.outputs
            extra = [[self.backward_accum] * len(inputs)] if target == "backward" else []
            _zero([*inputs, *outputs])
            mean, runs = self._measure(getattr(f, target), inputs, outputs, *extra)
            _zero([*inputs, *outputs])
            name = self.name2val.get(inputs[1]) if len(inputs) > 1 else None
            scope = None if name is None else os.path.dirname(name)
            shapes = [x.shape for x in inputs]
            results.append(ProfileStat(scope, shapes, f.info.args.items(), f.name, mean, runs))

        self.graph.visit(visit)

    def time_profiling_forward(self) -> None:
        """Measures the forward of each function; the results are in `result["forward"]`."""
        self._profile("forward")

    def time_profiling_backward(self) -> None:
        """Measures the backward of each function; the results are in `result["backward"]`."""
        self._profile("backward")

    def training_function(self) -> None:
        """Runs one training step: forward, backward and the solver's update. Requires a solver."""
        self.graph.forward(clear_no_need_grad=True)
        self.solver.zero_grad()
        self.graph.backward(clear_buffer=True)
        self.solver.update()

    def time_profiling_whole_graph(self) -> None:
        """Measures forward and backward of the whole graph and, with a solver, the training step."""
        runs = {"forward_all": self.graph.forward, "backward_all": self.graph.backward}
        if self.solver is not None:
            runs["training"] = self.training_function
        for name, run in runs.items():
            self.result[name], self.result[f"n_run_{name}"] = self._measure(run)

    def run(self) -> None:
        """Runs all measurements."""
        self.time_profiling_forward()
        self.time_profiling_backward()
        self.time_profiling_whole_graph()

    def get_result(self) -> dict[str, Any]:
        """The results so far.

        "forward" and "backward" are lists with a ProfileStat for each function; "forward_all", "backward_all" and
        "training" are times as str, and "n_run_forward_all" and so on the numbers of runs.
        """
        return self.result

    def print_result(self) -> None:
        """Prints the results. Raises KeyError if the functions were not measured."""
        print(f"time scale: {self.time_scale}")
        for target in ("forward", "backward"):
            print(f"-----------------{target}--------------------")
            for stat in self.result[target]:
                print(stat)
            print()
        for name in ("forward_all", "backward_all", "training"):
            if name in self.result:
                print(f"{name}: {self.result[name]}, n_run: {self.result[f'n_run_{name}']}")


def _zero(variables):
    # resets computed variables only: the inputs of the graph keep their values
    for v in variables:
        if v.parent is not None:
            v.data.zero()
            v.grad.zero()


class GraphProfilerCsvWriter:
    """Writes the results of a `GraphProfiler` as CSV.

    The constructor writes the header with the settings, and `write` the results.

    Args:
        gb: the profiler.
        file: a file opened for writing text.

    Example:
        >>> import io
        >>> from compatgrad.nnabla.utils.profiler import GraphProfiler, GraphProfilerCsvWriter
        >>> profiler = GraphProfiler(F.relu(nn.Variable((2, 3))), device_id=0, ext_name="cpu", n_run=2)
        >>> profiler.run()
        >>> table = io.StringIO()
        >>> GraphProfilerCsvWriter(profiler, table).write()
        >>> table.getvalue().splitlines()[0]
        'num. of run,2'

    Source: `nnabla.utils.profiler.GraphProfilerCsvWriter` of nnabla 1.39.0.
    """

    def __init__(self, gb: GraphProfiler, file: TextIO = sys.stdout):
        self.file = file
        self.gb = gb
        self.fields = [
            "parameter_scope",
            "function_name",
            "inputs_shape",
            "args_info",
            "forward",
            "backward",
            "forward_n_run",
            "backward_n_run",
        ]
        self.write_header()

    def write_header(self) -> None:
        """Writes the settings and the column names."""
        writer = csv.writer(self.file)
        writer.writerow(["num. of run", self.gb.n_run])
        writer.writerow(["device id", self.gb.device_id])
        writer.writerow(["ext name", self.gb.ext_name])
        writer.writerow(["time scale", self.gb.time_scale])
        writer.writerow(["nnabla version", __version__])
        writer.writerow([])
        writer.writerow(self.fields)

    def write(self) -> None:
        """Writes the results. Raises KeyError if the functions were not measured."""
        writer = csv.writer(self.file)
        result = self.gb.result
        for f, b in zip(result["forward"], result["backward"], strict=True):
            args = ", ".join(f"{key}: {value}" for key, value in f.args_info)
            row = [f.parameter_scope, f.function_name, f.inputs_shape, args]
            writer.writerow([*row, f.mean_time, b.mean_time, f.n_run, b.n_run])
        titles = {
            "forward_all": "forward all",
            "backward_all": "backward all",
            "training": "training(forward + backward + update)",
        }
        for name, title in titles.items():
            if name in result:
                writer.writerow([])
                writer.writerow([title, result[name]])
                writer.writerow([f"{name}_n_run", result[f"n_run_{name}"]])
