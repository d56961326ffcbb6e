"""Compares a program with the original step by step, each step from the original's parameters and states.

The original records all arrays that a step leaves to the next one. compatgrad then runs the program, too, but takes the
original's arrays before each step; so what differs after a step comes from this step alone, and rounding errors do not
grow from step to step. Where a step still differs, the original repeats all steps from its own arrays, once and again
with rounding errors: the arrays, and the results of functions while it computes, are multiplied by 1 ± a small number,
in several patterns. If its own results move as far, rounding explains the difference.
"""

import functools
import math
import os

import numpy as np

PATTERNS = 12  # of rounding errors
FACTOR = 10  # by which a step may differ more than the original's own results


class Following:
    """Writes the arrays before and after each step to FOLDER/SEED.npz; `start` is a folder whose arrays it takes.

    With a `pattern` there are rounding errors: even patterns change the arrays, odd ones the results of functions.
    """

    def __init__(self, folder, seed, start=None, pattern=None):
        self.path = os.path.join(folder, f"{seed}.npz")
        self.start = None if start is None else load(start, seed)
        self.random = None if pattern is None else np.random.RandomState(pattern)
        self.in_functions = pattern is not None and pattern % 2 == 1
        self.in_arrays = pattern is not None and pattern % 2 == 0
        self.found = {}
        self.restore = None

    def before(self, made, t):
        self.strange = False
        self.given = made.given()
        if self.in_functions and t == 0:
            self.restore = made.round_results(functools.partial(self.rounded, relative=OF_FUNCTION[made.tolerance]))
        for name, array in made.carried():
            values = made.read(array)
            if self.start is not None:
                values = self.start.get(f"{t} before {name}", values * np.nan)
                if self.in_arrays:
                    values = self.rounded(values, OF_ARRAY[made.tolerance])
                made.write(array, values)
            self.found[f"{t} before {name}"] = values
        if self.in_arrays:
            made.give(self.rounded(self.given, OF_ARRAY[made.tolerance]))

    def rounded(self, values, relative):
        """`values` with random errors; whole numbers stay, as they may be indices or exact."""
        self.strange |= values.dtype.kind == "f" and np.isnan(values).any()
        if values.dtype.kind != "f" or not (values != np.round(values)).any():
            return values
        errors = np.maximum(relative * np.abs(values), np.finfo(values.dtype).smallest_subnormal * (values != 0))
        return np.asarray(values + errors * self.random.choice([-1, 1], values.shape), values.dtype)

    def after(self, made, t):
        self.found.update({f"{t} after {name}": made.read(array) for name, array in made.carried()})
        self.found.update({f"{t} gradient {name}": made.read(array) for name, array in made.gradients()})
        self.found[f"{t} strange"] = np.array(self.in_functions and self.strange)
        if self.in_arrays:
            made.give(self.given)

    def close(self):
        if self.restore is not None:
            self.restore()
        np.savez(self.path, **self.found)


# tolerance of a program -> what arrays are multiplied by before a step, 1 ± this
OF_ARRAY = {1e-8: 1e-13, 1e-6: 1e-9, 1e-4: 1e-6}
# tolerance of a program -> the same for results of functions: about four rounding errors
OF_FUNCTION = {1e-8: 1e-15, 1e-6: 1e-15, 1e-4: 2.5e-7}
# tolerance of a program -> the largest error of a step, relative to how far the step changes an array, or to the loss
OF_STEP = {1e-8: 1e-9, 1e-6: 1e-6, 1e-4: 1e-3}
# tolerance of a program -> the error of a number that is stored
OF_NUMBER = {1e-8: 1e-14, 1e-6: 1e-9, 1e-4: 1e-6}


def error(values, others, of_number):
    """The largest difference of two arrays beyond `of_number`, relative to the largest number.

    inf where only some are finite; nan where all others are finite in place of some that are not.
    """
    if values.shape != others.shape:
        return math.inf
    same = (values == others) | (np.isnan(values) & np.isnan(others))
    if same.all():
        return 0.0
    x, y = values[~same].astype(np.float64), others[~same].astype(np.float64)
    if not np.isfinite(x).all() and np.isfinite(others).all():
        return math.nan
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return math.inf
    far = np.abs(x - y).max() - of_number
    return 0.0 if far <= 0 else float(far / np.abs(values[np.isfinite(values)]).max(initial=1e-300))


