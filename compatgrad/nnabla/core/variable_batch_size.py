"""Network definitions for batches of any size."""

from __future__ import annotations

from ._networks import ProtoNetwork

__all__ = ["variable_batch_size"]


def variable_batch_size(network: ProtoNetwork) -> None:
    """Lets the batch be -1 in the shapes and shape arguments of `network`, which changes.

    Raises ValueError, and changes nothing, where a shape argument starts with another size.
    """
    opened = network._of_any_batch()
    network.variables, network.parameters = opened.variables, opened.parameters
    network.functions, network.batch_size = opened.functions, opened.batch_size
