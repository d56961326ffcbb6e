"""torch modules as Chainer links and Gluon blocks, which own their parameters."""

from __future__ import annotations

from typing import Any

import torch

from compatgrad.interop._torch_modules import check_module

__all__ = ["as_chainer_link", "as_gluon_block"]


def as_chainer_link(module: torch.nn.Module) -> Any:
    """Makes a `chainer.Chain` that owns a torch module. Its parameters share memory with the module's and have the same
    names (with an underscore before a number): Chainer's optimizers train them, its serializers save them,
    `namedparams` lists them. Buffers, and parameters that require no gradient when this is called, are persistent
    values: saved, but not trained. A call runs the module as one node of the graph, with gradients of any order, in
    train mode if `chainer.config.train` is True.

    Args:
        module: the module.

    Returns:
        The link.

    Raises:
        TypeError: `module` is not a torch module.
        ValueError: the shape of a parameter is still unknown, or a part of the module has the name of an attribute of
            chains.

    Example:
        >>> import numpy as np
        >>> import torch
        >>> from compatgrad import interop
        >>> link = interop.as_chainer_link(torch.nn.Linear(3, 2))
        >>> sorted(name for name, _ in link.namedparams())
        ['/bias', '/weight']
        >>> link(np.ones((4, 3), np.float32)).shape
        (4, 2)

    Source: `compatgrad/interop/_chainer_link.py`.
    """
    check_module(module, "as_chainer_link")
    from compatgrad.interop._chainer_link import TorchLink

    return TorchLink(module)


def as_gluon_block(module: torch.nn.Module, prefix: str | None = None) -> Any:
    """Makes a `gluon.Block` that owns a torch module. Its parameters share memory with the module's and have their
    names with underscores: a Trainer trains them, `save_parameters` saves them. Buffers, such as running statistics,
    are parameters that get no gradient (a single number has the shape (1,)), and are saved, too. A call
    runs the module as one node of the graph, with gradients of any order, in the train mode of `autograd`.

    Args:
        module: the module.
        prefix: the prefix of the parameters' names; None makes one with a counter, as for other blocks.

    Returns:
        The block.

    Raises:
        TypeError: `module` is not a torch module.
        ValueError: the shape of a parameter is still unknown.

    Example:
        >>> import torch
        >>> import compatgrad.mxnet as mx
        >>> from compatgrad import interop
        >>> block = interop.as_gluon_block(torch.nn.Linear(3, 2), prefix="head_")
        >>> list(block.collect_params())
        ['head_weight', 'head_bias']
        >>> block(mx.nd.ones((4, 3))).shape
        (4, 2)

    Source: `compatgrad/interop/_gluon_block.py`.
    """
    check_module(module, "as_gluon_block")
    from compatgrad.interop._gluon_block import TorchBlock

    return TorchBlock(module, prefix=prefix)
