"""Looks at the arrays of the first divergence, which a second run has stored whole, and writes a reproducer."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from compatgrad.tools.verify import rounding
from compatgrad.tools.verify.findings import Finding
from compatgrad.tools.verify.recording import Event, Recording, rms

Array = np.ndarray[Any, Any]
REPRODUCER = "repro_0001"  # the name of its files


def wanted(finding: Finding, side: str) -> set[int]:
    """The numbers of the events of one side whose arrays are needed to describe a finding."""
    event = finding.original if side == "original" else finding.here
    numbers = {event["j"]}
    sources = list(event.get("f", ()))
    if finding.gradient is not None:
        numbers.add(finding.gradient[side == "here"]["j"])
    if event.get("of", -1) >= 0:
        numbers.add(event["of"])
    if side == "original":
        numbers.update(e["j"] for e in finding.culprits)
    return numbers | {n for n in sources if n >= 0}


def values(finding: Finding, original: Recording, here: Recording) -> tuple[Array, Array] | None:
    """The first arrays that differ, on both sides, from recordings that have them whole."""
    place = finding.place
    found = []
    for side, event in ((original, finding.original), (here, finding.here)):
        again = side.events[event["j"]] if event["j"] < len(side.events) else None
        if again is None or (again["k"], again["n"]) != (event["k"], event["n"]):
            return None
        array = side.whole(again[place][finding.slot]) if finding.slot < len(again.get(place, ())) else None
        if array is None:
            return None
        found.append(array)
    return found[0], found[1]


def relative(x: Array, y: Array) -> float | None:
    """The relative error, root mean square."""
    if x.shape != y.shape or not x.size:
        return None
    a, b = x.astype(np.float64), y.astype(np.float64)
    return rms(a - b) / (rms(a) or 1.0)


def not_close(x: Array, y: Array, allowed: float) -> str:
    """The message that torch.testing.assert_close would give with the tolerance that rounding allows here."""
    if x.shape != y.shape:
        return f"The values for attribute 'shape' do not match: {x.shape} != {y.shape}."
    a, b = np.atleast_1d(x).astype(np.float64), np.atleast_1d(y).astype(np.float64)
    limit = allowed * max(rms(np.where(np.isfinite(a), a, 0)), 1e-30)
    apart = np.abs(a - b)
    apart[np.isnan(a) & np.isnan(b)] = 0
    apart[(a == b)] = 0
    apart[np.isnan(apart)] = math.inf
    relative = apart / np.where(a == 0, np.nan, np.abs(a))
    wrong = int((apart > limit).sum())
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(apart)), a.shape))
    text = "Tensor-likes are not close!\n\n"
    text += f"Mismatched elements: {wrong} / {a.size} ({100 * wrong / max(a.size, 1):.1f}%)\n"
    text += f"Greatest absolute difference: {apart[at]:g} at index {at} (up to {limit:.3g} allowed)\n"
    if not np.isnan(relative).all():
        where = tuple(int(i) for i in np.unravel_index(int(np.nanargmax(relative)), a.shape))
        text += f"Greatest relative difference: {relative[where]:g} at index {where}\n"
    text += f"original {a[at]:.9g}, here {b[at]:.9g} at index {at}"
    cosine = float((a * b).sum() / (np.linalg.norm(a) * np.linalg.norm(b) or 1.0)) if np.isfinite(apart).all() else None
    if cosine is not None:
        ratio = b[a != 0] / a[a != 0]
        text += f"; cosine {cosine:.7f}"
        if ratio.size and np.ptp(ratio) < 0.01 * abs(ratio.mean()) and abs(ratio.mean() - 1) > limit:
            text += f"; every element here is {ratio.mean():.6g} times the original's"
    return text + _in_ulps(x, y) + _in_one_slice(apart > limit)


def _in_one_slice(wrong: Array) -> str:
    """Where all wrong elements have one index, as those of one channel: what may be the reason."""
    indices = np.nonzero(wrong)
    if len(indices[0]) < 2:
        return ""
    for axis, (index, size) in enumerate(zip(indices, wrong.shape, strict=True)):
        if size > 3 and (index == index[0]).all() and wrong.size > 4 * size:
            return (
                f"\nall of these are at index {index[0]} of axis {axis}; in a gradient, a single element of a ReLU or "
                "pooling\ndoes this, if rounding has put it on the other side of its threshold"
            )
    return ""


def _in_ulps(x: Array, y: Array) -> str:
    """How many floating-point numbers lie between those of x and y. It says something of differences of a few
    roundings, in numbers that are not the small rest of a difference: others are measured by the figures above."""
    if x.dtype != y.dtype or x.dtype not in (np.float32, np.float64):
        return ""
    a, b = np.atleast_1d(x).astype(np.float64), np.atleast_1d(y).astype(np.float64)
    large = np.isfinite(a) & np.isfinite(b) & (np.abs(a) > 1e-2 * rms(np.where(np.isfinite(a), a, 0)))
    if not large.any():
        return ""
    ulps = np.abs(a - b)[large] / np.spacing(np.abs(np.atleast_1d(x)[large])).astype(np.float64)
    if ulps.max() > 1000:
        return ""
    return f"; up to {ulps.max():.3g} ulp in elements that are not near 0"


# ---- reproducers ----
_HEAD = '''\
"""{title}

