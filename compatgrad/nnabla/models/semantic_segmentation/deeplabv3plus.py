"""DeepLab-v3+ (Chen et al. 2018, "Encoder-Decoder with Atrous Separable Convolution")."""

from __future__ import annotations

from typing import Any

from ...utils.nnp_graph import NnpNetworkPass
from ...variable import Variable
from .._base import _result
from .base import SemanticSegmentation

__all__ = ["DeepLabV3plus"]


class DeepLabV3plus(SemanticSegmentation):
    """DeepLab-v3+ trained on `dataset` "voc" or "voc-coco", with features at 1/16 or 1/8 (`output_stride`).

    It ends in `use_up_to` "segmentation", "lastconv" or "lastconv+relu".

    Args:
        dataset: "voc" or "voc-coco". Raises AssertionError for another.
        output_stride: the ratio of the size of the image to that of the innermost features: 16 or 8. Raises
            AssertionError for another number.
    """

    _size = (3, 513, 513)
    _KEY_VARIABLE = {
        "segmentation": "y",
        "lastconv": "BatchNormalization_146_Output",
        "lastconv+relu": "ReLU_82_Output",
    }

    def __init__(self, dataset: str = "voc", output_stride: int = 16) -> None:
        assert dataset in ("voc", "voc-coco"), f"dataset must be 'voc' or 'voc-coco', not {dataset!r}"
        assert output_stride in (16, 8), f"output_stride must be 16 or 8, not {output_stride}"
        self._dataset_name = dataset
        self._output_stride = output_stride
        name = f"DeepLabV3-{dataset}-os-{output_stride}.nnp"
        self._load_nnp(name, name)

    def __call__(
        self,
        input_var: Variable | None = None,
        use_from: None = None,
        use_up_to: str = "segmentation",
        training: bool = False,
        returns_net: bool = False,
        verbose: int = 0,
    ) -> Any:
        """Builds the network on `input_var`, images of any size; by default a new Variable for one image.

        training: uses batch statistics and parameters that need gradients. Returns the output, or with `returns_net`
            the
        NnpNetwork.
        """
        assert use_from is None, "use_from is for later versions: leave it None"
        x = self.get_input_var(input_var)
        callback = NnpNetworkPass(verbose)
        callback.set_variable("x", x)
        callback.force_average_pooling_global("AveragePooling")
        # the file has the sizes for its own images; they are 1/16, 1/4 and 1 of the size of the image
        for name, halvings in (("Interpolate", 4), ("Interpolate_2", 2), ("Interpolate_3", 0)):
            _resize_to(callback, name, [_halved(n, halvings) for n in x.shape[2:]])
        callback.set_batch_normalization_batch_stat_all(training)
        self.use_up_to(use_up_to, callback)
        if not training:
            callback.fix_parameters()
        return _result(self._built("runtime", x, callback), returns_net)


def _halved(n: int, times: int) -> int:
    for _ in range(times):
        n = (n - 1) // 2 + 1
    return n


def _resize_to(callback: NnpNetworkPass, name: str, size: list[int]) -> None:
    @callback.on_generate_function_by_name(name)
    def resize(f: Any) -> None:
        f.proto.interpolate_param.output_size[:] = size
