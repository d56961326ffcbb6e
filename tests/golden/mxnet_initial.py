"""Writes initial parameters for a program: numbers that no framework has drawn.

python -m tests.golden.mxnet_initial FILE.params PROGRAM.py [ARGUMENT...]

MXNet draws its parameters in C++, so programs that are to be compared read them from a file. The names and
shapes are those that the program saves when it makes no steps.
"""

import pathlib
import runpy
import sys

import numpy as np
from mxnet import nd


def values(name, shape, random):
    """Numbers for the parameter `name`, by what such a parameter is for."""
    if name.endswith(("gamma", "running_var")):
        return np.ones(shape)
    if name.endswith(("bias", "beta", "running_mean")):
        return np.zeros(shape)
    if name.endswith("slope"):
        return np.full(shape, 0.1)
    fan_in = np.prod(shape[1:])
    return random.uniform(-1, 1, shape) * np.sqrt(3 / fan_in)


def main():
    path, program, *arguments = sys.argv[1:]
    sys.argv = [program, *arguments, "--steps", "0", "--save", path]
    sys.path.insert(0, str(pathlib.Path(program).parent))
    runpy.run_path(program, run_name="__main__")
    arrays = nd.load(path)
    for name in sorted(arrays):
        # a seed for each shape, so that the two names of a shared parameter have one value
        shape = arrays[name].shape
        random = np.random.RandomState(sum((i + 1) * n for i, n in enumerate(shape)))
        arrays[name] = nd.array(values(name, shape, random))
    nd.save(path, arrays)


if __name__ == "__main__":
    main()
