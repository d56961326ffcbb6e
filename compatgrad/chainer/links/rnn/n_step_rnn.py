from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, variable
from compatgrad.chainer.utils import argument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from compatgrad.chainer._typing import Initializer, VariableOrArray
    from compatgrad.chainer.variable import Variable


def argsort_list_descent(lst: Sequence[Any]) -> np.ndarray:
    """Positions of the sequences in order of descending length. Sequences of the same length keep their order: the
    order determines the dropout mask of each sequence, and NumPy's default sort orders equal numbers differently on
    different processors.

    Args:
        lst: sequences, of which only the lengths count.

    Returns:
        int32 array of the length of `lst`: element k is the position of the k-th longest sequence.

    Raises:
        TypeError: an element has no length.

    Example:
        >>> chainer.links.rnn.n_step_rnn.argsort_list_descent(["a", "bcd", "ef"])
        array([1, 2, 0], dtype=int32)

    Source: `chainer.links.loss.crf1d.argsort_list_descent` of Chainer 7.8.1.
    """
    return numpy.argsort([-len(x) for x in lst], kind="stable").astype(numpy.int32)


def permutate_list(lst: Sequence[Any], indices: Sequence[int] | np.ndarray, inv: bool) -> list[Any]:
    """The list in the order of `indices`; with `inv`, a list in that order back in its original order.

    Args:
        lst: the items.
        indices: a permutation of their positions.
        inv: True puts items that are in the order of `indices` back in the order they had before.

    Returns:
        The items in their new order.

    Raises:
        IndexError: an index is out of range.

    Example:
        >>> chainer.links.rnn.n_step_rnn.permutate_list(["a", "b", "c"], [2, 0, 1], inv=False)
        ['c', 'a', 'b']
        >>> chainer.links.rnn.n_step_rnn.permutate_list(["c", "a", "b"], [2, 0, 1], inv=True)
        ['a', 'b', 'c']

    Source: `chainer.links.loss.crf1d.permutate_list` of Chainer 7.8.1.
    """
    if not inv:
        return [lst[i] for i in indices]
    ret = [None] * len(lst)
    for item, i in zip(lst, indices, strict=False):
        ret[i] = item
    return ret


class NStepRNNBase(link.ChainList):
    """A stack of recurrent layers over sequences of different lengths. Child i has the parameters w0, ..., b0, ... of
    one layer in one direction.

    Called as `hy, ys = link(hx, xs)`: `xs` is a list of floating-point arrays, one of shape (length, in_size) for each
    sequence, in any order; `hx` the first states of shape (n_layers * directions, batch, out_size), None for zeros.
    `hy` are the last states, `ys` the outputs of the top layer, one array of shape (length, out_size * directions) for
    each sequence. Subclasses set `n_weights`, `n_cells` and `use_bi_direction` and define `rnn`.

    Args:
        n_layers: number of layers on top of one another.
        in_size: length of the input vectors.
        out_size: length of the output vectors.
        dropout: ratio of elements that are dropped between the layers, in training.
        initialW: initializer of all weights; None is `LeCunNormal()`.
        initial_bias: initializer of all biases; None is 0.
        **kwargs: none; removed options of older Chainer versions raise an error that names the replacement.

    Example:
        >>> link = L.NStepRNNTanh(2, 3, 4, 0.0)
        >>> link.init_hx([np.ones((5, 3), np.float32)]).shape  # 2 layers, 1 sequence
        (2, 1, 4)

    Source: `chainer.links.rnn.n_step_rnn.NStepRNNBase` of Chainer 7.8.1.
    """

    _function: Callable[..., tuple[Any, ...]] | None = None  # the function that `rnn` calls

    def __init__(
        self,
        n_layers: int,
        in_size: int,
        out_size: int,
        dropout: float,
        *,
        initialW: Initializer = None,
        initial_bias: Initializer = None,
        **kwargs: Any,
    ) -> None:
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

    def copy(self, mode: str = "share") -> NStepRNNBase:
        ret = super().copy(mode)
        ret._gather_weights()
        return ret

    def init_hx(self, xs: Sequence[VariableOrArray]) -> Variable:
        """An initial state of zeros for the sequences `xs`."""
        shape = (self.n_layers * self.direction, len(xs), self.out_size)
        with chainer.using_device(self.device):
            return variable.Variable(self.xp.zeros(shape, dtype=xs[0].dtype))

    def rnn(self, *args: Any) -> tuple[Any, ...]:
        """Calls the function that computes the stack. To be overridden."""
        if self._function is None:
            raise NotImplementedError
        return self._function(*args)

    @property
    def n_cells(self) -> int:
        """The number of states per layer. To be overridden."""
        raise NotImplementedError

    def forward(
        self, hx: VariableOrArray | None, xs: Sequence[VariableOrArray], **kwargs: Any
    ) -> tuple[Variable, list[Variable]]:
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
    """Stack of layers h' = tanh(W x + b + U h + c), from first to last element. See `NStepRNNBase` for inputs and
    results.

    Args:
        n_layers: number of layers on top of one another.
        in_size: length of the input vectors; None takes it from the first input.
        out_size: length of the output vectors.
        dropout: ratio of elements that are dropped between the layers, in training.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        **kwargs: none; removed options of older Chainer versions raise an error that names the replacement.

    Example:
        >>> link = L.NStepRNNTanh(1, 3, 2, 0.0)
        >>> hy, ys = link(None, [np.ones((n, 3), np.float32) for n in (4, 2)])
        >>> hy.shape, [y.shape for y in ys]
        ((1, 2, 2), [(4, 2), (2, 2)])

    Source: `chainer.links.NStepRNNTanh` of Chainer 7.8.1.
    """

    n_weights = 2
    n_cells = 1
    use_bi_direction = False
    _function = staticmethod(functools.partial(F.n_step_rnn, activation="tanh"))


