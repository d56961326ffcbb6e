"""What drivers of nnabla programs share."""

import contextlib

import nnabla as nn
import numpy as np


def perturb(run, parameters=None):
    """Disturb these parameters, a dictionary, or all of the current scope."""
    parameters = [p for _, p in sorted((nn.get_parameters() if parameters is None else parameters).items())]
    for p, a in zip(parameters, run.perturb([p.d.copy() for p in parameters]), strict=True):
        p.d = a


@contextlib.contextmanager
def building(run, name):
    """A scope for the parameters of the network that is built inside; they are disturbed when it is built."""
    with nn.parameter_scope(name):
        yield
        perturb(run)


def variable(values):
    """A Variable of fixed numbers, which a pass does not free."""
    v = nn.Variable.from_numpy_array(np.asarray(values))
    v.persistent = True
    return v


def images(rng, shape):
    """Random pictures of 0 to 255 that change slowly, with some noise.

    Of mere noise the means are far above the deviations, and the original's batch normalization takes the variance from
    the mean of the squares: it loses three digits, and so all that follows differs by more than rounding.
    """
    rough = rng.randint(0, 200, (*shape[:2], shape[2] // 8, shape[3] // 8))
    return np.kron(rough, np.ones((8, 8), int)) + rng.randint(0, 56, shape)


def step(loss, solver, decay=0.0):
    """One update, in the order of the programs' own loops."""
    solver.zero_grad()
    loss.forward(clear_no_need_grad=True)
    loss.backward(clear_buffer=True)
    if decay:
        solver.weight_decay(decay)
    solver.update()


def training(loss, solver, feed=None, decay=0.0, **watched):
    """The usual loop: `feed` puts data into the inputs; values of the loss and of the `watched` variables come out."""
    for v in watched.values():
        v.persistent = True
    while True:
        if feed:
            feed()
        step(loss, solver, decay)
        yield {"loss": loss.d, **{name: np.abs(v.d).mean() for name, v in watched.items()}}