Made by `python -m compatgrad verify`. Prints how far this function's results are from the original's.
"""

import os

import numpy as np

import compatgrad

compatgrad.install({frontend!r}){setup}
data = np.load(os.path.join(os.path.dirname(__file__), {file!r}))
'''
_TAIL = """
for number, y in enumerate(ys):
    expected = data.get(f"original{number}")
    if expected is not None:
        apart = np.abs(np.asarray(y).astype(float) - expected)
        print(f"result {number}: largest difference", apart.max(initial=0), "of", np.abs(expected).max(initial=0))
"""


def reproducer(
    finding: Finding, original: Recording, here: Recording, folder: Path, frontend: str, setup: str | None
) -> Path | None:
    """Writes `repro_0001.npz` and `repro_0001.py`: the inputs of the function, and what the original computed."""
    event = finding.original
    if finding.culprits and finding.kind in ("function", "gradient"):
        event = finding.culprits[0]
    again = original.events[event["j"]] if event["j"] < len(original.events) else None
    if again is None or again["k"] != "forward":
        return None
    inputs = [original.whole(x) for x in again.get("i", ())]
    if any(x is None for x in inputs) or not inputs:
        return None
    arrays: dict[str, Array] = {f"input{n}": x for n, x in enumerate(inputs) if x is not None}
    for n, y in enumerate(again.get("o", ())):
        whole = original.whole(y)
        if whole is not None:
            arrays[f"original{n}"] = whole
    if finding.original is not event:
        both = values(finding, original, here)
        if both is not None:
            arrays["original_gradient"], arrays["gradient_here"] = both
    np.savez(folder / f"{REPRODUCER}.npz", **arrays)  # type: ignore[arg-type]
    call = "\n".join(_call(frontend, again, len(inputs)))
    title = (
        f"{event['n']} of step {finding.step}{' in ' + event['p'] if event.get('p') else ''}, {event.get('l') or '?'}"
    )
    first = f"\n\nimport runpy\n\nrunpy.run_path({str(Path(setup).absolute())!r})" if setup else ""
    text = _HEAD.format(title=title, frontend=frontend, file=f"{REPRODUCER}.npz", setup=first) + call + "\n" + _TAIL
    path = folder / f"{REPRODUCER}.py"
    path.write_text(text)
    return path


def _call(frontend: str, event: Event, count: int) -> Iterator[str]:
    how = event.get("c") or {}
    given = {k: v for k, v in how.get("params", {}).items() if not isinstance(v, dict) and v is not None}
    params = "".join(f", {k}={v!r}" for k, v in given.items())
    inputs = f"[data[f'input{{n}}'] for n in range({count})]"
    if frontend == "chainer":
        yield f"import chainer\nimport chainer.functions as F\n\nxs = [chainer.Variable(x) for x in {inputs}]"
        if "call" in how:
            names = ", ".join(f"{n}=xs[{i}]" for i, n in enumerate(how["arrays"][:count]))
            yield f"ys = F.{how['call']}({names}{params})"
        elif "op" in how:
            yield f"ys = compatgrad.ops.{how['op']}(*[x.tensor for x in xs]{params})"
        else:
            yield f"ys = F.{event['n']}(*xs)  # to be completed: the call of {event.get('l')}"
        array = "y.array if hasattr(y, 'array') else y"
    elif frontend == "nnabla":
        yield "import nnabla as nn\nimport nnabla.function as function\n"
        yield f"xs = [nn.Variable.from_numpy_array(x) for x in {inputs}]"
        yield "with nn.auto_forward():"
        yield f"    ys = function.{event['n']}(nn.get_current_context(){params})(*xs)"
        array = "y.d"
    else:
        yield f"import mxnet as mx\n\nxs = [mx.nd.array(x, dtype=x.dtype) for x in {inputs}]"
        if how.get("method"):
            yield f"function = getattr(xs[0], {how['call']!r}, None) or getattr(xs[0], '__{how['call']}__')"
        else:
            yield f"function = getattr(mx.nd, {event['n']!r}, None) or getattr(mx.nd._internal, {'_' + event['n']!r})"
        yield f"ys = function({', '.join(_arguments(how, int(bool(how.get('method'))), count))})"
        array = "y.asnumpy()"
    yield f"ys = [{array} for y in (ys if isinstance(ys, (tuple, list)) else [ys])]"


def _arguments(how: dict[str, Any], first: int, count: int) -> Iterator[str]:
    """The arguments of a call of an operator of MXNet: arrays by number, other values as they were."""
    at = first
    if not how:
        yield from (f"xs[{n}]" for n in range(count))
        return

    def shown(value: Any) -> str:
        nonlocal at
        if not isinstance(value, dict):
            return repr(value)
        names = [f"xs[{at + i}]" for i in range(value["array"])]
        at += len(names)
        return names[0] if len(names) == 1 else f"[{', '.join(names)}]"

    for value in how["args"][first:]:
        yield shown(value)
    for name, value in how["params"].items():
        yield f"{name}={shown(value)}"


def indented(text: str) -> str:
    return textwrap.indent(text, "  ", lambda line: bool(line.strip()))


def allowance(finding: Finding) -> str:
    """Why an error of this size is allowed, in words."""
    base = rounding.tolerance(finding.distance.dtype)
    return f"{finding.allowed:.1e} ({base:g} is the tolerance of {finding.distance.dtype})" if base else "0 (integers)"
