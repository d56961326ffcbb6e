"""BlackOut loss."""

from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.expand_dims import expand_dims
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.connection.embed_id import embed_id
from compatgrad.chainer.functions.math.average import average
from compatgrad.chainer.functions.math.exponential import exp, log
from compatgrad.chainer.functions.math.logsumexp import logsumexp
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.functions.math.sum import sum as _sum


def black_out(x, t, W, samples, reduce="mean"):
    """Loss of x (N, K) with label t (N,) against negative `samples` (N, S), ids of rows of W (vocabulary, K).

    `reduce`: "mean", or "no" for one per row of x. Ji et al. 2015.
    """
    column = expand_dims(x, 2)
    positive = reshape(matmul(expand_dims(embed_id(t, W), 1), column), (len(x), 1))
    negative = reshape(matmul(embed_id(samples, W), column), samples.shape)
    logz = logsumexp(concat([positive, negative]), axis=1)
    others = log(1 - exp(negative - expand_dims(logz, 1)))
    loss = logz - reshape(positive, (len(x),)) - _sum(others, axis=1)
    return average(loss) if reduce == "mean" else loss
