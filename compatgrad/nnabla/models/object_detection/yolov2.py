"""YOLO v2 (Redmon and Farhadi 2016, "YOLO9000: Better, Faster, Stronger")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import parameter
from ...utils.nnp_graph import NnpNetworkPass
from ...variable import Variable
from .._base import _result
from .base import ObjectDetection

__all__ = ["YoloV2"]

_CELL = 32  # width and height, in pixels of the image, of a cell of the last layer
_ANCHORS = 5

# Reshapes whose shape depends on the size of the image: name -> function from the shape of the input to the new shape
_RESHAPES: dict[str, Callable[[list[int]], Sequence[int]]] = {
    "Reshape": lambda s: (s[0], s[1] // 4, s[2], 2, s[3], 2),
    "Reshape_2": lambda s: (s[0], s[1] * s[2] * s[3] * s[1] * s[2], s[4] // s[1], s[5] // s[2]),
    "Reshape_5": lambda s: (s[0], s[1], 1, s[2], s[3]),
    "Reshape_7": lambda s: (s[0], s[1], 1, s[2], s[3]),
    "Reshape_8": lambda s: (s[0], s[1] * s[2] * s[3], s[4]),
}
# Slices: name -> the stop on the axis of x, y, width, height, objectness and the categories' scores
_SLICES = {"Slice": 2, "Slice_2": 4, "Slice_3": 5, "Slice_4": None}


class YoloV2(ObjectDetection):
    """YOLO v2 trained on `dataset` "voc" or "coco".

    It ends in `use_up_to` "detection", "convdetect" or "lastconv".

    Args:
        dataset: "voc" or "coco". Raises AssertionError for another.
    """

    _size = (3, 416, 416)
    _KEY_VARIABLE = {
        "detection": "y",
        "convdetect": "Reshape_3_Output",
        "lastconv": "Reshape_3_Output",
        "Arange": "Arange_Output",
        "Arange2": "Arange_2_Output",
    }

    def __init__(self, dataset: str = "voc") -> None:
        assert dataset in ("voc", "coco"), f"dataset must be 'voc' or 'coco', not {dataset!r}"
        self._dataset_name = dataset
        self._load_nnp(f"yolov2-{dataset}.nnp", f"yolov2-{dataset}.nnp")

    def __call__(
        self,
        input_var: Variable | None = None,
        use_from: None = None,
        use_up_to: str = "detection",
        training: bool = False,
        returns_net: bool = False,
        verbose: int = 0,
    ) -> Any:
        """Builds the network on `input_var`, images whose sides are multiples of 32; by default a new Variable for one
        image.

        training: uses batch statistics and parameters that need gradients. Returns the output, or with `returns_net`
            the
        NnpNetwork.
        """
        assert use_from is None, "use_from is for later versions: leave it None"
        x = self.get_input_var(input_var)
        callback = NnpNetworkPass(verbose)
        callback.set_variable("x", x)
        callback.set_batch_normalization_batch_stat_all(training)
        self.use_up_to(use_up_to, callback)
        if use_up_to != "detection":
            self.use_up_to("Arange", callback)
            self.use_up_to("Arange2", callback)
            callback.drop_function("Reshape_3", "Arange", "Arange_2")
            if use_up_to == "lastconv":
                callback.drop_function("Convolution_23")
        self._fit(callback, x.shape[2:], self.get_nnp_input_size())
        if not training:
            callback.fix_parameters()
        return _result(self._built("runtime", x, callback), returns_net)

    @staticmethod
    def _fit(callback: NnpNetworkPass, size: Sequence[int], trained: Sequence[int]) -> None:
        """Changes the arguments and parameters that depend on the size of images from the size in the file to another
        size."""
        for name, shape_of in _RESHAPES.items():
            _reshape(callback, name, shape_of)
        for name, stop in _SLICES.items():
            _slice(callback, name, stop)
        # the grids of x and y coordinates of cells, with the reshape and the factor of each
        for axis, arange, reshape, scale in (
            (1, "Arange", "Reshape_4", "MulScalar_2"),
            (0, "Arange_2", "Reshape_6", "MulScalar_3"),
        ):
            _grid(callback, arange, size[axis] // _CELL)
            _reshape_dimension(callback, reshape, 2 + axis)
            _scale(callback, scale, trained[axis] / size[axis])

        @callback.on_generate_function_by_name("Reshape_3")
        def split_anchors(f: Any) -> None:
            shape = f.proto.reshape_param.shape
            s = f.inputs[0].proto.shape.dim[:]
            shape.dim[:] = [s[0], _ANCHORS, shape.dim[2], *s[2:]]

        @callback.on_function_pass_by_name("Mul2")
        def scale_anchors(f: Any, variables: Any, scope: Any) -> None:
            cells = [[n // _CELL for n in reversed(image)] for image in (trained, size)]
            before, now = (np.array(n).reshape(1, 1, 2, 1, 1) for n in cells)
            with parameter.parameter_scope("", scope):
                anchors = parameter.get_parameter(f.inputs[1].proto.name)
                parameter.set_parameter("biases", Variable.from_numpy_array(anchors.d * before / now))


def _reshape(callback: NnpNetworkPass, name: str, shape_of: Callable[[list[int]], Sequence[int]]) -> None:
    @callback.on_generate_function_by_name(name)
    def change(f: Any) -> None:
        f.proto.reshape_param.shape.dim[:] = shape_of(list(f.inputs[0].proto.shape.dim[:]))


def _reshape_dimension(callback: NnpNetworkPass, name: str, axis: int) -> None:
    @callback.on_generate_function_by_name(name)
    def change(f: Any) -> None:
        f.proto.reshape_param.shape.dim[axis] = f.inputs[0].proto.shape.dim[0]


def _slice(callback: NnpNetworkPass, name: str, stop: int | None) -> None:
    @callback.on_generate_function_by_name(name)
    def change(f: Any) -> None:
        s = list(f.inputs[0].proto.shape.dim[:])
        f.proto.slice_param.stop[:] = s if stop is None else [*s[:2], stop, *s[3:]]


def _grid(callback: NnpNetworkPass, name: str, cells: int) -> None:
    @callback.on_generate_function_by_name(name)
    def change(f: Any) -> None:
        f.proto.arange_param.stop = cells


def _scale(callback: NnpNetworkPass, name: str, factor: float) -> None:
    @callback.on_generate_function_by_name(name)
    def change(f: Any) -> None:
        f.proto.mul_scalar_param.val *= factor
