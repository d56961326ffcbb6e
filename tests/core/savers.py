"""Every function that saves a file, by name, with one that reads the file back.

`python -m tests.core.savers FOLDER 100` saves files in FOLDER, and kills each of these functions 100 times.
"""

import json
import os
import pickle
import random
import signal
import sys
import time
import zipfile

import numpy as np
import torch

import compatgrad.chainer as chainer
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
from compatgrad import drawing, interop
from compatgrad.chainer.training import extensions
from compatgrad.formats import hdf5
from compatgrad.nnabla import solvers
from compatgrad.nnabla.utils import save as nnp
from compatgrad.nnabla.utils.image_utils import imread, imsave

SIZE = 100_000  # float32 numbers: more bytes than HDF5 and Python buffer before they write


def _numbers(value):
    return np.random.RandomState(value).uniform(size=SIZE).astype(np.float32)


def _link(value):
    link = chainer.Chain()
    with link.init_scope():
        link.W = chainer.Parameter(_numbers(value))
    return link


def _snapshot(path, value):
    trainer = type("Trainer", (), {"out": os.path.dirname(path)})()
    extensions.snapshot_object(_link(value), os.path.basename(path))(trainer)


def _parameters(path, value):
    with nn.parameter_scope("", {}):
        nn.parameter.set_parameter("w", nn.Variable.from_numpy_array(_numbers(value)))
        nn.save_parameters(path)


def _solver(path, value):
    w = nn.Variable.from_numpy_array(_numbers(value), need_grad=True)
    solver = solvers.Momentum()
    solver.set_parameters({"w": w})
    w.g = _numbers(value)
    solver.update()
    solver.save_states(path)


def _network(path, value):
    with nn.parameter_scope("", {}):
        nn.parameter.set_parameter("w", nn.Variable.from_numpy_array(_numbers(value), need_grad=True))
        x = nn.Variable((1, SIZE))
        y = nn.functions.mul2(x, nn.functions.reshape(nn.get_parameters()["w"], (1, SIZE)))
        network = {"name": "n", "batch_size": 1, "outputs": {"y": y}, "names": {"x": x}}
        nnp.save(path, {"networks": [network]})


def _dense(value):
    block = mx.gluon.nn.Dense(1, in_units=SIZE, prefix="dense_")
    block.initialize()
    block.weight.set_data(mx.nd.array(_numbers(value)[None]))
    return block


def _trainer(path, value):
    block = _dense(value)
    trainer = mx.gluon.Trainer(block.collect_params(), "adam")
    with mx.autograd.record():
        loss = block(mx.nd.array(_numbers(value)[None])).sum()
    loss.backward()
    trainer.step(1)
    trainer.save_states(path)


def _np_archive(path, value):
    with mx.util.np_shape(True), mx.util.np_array(True):
        mx.npx.savez(path, x=mx.np.array(_numbers(value)))


def _symbol(path, value):
    y = mx.sym.var("x")
    for i in range(300):
        y = mx.sym.exp(y, name=f"e{value}_{i}")
    y.save(path)


def _picture(path, value):
    x = chainer.Variable(_numbers(value)[:2])
    for _ in range(200 + value):
        x = chainer.functions.exp(x)
    drawing.graph(x).save(path)


def _report(path, value):
    report = extensions.LogReport(filename=os.path.basename(path))
    report._log = [{"loss": float(x)} for x in _numbers(value)[:2000]]
    report._write(path)


def _hdf5_keys(path):
    with hdf5.h5py().File(path) as file:
        assert [item[()].size for _, item in hdf5.datasets(file) if item.size > 1]


def _archive(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None and archive.namelist()


def _text(path, ending):
    assert open(path).read().rstrip().endswith(ending)


SAVERS = {
    "save_npz": ("a.npz", lambda p, v: chainer.serializers.save_npz(p, _link(v)), _archive),
    "save_hdf5": ("a.h5", lambda p, v: chainer.serializers.save_hdf5(p, _link(v), None), _hdf5_keys),
    "snapshot": ("snapshot", _snapshot, _archive),
    "LogReport": ("log", _report, lambda p: json.load(open(p))),
    "save_parameters h5": ("p.h5", _parameters, _hdf5_keys),
    "save_parameters protobuf": ("p.protobuf", _parameters, lambda p: nn.load_parameters(p)),
    "save_states h5": ("s.h5", _solver, _hdf5_keys),
    "save_states protobuf": ("s.protobuf", _solver, lambda p: os.stat(p)),
    "nnp": ("n.nnp", _network, _archive),
    "imsave": ("i.png", lambda p, v: imsave(p, _numbers(v).reshape(200, -1)), imread),
    "nd.save": ("a.params", lambda p, v: mx.nd.save(p, {"w": mx.nd.array(_numbers(v))}), mx.nd.load),
    "save_parameters": ("b.params", lambda p, v: _dense(v).save_parameters(p), mx.nd.load),
    "Trainer.save_states": ("t.states", _trainer, lambda p: pickle.load(open(p, "rb"))),
    "npx.savez": ("x.npz", _np_archive, _archive),
    "symbol": ("y.json", _symbol, lambda p: mx.sym.load(p)),
    "write_parameters": (
        "a.safetensors",
        lambda p, v: interop.write_parameters(p, {"w": torch.from_numpy(_numbers(v))}),
        interop.read_parameters,
    ),
    "write_parameters pt": (
        "a.pt",
        lambda p, v: interop.write_parameters(p, {"w": torch.from_numpy(_numbers(v))}),
        lambda p: torch.load(p, weights_only=True),
    ),
    "drawing": ("g.dot", _picture, lambda p: _text(p, "}")),
}


def kill(folder: str, name: str, seconds: float) -> bool:
    """Kill a process that saves one file repeatedly. Return whether the file that it left is whole."""
    file, save, read = SAVERS[name]
    path = os.path.join(folder, file)
    save(path, 0)
    begun, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(told, b".")
            for value in range(1, 10**6):
                save(path, value % 3)
        finally:
            os._exit(1)
    os.read(begun, 1)
    os.close(begun), os.close(told)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    try:
        read(path)
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        return False
    return True


def main(folder: str, times: int) -> int:
    """Kill each saver `times` times at random moments."""
    draw = random.Random(0)
    failed = 0
    for name in SAVERS:
        whole = sum(kill(folder, name, draw.uniform(0.0, 0.15)) for _ in range(times))
        leftovers = sum(entry.startswith(".compatgrad") for entry in os.listdir(folder))
        print(f"{name}: {whole} of {times} left a whole file; files left over: {leftovers}", flush=True)
        failed += times - whole
    return int(failed > 0)


if __name__ == "__main__":
    if len(sys.argv) != 3 or not sys.argv[2].isdigit():
        sys.exit(f"usage: python -m tests.core.savers FOLDER TIMES\n\n{__doc__}")
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
