"""Network in network (Lin et al. 2013)."""

from .base import ImageNetBase, _parts

__all__ = ["NIN"]


class NIN(ImageNetBase):
    """Network in network. It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu"."""

    _file = "NIN"
    _size = (3, 227, 227)
    _input = "TrainingInput"
    _pooling = "NIN/AveragePooling"
    _dropouts = ("NIN/Dropout",)
    _KEY_VARIABLE = _parts("NIN/Reshape", "NIN/AveragePooling", "NIN/Convolution_3", "NIN/ReLU_3")
