"""BlackOut loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.expand_dims import expand_dims
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.connection.embed_id import embed_id
from compatgrad.chainer.functions.math.average import average
from compatgrad.chainer.functions.math.exponential import exp, log
from compatgrad.chainer.functions.math.logsumexp import logsumexp
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.functions.math.sum import sum as _sum

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def black_out(
    x: VariableOrArray, t: VariableOrArray, W: VariableOrArray, samples: VariableOrArray, reduce: str = "mean"
) -> Variable:
    """BlackOut: an approximation of cross entropy over a large vocabulary by the label and a few sampled words.

    Args:
        x: floating, (n, k): vectors.
        t: integers, (n,): labels.
        W: floating, (vocabulary, k): a row for each word.
        samples: integers, (n, s): the negative words of each vector.
        reduce: "mean"; anything else for one loss per vector.

    Returns:
        Variable of the dtype of `x` and shape (), or (n,).

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        IndexError: a word is out of range.

    Example:
        >>> x, W = np.array([[1.0, 0.0]]), np.array([[2.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
        >>> F.black_out(x, np.array([0]), W, samples=np.array([[1, 2]])).array
        array(0.59072585)

    Source: `chainer.functions.black_out` of Chainer 7.8.1; Ji et al. 2015.
    """
    column = expand_dims(x, 2)
    positive = reshape(matmul(expand_dims(embed_id(t, W), 1), column), (len(x), 1))
    negative = reshape(matmul(embed_id(samples, W), column), samples.shape)
    logz = logsumexp(concat([positive, negative]), axis=1)
    others = log(1 - exp(negative - expand_dims(logz, 1)))
    loss = logz - reshape(positive, (len(x),)) - _sum(others, axis=1)
    return average(loss) if reduce == "mean" else loss
