"""Detection, and comparison of image patches."""

from __future__ import annotations

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions.arrays import transpose

__all__ = ["nms_detection2d", "onnx_non_max_suppression", "patch_correlation"]


@function("NmsDetection2d", "x", primitive=True)
def nms_detection2d(x, thresh=0.5, nms=0.45, nms_per_class=True):
    """Detections with those suppressed that are improbable or overlap a better one.

    x: (batch, boxes, 5 + classes), rows being x, y, width, height, objectness, probabilities. Objectness and its
    products with the probabilities, which are the result's, become 0 below `thresh`, and where the intersection over
    union with a better box is more than `nms`: for each class on its own, or by objectness alone. No gradient.
    RuntimeError for another shape.
    """
    if x.ndim != 3 or x.shape[2] <= 5:
        raise RuntimeError(f"nms_detection2d: x must be (batch, boxes, 5 + classes), not of shape {tuple(x.shape)}")
    return op.nms_detection2d(x, thresh=thresh, nms=nms, per_class=nms_per_class)


@function("ONNXNonMaxSuppression", "boxes, scores", primitive=True, setup="data")
def onnx_non_max_suppression(
    boxes, scores, center_point_box=0, max_output_boxes_per_class=0, iou_threshold=0.0, score_threshold=0.0
):
    """(batch, class, box) of the boxes chosen for each class, best first: (chosen, 3) integers.

    boxes: (batch, boxes, 4), being y, x of two corners, or with center_point_box=1 x, y of the center, width and
    height; scores: (batch, classes, boxes). Of each class at most max_output_boxes_per_class (0: none) of a score not
    below score_threshold, none of which overlaps a better one by more than iou_threshold. The data is read when the
    function is called. No gradient. RuntimeError for other shapes.
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


def patch_correlation(
    x1, x2, patch=(1, 1), shift=(0, 0), patch_step=(1, 1), shift_step=(1, 1), padding=(0, 0, 0, 0), channel_last=False
):
    """Sums of products of patches of x1 with shifted patches of x2.

    x1, x2: (batch, channels, height, width), or with channel_last (batch, height, width, channels). The result is
    (batch, shifts down, shifts right, height, width) or (batch, height, width, shifts down, shifts right): patches of
    the size `patch` every patch_step, each with those at -shift ... shift every shift_step. padding: zeros at top,
    bottom, left, right. One number stands for all. ValueError where x1 and x2 are not 4-D of one shape, RuntimeError
    for negative arguments.
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
