"""Recurrent networks whose sequences continue in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
from compatgrad.chainer.links.rnn.n_step_rnn import NStepRNNBase
from compatgrad.chainermn import functions

if TYPE_CHECKING:
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


class _MultiNodeNStepRNN(chainer.Chain):
    def __init__(self, link, communicator, rank_in, rank_out):
        if not isinstance(link, NStepRNNBase):
            raise ValueError("link must be NStepRNN and its inherited link")
        super().__init__(actual_rnn=link)
        self.communicator, self.rank_in, self.rank_out = communicator, rank_in, rank_out
        self.n_cells = link.n_cells

    def __call__(self, *inputs):
        states = [None] * self.n_cells
        if self.rank_in is not None:
            # The sender receives the gradients in reverse order. Backward may run nodes that do not depend on each
            # other in any order, so each state depends on the one before.
            before = None
            for i in range(self.n_cells):
                before = states[i] = functions.recv(self.communicator, self.rank_in, delegate_variable=before)
        outputs = self.actual_rnn(*states, *inputs)
        sent = None
        if self.rank_out is not None:
            for state in outputs[:-1]:
                if sent is not None:
                    (state,) = functions.pseudo_connect(sent, state)
                sent = functions.send(state, self.communicator, rank=self.rank_out)
        return (*outputs, sent)


def create_multi_node_n_step_rnn(
    actual_link: NStepRNNBase, communicator: CommunicatorBase, rank_in: int | None = None, rank_out: int | None = None
) -> _MultiNodeNStepRNN:
    """Makes a recurrent network that receives its states from one process and sends them to another.

    Args:
        actual_link: the network, as `L.NStepLSTM`.
        communicator: the communicator.
        rank_in: rank of the process that sends the states; None starts from zeros.
        rank_out: rank of the process that receives the states; None sends none.

    Returns:
        A chain that is called with the sequences, without states, and returns the outputs of `actual_link` and the
        result of `functions.send`, or None.

    Raises:
        ValueError: `actual_link` is no such network; in a call, a rank is that of this process.
        RuntimeError: in a call, a rank differs from this process's, and there is no other process.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> rnn = chainermn.links.create_multi_node_n_step_rnn(L.NStepGRU(1, 2, 3, 0.0), comm)
        >>> h, ys, sent = rnn([np.ones((4, 2), np.float32)])
        >>> h.shape, ys[0].shape, sent
        ((1, 1, 3), (4, 3), None)

    Source: `chainermn.links.create_multi_node_n_step_rnn` of Chainer 7.8.1.
    """
    chainer.utils.experimental("chainermn.links.create_multi_node_n_step_rnn")
    return _MultiNodeNStepRNN(actual_link, communicator, rank_in, rank_out)
