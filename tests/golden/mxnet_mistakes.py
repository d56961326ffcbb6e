"""Programs with mistakes, and the classes of the errors that real MXNet 1.9.1 ends them with.

    PYTHON -m tests.golden.mxnet_mistakes [MISTAKE...]

writes mxnet_mistakes.json with the classes of all that PYTHON finds, or prints those of some.
"""

import json
import pathlib
import subprocess
import sys

import numpy as np
from mxnet import autograd, gluon, nd

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.golden import files
from tests.random_programs.mxnet import nodes

PATH = pathlib.Path(__file__).with_suffix(".json")

START = """
x = nd.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
w = nd.array([0.5, -1.0, 2.0])
c = nd.ones((2, 3))
x.attach_grad()
w.attach_grad()
with autograd.record():
    y = x * w
    z = nd.sin(y)
"""
MISTAKES = {
    "backward twice": "z.backward()\nz.backward()",
    "backward of a part that was freed": "z.backward()\ny.backward()",
    "backward of a constant": "c.backward()",
    "backward of what was not recorded": "nd.sin(x).backward()",
    "backward of what was paused": "with autograd.record():\n with autograd.pause():\n  v = x * 2\nv.backward()",
    "backward without a request": "x.attach_grad('null')\nwith autograd.record():\n v = x * 2\nv.backward()",
    "too many head gradients": "autograd.backward([z], [c, c])",
    "too few head gradients": "autograd.backward([y, z], [c])",
    "a head gradient for several heads": "autograd.backward([y, z], c)",
    "a head that is no array": "autograd.backward([np.ones(3)])",
    "a head gradient that is no array": "z.backward(np.ones((2, 3)))",
    "a head gradient of another type": "z.backward(c.astype('float64'))",
    "no heads": "autograd.backward([])",
    "gradient by nothing": "autograd.grad(z, [])",
    "gradient by a constant": "autograd.grad(z, [c])",
    "gradient by a result": "autograd.grad(z, [y])",
    "gradient by what is not in use": "v = nd.ones((2,))\nv.attach_grad()\nautograd.grad(z, [v])",
    "gradient of a constant": "autograd.grad(c, [x])",
    "gradient twice": "autograd.grad(z, [x])\nautograd.grad(z, [x])",
    "too many head gradients of grad": "autograd.grad(z, [x], [c, c])",
    "more variables than gradients": "autograd.mark_variables([x, w], [nd.zeros((2, 3))])",
    "an unknown request": "x.attach_grad('sum')",
    "an unknown request of a mark": "autograd.mark_variables([x], [c], 'sum')",
    "+= while recording": "with autograd.record():\n v = x * 2\n v += x",
    "*= of an input while recording": "with autograd.record():\n x *= 2",
    "[:] = of a result": "with autograd.record():\n v = x * 2\n v[:] = 0",
    "[:] = of an input": "with autograd.record():\n x[:] = 0",
    "[0] = of an input": "with autograd.record():\n x[0] = w",
    "out= of an input": "with autograd.record():\n nd.sin(x, out=x)",
    "shapes that do not broadcast": "x + nd.ones((2, 4))",
    "types that differ": "x + c.astype('float64')",
    "elemwise of other shapes": "nd.elemwise_add(x, w)",
    "dot of other shapes": "nd.dot(x, x)",
    "batch_dot of matrices": "nd.batch_dot(x, x)",
    "reshape to another size": "x.reshape((4, 2))",
    "an unknown axis": "x.sum(axis=2)",
    "an unknown axis of concat": "nd.concat(x, c, dim=2)",
    "concat of other shapes": "nd.concat(x, w, dim=0)",
    "split into unequal parts": "nd.split(x, num_outputs=2, axis=1)",
    "a row too many": "x[2]",
    "an axis too many": "x[0, 0, 0]",
    "an unknown argument": "nd.sin(x, speed=2)",
    "an unknown operator": "nd.sine(x)",
    "an unknown activation": "nd.Activation(x, act_type='wave')",
    "an operator of a number": "nd.sin(3)",
    "an operator of a NumPy array": "nd.sin(np.ones(3))",
    "asscalar of many": "x.asscalar()",
    "truth of many": "bool(x)",
    "float of many": "float(x)",
    "dense of other shapes": "nd.FullyConnected(x, nd.ones((4, 2)), nd.ones((4,)), num_hidden=4)",
    "convolution of a matrix": "nd.Convolution(x, nd.ones((4, 1, 3, 3)), nd.ones((4,)), kernel=(3, 3), num_filter=4)",
    "a number of filters too many": (
        "nd.Convolution(nd.ones((1, 1, 5, 5)), nd.ones((4, 1, 3, 3)), nd.ones((4,)), kernel=(3, 3), num_filter=5)"
    ),
    "a function twice": "f = nodes.Gate(1.0)\nf(x)\nf(x)",
    "a function's gradients too few": "with autograd.record():\n v = nodes.Short()(y, y)\nv.backward()",
    "a function's gradient no array": "with autograd.record():\n v = nodes.Plain()(y)\nv.backward()",
    "a function that fails": "with autograd.record():\n v = nodes.Failing()(y)\nv.backward()",
    "a parameter before its time": "gluon.nn.Dense(3).weight.data()",
    "a parameter without a shape": "d = gluon.nn.Dense(3)\nd.initialize()\nd.weight.data()",
    "a parameter initialized twice": "d = gluon.nn.Dense(3, in_units=2)\nd.initialize()\nd.initialize()",
    "a gradient of a fixed parameter": (
        "d = gluon.nn.Dense(3, in_units=2)\nd.initialize()\nd.weight.grad_req = 'null'\nd.weight.grad()"
    ),
    "a step without a backward": (
        "d = gluon.nn.Dense(3, in_units=3)\nd.initialize()\n"
        "gluon.Trainer(d.collect_params(), 'sgd', {'learning_rate': 0.1}).step(1)"
    ),
    "an unknown optimizer": "gluon.Trainer(gluon.nn.Dense(3).collect_params(), 'sdg')",
    "a block that is no block": "gluon.nn.HybridSequential().add(lambda x: x)\n",
    "data for another dense": "d = gluon.nn.Dense(3, in_units=2)\nd.initialize()\nd(x)",
    "a file that is not there": "gluon.nn.Dense(3).load_parameters('/nonexistent/file.params')",
    "a list of names too few": "x.as_in_context('cpu')",
}


def class_of(name):
    """The class of the error that the mistake `name` ends with, or None."""
    names = {"nd": nd, "np": np, "autograd": autograd, "gluon": gluon, "nodes": nodes}
    exec(START, names)
    try:
        exec(MISTAKES[name], names)
        nd.waitall()
    except Exception as error:
        return type(error).__name__
    finally:
        autograd.set_recording(False)
    return None


def main():
    if sys.argv[1:]:
        print(json.dumps({name: class_of(name) for name in sys.argv[1:]}))
        return
    # a process for each: some end it
    found = {}
    for name in MISTAKES:
        done = subprocess.run([sys.executable, __file__, name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        found[name] = json.loads(done.stdout.splitlines()[-1])[name] if done.returncode == 0 else "crash"
    files.write(PATH, found, files.versions("mxnet"))


if __name__ == "__main__":
    main()
