"""Samples of deformable convolution's columns and their gradients."""

import itertools

from tests.deform_reference import columns, columns_grad, factors_grad
from tests.ops.harness import Floats, sample

A = Floats
CASES = [  # images, places, geometry; offsets that leave no place near a whole number
    ((2, 4, 5, 6), (3, 3), {"ksize": [3, 2], "groups": 2, "pad": [1, 0], "stride": [2, 1], "dilate": [1, 2]}),
    ((1, 2, 4, 5), (2, 4), {"ksize": [2, 2]}),
    ((2, 3, 1, 7), (1, 5), {"ksize": [1, 3], "pad": [0], "stride": [1], "dilate": [2]}),
    ((1, 2, 3, 3), (0, 2), {"ksize": [2, 2]}),
]


class Offsets(Floats):
    """Of -2 to 2, between whole numbers."""

    def draw(self, rng):
        return rng.integers(-2, 2, self.shape) + rng.uniform(0.2, 0.8, self.shape)


def deformed():
    for (x, out, params), border in [*itertools.product(CASES, ({}, {"clamp": True})), (CASES[1], {"nan": True})]:
        params = params | border
        positions = params.get("groups", 1) * params["ksize"][0] * params["ksize"][1]
        offset = Offsets(x[0], 2 * positions, *out)
        gy = A(x[0], x[1] * params["ksize"][0] * params["ksize"][1], *out)
        for orders in ([0], [0, 1], [2, 1, 0, 3], [3]):
            more = params if orders == [0] else params | {"orders": orders}
            factors = A(x[0], positions * len(orders), *out)
            yield sample("deform_columns", columns, A(*x), offset, factors, **more)
            yield sample("deform_columns_grad", columns_grad, gy, offset, factors, insize=list(x), **more)
            yield sample("deform_factors_grad", factors_grad, gy, A(*x), offset, **more)
        yield sample("deform_columns", columns, A(*x), offset, **params)
        yield sample("deform_columns_grad", columns_grad, gy, offset, insize=list(x), **params)


SAMPLES: list = sum(deformed(), [])
