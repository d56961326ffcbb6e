import numpy

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, variable
from compatgrad.chainer.utils import argument


def argsort_list_descent(lst):
    """Positions of the sequences, longest first. Those of one length stay in order: it says which dropout mask each
    gets, and NumPy's own order of equal numbers is another on each kind of processor."""
    return numpy.argsort([-len(x) for x in lst], kind="stable").astype(numpy.int32)


def permutate_list(lst, indices, inv):
    """The list in the order of `indices`, or (`inv`) back in the order it had before."""
    if not inv:
        return [lst[i] for i in indices]
    ret = [None] * len(lst)
    for item, i in zip(lst, indices, strict=False):
        ret[i] = item
    return ret


class NStepRNNBase(link.ChainList):
    """A stack of recurrent layers over sequences of different lengths; child i has w0, ..., b0, ... of one
    direction.

    Subclasses set `n_weights`, `n_cells`, `use_bi_direction` and define `rnn`.
    """

    def __init__(self, n_layers, in_size, out_size, dropout, *, initialW=None, initial_bias=None, **kwargs):
        if kwargs:
            argument.check_unexpected_kwargs(
                kwargs,
                use_cudnn="use_cudnn argument is not supported anymore. Use chainer.using_config",
                use_bi_direction="use_bi_direction is not supported anymore",
                activation="activation is not supported anymore",
            )
            argument.assert_kwargs_empty(kwargs)
        direction = 2 if self.use_bi_direction else 1
        W_initializer = initializers._get_initializer(initialW)
        bias_initializer = initializers._get_initializer(0 if initial_bias is None else initial_bias)
        weights = []
        for i in range(n_layers):
            from_below = in_size if i == 0 else out_size * direction
            for _ in range(direction):
                weight = link.Link()
                with weight.init_scope():
                    for j in range(self.n_weights):
                        w_in = from_below if j < self.n_weights // 2 else out_size
                        setattr(weight, f"w{j}", variable.Parameter(W_initializer, (out_size, w_in)))
                        setattr(weight, f"b{j}", variable.Parameter(bias_initializer, out_size))
                weights.append(weight)
        super().__init__(*weights)
        self._gather_weights()
        self.n_layers = n_layers
        self.dropout = dropout
        self.out_size = out_size
        self.direction = direction

    def _gather_weights(self):
        self.ws = [[getattr(layer, f"w{j}") for j in range(self.n_weights)] for layer in self]
        self.bs = [[getattr(layer, f"b{j}") for j in range(self.n_weights)] for layer in self]

    def copy(self, mode="share"):
        ret = super().copy(mode)
        ret._gather_weights()
        return ret

    def init_hx(self, xs):
        """An initial state of zeros for the sequences `xs`."""
        shape = (self.n_layers * self.direction, len(xs), self.out_size)
        with chainer.using_device(self.device):
            return variable.Variable(self.xp.zeros(shape, dtype=xs[0].dtype))

    def rnn(self, *args):
        """The function that computes the stack. To be overridden."""
        raise NotImplementedError

    @property
    def n_cells(self):
        """The number of states per layer. To be overridden."""
        raise NotImplementedError

    def forward(self, hx, xs, **kwargs):
        """Last states and the sequences of outputs, for the sequences `xs`; `hx=None` starts from zeros."""
        (hy,), ys = self._call([hx], xs, **kwargs)
        return hy, ys

    def _call(self, hs, xs, **kwargs):
        if kwargs:
            argument.check_unexpected_kwargs(
                kwargs, train="train argument is not supported anymore. Use chainer.using_config"
            )
            argument.assert_kwargs_empty(kwargs)
        assert isinstance(xs, (list, tuple)), (
            f"{type(self).__name__}: xs must be a list of sequences, one for each sample, not {type(xs).__name__}"
        )
        indices = argsort_list_descent(xs)
        xs = permutate_list(xs, indices, inv=False)
        hxs = [self.init_hx(xs) if hx is None else F.permutate(hx, indices, axis=1, inv=False) for hx in hs]
        trans_x = F.transpose_sequence(xs)
        *hys, trans_y = self.rnn(self.n_layers, self.dropout, *hxs, self.ws, self.bs, trans_x)
        hys = [F.permutate(h, indices, axis=1, inv=True) for h in hys]
        ys = permutate_list(F.transpose_sequence(trans_y), indices, inv=True)
        return hys, ys


class NStepRNNTanh(NStepRNNBase):
    """Stack of tanh layers, from first to last element."""

    n_weights = 2
    n_cells = 1
    use_bi_direction = False

    def rnn(self, *args):
        return F.n_step_rnn(*args, activation="tanh")


class NStepRNNReLU(NStepRNNBase):
    """Stack of ReLU layers, from first to last element."""

    n_weights = 2
    n_cells = 1
    use_bi_direction = False

    def rnn(self, *args):
        return F.n_step_rnn(*args, activation="relu")


class NStepBiRNNTanh(NStepRNNBase):
    """Stack of tanh layers in both directions."""

    n_weights = 2
    n_cells = 1
    use_bi_direction = True

    def rnn(self, *args):
        return F.n_step_birnn(*args, activation="tanh")


class NStepBiRNNReLU(NStepRNNBase):
    """Stack of ReLU layers in both directions."""

    n_weights = 2
    n_cells = 1
    use_bi_direction = True

    def rnn(self, *args):
        return F.n_step_birnn(*args, activation="relu")
