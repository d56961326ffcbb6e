"""Spectral graph convolution with pooling, on the graph of a grid and synthetic digits; Chainer 1."""

import _chainer
import _chainer1
import chainer
import numpy as np


def train(run):
    _chainer1.install()
    run.path()
    # newer NumPy and scikit-learn lack np.float("inf"), refuse matrices as arrays, and start processes for n_jobs
    run.sources(
        lambda text: text.replace('np.float("inf")', "np.inf").replace("n_jobs=-2", "n_jobs=1"),
        lambda text: text.replace("WW_diag = W.dot(", "WW_diag = np.asarray(W.dot("),
        lambda text: text.replace(".todense()", ".todense())"),
        lambda text: text.replace("parents, np.array(pooling_inds)", "parents, pooling_inds"),
        lambda text: text.replace("initialW, scale=wscale", "initialW").replace("n_in.eval()", "n_in"),
        lambda text: text.replace("np.argsort(idx_row)", "np.argsort(idx_row, kind='stable')"),
        lambda text: text.replace("D_invroot.setdiag(WW_diag_invroot)", "D_invroot.setdiag(WW_diag_invroot.ravel())"),
        lambda text: text.replace("scipy.sparse.csr.csr_matrix", "scipy.sparse.csr_matrix"),
    )
    import lib.links.connection.graph_convolution as connection
    from lib import graph
    from lib.models import graph_cnn

    _chainer1.deferred(connection.GraphConvolution)
    graph_cnn.L = _chainer.Narrow(8)
    side = 10
    rng = np.random.RandomState(1)
    # a slightly irregular grid, as the order of equal distances depends on SciPy's version
    points = graph.grid(side) + rng.uniform(0, 0.01, (side * side, 2))
    model = graph_cnn.GraphCNN(graph.adjacency(*graph.distance_sklearn_metrics(points, k=8)))
    labels = rng.randint(0, 10, 40).astype("i")
    means = rng.uniform(size=(10, 1, side * side))
    images = (means[labels] + rng.normal(0, 0.3, (40, 1, side * side))).astype(run.dtype)
    with chainer.no_backprop_mode():
        model(images[:2])  # initializes parameters whose sizes depend on the input
    run.perturb(_chainer.arrays(model))
    optimizer = chainer.optimizers.Adam(alpha=1e-3).setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(5e-4))
    data = chainer.datasets.TupleDataset(images, labels)
    updater = chainer.training.updaters.StandardUpdater(chainer.iterators.SerialIterator(data, 6), optimizer)
    yield from _chainer.updates(updater, model)
