"""Random networks that are trained: layers, losses, hooks, optimizers, schedules, and what programs do in between.

Each framework's module has a class `Training(seed, perturb)`, whose attributes are `words`, which describe the program,
`middle`, step to what is done before it, and `tolerance`, a relative difference; `step(t)` trains and gives the loss
and two numbers of each parameter. `carried()` yields the names and arrays that one step leaves to the next: parameters,
statistics and states of the optimizer; `gradients()` yields the gradients, and `read` and `write` access such an array.
`given()` and `give(values)` get and set the data. After `round_results(rounded)` the results of functions are passed
through `rounded`.
The module imports the framework by its own name, so that the same file runs on the original.
"""

import math
import signal
import warnings

import numpy as np

STEPS = 20


def number(value):
    """A float as JSON has it; what is no finite number becomes a word."""
    value = float(value)
    return value if math.isfinite(value) else "not finite"


def digest(array):
    """Two numbers that change with each element of an array, and with their order."""
    flat = np.asarray(array, np.float64).ravel()
    with np.errstate(all="ignore"):
        return [number(np.abs(flat).sum()), number(flat @ np.cos(np.arange(flat.size)))]


def change(shape, relative):
    """What the first parameters are multiplied by."""
    return 1 + relative * np.random.RandomState(7).choice([-1, 1], shape)


def run(training, seed, perturb=False, following=None):
    """A program's words, the numbers of each step, and the error that ended it.

    `following` (`follow.Following`) may read and replace the arrays before and after each step.
    """
    signal.alarm(60)  # ends the process: an original may compute for ever
    steps, error, text, made = [], "", "", training.__new__(training)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            made.__init__(seed, perturb)
            for t in range(STEPS):
                if t in made.middle:
                    getattr(made, "middle_" + made.middle[t])()
                if following is not None:
                    following.before(made, t)
                steps.append(made.step(t))
                if following is not None:
                    following.after(made, t)
        except Exception as e:  # which one is a part of the result
            error, text = f"{type(e).__name__} after {len(steps)} steps", str(e)[:150] + " ... " + str(e)[-150:]
    signal.alarm(0)
    what = "; ".join(made.words)
    return {"what": what, "tolerance": made.tolerance, "steps": steps, "error": error, "text": text}


def draw_middles(training, r):
    """Two things at most that the program does at random steps; the methods' names begin with `middle_`."""
    names = sorted(name[len("middle_") :] for name in dir(training) if name.startswith("middle_"))
    return {r.randrange(2, STEPS): r.choice(names) for _ in range(r.choice([0, 1, 2]))}
