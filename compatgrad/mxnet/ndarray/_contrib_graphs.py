"""Operators of `mx.nd.contrib` on graphs, which are csr matrices, and `getnnz`."""

from __future__ import annotations

from typing import Any

import torch

from ..base import MXNetError
from ._arguments import as_index, as_ints, one_of, public_names, require_shape, required
from ._operator import operator
from ._random_state import generator
from ._sparse_arrays import CSRNDArray, _wrap
from .ndarray import NDArray


def _graph(who: str, x: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Row pointers, columns and values of what a csr matrix stores."""
    if not isinstance(x, CSRNDArray):
        raise MXNetError(f"{who}: expected a CSRNDArray, got {type(x).__name__}")
    return x.indptr.tensor, x.indices.tensor, x.data.tensor


def _csr(
    indptr: torch.Tensor, indices: torch.Tensor, values: torch.Tensor, shape: tuple[int, int], like: Any
) -> CSRNDArray:
    """A csr matrix that stores exactly these values."""
    rows = torch.repeat_interleave(torch.arange(shape[0], device=indptr.device), indptr.diff())
    t = torch.zeros(shape, dtype=values.dtype, device=values.device)
    t[rows, indices] = values
    return _wrap(t, "csr", like.context, (indptr, indices))


@operator("data", name="_contrib_getnnz")
def getnnz(data, axis=None):
    """The number of stored elements of a csr matrix, zeros included: int64 of shape (1,), or with axis=1 per row.

    MXNetError for axis=0, as in the original, and for what is no csr matrix.

    Args:
        data: a CSR matrix.
        axis: None counts all; 0 counts in each column.

    Returns:
        int64, one number or a row of them.

    Example:
        >>> nd.contrib.getnnz(nd.array([[1.0, 0.0], [2.0, 3.0]]).tostype("csr")).asnumpy()
        array([3])
    """
    indptr, indices, _ = _graph("getnnz", data)
    if one_of("getnnz", "axis", axis, (None, 1)) is None:  # type: ignore[arg-type]
        return NDArray(torch.tensor([indices.numel()], device=indptr.device))
    return NDArray(indptr.diff())


@operator("data, u, v", name="_contrib_edge_id")
def edge_id(data, u, v):
    """The values that a csr matrix stores at rows u and columns v, -1 where it stores none.

    Args:
        data: a CSR matrix of the numbers of edges.

    Example:
        >>> edges = nd.array([[0.0, 1.0], [2.0, 0.0]]).tostype("csr")
        >>> nd.contrib.edge_id(edges, nd.array([0, 0]), nd.array([1, 0])).asnumpy()
        array([ 1., -1.], dtype=float32)
    """
    require_shape("edge_id", "v", v.shape, u.shape)
    indptr, indices, values = _graph("edge_id", data)
    n, m = data.shape
    row, column = as_index(u), as_index(v)
    for what, index, size in (("u", row, n), ("v", column, m)):
        if index.numel() and not (0 <= int(index.min()) and int(index.max()) < size):
            raise MXNetError(f"edge_id: {what} must be from 0 to {size - 1}")
    table = torch.full((n, m), -1, dtype=values.dtype, device=values.device)
    table[torch.repeat_interleave(torch.arange(n, device=indptr.device), indptr.diff()), indices] = values
    return NDArray(table[row, column])


@operator("data", name="_contrib_dgl_adjacency")
def dgl_adjacency(data):
    """The csr matrix with float32 ones where `data`, a csr matrix, stores something.

    Args:
        data: a CSR matrix of the numbers of edges.

    Returns:
        A CSR matrix of ones, float32.

    Example:
        >>> nd.contrib.dgl_adjacency(nd.array([[0.0, 5.0], [2.0, 0.0]]).tostype("csr")).asnumpy()
        array([[0., 1.],
               [1., 0.]], dtype=float32)
    """
    indptr, indices, values = _graph("dgl_adjacency", data)
    return _csr(indptr, indices, torch.ones(values.shape, device=values.device), data.shape, data)


@operator("*data", name="_contrib_dgl_subgraph")
def dgl_subgraph(data, num_args=None, return_mapping=None):
    """The parts of a graph between the vertices of each following array, which are sorted.

    Gives a csr matrix for each array, in which vertex i is the array's i-th element and edges are numbered 0, 1, ...;
    with `return_mapping`, also one for each array with the graph's own edge values.

    Args:
        data: a CSR matrix of the numbers of edges, then the vertices of each subgraph, int64, ascending.

    Returns:
        A list of CSR matrices, int64.

    Example:
        >>> graph = mx.nd.sparse.csr_matrix(nd.array([[0, 1], [2, 0]], dtype="int64"))
        >>> vertices = nd.array([0, 1], dtype="int64")
        >>> [y.shape for y in nd.contrib.dgl_subgraph(graph, vertices, return_mapping=True)]
        [(2, 2), (2, 2)]
    """
    name = "dgl_subgraph"
    indptr, indices, values = _graph(name, data[0])
    pairs = []
    for vertices in data[1:]:
        chosen = as_index(vertices)
        if chosen.numel() > 1 and not bool((chosen.diff() > 0).all()):
            raise MXNetError(f"{name}: the vertices must be sorted")
        place = torch.full((data[0].shape[1],), -1, dtype=torch.int64, device=indices.device)
        place[chosen] = torch.arange(chosen.numel(), device=indices.device)
        starts, columns, edges = [0], [], []
        for v in chosen.tolist():
            at = torch.arange(int(indptr[v]), int(indptr[v + 1]), device=indices.device)
            at = at[place[indices[at]] >= 0]
            columns.append(place[indices[at]])
            edges.append(values[at])
            starts.append(starts[-1] + at.numel())
        shape = (chosen.numel(), chosen.numel())
        ends = torch.tensor(starts, device=indices.device)
        inside = torch.cat(columns) if columns else indices[:0]
        own = torch.arange(inside.numel(), dtype=values.dtype, device=indices.device)
        kept = torch.cat(edges) if edges else values[:0]
        pairs.append((_csr(ends, inside, own, shape, data[0]), _csr(ends, inside, kept, shape, data[0])))
    found = [p[0] for p in pairs] + ([p[1] for p in pairs] if return_mapping else [])
    return found[0] if len(found) == 1 else found


def _sampled(
    name: str, graph: Any, weights: torch.Tensor | None, seeds: torch.Tensor, hops: int, neighbors: int, limit: int
) -> list[Any]:
    """Samples the neighbourhood of `seeds`: its vertices and their number, edges, weights and distances."""
    indptr, indices, values = _graph(name, graph)
    random = generator(indptr.device)
    layer: dict[int, int] = {}
    for v in seeds.tolist():
        if len(layer) < limit:
            layer.setdefault(v, 0)
    edges: dict[int, torch.Tensor] = {}
    queue = list(layer)
    for v in queue:  # the loop appends to the queue
        if layer[v] >= hops:
            continue
        at = torch.arange(int(indptr[v]), int(indptr[v + 1]), device=indptr.device)
        if at.numel() > neighbors:
            chances = torch.ones(at.shape) if weights is None else weights[indices[at]].float()
            if int((chances > 0).sum()) < neighbors:
                raise MXNetError(f"{name}: vertex {v} has fewer than {neighbors} neighbours of positive probability")
            at = at[torch.multinomial(chances, neighbors, generator=random)].sort().values
        edges[v] = at
        for u in indices[at].tolist():
            if u not in layer and len(layer) < limit:
                layer[u] = layer[v] + 1
                queue.append(u)
    order = sorted(layer)
    ids = torch.zeros(limit + 1, dtype=torch.int64)
    ids[: len(order)], ids[-1] = torch.tensor(order, dtype=torch.int64), len(order)
    distance = torch.full((limit,), -1, dtype=torch.int64)
    distance[: len(order)] = torch.tensor([layer[v] for v in order], dtype=torch.int64)
    known = torch.zeros(graph.shape[1], dtype=torch.bool)
    known[order] = True
    kept = [edges.get(v, indptr[:0]) for v in order]
    kept = [e[known[indices[e]]] for e in kept]
    ends = torch.zeros(limit + 1, dtype=torch.int64)
    ends[1 : len(order) + 1] = torch.tensor([e.numel() for e in kept], dtype=torch.int64)
    at = torch.cat(kept) if kept else indptr[:0]
    sub = _csr(ends.cumsum(0), indices[at], values[at], (limit, graph.shape[1]), graph)
    result: list[Any] = [NDArray(ids), sub]
    if weights is not None:
        chance = torch.full((limit,), -1.0, dtype=torch.float32)
        chance[: len(order)] = weights[order].float()
        result.append(NDArray(chance))
    return [*result, NDArray(distance)]


def _samples(name: str, graph: Any, weights: Any, seeds: Any, hops: Any, neighbors: Any, limit: Any) -> list[Any]:
    columns = [_sampled(name, graph, weights, as_index(s), hops, neighbors, limit) for s in seeds]
    return [x for column in zip(*columns, strict=True) for x in column]


@operator("*data", name="_contrib_dgl_csr_neighbor_uniform_sample")
def dgl_csr_neighbor_uniform_sample(data, num_args=None, num_hops=1, num_neighbor=2, max_num_vertices=100):
    """Draws the neighbourhoods of vertices: of each at most `num_neighbor` neighbours, `num_hops` steps away.

    data: a graph, then arrays of vertices. Gives for each array: its vertices and, as the last element, their number
    (max_num_vertices + 1,); the drawn edges, a csr matrix whose rows are those vertices; and distances
    (max_num_vertices,), in this order, each for all arrays.

    Args:
        data: a CSR matrix of the numbers of edges, int64, then the seeds, int64, of each sample.

    Returns:
        A list: vertices of each sample, with their number at the end, then a CSR matrix for each, then the distances
        from the seeds.

    Example:
        >>> graph = mx.nd.sparse.csr_matrix(nd.array([[0, 1], [2, 0]], dtype="int64"))
        >>> sample = nd.contrib.dgl_csr_neighbor_uniform_sample
        >>> [y.shape for y in sample(graph, nd.array([0], dtype="int64"), max_num_vertices=2)]
        [(3,), (2, 2), (2,)]
    """
    name = "dgl_csr_neighbor_uniform_sample"
    return _samples(name, data[0], None, data[1:], num_hops, num_neighbor, max_num_vertices)


@operator("*data", name="_contrib_dgl_csr_neighbor_non_uniform_sample")
def dgl_csr_neighbor_non_uniform_sample(data, num_args=None, num_hops=1, num_neighbor=2, max_num_vertices=100):
    """Like dgl_csr_neighbor_uniform_sample, with a probability for each vertex as the second array.

    The probabilities of the vertices are a result too, before the distances.

    Args:
        data: a CSR matrix of the numbers of edges, int64, the probability of each vertex, then the seeds, int64, of
            each sample.

    Returns:
        A list: vertices of each sample, with their number at the end, then a CSR matrix for each, the probabilities,
        and the distances from the seeds.

    Example:
        >>> graph = mx.nd.sparse.csr_matrix(nd.array([[0, 1], [2, 0]], dtype="int64"))
        >>> sample = nd.contrib.dgl_csr_neighbor_non_uniform_sample
        >>> [y.shape for y in sample(graph, nd.array([0.5, 0.5]), nd.array([0], dtype="int64"), max_num_vertices=2)]
        [(3,), (2, 2), (2,), (2,)]
    """
    name = "dgl_csr_neighbor_non_uniform_sample"
    return _samples(name, data[0], data[1].tensor, data[2:], num_hops, num_neighbor, max_num_vertices)


@operator("*data", name="_contrib_dgl_graph_compact")
def dgl_graph_compact(data, num_args=None, return_mapping=None, graph_sizes=None):
    """Sampled neighbourhoods, whose columns are the graph's vertices, as square matrices of only their vertices.

    data: csr matrices, then for each the array of its vertices; `graph_sizes`: how many vertices each has. Values are
    numbers of edges 0, 1, ...; with `return_mapping`, matrices with the graph's own values follow.

    Args:
        data: CSR matrices, then the vertices of each, as the samplers give them.
        graph_sizes: the number of vertices of each graph.

    Returns:
        A list of CSR matrices, int64.

    Example:
        >>> graph = mx.nd.sparse.csr_matrix(nd.array([[0, 1], [2, 0]], dtype="int64"))
        >>> vertices, part, _ = nd.contrib.dgl_csr_neighbor_uniform_sample(
        ...     graph, nd.array([0], dtype="int64"), max_num_vertices=3)
        >>> nd.contrib.dgl_graph_compact(part, vertices, graph_sizes=(2,), return_mapping=False).shape
        (2, 2)
    """
    name = "dgl_graph_compact"
    half = len(data) // 2
    sizes = as_ints(name, "graph_sizes", required(name, "graph_sizes", _plain(graph_sizes)))
    if len(data) != 2 * half or len(sizes) != half:
        raise MXNetError(f"{name}: {len(data)} arrays and {len(sizes)} sizes do not belong together")
    first, second = [], []
    for graph, vertices, n in zip(data[:half], data[half:], sizes, strict=True):
        indptr, indices, values = _graph(name, graph)
        place = {v: i for i, v in enumerate(as_index(vertices)[:n].tolist())}
        try:
            columns = torch.tensor([place[c] for c in indices.tolist()], dtype=torch.int64)
        except KeyError as e:
            raise MXNetError(f"{name}: vertex {e} of an edge is not among the vertices") from None
        own = torch.arange(columns.numel(), dtype=values.dtype)
        first.append(_csr(indptr[: n + 1], columns, own, (n, n), graph))
        second.append(_csr(indptr[: n + 1], columns, values, (n, n), graph))
    found = first + (second if return_mapping else [])
    return found[0] if len(found) == 1 else found


def _plain(sizes: Any) -> Any:
    return sizes.reshape(-1).tolist() if hasattr(sizes, "reshape") else sizes


__all__ = public_names(globals())
