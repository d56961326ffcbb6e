"""ChainerMN's API on torch.distributed. A program that no launcher started is a group of one process."""

from compatgrad.names.absent import speak as _speak

_speak(__name__)

from compatgrad.chainer import __version__  # noqa: F401
from compatgrad.chainermn import (  # noqa: F401
    communicators,
    datasets,
    extensions,
    functions,
    global_except_hook,
    iterators,
    links,
    optimizers,
)
from compatgrad.chainermn.communicators import CommunicatorBase, create_communicator  # noqa: F401
from compatgrad.chainermn.datasets import DataSizeError, scatter_dataset, scatter_index  # noqa: F401
from compatgrad.chainermn.extensions import create_multi_node_checkpointer, create_multi_node_evaluator  # noqa: F401
from compatgrad.chainermn.links import MultiNodeChainList  # noqa: F401
from compatgrad.chainermn.optimizers import create_multi_node_optimizer  # noqa: F401

global_except_hook._add_hook_if_enabled()
