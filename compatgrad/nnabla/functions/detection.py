"""Functions for object detection, and the correlation of image patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented
from compatgrad.nnabla.functions.arrays import transpose

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = ["nms_detection2d", "onnx_non_max_suppression", "patch_correlation"]


@function("NmsDetection2d", "x", primitive=True)
def nms_detection2d(x: Array, thresh: float = 0.5, nms: float = 0.45, nms_per_class: bool = True) -> Array:
    """Non-maximum suppression: suppresses detections that are improbable or overlap a better one (YOLOv2, Redmon and
    Farhadi, 2016).

    Args:
        x: (batch, boxes, 5 + classes), a box being x, y, width, height, objectness and the probabilities of classes.
        thresh: values of objectness, and of its products with the probabilities, below `thresh` become 0.
        nms: they also become 0 where the intersection over union with a better box is larger than `nms`.
        nms_per_class: whether boxes are compared for each class separately, instead of by objectness.

    Returns:
        Array of the shape of `x`, with the products instead of the probabilities. No gradient passes.

    Raises:
        RuntimeError: `x` has another shape.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[[0.5, 0.5, 1, 1, 0.9, 0.8], [0.5, 0.5, 1, 1, 0.8, 0.8]]]))
        >>> F.nms_detection2d(x).data[0, :, 4:]
        array([[0.9       , 0.71999997],
               [0.8       , 0.        ]], dtype=float32)
    """
    if x.ndim != 3 or x.shape[2] <= 5:
        raise RuntimeError(f"nms_detection2d: x must be (batch, boxes, 5 + classes), not of shape {tuple(x.shape)}")
    return op.nms_detection2d(x, thresh=thresh, nms=nms, per_class=nms_per_class)


@function("ONNXNonMaxSuppression", "boxes, scores", primitive=True, setup="data")
def onnx_non_max_suppression(
    boxes: Array,
    scores: Array,
    center_point_box: int = 0,
    max_output_boxes_per_class: int = 0,
    iou_threshold: float = 0.0,
    score_threshold: float = 0.0,
) -> Array:
    """Selects boxes for each class, the best first, like ONNX's NonMaxSuppression.

    Args:
        boxes: (batch, boxes, 4), y, x of two corners. Their values must exist when the function is called, because the
            shape of the result depends on them.
        scores: (batch, classes, boxes); their values must exist, too.
        center_point_box: 1 where boxes are x, y of the center, width and height.
        max_output_boxes_per_class: greatest number of boxes that are selected for a class; 0: none.
        iou_threshold: a box is not selected where its intersection over union with a better one is larger.
        score_threshold: a box is not selected where its score is lower.

    Returns:
        Array of integers (chosen, 3): sample, class and box. No gradient passes.

    Raises:
        RuntimeError: the shapes do not fit, `center_point_box` is neither 0 nor 1, or `max_output_boxes_per_class` is
            negative.

    Example:
        >>> boxes = nn.NdArray.from_numpy_array(np.array([[[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9]]]))
        >>> scores = nn.NdArray.from_numpy_array(np.array([[[0.9, 0.8]]]))
        >>> F.onnx_non_max_suppression(boxes, scores, max_output_boxes_per_class=2, iou_threshold=0.5).data
        array([[0, 0, 0]])
    """
    name = "onnx_non_max_suppression"
    if boxes.ndim != 3 or boxes.shape[2] != 4 or tuple(scores.shape[::2]) != tuple(boxes.shape[:2]):
        raise RuntimeError(
            f"{name}: boxes must be (batch, boxes, 4) and scores (batch, classes, boxes), not of shapes "
            f"{tuple(boxes.shape)} and {tuple(scores.shape)}"
        )
    if center_point_box not in (0, 1):
        raise RuntimeError(f"{name}: center_point_box must be 0 or 1, not {center_point_box}")
    if max_output_boxes_per_class < 0:
        raise RuntimeError(f"{name}: max_output_boxes_per_class must not be negative, not {max_output_boxes_per_class}")
    return op.onnx_non_max_suppression(
        boxes,
        scores,
        center_point_box=bool(center_point_box),
        max_output_boxes=max_output_boxes_per_class,
        iou_threshold=iou_threshold,
        score_threshold=score_threshold,
    )


@function("PatchCorrelation", "x1, x2")
def _patch_correlation(x1, x2, patch=(1, 1), shift=(0, 0), patch_step=(1, 1), shift_step=(1, 1), padding=(0, 0, 0, 0)):
    """`patch_correlation` of images (batch, height, width, channels): (batch, height, width, shifts, shifts)."""
    for key, sizes, least in (
        ("patch", patch, 1),
        ("shift", shift, 0),
        ("patch_step", patch_step, 1),
        ("shift_step", shift_step, 1),
        ("padding", padding, 0),
    ):
        if any(n < least for n in sizes):
            raise RuntimeError(f"patch_correlation: {key} must be {least} or more, not {tuple(sizes)}")
    top, bottom, left, right = padding
    height, width = x1.shape[1] + top + bottom, x1.shape[2] + left + right
    counts = [(n - patch[k] + patch_step[k]) // patch_step[k] for k, n in enumerate((height, width))]
    if min(counts) < 1:
        raise RuntimeError(
            f"patch_correlation: a patch of {tuple(patch)} is larger than the padded image {(height, width)}"
        )
    first = op.pad(x1, pad_width=[0, 0, top, bottom, left, right, 0, 0])
    second = op.pad(x2, pad_width=[0, 0, top + shift[0], bottom + shift[0], left + shift[1], right + shift[1], 0, 0])
    shifts = [range(0, 2 * s + 1, step) for s, step in zip(shift, shift_step, strict=True)]
    products = [
        op.sum(first * second[:, y : y + height, x : x + width], axis=[3]) for y in shifts[0] for x in shifts[1]
    ]
    sums = op.sum_pooling(op.stack(products, axis=1), ksize=list(patch), stride=list(patch_step))
    sums = sums[:, :, : counts[0], : counts[1]]
    return op.reshape(
        op.transpose(sums, axes=[0, 2, 3, 1]), shape=[x1.shape[0], *counts, len(shifts[0]), len(shifts[1])]
    )


@documented()
def patch_correlation(
    x1: Array,
    x2: Array,
    patch: int | Sequence[int] = (1, 1),
    shift: int | Sequence[int] = (0, 0),
    patch_step: int | Sequence[int] = (1, 1),
    shift_step: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0, 0, 0),
    channel_last: bool = False,
) -> Array:
    """Correlations, that is sums of products, of patches of one image with shifted patches of another (FlowNet,
    Dosovitskiy et al., 2015).

    Args:
        x1: images (batch, channels, height, width), channels last with `channel_last`; computed in float32.
        x2: images of the shape of `x1`.
        patch: height and width of a patch; one number stands for both, here and below.
        shift: the largest shifts down and to the right, which are also those up and to the left.
        patch_step: the distance between patches.
        shift_step: the distance between shifts.
        padding: numbers of zeros added at the top, the bottom, the left and the right; two numbers apply to both
            vertical and to both horizontal sides.
        channel_last: whether the channels are the last axis.

    Returns:
        Array (batch, shifts down, shifts right, patches down, patches right), or (batch, patches down, patches right,
        shifts down, shifts right) with `channel_last`.

    Raises:
        RuntimeError: a number is too small, or a patch is larger than the image.
        ValueError: `x1` and `x2` do not have four axes and one shape.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[[[1.0, 2.0, 3.0]]]]))
        >>> F.patch_correlation(x, x, shift=(0, 1)).data[0, 0, :, 0]
        array([[0., 2., 6.],
               [1., 4., 9.],
               [2., 6., 0.]], dtype=float32)
    """
    if not len(x1.shape) == len(x2.shape) == 4:
        raise ValueError(
            f"patch_correlation: x1 and x2 must have 4 dimensions, not {len(x1.shape)} and {len(x2.shape)}"
        )
    if tuple(x1.shape) != tuple(x2.shape):
        raise ValueError(
            f"patch_correlation: x1 and x2 must have equal shape, not {tuple(x1.shape)} and {tuple(x2.shape)}"
        )

    def several(v, n=2):
        return (v,) * n if isinstance(v, int) else tuple(v)

    padding = several(padding, 4)
    padding = padding[:1] * 2 + padding[1:] * 2 if len(padding) == 2 else padding
    if not channel_last:
        x1, x2 = (transpose(x, (0, 2, 3, 1)) for x in (x1, x2))
    y = _patch_correlation(x1, x2, several(patch), several(shift), several(patch_step), several(shift_step), padding)
    return y if channel_last else transpose(y, (0, 3, 4, 1, 2))
