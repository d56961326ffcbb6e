"""Discriminative loss for instance segmentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import backend
from compatgrad.chainer.functions.activation.relu import relu
from compatgrad.chainer.functions.math.basic_math import absolute
from compatgrad.chainer.functions.math.sqrt import sqrt
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.variable import as_array, as_variable

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

_NORMS = {
    1: lambda x, axis=None: _sum(absolute(x), axis=axis),
    2: lambda x, axis=None: sqrt(_sum(x**2, axis=axis)),
}


class DiscriminativeMarginBasedClusteringLoss:
    """A loss that pulls embeddings of one instance together and pushes those of different instances apart.

    An instance is called with embeddings (n, c, h, w) and integer labels (n, h, w) and returns three Variables of shape
    (): the variance, distance and regularization terms.

    Args:
        delta_v: distance from their mean within which embeddings of an instance cost nothing.
        delta_d: half the distance beyond which means of different instances cost nothing.
        max_embedding_dim: the number of channels, which is also the highest label; label 0 is the background.
        norm: 1 or 2: the norm of distances.
        alpha: factor of the variance term.
        beta: factor of the distance term.
        gamma: factor of the regularization term.

    Raises:
        ValueError: `max_embedding_dim` is not positive, or `norm` is neither 1 nor 2.

    Example:
        >>> loss = F.loss.discriminative_loss.DiscriminativeMarginBasedClusteringLoss(max_embedding_dim=2)
        >>> embeddings = np.array([[[[1.0, 0.0]], [[0.0, 1.0]]]])  # one image of two channels and 1 by 2 pixels
        >>> [float(term.array.round(4)) for term in loss(embeddings, np.array([[[1, 2]]]))]
        [0.0, 1.0, 0.001]

    Source: `chainer.functions.loss.discriminative_loss.DiscriminativeMarginBasedClusteringLoss` of Chainer 7.8.1; De
    Brabandere et al. 2017.
    """

    def __init__(
        self,
        delta_v: float = 0.5,
        delta_d: float = 1.5,
        max_embedding_dim: int = 10,
        norm: int = 1,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 0.001,
    ) -> None:
        if max_embedding_dim <= 0:
            raise ValueError(
                f"Max number of embeddings has to be positive! Actual max_embedding_dim: {max_embedding_dim}"
            )
        if norm not in _NORMS:
            raise ValueError(f"For discriminative loss, norm can only be 1 or 2. Obtained the value : {norm}")
        self.delta_v = delta_v
        self.delta_d = delta_d
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.max_embedding_dim = max_embedding_dim
        self.norm = _NORMS[norm]

    def __call__(self, embeddings, labels):
        """The weighted variance, distance and regularization terms, of embeddings (N, C, H, W) and labels (N,
        H, W).
        """
        clusters = self.max_embedding_dim
        assert clusters == embeddings.shape[1], (
            f"embeddings must have max_embedding_dim = {clusters} channels, not {embeddings.shape[1]}"
        )
        batch = len(embeddings)
        xp = backend.get_array_module(embeddings)
        embeddings = as_variable(embeddings)[None]
        # Axes: cluster, batch, channel, height, width.
        labels = as_array(labels)
        masks = xp.stack([labels == c for c in range(1, clusters + 1)])[:, :, None].astype(embeddings.dtype)

        means = _sum(embeddings * masks, axis=(3, 4)) / xp.maximum(masks.sum((2, 3, 4)), 1)[:, :, None]
        regularization = _sum(self.norm(means, (1, 2))) / (clusters * batch)

        spread = relu(self.norm((means[:, :, :, None, None] - embeddings) * masks, 2) - self.delta_v) ** 2
        variance = _sum(_sum(spread, (1, 2, 3)) / xp.maximum(masks.sum((1, 2, 3, 4)), 1)) / clusters

        first, second = xp.triu_indices(clusters, 1)
        apart = self.norm(means[first] - means[second], 2)
        distance = _sum(relu(2 * self.delta_d - apart) ** 2) / max(len(first) * batch, 1)
        return self.alpha * variance, self.beta * distance, self.gamma * regularization


def discriminative_margin_based_clustering_loss(
    embeddings: VariableOrArray,
    labels: VariableOrArray,
    delta_v: float,
    delta_d: float,
    max_embedding_dim: int,
    norm: int = 1,
    alpha: float = 1.0,
    beta: float = 1.0,
    gamma: float = 0.001,
) -> tuple[Variable, Variable, Variable]:
    """Pulls embeddings of one instance together and pushes those of different instances apart.

    Args:
        embeddings: floating, (n, c, h, w): a vector of c elements for each pixel.
        labels: integers, (n, h, w): the instance of each pixel.
        delta_v: distance from their mean within which embeddings of an instance cost nothing.
        delta_d: half the distance beyond which means of different instances cost nothing.
        max_embedding_dim: the number of channels, which is also the highest label; label 0 is the background.
        norm: 1 or 2: the norm of distances.
        alpha: factor of the variance term.
        beta: factor of the distance term.
        gamma: factor of the regularization term.

    Returns:
        Three Variables of the dtype of `embeddings` and shape (): the variance, distance and regularization terms.

    Raises:
        ValueError: `max_embedding_dim` is not positive, or `norm` is neither 1 nor 2.
        AssertionError: `embeddings` has another number of channels.

    Example:
        >>> embeddings = np.array([[[[1.0, 0.0]], [[0.0, 1.0]]]])  # one image of two channels and 1 by 2 pixels
        >>> terms = F.discriminative_margin_based_clustering_loss(embeddings, np.array([[[1, 2]]]), 0.5, 1.5, 2)
        >>> [float(term.array.round(4)) for term in terms]
        [0.0, 1.0, 0.001]

    Source: `chainer.functions.discriminative_margin_based_clustering_loss` of Chainer 7.8.1; De Brabandere et al. 2017.
    """
    loss = DiscriminativeMarginBasedClusteringLoss(delta_v, delta_d, max_embedding_dim, norm, alpha, beta, gamma)
    return loss(embeddings, labels)
