"""AlexNet (Krizhevsky et al. 2012, "ImageNet Classification with Deep Convolutional Neural Networks")."""

from __future__ import annotations

from typing import Any

from ...variable import Variable
from .base import ImageNetBase, _parts

__all__ = ["AlexNet"]


class AlexNet(ImageNetBase):
    """AlexNet. It ends in `use_up_to` "classifier", "pool", "lastconv", "lastconv+relu" or "lastfeature"."""

    _file = "AlexNet"
    _size = (3, 227, 227)
    _input = "TrainingInput"
    _pooling = None
    _dropouts = ("TrainNet/Dropout", "TrainNet/Dropout_2")
    _normalizes = False
    _KEY_VARIABLE = _parts(
        "TrainNet/Affine_3",
        "TrainNet/MaxPooling_3",
        "TrainNet/Convolution_5",
        "TrainNet/ReLU_5",
        lastfeature="TrainNet/Affine_2",
    )

    def __call__(
        self,
        input_var: Variable | None = None,
        use_from: None = None,
        use_up_to: str = "classifier",
        training: bool = False,
        force_global_pooling: bool = False,
        check_global_pooling: bool = True,
        returns_net: bool = False,
        verbose: int = 0,
        with_aux_tower: bool = False,
    ) -> Any:
        """Builds the network like other networks; `with_aux_tower` has no effect, as there is no tower."""
        return super().__call__(
            input_var, use_from, use_up_to, training, force_global_pooling, check_global_pooling, returns_net, verbose
        )
