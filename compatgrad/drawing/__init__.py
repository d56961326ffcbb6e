"""Pictures of graphs: variables, the functions between them, and the data that is kept in memory for a backward
pass."""

from compatgrad.drawing.graph import Graph as Graph
from compatgrad.drawing.graph import graph as graph

__all__ = ["Graph", "graph"]
