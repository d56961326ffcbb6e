"""What real MXNet 1.9.1 gives for operators that few networks use: an interpreter that has it makes
mxnet_contrib.npz by `python -m tests.golden.mxnet_contrib`.

CASES are as in mxnet_nn.py: name, inputs, arguments, whether in prediction mode.
"""

from pathlib import Path

import numpy as np

from tests.golden import files
from tests.golden.mxnet_nn import A, L, run

GOLDEN = Path(__file__).with_suffix(".npz")


def case(name, *inputs, **args):
    return name, inputs, args, False


def processes():
    marks = np.array([[0, 1, 1, 0], [1, 0, 2, 2], [2, 2, 0, 1]], "int32")
    yield case("contrib.hawkesll", A(3, 3, low=0.5, high=2), A(3, low=0.1, high=0.6), A(3, low=0.5, high=2),
               L(A(3, 3, low=0, high=1)), L(A(3, 4, low=0, high=2)), marks, L([4, 2, 0]), L([9, 9.5, 7]))  # fmt: skip


def correlations():
    images = A(2, 3, 6, 7), A(2, 3, 6, 7)
    yield case("Correlation", *images, kernel_size=1, max_displacement=2, stride1=1, stride2=1, pad_size=2)
    yield case("Correlation", *images, kernel_size=3, max_displacement=2, stride1=2, stride2=2, pad_size=3)
    yield case("Correlation", *images, kernel_size=1, max_displacement=1, stride1=1, stride2=2, pad_size=0,
               is_multiply=False)  # fmt: skip


def densities():
    for logarithm in (False, True):
        x, counts = A(2, 3, 4, low=0.1, high=2), np.arange(24.0).reshape(2, 3, 4) % 7
        low, high, chance = A(2, 3, low=0.5, high=2), A(2, 3, low=2, high=3), A(2, 3, low=0.2, high=0.8)
        two = [("uniform", low, high), ("normal", A(2, 3), low), ("gamma", high, low), ("exponential", low)]
        for name, *params in two:
            yield case(f"random_pdf_{name}", x, *params, is_log=logarithm)
        whole = [("poisson", low), ("negative_binomial", low, chance), ("generalized_negative_binomial", low, chance)]
        for name, *params in whole:
            yield case(f"random_pdf_{name}", counts, *params, is_log=logarithm)
        rows = A(2, 5, 3, low=0.1, high=1)
        rows /= rows.sum(-1, keepdims=True)
        yield case("random_pdf_dirichlet", rows, A(2, 3, low=0.5, high=3), is_log=logarithm)


def regions():
    boxes = {"scales": (2.0, 4.0), "ratios": (0.5, 1.0, 2.0), "feature_stride": 4, "rpn_min_size": 6, "threshold": 0.5,
             "rpn_pre_nms_top_n": 60, "rpn_post_nms_top_n": 12}  # fmt: skip
    for images, name in ((1, "Proposal"), (2, "MultiProposal")):
        inputs = [L(A(images, 12, 5, 6, low=0, high=1)), L(A(images, 24, 5, 6, low=-0.4, high=0.4)),
                  L([[20, 24, 1.0], [17, 20, 0.8]][:images])]  # fmt: skip
        yield case(f"contrib.{name}", *inputs, output_score=True, **boxes)
        yield case(f"contrib.{name}", *inputs, output_score=True, **boxes | {"iou_loss": True})
    places = L([[0, 3, 3, 4, 2, 30], [1, 2, 4, 3, 6, -75], [1, 0, 0, 9, 5, 10]])
    for ratio in (-1, 2):
        yield case("contrib.RROIAlign", L(A(2, 3, 6, 7)), places, pooled_size=(2, 3), spatial_scale=0.75,
                   sampling_ratio=ratio)  # fmt: skip


CASES = [c for family in (processes, correlations, densities, regions) for c in family()]

if __name__ == "__main__":
    import mxnet

    found = {}
    for k, one in enumerate(CASES):
        ys, grads, _ = run(mxnet, *one)
        found |= {f"{k}_y{j}": y for j, y in enumerate(ys)}
        found |= {f"{k}_g{i}": g for i, g in enumerate(grads) if g is not None}
    files.write(GOLDEN, found, files.versions("mxnet"))
