"""Pictures of graphs with several frontends and torch modules."""

import re

import pytest
import torch
from expecttest import assert_expected_inline

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import interop
from tests.interop.graphs import caption, label, statements, var


@pytest.fixture(autouse=True)
def own_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


def test_across_nnablas_boundary():
    l = L.Linear(3, 4)  # noqa: E741
    x = var(2, 3, name="x")
    inner = NF.leaky_relu(PF.affine(interop.to("nnabla", F.relu(l(x))), 5, name="fc"), 0.2)
    y = F.sum(interop.to("chainer", inner))
    assert_expected_inline(
        statements(interop.graph(y)),
        """\
digraph {
  rankdir=TB;
  label="kept for backward: 224 B in 5 tensors, 152 B of it leaves"; labelloc=b;
  n0 [label="x\\n(2, 3) float32", shape=box];
  n1 [label="W\\n(4, 3) float32", shape=box];
  n2 [label="b\\n(4,) float32", shape=box];
  n3 [label="LinearFunction\\nkeeps x (2, 3): 24 B\\nkeeps W (4, 3): 48 B", shape=ellipse];
  n4 [label="(2, 4) float32", shape=box];
  n5 [label="ReLU\\nkeeps output (2, 4): 32 B", shape=ellipse];
  n6 [label="(2, 4) float32", shape=box];
  n7 [label="chainer → nnabla", shape=ellipse];
  n8 [label="(2, 4) float32", shape=box];
  n9 [label="fc/affine/W\\n(4, 5) float32", shape=box];
  n10 [label="fc/affine/b\\n(5,) float32", shape=box];
  n11 [label="Affine\\nbase_axis=1\\nkeeps input 0 (2, 4): 32 B\\nkeeps fc/affine/W (4, 5): 80 B", shape=ellipse];
  n12 [label="(2, 5) float32", shape=box];
  n13 [label="LeakyReLU\\nalpha=0.2\\nkeeps output (2, 5): 40 B", shape=ellipse];
  n14 [label="(2, 5) float32", shape=box];
  n15 [label="nnabla → chainer", shape=ellipse];
  n16 [label="(2, 5) float32", shape=box];
  n17 [label="Sum", shape=ellipse];
  n18 [label="() float32", shape=box, penwidth=2];
  n0 -> n3;
  n1 -> n3;
  n2 -> n3;
  n3 -> n4;
  n4 -> n5;
  n5 -> n6;
  n6 -> n7;
  n7 -> n8;
  n8 -> n11;
  n9 -> n11;
  n10 -> n11;
  n11 -> n12;
  n12 -> n13;
  n13 -> n14;
  n14 -> n15;
  n15 -> n16;
  n16 -> n17;
  n17 -> n18;
}
""",
    )


def test_from_nnabla_into_an_eager_graph():
    w = mx.nd.ones((2, 3))
    w.attach_grad()
    with mx.autograd.record():
        h = mx.nd.sin(w)
    y = NF.tanh(interop.to("nnabla", h))
    g = interop.graph(y, names={w: "weight"})
    assert re.findall(r'label="(\w+)[^"]*", shape=ellipse', g.dot) == ["sin", "mxnet", "Tanh"]
    assert "mxnet → nnabla" in g.dot
    assert label(g, "sin") == ["sin", "keeps weight (2, 3): 24 B"]  # y's static part has not run, so it keeps nothing
    assert caption(g) == "kept for backward: 24 B in 1 tensor, 24 B of it leaves; 24 B not in memory"
    assert "mxnet → nnabla" in interop.graph(y, parameters=False).dot


def test_a_recorded_gradient_across_the_boundary():
    x = var(2, 3, name="x")
    y = F.sum(interop.to("chainer", NF.tanh(interop.to("nnabla", F.sin(x)))))
    (gx,) = chainer.grad([y], [x], enable_double_backprop=True)
    names = re.findall(r'label="([^"\\]*)[^"]*", shape=ellipse', interop.graph(gx).dot)
    # the value and its gradient go to nnabla, and the result comes back
    assert (names.count("chainer → nnabla"), names.count("nnabla → chainer")) == (2, 1)
    assert {"sin", "Tanh", "TanhGrad"} <= set(names)


def test_torch_inside():
    g = interop.graph(interop.call(torch.nn.Tanh(), var(2, 3)))
    assert repr(g) == "<Graph of 2 variables and 1 functions>"
    assert label(g, "Tanh") == ["Tanh", "keeps input (2, 3): 24 B", "keeps Tanh.result (2, 3): 24 B"]


def test_parameters_and_record_of_a_torch_module():
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Linear(4, 1))
    g = interop.graph(interop.call(net, var(2, 3, name="x")))
    assert sorted(re.findall(r'label="([^"]*)", shape=box, fillcolor="#fff2b3"', g.dot)) == [
        "0.bias\\n(4,) float32", "0.weight\\n(4, 3) float32", "2.bias\\n(1,) float32", "2.weight\\n(1, 4) float32"
    ]  # fmt: skip
    kept = ["keeps 0.weight (4, 3): 48 B", "keeps Addmm.mat1 (2, 4): 32 B", "keeps Gelu.self (2, 4): 32 B"]
    assert label(g, "Sequential") == ["Sequential", "Linear, GELU, Linear", *kept, "and 2 more: 40 B"]  # sorted by size
    assert caption(g) == "kept for backward: 152 B in 5 tensors, 88 B of it leaves"


def test_a_torch_module_called_twice_has_one_box_for_a_parameter():
    layer = torch.nn.Linear(3, 3, bias=False)
    g = interop.graph(interop.call(layer, interop.call(layer, var(2, 3))))
    assert g.dot.count("weight\\n(3, 3)") == 1 and g.dot.count("in_features=3, out_features=3") == 2
    functions = re.findall(r"  (n\d+) \[.*ellipse", g.dot)
    weight = re.search(r'  (n\d+) \[label="weight', g.dot)[1]
    assert [f"{weight} -> {f};" in g.dot for f in functions] == [True, True]


def test_a_torch_function_with_leaves_of_its_own():
    w = torch.ones(3, requires_grad=True)
    g = interop.graph(interop.call(lambda x: (x * w).exp(), var(2, 3, name="x")))
    assert label(g, "(3,)") == ["(3,) float32"]
    kept = label(g, "<lambda>")[1:]
    assert kept == ["keeps x (2, 3): 24 B", "keeps input 1 (3,): 12 B", "keeps Exp.result (2, 3): 24 B"]


def test_tensors_freed_by_torch_are_not_listed():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x + 1)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    g = interop.graph(interop.call(lambda x: Twice.apply(x), var(2, 3, name="x")))
    assert label(g, "<lambda>")[1:] == ["keeps x (2, 3): 24 B", "keeps Twice.saved_tensors (2, 3): 24 B"]
