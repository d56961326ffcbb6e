"""GoogLeNet (Szegedy et al. 2014, "Going Deeper with Convolutions")."""

from .base import WithAuxTower

__all__ = ["GoogLeNet"]


class GoogLeNet(WithAuxTower):
    """GoogLeNet. It ends in `use_up_to` "classifier", "pool" or "prepool", the input of the last pooling."""

    _file = "GoogLeNet"
    _network = "Train"
    _pooling = "AveragePooling_3"
    _dropouts = ("Dropout_3",)
    _KEY_VARIABLE = {
        "classifier": "Affine_5",
        "pool": "AveragePooling_3",
        "prepool": "Concatenate_9",
        "_aux_classifier_1": "Affine_2",
        "_branching_point_1": "AveragePooling",
        "_aux_classifier_2": "Affine_4",
        "_branching_point_2": "AveragePooling_2",
    }
    _branches = (("_aux_classifier_1", "_branching_point_1"), ("_aux_classifier_2", "_branching_point_2"))
    _losses = (
        "Affine_2",
        "SoftmaxCrossEntropy",
        "MulScalarLoss1",
        "Affine_4",
        "SoftmaxCrossEntropy_2",
        "MulScalarLoss2",
    )
    _towers = (
        *_losses,
        "AveragePooling",
        "Convolution_22",
        "ReLU_22",
        "Affine",
        "ReLU_23",
        "Dropout",
        "AveragePooling_2",
        "Convolution_41",
        "ReLU_42",
        "Affine_3",
        "ReLU_43",
        "Dropout_2",
    )
