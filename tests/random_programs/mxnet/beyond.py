"""Programs whose derivatives MXNet does not have, or has wrong, for comparison with finite differences.

    python -m tests.random_programs.mxnet.beyond COUNT

They compute in float64 and are made of all operators, most of which MXNet differentiates once only.
"""

import json
import sys
import traceback

import numpy as np
from mxnet import autograd, nd

from tests.random_programs.mxnet.program import Program

STEP = 1e-5


def _direction(seed, arrays):
    random = np.random.RandomState(seed)
    return {name: random.randn(*x.shape) for name, x in arrays.items()}


def _derive(seed, shifts=()):
    """Runs the program of `seed` with shifted inputs: its output, its gradients, a function of those, and the
    gradients of that."""
    program = Program(seed, twice=False, smooth=True, shifts=shifts)
    program.build()
    y = program.names["y"]
    leaves = {name: program.names[name] for name in program.leaves}
    first, second, z = {}, {}, None
    with autograd.record():
        for name, x in leaves.items():
            try:
                (first[name],) = autograd.grad(y, [x], create_graph=True)
            except Exception as error:
                if "reachable" not in str(error):
                    raise
        for i, g in enumerate(first.values()):
            c = program.constant(seed + i, g.shape)
            term = (nd.sin(g) * c).sum()
            z = term if z is None else z + term
    for x in leaves.values():
        x.grad[:] = 0
    z.backward()
    second = {name: x.grad.asnumpy() for name, x in leaves.items()}
    first = {name: g.asnumpy() for name, g in first.items()}
    return program, leaves, y.asscalar(), first, z.asscalar(), second


def compare(seed):
    """The directional derivatives of the program's output, and of a function of its gradients, as
    ((computed, by differences), (computed, by differences)); and the lines of the program."""
    program, leaves, _, first, _, second = _derive(seed)
    direction = _direction(seed, leaves)
    ends = []
    for sign in (1, -1):
        shifts = {name: sign * STEP * d for name, d in direction.items()}
        _, _, y, _, z, _ = _derive(seed, shifts)
        ends.append((y, z))
    differences = [(a - b) / (2 * STEP) for a, b in zip(*ends)]  # noqa: B905
    computed = [sum((g * direction[name]).sum() for name, g in grads.items()) for grads in (first, second)]
    scale = [sum(np.abs(g * direction[name]).sum() for name, g in grads.items()) for grads in (first, second)]
    return list(zip(computed, differences, scale)), program.lines  # noqa: B905


def main():
    """[COUNT]: print {seed: {"pairs": ..., "program": ...}, or {"error": ...}} as JSON."""
    results = {}
    for seed in range(int(sys.argv[1])):
        try:
            pairs, lines = compare(seed)
            results[seed] = {"pairs": [list(map(float, pair)) for pair in pairs], "program": lines}
        except Exception:
            results[seed] = {"error": traceback.format_exc()}
    print(json.dumps(results))


if __name__ == "__main__":
    main()
