"""Calls of functions without their bodies: the compiled module runs the op, and notes what the function is called."""

from __future__ import annotations

import dis
from collections.abc import Callable
from typing import Any, NamedTuple

from compatgrad import _C
from compatgrad.nnabla._frontend import fe


class Direct(NamedTuple):
    """How to call the op of a declared function if all arguments have their defaults.

    Attributes:
        parameters: the op's parameters.
        shown: the arguments for the value of `Function.info`; None for the defaults.
        fits: whether the inputs pass the body's checks; None where the op itself refuses all that the body refuses.
    """

    parameters: dict[str, Any] = {}
    shown: tuple[Any, ...] | None = None
    fits: Callable[..., bool] | None = None


_TEMPLATE = """
    if outputs is None and n_outputs is _n_outputs{tests}:
        y = _run_chain(_chain, _context.current_ctx, {inputs})
        if y is not None:
            return y"""


def direct_parts(spec: Any, harmless: frozenset[str]) -> tuple[str, dict[str, Any]]:
    """The beginning of the function's code, and the names in it. `harmless`: names in bodies that are no ops."""
    direct = spec.direct
    if direct is None and not spec.args and _calls_plainly(spec):
        direct = Direct()
    if direct is None or spec.variadic:
        return "", {}
    (op,) = set(spec.body.__code__.co_names) - harmless
    n = len(spec.inputs)
    shown = tuple(p.default for p in spec.parameters) if direct.shown is None else direct.shown
    chain = _C.chain(fe, n, [(op, range(n), direct.parameters, spec, shown)], (n,))
    inputs = ", ".join(spec.inputs)
    tests = [f"{p.name} is _default_{p.name}" for p in spec.parameters]
    if direct.fits is not None:
        tests.append(f"_fits({inputs})")
    names = {"_chain": chain, "_run_chain": _C.run_chain, "_fits": direct.fits}
    return _TEMPLATE.format(tests="".join(f" and {t}" for t in tests), inputs=inputs), names


def _calls_plainly(spec: Any) -> bool:
    """Whether the body is `return op.name(...)` with exactly the inputs."""
    code = spec.body.__code__
    loads = [i.argval for i in dis.get_instructions(code) if i.opname.startswith("LOAD_FAST")]
    constants = [c for c in code.co_consts if c is not None and c != spec.body.__doc__]
    return code.co_names[0] == "op" and len(code.co_names) == 2 and loads == list(spec.inputs) and not constants
