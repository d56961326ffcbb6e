"""PointNet: the example's network with both transformation nets and its two losses, on random clouds."""

import _nnabla
import nnabla as nn
import nnabla.solvers as S
import numpy as np


def train(run):
    run.path()
    from loss import classification_loss_with_orthogonal_loss
    from pointnet import pointnet_classification

    nn.seed(0)
    rng = np.random.RandomState(1)
    batch, points, classes = 8, 16, 10
    cloud, label = nn.Variable((batch, points, 3)), nn.Variable((batch, 1))
    pred, inner = pointnet_classification(cloud, train=True, num_classes=classes)
    transformation = inner["pointnet_feature_internal_variables"]["feature_transformation_mat"]
    loss, parts = classification_loss_with_orthogonal_loss(pred, label, transformation)
    _nnabla.perturb(run)
    solver = S.Adam(1e-5)
    solver.set_parameters(nn.get_parameters())

    def feed():
        cloud.d = rng.uniform(-1, 1, cloud.shape) * rng.uniform(0.1, 3, (batch, 1, 1))  # points with different norms
        label.d = rng.randint(0, classes, label.shape)

    yield from _nnabla.training(
        loss, solver, feed, 1e-4, pred=pred, matrix=parts["mat_loss"], classes=parts["classify_loss"]
    )
