"""What drivers of nnabla programs share."""

import nnabla as nn


def perturb(run):
    """Disturb all parameters."""
    parameters = [p for _, p in sorted(nn.get_parameters().items())]
    for p, a in zip(parameters, run.perturb([p.d.copy() for p in parameters]), strict=True):
        p.d = a