class NStepRNNReLU(NStepRNNBase):
    """Stack of layers h' = relu(W x + b + U h + c), from first to last element. See `NStepRNNBase` for inputs and
    results.

    Args:
        n_layers: number of layers on top of one another.
        in_size: length of the input vectors; None takes it from the first input.
        out_size: length of the output vectors.
        dropout: ratio of elements that are dropped between the layers, in training.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        **kwargs: none; removed options of older Chainer versions raise an error that names the replacement.

    Example:
        >>> link = L.NStepRNNReLU(1, 3, 2, 0.0)
        >>> hy, ys = link(None, [np.ones((n, 3), np.float32) for n in (4, 2)])
        >>> hy.shape, [y.shape for y in ys]
        ((1, 2, 2), [(4, 2), (2, 2)])

    Source: `chainer.links.NStepRNNReLU` of Chainer 7.8.1.
    """

    n_weights = 2
    n_cells = 1
    use_bi_direction = False
    _function = staticmethod(functools.partial(F.n_step_rnn, activation="relu"))


class NStepBiRNNTanh(NStepRNNBase):
    """Stack of layers h' = tanh(W x + b + U h + c) in both directions, whose outputs are joined. See `NStepRNNBase` for
    inputs and results.

    Args:
        n_layers: number of layers on top of one another.
        in_size: length of the input vectors; None takes it from the first input.
        out_size: length of the output vectors.
        dropout: ratio of elements that are dropped between the layers, in training.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        **kwargs: none; removed options of older Chainer versions raise an error that names the replacement.

    Example:
        >>> link = L.NStepBiRNNTanh(1, 3, 2, 0.0)
        >>> hy, ys = link(None, [np.ones((n, 3), np.float32) for n in (4, 2)])
        >>> hy.shape, [y.shape for y in ys]
        ((2, 2, 2), [(4, 4), (2, 4)])

    Source: `chainer.links.NStepBiRNNTanh` of Chainer 7.8.1.
    """

    n_weights = 2
    n_cells = 1
    use_bi_direction = True
    _function = staticmethod(functools.partial(F.n_step_birnn, activation="tanh"))


class NStepBiRNNReLU(NStepRNNBase):
    """Stack of layers h' = relu(W x + b + U h + c) in both directions, whose outputs are joined. See `NStepRNNBase` for
    inputs and results.

    Args:
        n_layers: number of layers on top of one another.
        in_size: length of the input vectors; None takes it from the first input.
        out_size: length of the output vectors.
        dropout: ratio of elements that are dropped between the layers, in training.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        **kwargs: none; removed options of older Chainer versions raise an error that names the replacement.

    Example:
        >>> link = L.NStepBiRNNReLU(1, 3, 2, 0.0)
        >>> hy, ys = link(None, [np.ones((n, 3), np.float32) for n in (4, 2)])
        >>> hy.shape, [y.shape for y in ys]
        ((2, 2, 2), [(4, 4), (2, 4)])

    Source: `chainer.links.NStepBiRNNReLU` of Chainer 7.8.1.
    """

    n_weights = 2
    n_cells = 1
    use_bi_direction = True
    _function = staticmethod(functools.partial(F.n_step_birnn, activation="relu"))
