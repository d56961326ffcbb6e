"""Networks whose parts run in several processes."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import compatgrad.chainer as chainer
from compatgrad.chainermn import functions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


class MultiNodeChainList(chainer.ChainList):
    """The parts of a network that this process computes. Each part receives its inputs from processes of `comm` and
    sends its outputs to processes of `comm`; the first part takes the network's inputs, and the last one returns its
    output.

    Args:
        comm: the communicator.

    Raises:
        ValueError: in a call, `rank_in` and `rank_out` of the parts do not match.
        RuntimeError: in a call, a part receives from or sends to a rank other than 0, and there is no other process.

    Example:
        >>> class Net(chainermn.MultiNodeChainList):
        ...     def __init__(self, comm):
        ...         super().__init__(comm)
        ...         self.add_link(L.Linear(2, 3), rank_in=None, rank_out=0)
        ...         self.add_link(L.Linear(3, 1), rank_in=0, rank_out=None)
        >>> net = Net(chainermn.create_communicator("naive"))
        >>> net(np.ones((4, 2), np.float32)).shape
        (4, 1)

    Source: `chainermn.MultiNodeChainList` of Chainer 7.8.1.
    """

    def __init__(self, comm: CommunicatorBase) -> None:
        chainer.utils.experimental("chainermn.MultiNodeChainList")
        super().__init__()
        self._comm = comm
        self._rank_inouts = []

    def add_link(
        self, link: Any, rank_in: int | Sequence[int] | None = None, rank_out: int | Sequence[int] | None = None
    ) -> None:
        """Adds a part. `rank_in`, `rank_out`: a rank, a list of them, or None for the network's own inputs or output.
        Raises ValueError for a second part with `rank_out=None`.
        """
        super().add_link(link)
        ranks_in, ranks_out = ([r] if isinstance(r, int) else r for r in (rank_in, rank_out))
        if ranks_out is None and any(out is None for _, out in self._rank_inouts):
            raise ValueError(
                "MultiNodeChainList cannot have more than two computational graph component whose rank_out is None"
            )
        self._rank_inouts.append((ranks_in, ranks_out))

    def __call__(self, *inputs):
        queue, output, last = collections.deque(), None, None
        for i, (part, (ranks_in, ranks_out)) in enumerate(zip(self._children, self._rank_inouts, strict=True)):
            if ranks_in is not None:
                xs = []
                for rank in ranks_in:
                    last = self._receive(rank, queue, last)
                    xs.append(last)
                last, x = None, part(*xs)
            else:
                x = part(*(inputs if i == 0 else functions.pseudo_connect(last, *inputs)))
            if ranks_out is None:
                output = last = x
                continue
            for k, rank in enumerate(ranks_out):
                if last is not None and (k > 0 or rank == self._comm.rank):
                    (x,) = functions.pseudo_connect(last, x)
                if rank == self._comm.rank:
                    queue.append(x)
                    last = x
                else:
                    last = functions.send(x, self._comm, rank=rank)
        if queue:
            raise ValueError(
                "Communication queue is not empty at the end of forward. "
                "Make sure if all rank_in and rank_out correspond each other."
            )
        if output is None or output is last:
            return last
        return functions.pseudo_connect(last, output)[0]

    def _receive(self, rank, queue, last):
        if rank != self._comm.rank:
            return functions.recv(self._comm, rank=rank, delegate_variable=last)
        if not queue:
            raise ValueError("MultiNodeChainList: a part receives its input from this process, which has not sent one")
        x = queue.popleft()
        return x if last is None else functions.pseudo_connect(last, x)[0]
