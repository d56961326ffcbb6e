"""Writes the networks of the public programs as source of torch, and prints a table of the results.

    python -m tests.programs.leaving --repos DIR [--only NAME...] [--json FILE] [--save FOLDER]

Each driver runs for one step in a process of its own. The networks that its program calls meanwhile are recorded with
their arguments: links and blocks, the outermost ones and some inside, modules of MXNet, and the graphs of nnabla that
run, without what follows the last layer. The one with the most parameters that can be written is written by
`interop.to_native`, which compares outputs and gradients.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time
import traceback
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEEN = 12  # networks that are tried at most, those with the most parameters first
DEPTH = 4  # networks inside networks inside ...
FEWEST = 3  # layers of a network that counts


# ---- in the program's process ----------------------------------------------------------------------------------------


def is_array(x):
    return hasattr(x, "shape") and hasattr(x, "dtype") and not hasattr(x, "list_arguments")


class Calls:
    """The networks that a program calls: (network, arguments and keyword arguments, number of its
    parameters)."""

    def __init__(self):
        self.found, self.inside, self.closed = {}, 0, False

    def outermost(self, network, count, call, args, kwargs):
        new = not self.closed and self.inside < DEPTH and id(network) not in self.found
        if new and any(map(is_array, (*args, *kwargs.values()))):
            self.found[id(network)] = (network, (args, kwargs), count)
        self.inside += 1
        try:
            return call(network, *args, **kwargs)
        finally:
            self.inside -= 1


def watch(base, calls, count):
    """Notes the calls of instances of subclasses of `base`, which may define `__call__` themselves."""

    def wrap(cls):
        call = cls.__dict__["__call__"]

        def watched(self, *args, **kwargs):
            if not count(self, False):
                return call(self, *args, **kwargs)
            return calls.outermost(self, lambda: count(self, True), call, args, kwargs)

        watched.watches = True
        cls.__call__ = watched

    make = base.__new__

    def new(cls, *args, **kwargs):
        for c in cls.__mro__:
            if issubclass(c, base) and "__call__" in c.__dict__ and not hasattr(c.__dict__["__call__"], "watches"):
                wrap(c)
        return object.__new__(cls) if make is object.__new__ else make(cls)

    base.__new__ = new


def watch_chainer(calls):
    from compatgrad.chainer.link import Link

    def count(link, sizes):
        if not sizes:
            return any(True for _ in link.params())
        return sum(p.size for p in link.params() if p.array is not None)

    watch(Link, calls, count)


def watch_mxnet(calls):
    from compatgrad.mxnet.gluon.block import Block

    def count(block, sizes):
        if not sizes:
            return bool(block.collect_params())
        return sum(p.data().size for p in block.collect_params().values() if p._data is not None)

    watch(Block, calls, count)
    from compatgrad.mxnet.module import Module

    forward = Module.forward

    def watched(self, data_batch, is_train=None):
        if id(self) not in calls.found:
            size = sum(v.size for values in self.get_params() for v in values.values())
            calls.found[id(self)] = (self, (tuple(x.copy() for x in data_batch.data), {}), lambda: size)
        return forward(self, data_batch, is_train)

    Module.forward = watched
    from compatgrad.mxnet.executor import Executor

    run = Executor.forward

    def ran(self, is_train=False, **kwargs):
        known = [m for m, _, _ in calls.found.values() if hasattr(m, "_exec_group")]
        if id(self) not in calls.found and not known and not calls.closed:
            size = sum(v.size for v in self.arg_dict.values())
            calls.found[id(self)] = (self, ((), {}), lambda: size)
        return run(self, is_train, **kwargs)

    Executor.forward = ran


LOSSES = {"SoftmaxOutput", "LogisticRegressionOutput", "LinearRegressionOutput", "MAERegressionOutput", "MakeLoss",
          "make_loss", "SoftmaxActivation", "BlockGrad"}  # fmt: skip


def block_of(module):
    """The network of a module or an executor as a block, without the losses at its end, whose gradients are no
    derivatives, and its inputs if it is an executor."""
    import compatgrad.mxnet as mx

    heads, inputs = [], None
    if hasattr(module, "get_params"):
        symbol, names = module.symbol, [n for n, _ in module._data_shapes]
        known = {*names, *module._param_names, *module._aux_names}
        arguments, states = module.get_params()
    else:
        symbol, arguments, states = module._symbol, module.arg_dict, module.aux_dict
        trained = {n for n, request in zip(module._names, module._requests, strict=True) if request != "null"}
        names = [n for n in arguments if n not in trained and not n.endswith("label")]
        names = names or [n for n in arguments if n.endswith("data")]  # gradients of the data are asked for, too
        trained -= set(names)
        known = {*names, *trained, *states}
    for head in symbol:
        while head.attr("_op") in LOSSES or json.loads(head.tojson())["nodes"][-1]["op"] in LOSSES:
            head = head.get_children()[0]
        if set(head.list_inputs()) <= known:  # others compute a loss from labels
            heads.append(head)
    symbol = mx.sym.Group(heads) if len(heads) > 1 else heads[0]
    if not hasattr(module, "get_params"):
        names = [n for n in names if n in symbol.list_inputs()]
        inputs = tuple(arguments[n].copy() for n in names)
    block = mx.gluon.SymbolBlock(symbol, [mx.sym.var(n) for n in names])
    for name, p in block.collect_params().items():
        value = arguments.get(name, states.get(name))
        p._load_init(value, mx.cpu())
    return block, inputs


def watch_nnabla(calls):
    from compatgrad.nnabla.variable import Variable

    forward = Variable.forward

    def watched(self, *args, **kwargs):
        if self.parent is not None and id(self) not in calls.found:
            calls.found[id(self)] = (self, None, lambda: 0)
        return forward(self, *args, **kwargs)

    Variable.forward = watched
    import compatgrad.nnabla as nn

    forward_all = nn.forward_all

    def all_watched(variables, *args, **kwargs):
        for v in variables:
            if v.parent is not None and id(v) not in calls.found:
                calls.found[id(v)] = (v, None, lambda: 0)
        return forward_all(variables, *args, **kwargs)

    nn.forward_all = all_watched


def cut(root):
    """The part of a graph of nnabla up to its last layer: an output and its inputs."""
    import compatgrad.nnabla as nn

    order = []
    root.visit(order.append)
    parameters = {v.data for v in nn.get_parameters(grad_only=False).values()}
    known = nn.get_parameters(grad_only=False)
    for f in order:  # parameters of Modules are in no scope
        for k, x in enumerate(f.inputs):
            if x.parent is None and x.need_grad and x.data not in parameters:
                parameters.add(x.data)
                known[f"{f.name}_{len(known)}_{k}"] = x
    above = {}  # function -> the functions with parameters above it
    for f in order:
        own = {id(f)} if any(x.data in parameters for x in f.inputs) else set()
        for x in f.inputs:
            if x.parent is not None:
                own |= above[hash(x.parent)]
        above[hash(f)] = own
    whole = max(above.values(), key=len)
    last = next(f for f in order if above[hash(f)] == whole)
    output = last.outputs[0]
    inputs, todo, done = [], [output], set()
    while todo:
        x = todo.pop()
        if x.data in parameters or x in done:
            continue
        done.add(x)
        if x.parent is None or x.parent.info.type_name.startswith(("Rand", "ImageAugmentation")):
            inputs.append(x)  # what comes before is no part of the network
        else:
            todo += x.parent.inputs
    size = sum(v.d.size for v in known.values())
    return output, inputs, size, known


def run_driver(options, calls):
    import numpy as np

    from tests.programs import harness

    harness.old_surroundings()
    random.seed(0)
    np.random.seed(0)
    path = ROOT / "tests" / "programs" / "drivers" / f"{options.driver}.py"
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(options.driver.replace("-", "_"), str(path))
    driver = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(driver)
    sys.path.remove(str(path.parent))
    run = harness.Run(options.repo.resolve(), 1, None)
    run.hook()
    next(driver.train(run))


def attempt(network, args, options, size, mode):
    import compatgrad.nnabla as nn
    from compatgrad import interop

    began = time.time()
    if args is None:
        output, inputs, size, parameters = cut(network)
        name = "graph"
        for key, p in parameters.items():
            nn.parameter.set_parameter(key, p)
        result = interop.to_native(output, *inputs, parameters=parameters, name="Net")
    else:
        if hasattr(network, "get_params") or hasattr(network, "arg_dict"):
            network, inputs = block_of(network)
            args = args if inputs is None else (inputs, {})
        name = type(network).__name__
        result = interop.to_native(network, *args[0], kwargs=args[1], **mode)
    row = {"model": name, "parameters": size, "seconds": round(time.time() - began, 1), "notes": result.notes}
    row["modes"] = {
        mode: {"dtype": str(d.dtype)[6:], "outputs": d.outputs, "gradients": d.gradients}
        for mode, d in result.differences.items()
    }
    row["layers"] = len(re.findall(r"= nn\.(?!Module|Parameter)\w+\(", result.source))
    row["computed"] = len(re.findall(r"\bF\.(conv|linear)", result.source))  # layers whose weights are computed
    row["lines"] = result.source.count("\n")
    row["imports"] = sorted(set(re.findall(r"^(?:import|from) (\w+)", result.source, re.M)))
    row["aten"] = result.source.count("torch.ops.aten.")
    return row, result


def variants(args):
    """The arguments of a call; then the first alone, since a network that also gets labels computes a loss; then that
    for inference alone."""
    yield args, {}
    if args is not None and (len(args[0]) > 1 or args[1]) and args[0] and is_array(args[0][0]):
        yield (args[0][:1], {}), {}
        yield (args[0][:1], {}), {"train": False}


def in_process(options):
    import torch

    torch.set_num_threads(1)
    calls = Calls()
    {"chainer": watch_chainer, "mxnet": watch_mxnet, "nnabla": watch_nnabla}[options.frontend](calls)
    report = {"tried": []}
    try:
        run_driver(options, calls)
    except BaseException:  # the networks that were called before are tried all the same
        report["driver"] = traceback.format_exc().splitlines()[-1]
    calls.closed = True
    for name, module in list(sys.modules.items()):
        if isinstance(module, unittest.mock.Mock):  # a stub of a package, which torch would ask for its version
            del sys.modules[name]
    networks = []
    for network, args, count in calls.found.values():
        try:
            networks.append((cut(network)[2] if args is None else count(), network, args))
        except Exception as e:
            report["tried"].append({"model": type(network).__name__, "why": f"{type(e).__name__}: {e}"})
    networks.sort(key=lambda n: -n[0])
    for size, network, args in networks[:SEEN]:
        row = None
        for given, mode in variants(args):
            try:
                row, result = attempt(network, given, options, size, mode)
                break
            except Exception as e:
                model = type(network).__name__
                report["tried"].append({"model": model, "parameters": size, "why": f"{type(e).__name__}: {e}"})
                if options.trace:
                    traceback.print_exc()
        if row is None or row["layers"] + row["computed"] < FEWEST:
            continue
        report.update(row)
        if options.save:
            options.save.mkdir(parents=True, exist_ok=True)
            result.save(options.save / f"{options.driver.replace('-', '_')}.py", force=True)
        break
    options.out.write_text(json.dumps(report))


# ---- the table -------------------------------------------------------------------------------------------------------


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repos", type=pathlib.Path, required=True, help="checkouts of public programs, OWNER+NAME")
    parser.add_argument("--only", nargs="*", default=[], help="names of programs (all)")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows to this file")
    parser.add_argument("--save", type=pathlib.Path, help="write the sources to this folder")
    parser.add_argument("--timeout", type=int, default=400, help="seconds for a program (400)")
    parser.add_argument("--trace", action="store_true", help="print the traceback of a network that cannot be written")
    for name in ("driver", "frontend"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    for name in ("repo", "out"):
        parser.add_argument(f"--{name}", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.driver:
        return in_process(options)
    rows = {}
    if options.json and options.json.exists():
        rows = json.loads(options.json.read_text())
    for program in json.loads((ROOT / "tests" / "programs" / "programs.json").read_text()):
        name = program["name"]
        if options.only and name not in options.only:
            continue
        repo = options.repos / program["repository"].replace("/", "+")
        out = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"leaving-{os.getpid()}.json"
        command = [sys.executable, "-m", "compatgrad", "run", __file__, "--repos", str(options.repos)]
        command += ["--driver", name, "--frontend", program["frontend"], "--out", str(out)]
        command += ["--repo", str(repo / program.get("folder", ""))]
        command += ["--save", str(options.save.resolve())] if options.save else []
        command += ["--trace"] if options.trace else []
        out.unlink(missing_ok=True)
        paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        environment = dict(os.environ, PYTHONPATH=paths, OMP_NUM_THREADS="1")
        try:
            done = subprocess.run(command, timeout=options.timeout, env=environment, capture_output=not options.trace,
                                  text=True)  # fmt: skip
            row = json.loads(out.read_text()) if out.exists() else {"driver": (done.stderr or "")[-400:]}
        except subprocess.TimeoutExpired:
            row = {"driver": f"longer than {options.timeout} s"}
        rows[name] = {"frontend": program["frontend"], "repository": program["repository"], **row}
        print(line(name, rows[name]), flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return None


def line(name, row):
    """A row of the table."""
    if "modes" not in row:
        whys = "; ".join(f"{t['model']}: {t['why']}" for t in row.get("tried", ()))
        why = whys or row.get("driver", "no network seen")
        return f"| {row['repository']} ({name}) | {row['frontend']} | no | {why[:300]} |"
    worst = max(max(m["outputs"], m["gradients"]) for m in row["modes"].values())
    where = ", ".join(f"{mode} {m['dtype']}" for mode, m in row["modes"].items())
    model = f"{row['model']}, {row['layers']} layers"
    model += f" and {row['computed']} with computed weights" if row["computed"] else ""
    return f"| {row['repository']} ({name}) | {row['frontend']} | {model} | {worst:.0e} ({where}) |"


if __name__ == "__main__":
    main()
