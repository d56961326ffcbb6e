"""Helpers for tests of drawn graphs: variables, and the text of a picture."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L

SVG = "{http://www.w3.org/2000/svg}"


def f32(*shape):
    return np.ones(shape, "f")


def var(*shape, name=None):
    return chainer.Variable(f32(*shape), name=name)


def statements(graph):
    """The lines of the DOT text for boxes and edges, without colours."""
    text = re.sub(r", style=filled|  node .*\n", "", str(graph))
    return re.sub(r', fillcolor="[^"]*"', "", text)


def label(graph, start):
    """The lines of the first box whose label begins with `start`."""
    found = re.search(rf'label="({re.escape(start)}[^"]*)", shape', graph.dot)
    assert found, graph.dot
    return found[1].split("\\n")


def caption(graph):
    return re.search('label="(.*)"; labelloc', graph.dot)[1]


def texts(svg):
    return [e.text for e in ElementTree.fromstring(svg).iter(SVG + "text")]


def branches():
    x = var(2, 4, name="x")
    a, b = F.split_axis(L.Linear(4, 4)(x), 2, 1)
    return F.sum(F.concat([a * b, F.relu(a)]) + b[:, :1])
