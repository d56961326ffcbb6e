"""Tracers see every op and its gradients: a graph that was traced on fake tensors gives the engine's results on new
numbers."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from compatgrad import _C
from tests.ops.all_samples import SAMPLES
from tests.ops.harness import Sample, gradients

# ops that read values on the host; the error has the op's name, or its name in nnabla
REFUSED = {
    "bipartite_matching", "bool_gather", "box_nms", "box_suppression", "draw", "dropout_drawn", "image_augmentation",
    "inq_weights", "multibox_detection", "multibox_target", "new_generator", "nms_detection2d",
    "onnx_non_max_suppression", "nonzero", "pack_padded_sequence", "pad_packed_sequence", "random_choice",
    "random_crop", "random_erase", "random_flip", "random_shift", "region_proposals", "resize_bytes", "unique",
}  # fmt: skip
OPS: dict[str, list[Sample]] = {}
for s in SAMPLES:
    OPS.setdefault(s.op, []).append(s)
MOST = 4  # samples per op


def refused(s: Sample) -> str | None:
    if s.op in ("roi_align", "roi_align_grad") and s.params.get("sampling_ratio", -1) <= 0:
        return "roi_align with a sampling_ratio"
    if s.op.startswith("roi_max"):
        return "maxima of regions"
    if s.params.get("group") and s.op.startswith("roi_"):
        return "position-sensitive regions"
    return s.op.removeprefix("nn_") if s.op in REFUSED else None


class Program:
    """A sample as a function of its inputs and of those parameters that are tensors."""

    def __init__(self, sample: Sample, order: int) -> None:
        self.sample, self.order = sample, order
        self.held = [k for k, v in sample.params.items() if isinstance(v, torch.Tensor) and k != "active"]

    def arguments(self, seed: int) -> list[torch.Tensor | None]:
        """Arguments drawn by `seed`; integers are the sample's, as others might be out of range."""
        rng = np.random.default_rng(seed)
        drawn = [x.draw(rng) if hasattr(x, "draw") else x for x in self.sample.inputs]
        tensors = [None if x is None else torch.tensor(x) for x in drawn]
        return tensors + [self.sample.params[k].clone() for k in self.held]

    def __call__(self, tensors: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
        s, n = self.sample, len(self.sample.inputs)
        params = {**s.params, **dict(zip(self.held, tensors[n:], strict=True))}
        s = Sample(s.op, s.reference, s.inputs, params, s.many, s.dtypes, s.differentiable, s.tolerance)
        xs = [None if t is None else _C.Variable(t, i in s.targets) for i, t in enumerate(tensors[:n])]
        ys = s.run(xs)
        found = [y.tensor for y in ys]
        differentiable = [y for y in ys if y.tensor.is_floating_point()]
        targets = [xs[i] for i in s.targets]
        if self.order and targets and differentiable:
            gys = [_C.Variable(y.tensor.cos(), True) for y in differentiable]
            gxs = gradients(differentiable, targets, gys, self.order > 1)
            found += [g.tensor for g in gxs if g is not None]
            again = [g for g in gxs if g is not None and g.requires_grad] if self.order > 1 else []
            if again:
                ggs = [_C.Variable(g.tensor.sin(), False) for g in again]
                found += [g.tensor for g in gradients(again, [*targets, *gys], ggs) if g is not None]
        return found


def copies(tensors: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
    return [None if t is None else t.clone() for t in tensors]


def seeded(f: Callable, *args: object) -> list[torch.Tensor]:
    torch.manual_seed(3)
    return f(*args)


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True)


def check(s: Sample, order: int) -> None:
    program = Program(s, order)
    graph = make_fx(program, tracing_mode="fake")(program.arguments(0))
    given = program.arguments(1)
    eager, traced = copies(given), copies(given)
    expected, found = seeded(program, eager), seeded(graph, traced)
    assert len(found) == len(expected), s
    for k, (a, b) in enumerate(zip(expected, found, strict=True)):
        assert close(a, b), f"{s}: result {k}: {a} but {b}"
    for k, (a, b) in enumerate(zip(eager, traced, strict=True)):
        assert a is None or close(a, b), f"{s}: what is written to argument {k}"


@pytest.mark.parametrize("op", OPS)
def test_a_trace_on_tensors_without_data_gives_the_engines_numbers(op):
    samples = OPS[op]
    for k, s in enumerate(samples[:: -(-len(samples) // MOST)]):
        if name := refused(s):
            program = Program(s, 0)
            for mode in ("fake", "real"):
                with pytest.raises(NotImplementedError, match=f"^{name}.*tracers"):
                    make_fx(program, tracing_mode=mode)(program.arguments(0))
        else:
            check(s, 2 if k == 0 else 1)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_symbolic_sizes_are_refused_by_name(requires_grad):
    def double(x):
        x = _C.native_frontend.variable_class(x.requires_grad_(requires_grad))
        return _C.op("add")(x, x).tensor

    with pytest.raises(NotImplementedError, match="sizes are symbols.*interop.export"):
        make_fx(double, tracing_mode="symbolic")(torch.ones(2, 3))
