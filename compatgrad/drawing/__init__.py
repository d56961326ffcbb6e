"""Pictures of graphs: what was computed from what, by whom, and what is kept in memory for a pass."""

from compatgrad.drawing.graph import Graph as Graph
from compatgrad.drawing.graph import graph as graph

__all__ = ["Graph", "graph"]
