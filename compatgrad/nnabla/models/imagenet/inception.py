"""Inception-v3 (Szegedy et al. 2015, "Rethinking the Inception Architecture for Computer Vision")."""

from .base import WithAuxTower

__all__ = ["InceptionV3"]


class InceptionV3(WithAuxTower):
    """Inception-v3. It ends in `use_up_to` "classifier", "pool" or "prepool", the input of the last pooling."""

    _file = "Inception-v3"
    _size = (3, 299, 299)
    _network = "Train"
    _input = "Iv3TrainInput"
    _augmentation = "ImageAugmentation"
    _pooling = "AveragePooling_2"
    _dropouts = ("Dropout",)
    _KEY_VARIABLE = {
        "classifier": "Affine",
        "pool": "AveragePooling_2",
        "prepool": "Inception_11/Concatenate",
        "_aux_classifier": "Affine_2",
        "_include_no_aux": "Conv_6/Convolution",
    }
    _branches = (("_aux_classifier", "_include_no_aux"),)
    _losses = ("Affine_2", "SoftmaxCrossEntropy_2", "MulScalar_2")
    _towers = (
        *_losses,
        "Conv_6/Convolution",
        "Conv_6/BatchNormalization",
        "Conv_6/ReLU",
        "AveragePooling",
        "Conv_7/Convolution",
        "Conv_7/BatchNormalization",
        "Conv_7/ReLU",
    )
