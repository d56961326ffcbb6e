"""interop.graph: the text of pictures for each frontend, and which nodes are drawn."""

import gc
import re
import weakref
import xml.etree.ElementTree as ElementTree

import numpy as np
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
from compatgrad import core, interop
from compatgrad.chainer.computational_graph import build_computational_graph
from compatgrad.drawing.graph import FILLS
from compatgrad.nnabla.experimental import viewers
from tests.interop.graphs import SVG, branches, caption, f32, label, statements, texts, var


@pytest.fixture(autouse=True)
def own_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


# ---- the text, by frontend ----------------------------------------------------------------------------------------


def test_chainer():
    l = L.Linear(3, 4)  # noqa: E741
    g = interop.graph(F.sum(F.relu(l(var(2, 3, name="x")))))
    assert_expected_inline(
        str(g),
        """\
digraph {
  rankdir=TB;
  label="kept for backward: 104 B in 3 tensors, 72 B of it leaves"; labelloc=b;
  node [fontname="Helvetica", fontsize=11, style=filled];
  n0 [label="x\\n(2, 3) float32", shape=box, fillcolor="#cfe8cf"];
  n1 [label="W\\n(4, 3) float32", shape=box, fillcolor="#fff2b3"];
  n2 [label="b\\n(4,) float32", shape=box, fillcolor="#fff2b3"];
  n3 [label="LinearFunction\\nkeeps x (2, 3): 24 B\\nkeeps W (4, 3): 48 B", shape=ellipse, fillcolor="#cfe0f5"];
  n4 [label="(2, 4) float32", shape=box, fillcolor="#ffffff"];
  n5 [label="ReLU\\nkeeps output (2, 4): 32 B", shape=ellipse, fillcolor="#cfe0f5"];
  n6 [label="(2, 4) float32", shape=box, fillcolor="#ffffff"];
  n7 [label="Sum", shape=ellipse, fillcolor="#cfe0f5"];
  n8 [label="() float32", shape=box, fillcolor="#ffffff", penwidth=2];
  n0 -> n3;
  n1 -> n3;
  n2 -> n3;
  n3 -> n4;
  n4 -> n5;
  n5 -> n6;
  n6 -> n7;
  n7 -> n8;
}
""",
    )
    assert repr(g) == "<Graph of 6 variables and 3 functions>"


def test_nnabla_before_and_after_a_pass():
    x = nn.Variable((2, 3), need_grad=True)
    y = NF.leaky_relu(PF.affine(x, 4, name="layer"), 0.2)
    assert_expected_inline(
        statements(interop.graph(y)),
        """\
digraph {
  rankdir=TB;
  label="kept for backward: 48 B in 1 tensor, 48 B of it leaves; 56 B not in memory"; labelloc=b;
  n0 [label="(2, 3) float32", shape=box];
  n1 [label="layer/affine/W\\n(3, 4) float32", shape=box];
  n2 [label="layer/affine/b\\n(4,) float32", shape=box];
  n3 [label="Affine\\nbase_axis=1\\nreads input 0 (2, 3): 24 B\\nkeeps layer/affine/W (3, 4): 48 B", shape=ellipse];
  n4 [label="(2, 4) float32", shape=box];
  n5 [label="LeakyReLU\\nalpha=0.2\\nreads output (2, 4): 32 B", shape=ellipse];
  n6 [label="(2, 4) float32", shape=box, penwidth=2];
  n0 -> n3;
  n1 -> n3;
  n2 -> n3;
  n3 -> n4;
  n4 -> n5;
  n5 -> n6;
}
""",
    )
    y.forward()
    g = interop.graph(y)
    assert "reads" not in str(g) and "keeps layer/affine/W (3, 4): 48 B" in label(g, "Affine")
    z = NF.exp(NF.exp(x))
    z.forward(clear_buffer=True)  # frees the inner value, which backward would recompute
    assert caption(interop.graph(z)) == "kept for backward: 24 B in 1 tensor; 24 B not in memory"


