"""Compares a network with the module written for it: outputs, gradients and running statistics."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

from compatgrad import _C
from compatgrad.interop.native._record import Recorder
from compatgrad.interop.native._source import Source

__all__ = ["Difference", "compare"]

# relative to the largest number of a tensor
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4}
_MOST = 0.1  # larger differences are not taken for rounding, whatever float64 says


@dataclass
class Difference:
    """The largest differences in one mode, relative to the largest number of each output and gradient.

    Args:
        dtype: the dtype in which both networks ran.
        outputs: of the outputs.
        gradients: of the gradients of inputs and parameters.
        wrong: what differs by more than rounding; empty if nothing does.
        rounded: outputs and gradients, with their differences, that rounding changes so much that they differ more than
            the others; `outputs` and `gradients` do not include them.

    Example:
        >>> import torch
        >>> import compatgrad.chainer.links as L
        >>> from compatgrad import interop
        >>> interop.to_native(L.Linear(3, 2), torch.ones(4, 3)).differences["eval"].outputs < 1e-6
        True

    Source: `compatgrad/interop/native/_check.py`.
    """

    dtype: torch.dtype
    outputs: float
    gradients: float
    wrong: str = ""
    rounded: list[str] = field(default_factory=list)

    def text(self) -> str:
        return f"outputs {self.outputs:.1e}, gradients {self.gradients:.1e} ({str(self.dtype)[6:]})"


class _NothingDropped(TorchDispatchMode):
    """Draws that keep every element, so that both networks drop out the same."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name == "native_dropout" and (args[2] if len(args) > 2 else True):
            result[0].copy_(args[0] / (1 - args[1]))
            result[1].fill_(1)
        elif torch.Tag.nondeterministic_seeded in func.tags and isinstance(result, torch.Tensor):
            if name.startswith("bernoulli"):
                result.fill_(1)
            elif name.startswith("rand") and name not in ("randn", "randn_like", "randperm"):
                result.fill_(0.9990234375)
        return result


def compare(recorder: Recorder, source: Source, module: torch.nn.Module, mode: str) -> Difference:
    """Runs both networks in a mode, in float64 where the network computes in it."""
    whole = None
    if all(t.dtype == torch.float32 for t in recorder.state.values() if t.is_floating_point()):
        try:
            whole = _compare(recorder, source, module, mode, torch.float64)
        except Exception:  # the network's code asks for float32
            whole = None
        if whole is not None and not whole.wrong:
            return whole
    return _compare(recorder, source, module, mode, None) or Difference(torch.float32, float("inf"), float("inf"), "it")


def _compare(
    recorder: Recorder, source: Source, module: torch.nn.Module, mode: str, dtype: torch.dtype | None
) -> Difference | None:
    examples = [x.clone().to(dtype) if dtype and x.is_floating_point() else x.clone() for x in recorder.examples]
    target = recorder.target
    legacy = target.differentiable(recorder.module)
    state = dict(recorder.module.state_dict(keep_vars=True))
    with ExitStack() as stack:
        stack.enter_context(target.unchanged(state))
        originals: list[Any] = [(p, p.data) for p in legacy.parameters()]
        originals += [(m, dict(m._buffers)) for m in legacy.modules()]
        stack.callback(_restore, originals, legacy)
        if dtype:
            legacy.to(dtype)
        legacy.train(mode == "train")
        before = {n: t.detach().clone() for n, t in _state_of(legacy, state, dtype).items()}
        expected, gys = _run(legacy, examples, recorder, None)
    first = next((y for y in expected[0].values() if y.is_floating_point()), None)
    computed = torch.float32 if first is None else first.dtype
    if dtype and computed != dtype:
        return None
    own = copy.deepcopy(module)
    own.to(dtype)
    own.load_state_dict(source.values(before))  # copies, so that layers which share a parameter still do
    own.train(mode == "train")
    try:
        found, _ = _run(own, examples, None, gys, bool(source.kept))
    except (RuntimeError, IndexError, ValueError) as e:
        infinite = float("inf")
        return Difference(computed, infinite, infinite, f"the output (the module raises {type(e).__name__}: {e})")
    grads = dict(found[1])
    expected = (expected[0], _renamed(expected[1], source.pairs(), grads))
    made, tolerance = Difference(computed, 0.0, 0.0), _TOLERANCE.get(computed, 1e-2)
    rounding: _Rounding | None = None
    for k, name, size in _sizes(expected, (found[0], grads), tolerance):
        what = f"the gradient of {name}" if k else name
        if size > tolerance * (10 if k else 1):
            if computed == torch.float32 and size < _MOST:
                rounding = rounding or _Rounding(own, examples, gys, found)
                if rounding.explains(k, name, expected[k][name]):
                    made.rounded.append(f"{what}: {size:.0e}")
                    continue
            made.wrong = made.wrong or what
        if k:
            made.gradients = max(made.gradients, size)
        else:
            made.outputs = max(made.outputs, size)
    return made


