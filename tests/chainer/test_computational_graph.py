"""Computational graphs in the DOT format."""

import importlib
import re

import pytest

from tests.chainer.subject import Scale, chainer, f32, var

G = importlib.import_module(chainer.__name__ + ".computational_graph")


def diamond():
    x = var([1.0], name="x")
    (y,) = Scale().apply((x,))
    (z,) = Scale().apply((y,))
    w = y + z
    return x, y, z, w


def test_nodes_and_edges():
    x, y, z, w = diamond()
    graph = G.build_computational_graph(w)
    fy, fz, fw = y.creator_node, z.creator_node, w.creator_node
    assert set(graph.nodes) == {x.node, fy, y.node, fz, z.node, fw, w.node}
    assert set(graph.edges) == {
        (x.node, fy),
        (fy, y.node),
        (y.node, fz),
        (fz, z.node),
        (y.node, fw),
        (z.node, fw),
        (fw, w.node),
    }
    for outputs in ([w, y], (w.node,), w.creator_node, [x, w.creator_node]):
        smaller = G.build_computational_graph(outputs)
        assert set(smaller.edges) <= set(graph.edges) and x.node in smaller.nodes
    assert len(G.build_computational_graph(y).nodes) == 3


def test_unchained_graph_ends():
    x, y, z, w = diamond()
    y.unchain()
    graph = G.build_computational_graph([w])
    assert y.node in graph.nodes and x.node not in graph.nodes


def test_dot():
    x, y, z, w = diamond()
    graph = G.build_computational_graph(w)  # keeps the nodes alive, so that their ids stay unique
    text = graph.dump()
    assert text.startswith("digraph graphname{rankdir=TB;") and text.endswith("}")
    statements = text[text.index(";") + 1 : -1].split(";")[:-1]
    nodes = [s for s in statements if "->" not in s]
    assert len(nodes) == 7 and len(statements) == len(set(statements)) == 14
    assert f'{id(x.node)} [label="x: (1), float32",shape="octagon",fillcolor="#E0E0E0",style="filled"]' in nodes
    assert f'{id(w.creator_node)} [label="_ + _",shape="record",fillcolor="#6495ED",style="filled"]' in nodes
    assert f"{id(x.node)} -> {id(y.creator_node)}" in statements


def test_styles():
    *_, w = diamond()
    text = G.build_computational_graph(
        w, variable_style=None, function_style={"color": "red"}, rankdir="LR", show_name=False
    ).dump()
    assert 'shape="oval"' in text and 'shape="box",color="red"' in text and "rankdir=LR" in text
    assert "x:" not in text


def test_functions_only():
    x, y, z, w = diamond()
    graph = G.build_computational_graph(w, remove_variable=True)  # keeps the nodes alive, so that their ids stay unique
    text = graph.dump()
    edges = set(re.findall(r"(\d+) -> (\d+)", text))
    fy, fz, fw = (str(id(v.creator_node)) for v in (y, z, w))
    assert edges == {(fy, fz), (fy, fw), (fz, fw)}
    assert str(id(x.node)) not in text


def test_wrong_arguments():
    *_, w = diamond()
    with pytest.raises(TypeError):
        G.build_computational_graph(w.array)
    with pytest.raises(TypeError):
        G.build_computational_graph([w, f32([1])])
    with pytest.raises(ValueError, match="rankdir"):
        G.build_computational_graph(w, rankdir="XX")
    with pytest.raises(ValueError, match="remove_split"):
        G.build_computational_graph(w, remove_split=False)
    with pytest.raises(NotImplementedError):
        G.build_computational_graph(w).dump("svg")
