"""The parts of a picture: `Box` and `Edge`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Box", "Edge"]


@dataclass
class Box:
    """A node of a picture: a box for a variable, or an oval for a function.

    Args:
        lines: the lines of text in it.
        fill: the colour, in a form that SVG knows.
        oval: whether it is an oval.
        bold: whether its border is thick, as that of the Variables for which a graph is drawn.

    Example:
        >>> from compatgrad.drawing import Graph
        >>> from compatgrad.drawing.boxes import Box, Edge
        >>> Graph([Box(["x"], "#cfe8cf"), Box(["exp"], "#cfe0f5", oval=True)], [Edge(0, 1)])
        <Graph of 1 variables and 1 functions>

    Source: `compatgrad/drawing/boxes.py`.
    """

    lines: Sequence[str]
    fill: str
    oval: bool = False
    bold: bool = False


@dataclass
class Edge:
    """An arrow between two boxes, which are given by their numbers.

    Args:
        tail: the number of the box where it begins.
        head: the number of the box where it ends.
        text: text beside it.

    Example:
        >>> from compatgrad.drawing.boxes import Edge
        >>> Edge(0, 1)
        Edge(tail=0, head=1, text='')

    Source: `compatgrad/drawing/boxes.py`.
    """

    tail: int
    head: int
    text: str = ""