def _sizes(expected: Any, found: Any, tolerance: float) -> Iterator[tuple[int, str, float]]:
    """The differences of outputs (0) and gradients (1), by name, relative to the largest number of each."""
    for k, (a_all, b_all) in enumerate(zip(expected, found, strict=True)):
        scale = max((_scale(a) for a in a_all.values()), default=0.0)
        for name, a in a_all.items():
            b = b_all.get(name)
            if b is None:
                if k and _scale(a) > tolerance * scale:
                    yield k, name, float("inf")
            elif a.shape != b.shape:
                yield k, name, float("inf")
            else:
                size = _distance(a, b) / max(_scale(a), scale * (1e-3 if k else 1.0), 1e-30)
                yield k, name, float("inf") if size != size else size


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference."""
    a64, b64 = a.double(), b.double()
    same = (a64 == b64) | (a64.isnan() & b64.isnan())
    return float(torch.where(same, torch.zeros_like(a64), (a64 - b64).abs()).max()) if a.numel() else 0.0


class _Rounding:
    """How much rounding changes outputs and gradients: the module runs in float64, and there twice more with inputs and
    parameters that are changed by as much as float32 rounds them. found: the result in float32."""

    def __init__(self, module: torch.nn.Module, examples: Any, gys: Any, found: Any) -> None:
        self.exact: Any = None
        self.others: list[Any] = [found]
        inputs = [x.double() if x.is_floating_point() else x for x in examples]
        gys = [g.double() for g in gys]
        try:
            self.exact = _run(copy.deepcopy(module).double(), inputs, None, gys)[0]
            for seed in range(2):
                changed = copy.deepcopy(module).double()
                changed.load_state_dict({n: _changed(t, seed) for n, t in changed.state_dict().items()})
                self.others.append(_run(changed, [_changed(x, seed) for x in inputs], None, gys)[0])
        except (RuntimeError, IndexError, ValueError):  # the module runs in float32 alone
            self.exact = None

    def explains(self, k: int, name: str, expected: torch.Tensor) -> bool:
        """Whether the network's output or gradient is about as near to that in float64 as the others are."""
        if self.exact is None:
            return False
        exact = self.exact[k][name]
        own = max(_distance(other[k][name], exact) for other in self.others)
        return _distance(expected, exact) <= 4 * own


def _changed(t: torch.Tensor, seed: int) -> torch.Tensor:
    if not t.is_floating_point():
        return t
    generator = torch.Generator().manual_seed(seed)
    return t * (1 + (torch.rand(t.shape, generator=generator, dtype=t.dtype) * 2 - 1).to(t.device) * 2.0**-24)


def _scale(a: torch.Tensor) -> float:
    finite = a.detach().double().abs()
    finite = finite[finite.isfinite()]
    return float(finite.max()) if finite.numel() else 0.0


def _restore(originals: Any, legacy: torch.nn.Module) -> None:
    for owner, before in originals:
        if isinstance(owner, torch.nn.Parameter):
            owner.data = before
        else:  # a module's conversion replaces its buffers
            owner._buffers.update(before)
    legacy._parameters_in_place()  # type: ignore[operator]


def _state_of(legacy: torch.nn.Module, state: Mapping[str, torch.Tensor], dtype: Any) -> dict[str, torch.Tensor]:
    own = dict(legacy.state_dict())
    return {n: own.get(n, t.to(dtype) if dtype and t.is_floating_point() else t) for n, t in state.items()}


def _renamed(grads: Mapping[str, torch.Tensor], pairs: Any, own: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Gradients of legacy parameters under the names and in the layouts of the module. own: the module's gradients,
    which are taken for elements that the network does not have."""
    made: dict[str, torch.Tensor] = {}
    used: set[str] = set()
    for name, (legacy, how) in pairs.items():
        if all(n in grads for n in legacy):
            used.update(legacy)
            made[name] = how(grads)
            missing = getattr(getattr(how, "__self__", None), "index", None)
            if missing is not None and name in own:
                made[name] = torch.where((missing == 0).reshape(own[name].shape), own[name], made[name])
    for name, g in grads.items():
        if name not in used and (name.startswith("input ") or bool((g != 0).any())):
            made[name] = g
    return made


def _run(network: Any, examples: Any, recorder: Recorder | None, gys: Any, calls: bool = False) -> Any:
    """Outputs and gradients, and the gradients of the outputs, random if they are not given. recorder: for the legacy
    network. calls: whether the network calls compatgrad."""
    inputs = [x.clone() for x in examples]
    for x in inputs:
        x.requires_grad_(x.is_floating_point())
    call: Callable[[], Any]
    if recorder is None:
        call = lambda: network(*inputs)  # noqa: E731
    else:
        args, kwargs = recorder.rebuild(inputs)
        call = lambda: network(*args, **kwargs)  # noqa: E731
    legacy = recorder is not None or calls
    was = _C.set_tracing(True) if legacy else False  # dropout draws from torch's generator
    try:
        with _NothingDropped(), torch.enable_grad():  # type: ignore[no-untyped-call]
            result = call()
    finally:
        if legacy:
            _C.set_tracing(was)
    ys = [y for y in _pytree.tree_leaves(result) if isinstance(y, torch.Tensor)]
    outputs = {f"output {k}": y.detach() for k, y in enumerate(ys)}
    floats = [y for y in ys if y.is_floating_point()]
    if gys is None:
        generator = torch.Generator().manual_seed(0)
        gys = [torch.randn(y.shape, generator=generator, dtype=torch.float64).to(y.dtype) for y in floats]
    named = {n: p for n, p in network.named_parameters() if p.requires_grad}
    named.update({f"input {k}": x for k, x in enumerate(inputs) if x.requires_grad})
    weighted = [(y * g).sum() for y, g in zip(floats, gys, strict=True) if y.requires_grad]
    grads: dict[str, torch.Tensor] = {}
    if weighted:
        found = torch.autograd.grad(weighted, list(named.values()), allow_unused=True)
        grads = {n: torch.zeros_like(p) if g is None else g for (n, p), g in zip(named.items(), found, strict=True)}
    return (outputs, grads), gys