def test_nnabla_dynamic():
    with nn.auto_forward():
        x = nn.Variable.from_numpy_array(f32(2, 3)).apply(need_grad=True)
        y = NF.tanh(x) * 2
    assert_expected_inline(
        statements(interop.graph(y, names={x: "x"})),
        """\
digraph {
  rankdir=TB;
  label="kept for backward: 24 B in 1 tensor"; labelloc=b;
  n0 [label="x\\n(2, 3) float32", shape=box];
  n1 [label="Tanh\\nkeeps output (2, 3): 24 B", shape=ellipse];
  n2 [label="(2, 3) float32", shape=box];
  n3 [label="MulScalar\\nval=2", shape=ellipse];
  n4 [label="(2, 3) float32", shape=box, penwidth=2];
  n0 -> n1;
  n1 -> n2;
  n2 -> n3;
  n3 -> n4;
}
""",
    )


def test_mxnet():
    w = mx.nd.ones((4, 3))
    w.attach_grad()
    with mx.autograd.record():
        h = mx.nd.FullyConnected(mx.nd.ones((2, 3)), w, mx.nd.zeros((4,)), num_hidden=4)
        y = mx.nd.relu(h)
    assert_expected_inline(
        statements(interop.graph(y, names={w: "weight"})),
        """\
digraph {
  rankdir=TB;
  label="kept for backward: 56 B in 2 tensors, 24 B of it leaves"; labelloc=b;
  n0 [label="(2, 3) float32", shape=box];
  n1 [label="weight\\n(4, 3) float32", shape=box];
  n2 [label="(4,) float32", shape=box];
  n3 [label="FullyConnected\\nnum_hidden=4\\nkeeps input 0 (2, 3): 24 B", shape=ellipse];
  n4 [label="(2, 4) float32", shape=box];
  n5 [label="relu\\nkeeps output (2, 4): 32 B", shape=ellipse];
  n6 [label="(2, 4) float32", shape=box, penwidth=2];
  n0 -> n3;
  n1 -> n3;
  n2 -> n3;
  n3 -> n4;
  n4 -> n5;
  n5 -> n6;
}
""",
    )


def test_mxnet_np():
    a = mx.np.ones((2, 3))
    a.attach_grad()
    with mx.autograd.record():
        y = mx.np.exp(a) + 1
    assert "keeps output (2, 3): 24 B" in label(interop.graph(y), "exp")


def test_native():
    x = core.Variable(torch.ones(2, 3, dtype=torch.float64))
    assert_expected_inline(
        statements(interop.graph(x * x + x, names={x: "x"})),
        """\
digraph {
  rankdir=TB;
  label="kept for backward: 48 B in 1 tensor, 48 B of it leaves"; labelloc=b;
  n0 [label="x\\n(2, 3) float64", shape=box];
  n1 [label="mul\\nkeeps x (2, 3): 48 B", shape=ellipse];
  n2 [label="(2, 3) float64", shape=box];
  n3 [label="add", shape=ellipse];
  n4 [label="(2, 3) float64", shape=box, penwidth=2];
  n0 -> n1;
  n0 -> n1;
  n1 -> n2;
  n2 -> n3;
  n0 -> n3;
  n3 -> n4;
}
""",
    )


# ---- what is drawn ------------------------------------------------------------------------------------------------


def test_colours_tell_parameters_leaves_and_constants():
    l = L.Linear(3, 4)  # noqa: E741
    g = interop.graph(l(var(2, 3, name="x")) + f32(2, 4))
    colour = dict(re.findall(r'label="(x|W|b|\(2, 4\) float32).*fillcolor="(.*?)"', g.dot))
    assert colour["W"] == colour["b"] != colour["x"]
    assert len(set(re.findall(r'shape=box, fillcolor="(.*?)"', g.dot))) == 4


def test_registered_parameters_of_nnabla_have_their_names():
    x = nn.Variable((2, 3))
    with nn.parameter_scope("net"):
        y = PF.affine(x, 4)
    g = interop.graph(y)
    colours = re.findall(r'label="net/affine/[Wb].*fillcolor="(.*?)"', g.dot)
    assert len(colours) == 2 and len(set(colours)) == 1


