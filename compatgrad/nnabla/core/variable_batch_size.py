"""Makes network definitions for batches of any size."""

from __future__ import annotations

from ._networks import ProtoNetwork

__all__ = ["variable_batch_size"]


def variable_batch_size(network: ProtoNetwork) -> None:
    """Replaces the size of the batch in a network by -1, in shapes and in arguments that are shapes.

    Args:
        network: the network, which changes.

    Raises:
        ValueError: an argument that is a shape begins with another size. Nothing is changed then.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> from compatgrad.nnabla.core.variable_batch_size import variable_batch_size
        >>> network = graph_def.create_graph_from_variable("net", PF.affine(nn.Variable((2, 3)), 4))["net"]
        >>> variable_batch_size(network)
        >>> [v.shape for v in network.variables.values()]
        [(-1, 3), (-1, 4)]

    Source: `nnabla.core.variable_batch_size` of nnabla 1.39.0.
    """
    opened = network._of_any_batch()
    network.variables, network.parameters = opened.variables, opened.parameters
    network.functions, network.batch_size = opened.functions, opened.batch_size