class Step:
    """What one step of the original left, and how far other runs of the step are from it."""

    def __init__(self, recorded, result, t):
        self.recorded, self.result, self.t = recorded, result, t
        self.of_number = OF_NUMBER[result["tolerance"]]  # what this much differs counts as equal
        self.starts_finite = all(np.isfinite(a).all() for a in self.arrays(recorded, "before").values())

    def arrays(self, found, what):
        first = f"{self.t} {what} "
        return {name[len(first) :]: a for name, a in found.items() if name.startswith(first)}

    def errors(self, found, result):
        """Label -> error, of the loss, the gradients and what the step leaves."""
        p, q = self.result["steps"][self.t][0], result["steps"][self.t][0]
        if p == q or isinstance(p, str) or isinstance(q, str):
            errors = {"loss": 0.0 if p == q else math.nan if isinstance(p, str) else math.inf}
        else:
            errors = {"loss": abs(p - q) / max(1.0, abs(p))}
        before, starts = self.arrays(self.recorded, "before"), self.arrays(found, "before")
        gradients = self.arrays(self.recorded, "gradient")
        for what in ("gradient", "after"):
            theirs, others = self.arrays(self.recorded, what), self.arrays(found, what)
            if theirs.keys() != others.keys():
                errors[f"{what}: other names"] = math.inf
            for name in theirs.keys() & others.keys():
                a, b = theirs[name], others[name]
                if what == "after" and " " in name and not np.isfinite(gradients.get(name.split()[0], 0)).all():
                    continue  # states after a gradient that is not finite differ (docs/deviations.md)
                if what == "after" and name in before and name in starts:  # how far the step moves it
                    a, b, size = a - before[name], b - starts[name], np.abs(a).max(initial=0)
                else:
                    size = np.abs(a).max(initial=0)
                errors[f"{what} {name}"] = error(a, b, self.of_number * max(1e-3, size))
        return errors


def verdict(recorded, result, found, ours, perturbed):
    """("same step by step" | "unstable ..." | "not finite" | "original not finite" | "differs", where), of a program.

    It is unstable in the "loss", in a "gradient" (of a loss that agrees) or in an "update" (by gradients that agree).

    `recorded` and `found` are the arrays of the original and of compatgrad, `result` and `ours` the results;
    `perturbed` has pairs of arrays and results of the original with rounding errors.
    """
    if ours["error"] != result["error"] or len(ours["steps"]) != len(result["steps"]):
        return "differs", f"{result['error'] or 'no error'} | {ours['error'] or 'no error'}"
    kind = where = ""
    for t in range(len(result["steps"])):
        step = Step(recorded, result, t)
        if not step.starts_finite:
            return (kind or "not finite"), where or f"step {t} starts with numbers that are not finite"
        allowed = OF_STEP[result["tolerance"]]
        errors = step.errors(found, ours)
        alone = [label for label, e in errors.items() if math.isnan(e)]
        wrong = {label: e for label, e in errors.items() if e > allowed}
        if not wrong and alone:
            return "original not finite", f"step {t}: {', '.join(alone)}"
        if not wrong:
            continue
        step.of_number = 0
        moved = [step.errors(*run) for run in perturbed if t < len(run[1]["steps"])]
        most = {label: max((e for m in moved if (e := m.get(label, 0.0)) < math.inf), default=0.0) for label in wrong}
        beyond = {label: e for label, e in wrong.items() if not e <= FACTOR * most[label]}
        said = ", ".join(f"{label} {e:.1e} (perturbed {most[label]:.1e})" for label, e in (beyond or wrong).items())
        if beyond and any(arrays.get(f"{t} strange") for arrays, _ in perturbed):
            return "original not finite", f"step {t}: in the results of functions; {said}"
        if beyond:
            return "differs", f"step {t}: {said}"
        places = {label.partition(" ")[0] for label in wrong}
        kind = kind or "unstable " + next((p for p in ("loss", "gradient") if p in places), "update")
        where = where or f"step {t}: {said}"
        if alone:
            return "original not finite", where
    return (kind, where) if kind else ("same step by step", "")


def load(folder, seed):
    """The arrays of one program; none if its process died."""
    path = os.path.join(folder, f"{seed}.npz")
    if not os.path.exists(path):
        return {}
    with np.load(path) as file:
        return dict(file)