def test_parameters_of_gluon_have_their_names():
    net = mx.gluon.nn.Dense(4, prefix="net_")
    net.initialize()
    x = mx.nd.ones((2, 3))
    with mx.autograd.record():
        y = net(x)
    colours = dict(re.findall(r'label="(net_weight|net_bias|.2, 3).*fillcolor="(.*?)"', interop.graph(y).dot))
    assert colours["net_weight"] == colours["net_bias"] == FILLS["parameter"] != colours["(2, 3"]


def test_without_leaves_and_kept_tensors():
    l = L.Linear(3, 4)  # noqa: E741
    x = var(2, 3, name="x")
    g = interop.graph(l(x), parameters=False, saved=False)
    assert repr(g) == "<Graph of 1 variables and 1 functions>"
    assert "keeps" not in g.dot and "kept" not in g.dot
    # the requested variable itself is drawn
    assert repr(interop.graph(x, parameters=False)) == "<Graph of 1 variables and 0 functions>"


def test_several_outputs():
    a, b = F.split_axis(var(2, 4), 2, 1)
    g = interop.graph(b, a)
    assert re.findall(r'headlabel="(\d)"', g.dot) == ["1", "0"]
    assert g.dot.count("penwidth=2") == 2
    assert 'headlabel="1"' in interop.graph(b).dot and 'headlabel="0"' not in interop.graph(b).dot


def test_an_input_used_twice_has_two_arrows():
    x = var(3)
    g = interop.graph(x * x)
    assert g.dot.count("n0 -> n1;") == 2
    paths = [e.get("d") for e in ElementTree.fromstring(g.svg("own")).iter(SVG + "path") if e.get("marker-end")]
    assert len(set(paths)) == 3


def test_special_characters_in_names():
    x = var(3)
    y = x + 1
    name = 'a "b" \\ <c> & d\x07'
    g = interop.graph(y, names={name: x})
    assert 'label="a \\"b\\" \\\\ <c> & d' in g.dot
    assert any(t.startswith('a "b" \\ <c> & d') for t in texts(g.svg("own")))


def test_functions_in_python():
    class Square(chainer.FunctionNode):
        def forward(self, inputs):
            self.retain_inputs((0,))
            return (inputs[0] ** 2,)

        def backward(self, indexes, gys):
            return (gys[0] * 2 * self.get_retained_inputs()[0],)

    class Old(chainer.Function):
        def forward(self, inputs):
            return (inputs[0] * 2,)

    (y,) = Square().apply((var(4),))
    g = interop.graph(Old()(y))
    assert label(g, "Square") == ["Square", "keeps input (4,): 16 B"]
    assert label(g, "Old")[0] == "Old"


def test_gradients_are_graphs_too():
    x = var(3, name="x")
    (gx,) = chainer.grad([x * x * x], [x], enable_double_backprop=True)
    g = interop.graph(gx)
    assert "_ * _" in g.dot and "x\\n(3,) float32" in g.dot


def test_released_graphs_end():
    x = mx.nd.ones((2, 3))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.exp(x) * 2
    y.backward()
    g = interop.graph(y)
    assert "(inputs released)" in g.dot and "kept for backward: 0 B in 0 tensors" == caption(g)
    z = var(3) * 2 + 1
    z.unchain_backward()
    assert repr(interop.graph(z)) == "<Graph of 1 variables and 0 functions>"


def test_constants_and_uninitialized_variables():
    assert "(2, 3) float32" in interop.graph(mx.nd.ones((2, 3))).dot
    assert "uninitialized" in interop.graph(chainer.Parameter()).dot
    with chainer.no_backprop_mode():
        assert repr(interop.graph(var(3) * 2)) == "<Graph of 1 variables and 0 functions>"
    c = chainer.Variable(f32(3), requires_grad=False)
    assert caption(interop.graph(c * c)) == "kept for backward: 0 B in 0 tensors"


def test_direction():
    y = F.exp(var(3))
    assert "rankdir=LR;" in interop.graph(y, direction="LR").dot

    def size(direction):
        root = ElementTree.fromstring(interop.graph(F.exp(y), direction=direction, saved=False).svg("own"))
        return float(root.get("width")), float(root.get("height"))

    (w, h), (w2, h2) = size("TB"), size("LR")
    assert h > w and w2 > h2


