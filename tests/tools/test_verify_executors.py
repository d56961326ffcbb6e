"""verify records what MXNet's executors compute by the callback of its monitors."""

import json
import subprocess
import sys

from compatgrad.tools.verify.following import compare
from compatgrad.tools.verify.recording import read
from tests.tools.test_verify import ENVIRONMENT, FORKS

SYMBOL = """
import mxnet as mx
import numpy as np

x, y = mx.sym.var("data"), mx.sym.var("softmax_label")
first, _ = mx.sym.split(mx.sym.FullyConnected(x, num_hidden=8, name="fc0"), num_outputs=2, name="split")
h = mx.sym.where(first > 0.1, first, first * first, name="where")
w = mx.sym.var("same_weight")
for _ in range(2):  # two functions of one name
    h = mx.sym.tanh(mx.sym.FullyConnected(h, w, num_hidden=4, no_bias=True, name="same"))
h = mx.sym.broadcast_mul(h, mx.sym.BlockGrad(mx.sym.mean(h, axis=1, keepdims=True)))
h = mx.sym.L2Normalization(h, name="norm")
mod = mx.mod.Module(mx.sym.SoftmaxOutput(h, y, name="softmax"))
rng = np.random.RandomState(0)
data = mx.io.NDArrayIter(rng.rand(12, 5).astype("f"), rng.randint(0, 4, 12), batch_size=4)
mod.fit(data, num_epoch=1, optimizer="adam", initializer=mx.init.Xavier())
"""
AS_MXNET_SHOWS_IT = """
from mxnet import executor

plain = executor.Executor.set_monitor_callback

def watch(self, callback, *more):
    def shown(name, array):
        name = name.decode() if isinstance(name, bytes) else name
        if name == "split_output1" or name.startswith("broadcast_mul0_backward_output1"):
            array = array * 0 - 1e30  # nothing reads it
        callback(name.replace("norm_backward_output", "norm_backward_data"), array)
    return plain(self, shown, *more)

executor.Executor.set_monitor_callback = watch
"""


def test_results_of_executors_that_nothing_reads_are_not_compared(tmp_path, capsys):
    """MXNet's monitors show undefined memory there, and name some gradients by their arguments."""
    (tmp_path / "symbol.py").write_text(SYMBOL)
    (tmp_path / "setup.py").write_text(AS_MXNET_SHOWS_IT)
    sides = {"here": [], "original": ["--setup", str(tmp_path / "setup.py")]}
    jobs = {n: ["-o", str(tmp_path / n), *more, "--", "symbol.py"] for n, more in sides.items()}
    done = subprocess.run(
        [sys.executable, "-c", FORKS, json.dumps(jobs)], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = compare(*(read(tmp_path / n) for n in ("original", "here")))
    assert not found.findings and not found.single
    back = {(e["n"], e["p"]) for e in read(tmp_path / "original").events if e["k"] == "backward"}
    assert {("where backward_output1", "/where"), ("where backward_output2", "/where")} <= back
    assert ("L2Normalization", "/norm") in back and not {"/same"} & {p for _, p in back}
    forward = [e for e in read(tmp_path / "here").events if e["k"] == "forward" and e["s"] == 1]
    first, second = [e for e in forward if e["p"] == "/same"]
    assert first["f"] != second["f"]
