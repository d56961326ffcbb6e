"""How long the functions of a graph take."""

import csv
import os
import sys
import time
from collections import namedtuple

from .._version import __version__
from ..ext_utils import import_extension_module
from ..parameter import get_parameters

ProfileStat = namedtuple(
    "ProfileStat", ["parameter_scope", "inputs_shape", "args_info", "function_name", "mean_time", "n_run"]
)

_SCALES = {"m": 1e3, "u": 1e6, "n": 1e9}


def convert_time_scale(sec, format="m"):
    """`sec` seconds in milli-, micro- or nanoseconds: format "m", "u" or "n"; NotImplementedError for another."""
    if format not in _SCALES:
        raise NotImplementedError(f"convert_time_scale: format must be m, u or n, got {format!r}")
    return sec * _SCALES[format]


class GraphProfiler:
    """Measures each function of a graph, forward and backward, the whole graph, and a training step.

    graph: the Variable at its end. device_id, ext_name: where to wait for the device, "cpu" or "cudnn".
    solver: for the training step; None for none. n_run: how often each is run, within
    max_measure_execution_time seconds. time_scale: "m", "u" or "n", as for `convert_time_scale`.
    backward_accum: whether functions add to gradients.
    """

    def __init__(
        self,
        graph,
        device_id,
        ext_name,
        solver=None,
        n_run=100,
        max_measure_execution_time=1,
        time_scale="m",
        backward_accum=False,
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
        # the mean time as text, and the number of runs
        def once():
            begun = time.perf_counter()
            run(*args)
            self.ext_module.synchronize(device_id=self.device_id)
            return time.perf_counter() - begun

        once()  # the first one allocates
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

    def time_profiling_forward(self):
        """Measures each function's forward; the results are in `result["forward"]`."""
        self._profile("forward")

    def time_profiling_backward(self):
        """Measures each function's backward; the results are in `result["backward"]`."""
        self._profile("backward")

    def training_function(self):
        """One training step."""
        self.graph.forward(clear_no_need_grad=True)
        self.solver.zero_grad()
        self.graph.backward(clear_buffer=True)
        self.solver.update()

    def time_profiling_whole_graph(self):
        """Measures the graph's forward and backward, and with a solver the training step."""
        runs = {"forward_all": self.graph.forward, "backward_all": self.graph.backward}
        if self.solver is not None:
            runs["training"] = self.training_function
        for name, run in runs.items():
            self.result[name], self.result[f"n_run_{name}"] = self._measure(run)

    def run(self):
        """Measures everything."""
        self.time_profiling_forward()
        self.time_profiling_backward()
        self.time_profiling_whole_graph()

    def get_result(self):
        """The results, a dict: lists of ProfileStat, times and numbers of runs."""
        return self.result

    def print_result(self):
        """Prints the results."""
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
    # what the functions computed; inputs of the graph keep their values
    for v in variables:
        if v.parent is not None:
            v.data.zero()
            v.grad.zero()


class GraphProfilerCsvWriter:
    """Writes the results of a `GraphProfiler` to the opened text file `file` as CSV."""

    def __init__(self, gb, file=sys.stdout):
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

    def write_header(self):
        """Writes how it was measured, and the columns' names."""
        writer = csv.writer(self.file)
        writer.writerow(["num. of run", self.gb.n_run])
        writer.writerow(["device id", self.gb.device_id])
        writer.writerow(["ext name", self.gb.ext_name])
        writer.writerow(["time scale", self.gb.time_scale])
        writer.writerow(["nnabla version", __version__])
        writer.writerow([])
        writer.writerow(self.fields)

    def write(self):
        """Writes the results."""
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
