"""Samples of losses whose gradient is not their derivative."""

import numpy as np

from tests.ops.harness import Floats as A
from tests.ops.harness import sample


def pick_cross_entropy(x, t, axis=-1, keepdims=False):
    log_p = x - np.log(np.exp(x).sum(axis, keepdims=True))
    t = np.clip(t.astype("int64"), 0, x.shape[axis] - 1).reshape(np.take(x, [0], axis).shape)
    y = -np.take_along_axis(log_p, t, axis)
    return y if keepdims else y.squeeze(axis)


LOSSES = [
    sample("pick_cross_entropy", pick_cross_entropy, A(3, 4), np.array([0, 3, 1])),
    sample("pick_cross_entropy", pick_cross_entropy, A(4, 3), np.array([-1.0, 5.0, 1.9, 2.0], "float32")),
    sample("pick_cross_entropy", pick_cross_entropy, A(3, 4), np.array([[0], [3], [1]], "int32"), keepdims=True),
    sample("pick_cross_entropy", pick_cross_entropy, A(2, 4, 3), np.array([[1, 3, 0], [-1, 0, 2]]), axis=1),
    sample("pick_cross_entropy", pick_cross_entropy, A(4, 3, 2), np.array([[1, 3], [1, 0], [2, 2]]), axis=0),
]
SAMPLES = [s for line in LOSSES for s in line]
