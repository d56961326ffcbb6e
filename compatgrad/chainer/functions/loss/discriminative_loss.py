"""Discriminative loss for instance segmentation."""

from compatgrad.chainer import backend
from compatgrad.chainer.functions.activation.relu import relu
from compatgrad.chainer.functions.math.basic_math import absolute
from compatgrad.chainer.functions.math.sqrt import sqrt
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.variable import as_array, as_variable

_NORMS = {
    1: lambda x, axis=None: _sum(absolute(x), axis=axis),
    2: lambda x, axis=None: sqrt(_sum(x**2, axis=axis)),
}


class DiscriminativeMarginBasedClusteringLoss:
    """Pulls embeddings of one instance together and pushes those of different ones apart. De Brabandere et
    al. 2017.

    `delta_v`, `delta_d`: margins; `alpha`, `beta`, `gamma`: weights of the variance, distance and
    regularisation terms; `max_embedding_dim`: the number of channels, which are also the labels 1, 2, ….
    ValueError for a number that is not positive, or a `norm` that is not 1 or 2.
    """

    def __init__(self, delta_v=0.5, delta_d=1.5, max_embedding_dim=10, norm=1, alpha=1.0, beta=1.0, gamma=0.001):
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
        """The weighted variance, distance and regularisation terms, of embeddings (N, C, H, W) and labels (N,
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
        regularisation = _sum(self.norm(means, (1, 2))) / (clusters * batch)

        spread = relu(self.norm((means[:, :, :, None, None] - embeddings) * masks, 2) - self.delta_v) ** 2
        variance = _sum(_sum(spread, (1, 2, 3)) / xp.maximum(masks.sum((1, 2, 3, 4)), 1)) / clusters

        first, second = xp.triu_indices(clusters, 1)
        apart = self.norm(means[first] - means[second], 2)
        distance = _sum(relu(2 * self.delta_d - apart) ** 2) / max(len(first) * batch, 1)
        return self.alpha * variance, self.beta * distance, self.gamma * regularisation


def discriminative_margin_based_clustering_loss(
    embeddings, labels, delta_v, delta_d, max_embedding_dim, norm=1, alpha=1.0, beta=1.0, gamma=0.001
):
    """`DiscriminativeMarginBasedClusteringLoss` with these options, of embeddings (N, C, H, W) and labels (N,
    H, W).
    """
    loss = DiscriminativeMarginBasedClusteringLoss(delta_v, delta_d, max_embedding_dim, norm, alpha, beta, gamma)
    return loss(embeddings, labels)
