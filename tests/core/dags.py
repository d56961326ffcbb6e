"""Random graphs, built by the same operations on native Variables or on torch tensors."""

import random

import torch

from compatgrad import _C

UNARY = {
    "sin": torch.sin,
    "cos": torch.cos,
    "neg": torch.neg,
    "square": torch.square,
}
_scalars = {
    "add_scalar": lambda x: x + 0.5,
    "mul_scalar": lambda x: x * 1.5,
    "rsub_scalar": lambda x: 1 - x,
    "pow_scalar": lambda x: x**2,
}
_binary = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}


def random_graph(seed, leaves, n_ops=12, native=True):
    """Outputs of a graph over `leaves`: shapes (3,), (1, 3) and (2, 3), which broadcast."""
    rng = random.Random(seed)
    ops = {name: _C.op(name) for name in UNARY} if native else UNARY
    pool = list(leaves)
    for _ in range(n_ops):
        kind = rng.random()
        a, b = rng.choice(pool), rng.choice(pool)
        if kind < 0.3:
            pool.append(ops[rng.choice(sorted(ops))](a))
        elif kind < 0.5:
            pool.append(_scalars[rng.choice(sorted(_scalars))](a))
        else:
            # the factor keeps values moderate after many products
            pool.append(_binary[rng.choice(sorted(_binary))](a * 0.7, b))
    return [pool[-1], rng.choice(pool[len(leaves) : -1])]


def leaf_tensors(seed, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    return [torch.rand(shape, generator=g, dtype=dtype) + 0.2 for shape in ((3,), (1, 3), (2, 3))]
