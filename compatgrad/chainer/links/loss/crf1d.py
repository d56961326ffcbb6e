import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, variable
from compatgrad.chainer.links.rnn.n_step_rnn import argsort_list_descent, permutate_list


class CRF1d(link.Link):
    """Linear-chain conditional random field with transition costs of shape (n_label, n_label)."""

    def __init__(self, n_label, initial_cost=None):
        super().__init__()
        if initial_cost is None:
            initial_cost = initializers.Zero()
        with self.init_scope():
            self.cost = variable.Parameter(initializer=initial_cost, shape=(n_label, n_label))

    def forward(self, xs, ys, reduce="mean", transpose=False):
        """The loss of scores `xs` and labels `ys`, one array per time step; per sequence with `transpose`."""
        if transpose:
            indices = argsort_list_descent(xs)
            xs = F.transpose_sequence(permutate_list(xs, indices, inv=False))
            ys = F.transpose_sequence(permutate_list(ys, indices, inv=False))
        return F.crf1d(self.cost, xs, ys, reduce)

    def argmax(self, xs, transpose=False):
        """Score and labels of the best path."""
        if not transpose:
            return F.argmax_crf1d(self.cost, xs)
        indices = argsort_list_descent(xs)
        xs = F.transpose_sequence(permutate_list(xs, indices, inv=False))
        score, path = F.argmax_crf1d(self.cost, xs)
        path = [p.array for p in F.transpose_sequence(path)]
        return score, permutate_list(path, indices, inv=True)
