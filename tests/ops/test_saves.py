"""A gradient reads nothing but what its op saves: whichever inputs need one, all a pass may free is gone by then."""

import numpy as np
import pytest
import torch

import compatgrad.nnabla as nn
from compatgrad import _C
from compatgrad.nnabla._frontend import op
from tests.ops.all_samples import SAMPLES as ALL
from tests.ops.all_samples import writes_inputs
from tests.ops.harness import Problem, constants, gradients

# Recorded before they run, they would need values for the shape of the result (swish: a rule for its broadcast).
NOT_DEFERRED = {"bool_gather", "pack_padded_sequence", "pad_packed_sequence", "swish", "to_device", "unique"}


def one_of_each(samples):
    """The first sample of every op, for each set of inputs that are left out."""
    first = {}
    for s in samples:
        if (
            s.targets
            and not writes_inputs(s)
            and all(x.shape != () and 0 not in x.shape for x in s.inputs if hasattr(x, "draw"))
        ):
            first.setdefault((s.op, len(s.inputs), tuple(x is None for x in s.inputs)), s)
    return list(first.values())


SAMPLES = one_of_each(ALL)
DEFERRED = [s for s in SAMPLES if s.op not in NOT_DEFERRED]


def subsets(targets):
    """Each input alone, and all where that is another set."""
    return [(i,) for i in targets] + [tuple(targets)] * (len(targets) > 1)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_computed_inputs_that_are_dropped(sample):
    """In a graph that runs at once, where the program keeps the results only."""
    p = Problem(sample)
    copy = _C.op("identity")
    for needed in subsets(sample.targets):
        arrays = list(p.arrays)
        xs = sample.variables(arrays, needed)
        leaves = [xs[i] for i in needed]
        expected = gradients([sample.run(xs)[j] for j in p.outputs], leaves, constants(p.gys))
        ys = sample.run([copy(x) if i in sample.targets else x for i, x in enumerate(xs)])
        ys = [ys[j] for j in p.outputs]
        for g, e in zip(gradients(ys, leaves, constants(p.gys)), expected, strict=True):
            assert (g is None) == (e is None)
            if g is not None:
                torch.testing.assert_close(g.tensor, e.tensor)


def deferred(sample, arrays, needed):
    """Leaves that need a gradient, and outputs with the sum to start from, of a graph with all inputs computed."""
    leaves, inputs = {}, []
    for i, a in enumerate(arrays):
        if a is None:
            inputs.append(None)
            continue
        x = nn.Variable.from_numpy_array(a.numpy() if torch.is_tensor(a) else np.asarray(a))
        x.need_grad = i in needed
        if i in needed:
            leaves[i] = x
        inputs.append(op.mul_scalar(x, 1.0) if i in sample.targets else x)
    while not sample.many and inputs[-1] is None:
        inputs.pop()
    f = getattr(op, sample.op)
    params = {k: v.clone() if torch.is_tensor(v) else v for k, v in sample.params.items()}  # random states move on
    ys = f(inputs, **params) if sample.many else f(*inputs, **params)
    ys = ys if isinstance(ys, (list, tuple)) else [ys]
    return [leaves[i] for i in needed], ys


@pytest.mark.parametrize("sample", DEFERRED, ids=str)
def test_inputs_that_a_deferred_pass_frees(sample):
    arrays = sample.arrays("float32")
    for needed in subsets(sample.targets):
        found = []
        for clear in (False, True):
            torch.manual_seed(0)
            leaves, ys = deferred(sample, arrays, needed)
            y = next((y for y in ys if y.need_grad), None)
            if y is None:
                break
            for x in leaves:
                x.grad.zero()
            y.forward(clear_no_need_grad=clear)
            y.backward(np.random.RandomState(0).rand(*y.shape), clear_buffer=clear)
            found.append([x.g.copy() for x in leaves])
        if found:
            for a, b in zip(*found, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-7)
