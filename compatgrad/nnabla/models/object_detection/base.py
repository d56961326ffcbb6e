"""The base class of the networks for object detection."""

from __future__ import annotations

from .._base import TrainedNetwork

__all__ = ["ObjectDetection"]

VOC_NAMES = tuple(
    "aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike person pottedplant "
    "sheep sofa train tvmonitor".split()
)
COCO_NAMES = tuple(
    "person,bicycle,car,motorbike,aeroplane,bus,train,truck,boat,traffic light,fire hydrant,stop sign,parking meter,"
    "bench,bird,cat,dog,horse,sheep,cow,elephant,bear,zebra,giraffe,backpack,umbrella,handbag,tie,suitcase,frisbee,"
    "skis,snowboard,sports ball,kite,baseball bat,baseball glove,skateboard,surfboard,tennis racket,bottle,wine glass,"
    "cup,fork,knife,spoon,bowl,banana,apple,sandwich,orange,broccoli,carrot,hot dog,pizza,donut,cake,chair,sofa,"
    "pottedplant,bed,diningtable,toilet,tvmonitor,laptop,mouse,remote,keyboard,cell phone,microwave,oven,toaster,sink,"
    "refrigerator,book,clock,vase,scissors,teddy bear,hair drier,toothbrush".split(",")
)


class ObjectDetection(TrainedNetwork):
    """A network that finds objects: its output is boxes with the score of each category.

    Example:
        >>> from compatgrad.nnabla.models.object_detection import YoloV2
        >>> network = YoloV2("voc")  # doctest: +SKIP
        >>> network.get_category_names()[:2]  # doctest: +SKIP
        ['aeroplane', 'bicycle']

    Source: `nnabla.models.object_detection.base.ObjectDetection` of nnabla 1.39.0.
    """

    _family = "object_detection"
    _dataset_name: str

    def get_category_names(self) -> list[str]:
        """The names of the categories of the data set on which the network was trained."""
        return list(VOC_NAMES if self._dataset_name == "voc" else COCO_NAMES)

    def get_nnp_input_size(self) -> tuple[int, ...]:
        """Height and width of the input in the file."""
        network = self.nnp.g.default_graph()
        return tuple(network.variables[network.inputs[0]].shape[2:])
