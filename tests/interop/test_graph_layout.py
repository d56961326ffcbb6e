"""Layout of pictures without Graphviz: positions of boxes and edges."""

import random
import re
import shutil
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import _C, core, interop
from tests.interop.graphs import SVG, branches, caption, f32, texts, var


@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_own_layout(direction):
    g = interop.graph(branches(), direction=direction)
    svg = g.svg("own")
    shown = texts(svg)
    for line in ("x", "LinearFunction", "SplitAxis", "Concat", "ReLU", "(2, 4) float32", caption(g)):
        assert line in shown
    root = ElementTree.fromstring(svg)
    width, height = float(root.get("width")), float(root.get("height"))
    places = []
    for e in root.iter():
        if e.tag == SVG + "rect" and e.get("x"):
            x, y, w, h = (float(e.get(k)) for k in ("x", "y", "width", "height"))
            places.append((x, y, x + w, y + h))
        if e.tag == SVG + "ellipse":
            x, y, w, h = (float(e.get(k)) for k in ("cx", "cy", "rx", "ry"))
            places.append((x - w, y - h, x + w, y + h))
    assert len(places) == len(re.findall("shape=(?:box|ellipse)", g.dot))
    for i, a in enumerate(places):
        assert 0 <= a[0] and 0 <= a[1] and a[2] <= width and a[3] <= height
        for b in places[:i]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], "boxes overlap"


def penalty():
    """A critic's loss with its gradient penalty, whose edges span many rows."""
    critic = chainer.Sequential(L.Linear(6, 8), F.leaky_relu, L.Linear(8, 1))
    x = var(4, 6, name="x")
    (gx,) = chainer.grad([F.sum(critic(x))], [x], enable_double_backprop=True)
    norm = F.sqrt(F.sum(gx * gx, axis=1))
    return F.mean(critic(f32(4, 6))) - F.mean(critic(f32(4, 6))) + 10 * F.mean((norm - 1) ** 2)


@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_edges_pass_beside_boxes(direction):
    root = ElementTree.fromstring(interop.graph(penalty(), direction=direction).svg("own"))
    places = [tuple(float(e.get(k)) for k in ("cx", "cy", "rx", "ry")) for e in root.iter(SVG + "ellipse")]
    assert len(places) > 20
    for e in root.iter(SVG + "path"):
        if not e.get("marker-end"):
            continue
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", e.get("d"))]
        points = list(zip(numbers[::2], numbers[1::2], strict=True))
        for k in range(0, len(points) - 3, 3):
            for t in np.linspace(0, 1, 12):
                weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
                x, y = (sum(w * p[a] for w, p in zip(weights, points[k : k + 4], strict=True)) for a in (0, 1))
                inside = [1 for cx, cy, rx, ry in places if ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 < 0.9]
                assert not inside, "an edge runs behind a function"


def test_a_chain_of_layers_is_straight():
    net = chainer.Sequential(*(L.Linear(4, 4) for _ in range(6)))
    root = ElementTree.fromstring(interop.graph(net(var(2, 4))).svg("own"))
    centers = [float(e.get("cx")) for e in root.iter(SVG + "ellipse")]
    assert max(centers) - min(centers) < 40


def test_in_a_notebook():
    g = interop.graph(branches())
    ElementTree.fromstring(g._repr_svg_())
    assert str(g) == g.dot


def test_thousands_of_functions():
    start = time.perf_counter()
    random.seed(0)
    x = core.Variable(torch.ones(3))
    hs = [x]
    for _ in range(1250):
        hs.append(_C.op("tanh")(hs[-1] * hs[random.randrange(max(0, len(hs) - 20), len(hs))]))
    g = interop.graph(hs[-1])
    ElementTree.fromstring(g.svg())
    assert repr(g) == "<Graph of 2501 variables and 2500 functions>"
    # one weight that is read by thousands of steps
    h = x
    for _ in range(2000):
        h = h * x
    ElementTree.fromstring(interop.graph(h).svg())
    assert time.perf_counter() - start < 60


def test_deep_graphs_of_nnabla():
    x = nn.Variable((2,), need_grad=True)
    y = x
    for _ in range(1500):
        y = NF.tanh(y)
    assert repr(interop.graph(y)) == "<Graph of 1501 variables and 1500 functions>"


@pytest.mark.skipif(not shutil.which("dot"), reason="needs Graphviz")
def test_graphviz_reads_the_text(tmp_path):
    g = interop.graph(branches())
    assert "LinearFunction" in texts(g.svg("dot"))
    g.save(tmp_path / "g.png")
    assert (tmp_path / "g.png").read_bytes()[:4] == b"\x89PNG"


def test_saving(tmp_path, monkeypatch):
    g = interop.graph(branches())
    for name in ("g.dot", "g.gv"):
        g.save(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == g.dot
    g.save(str(tmp_path / "g.svg"))
    ElementTree.parse(tmp_path / "g.svg")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="'.png' needs Graphviz"):
        g.save(tmp_path / "g.png")
    with pytest.raises(ValueError, match="path must end in"):
        g.save(tmp_path / "g")
    with pytest.raises(ValueError, match="layout must be"):
        g.svg("neato")
