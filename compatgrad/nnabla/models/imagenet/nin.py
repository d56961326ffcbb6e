"""Network in network (Lin et al. 2013)."""

from .base import ImageNetBase

__all__ = ["NIN"]


class NIN(ImageNetBase):
    """Network in network. It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu"."""

    _size = (3, 227, 227)
    _input = "TrainingInput"
    _pooling = "NIN/AveragePooling"
    _dropouts = ("NIN/Dropout",)
    _KEY_VARIABLE = {
        "classifier": "NIN/Reshape",
        "pool": "NIN/AveragePooling",
        "lastconv": "NIN/Convolution_3",
        "lastconv+relu": "NIN/ReLU_3",
    }

    def __init__(self) -> None:
        self._load_nnp("NIN.nnp", "NIN/NIN.nnp")
