"""Helpers for the drivers of nnabla programs."""

import contextlib

import nnabla as nn
import numpy as np


def perturb(run, parameters=None):
    """Perturb the parameters in a dictionary, or by default those of the current scope."""
    parameters = [p for _, p in sorted((nn.get_parameters() if parameters is None else parameters).items())]
    for p, a in zip(parameters, run.perturb([p.d.copy() for p in parameters]), strict=True):
        p.d = a


@contextlib.contextmanager
def building(run, name):
    """A parameter scope for a network that is built inside, whose parameters are perturbed at the end."""
    with nn.parameter_scope(name):
        yield
        perturb(run)


def variable(values):
    """A persistent Variable with the given values."""
    v = nn.Variable.from_numpy_array(np.asarray(values))
    v.persistent = True
    return v


def images(rng, shape):
    """Random smooth images with numbers from 0 to 255 and some noise.

    In pure noise the means of channels are far above their deviations. The original's batch normalization computes the
    variance from the mean of the squares, and would lose three digits, so that all further numbers would differ by more
    than rounding.
    """
    rough = rng.randint(0, 200, (*shape[:2], shape[2] // 8, shape[3] // 8))
    return np.kron(rough, np.ones((8, 8), int)) + rng.randint(0, 56, shape)


def step(loss, solver, decay=0.0):
    """One update, with the calls in the order of the programs' loops."""
    solver.zero_grad()
    loss.forward(clear_no_need_grad=True)
    loss.backward(clear_buffer=True)
    if decay:
        solver.weight_decay(decay)
    solver.update()


def training(loss, solver, feed=None, decay=0.0, **watched):
    """A training loop: `feed` sets the inputs; yields the values of the loss and of the `watched` variables."""
    for v in watched.values():
        v.persistent = True
    while True:
        if feed:
            feed()
        step(loss, solver, decay)
        yield {"loss": loss.d, **{name: np.abs(v.d).mean() for name, v in watched.items()}}
