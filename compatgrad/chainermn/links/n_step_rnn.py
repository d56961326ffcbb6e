"""Recurrent networks whose sequences go on in another process."""

import compatgrad.chainer as chainer
from compatgrad.chainer.links.rnn.n_step_rnn import NStepRNNBase
from compatgrad.chainermn import functions


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
            states = [functions.recv(self.communicator, rank=self.rank_in) for _ in states]
        outputs = self.actual_rnn(*states, *inputs)
        sent = None
        if self.rank_out is not None:
            for state in outputs[:-1]:
                if sent is not None:
                    (state,) = functions.pseudo_connect(sent, state)
                sent = functions.send(state, self.communicator, rank=self.rank_out)
        return (*outputs, sent)


def create_multi_node_n_step_rnn(actual_link, communicator, rank_in=None, rank_out=None):
    """`actual_link`, an NStepRNN link, that takes its states from the process `rank_in` and sends them to `rank_out`
    (None: neither). It takes the inputs without states, and gives the outputs and what `send` gave, or None. ValueError
    for another link.
    """
    chainer.utils.experimental("chainermn.links.create_multi_node_n_step_rnn")
    return _MultiNodeNStepRNN(actual_link, communicator, rank_in, rank_out)
