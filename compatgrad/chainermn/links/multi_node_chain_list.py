"""Networks whose parts are in several processes."""

import collections

import compatgrad.chainer as chainer
from compatgrad.chainermn import functions


class MultiNodeChainList(chainer.ChainList):
    """The parts of a network that this process computes: each takes its inputs from processes, and gives its outputs
    to processes of `comm`, or is the first or the last part.
    """

    def __init__(self, comm):
        chainer.utils.experimental("chainermn.MultiNodeChainList")
        super().__init__()
        self._comm = comm
        self._rank_inouts = []

    def add_link(self, link, rank_in=None, rank_out=None):
        """Adds a part. `rank_in`, `rank_out`: a rank, a list of them, or None for the network's own inputs or output.
        ValueError for a second part with `rank_out=None`.
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
            raise ValueError("MultiNodeChainList: a part takes its input from this process, which has sent none")
        x = queue.popleft()
        return x if last is None else functions.pseudo_connect(last, x)[0]