# ---- side effects -------------------------------------------------------------------------------------------------


def test_drawing_changes_nothing():
    layer = L.BatchNormalization(3)
    layer(var(2, 3))
    mean = layer.avg_mean.copy()
    seen = []

    class Hook(chainer.FunctionHook):
        def forward_preprocess(self, function, in_data):
            seen.append(function)

    y = F.dropout(layer(var(2, 3)) * 2)
    mean = layer.avg_mean.copy()
    state = torch.get_rng_state()
    with Hook(), chainer.using_config("debug", True):
        interop.graph(y)
        assert chainer.config.debug
    assert not seen and (layer.avg_mean == mean).all() and torch.equal(state, torch.get_rng_state())


def test_a_picture_keeps_nothing_alive():
    x = var(3)
    y = F.exp(x) * 2
    gone = weakref.ref(y), weakref.ref(x)
    g = interop.graph(y, names={"x": x})
    del x, y
    gc.collect()
    assert [ref() for ref in gone] == [None, None] and g.svg()


def test_hooks_that_hold_the_graph_or_draw_it():
    pictures = []

    class Hook(chainer.FunctionHook):
        def backward_postprocess(self, function, in_data, grads):
            self.y = y
            pictures.append(interop.graph(y))

    x = var(3)
    y = F.exp(x) * x
    y.creator_node.add_hook(Hook())
    with Hook():
        y.grad = f32(3)
        y.backward()
    assert len({str(g) for g in pictures}) == 1
    np.testing.assert_allclose(x.grad, 2 * np.exp(f32(3)), rtol=1e-6)


def test_a_cycle_in_the_graph_terminates():
    x = core.Variable(torch.ones(3))
    h = x * 2
    y = h + 1
    x.node.creator_node = y.node.creator_node
    g = interop.graph(y)
    x.node.creator_node = None
    assert g.dot and ElementTree.fromstring(g.svg("own")) is not None


# ---- the frontends' own pictures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rankdir", ["TB", "BT", "LR", "RL"])
def test_chainers_graph_in_a_notebook(rankdir, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    graph = build_computational_graph(branches(), rankdir=rankdir)
    root = ElementTree.fromstring(graph._repr_svg_())
    at = {e.text: float(e.get("x" if rankdir in ("LR", "RL") else "y")) for e in root.iter(SVG + "text")}
    assert (at["x: (2, 4), float32"] < at["Sum"]) == (rankdir in ("TB", "LR"))
    functions = build_computational_graph(branches(), rankdir=rankdir, remove_variable=True)
    assert "SplitAxis" in texts(functions._repr_svg_())


def test_simple_graph_without_graphviz(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    y = PF.affine(nn.Variable((2, 3)), 4, name="f")
    viewers.SimpleGraph(format="svg").save(y, str(tmp_path / "net"))
    assert "Affine" in texts((tmp_path / "net.svg").read_text(encoding="utf-8"))


# ---- bad input ----------------------------------------------------------------------------------------------------


def test_bad_input():
    y = var(3)
    with pytest.raises(TypeError, match="graph: y must be a Variable, got ndarray"):
        interop.graph(f32(3))
    with pytest.raises(TypeError, match="graph: y must be a Variable, got list"):
        interop.graph([y])
    with pytest.raises(TypeError, match=r"graph: more\[1\] must be a Variable, got NoneType"):
        interop.graph(y, y, None)
    with pytest.raises(ValueError, match="graph: direction must be 'TB' or 'LR', got 'UP'"):
        interop.graph(y, direction="UP")
    with pytest.raises(TypeError, match="graph: names must be a dict"):
        interop.graph(y, names=[y])
    with pytest.raises(TypeError, match="graph: names must pair Variables and texts, got str and str"):
        interop.graph(y, names={"y": "y"})
    with pytest.raises(TypeError, match="graph: names must pair Variables and texts, got int and Variable"):
        interop.graph(y, names={1: y})
