"""Operators of `mx.nd.contrib` for object detection, which `contrib` exports.

Boxes are four numbers: x1, y1, x2, y2 in format "corner", or x, y of the center, width and height in "center".
"""

from __future__ import annotations

import math
from typing import Any

import torch

from ..base import MXNetError
from ._arguments import one_of, public_names, require_ndim, require_shape, required
from ._operator import op, operator

_FORMATS = ("corner", "center")


# ---- overlap and matching --------------------------------------------------------------------------------------------
@operator("lhs, rhs", name="_contrib_box_iou")
def box_iou(lhs, rhs, format="corner"):
    """Intersection over union of all boxes of lhs (..., 4) with all of rhs (..., 4).

    The shape is that of both without the last axes. No gradient. MXNetError if a last axis is not of length 4.

    Args:
        lhs: boxes in the last axis, shape (..., 4).
        rhs: boxes in the last axis, shape (..., 4).

    Returns:
        NDArray of the dtype of `lhs`, shape (*lhs.shape[:-1], *rhs.shape[:-1]).

    Example:
        >>> nd.contrib.box_iou(nd.array([[0.0, 0.0, 2.0, 2.0]]), nd.array([[1.0, 0.0, 2.0, 2.0]])).asnumpy()
        array([[0.5]], dtype=float32)
    """
    one_of("box_iou", "format", format, _FORMATS)
    for name, x in (("lhs", lhs), ("rhs", rhs)):
        if x.ndim < 2 or x.shape[-1] != 4:
            raise MXNetError(f"box_iou: {name} must be (..., boxes, 4), got the shape {x.shape}")
    return op.box_iou(lhs, rhs, centered=format == "center")


@operator("data", name="_contrib_bipartite_matching", outputs=2)
def bipartite_matching(data, is_ascend=False, threshold=None, topk=-1):
    """Pairs of rows and columns of scores (..., n, m), the best scores first, each row and column once.

    Scores that are not above `threshold` (with `is_ascend`, where small ones are best, not below it) make no pair; with
    topk > 0 it ends after topk + 1 pairs, as in MXNet. Gives each row's column, (..., n), and each column's row,
    (..., m); -1: none. No gradient.

    Args:
        data: scores of pairs, shape (..., rows, columns).

    Returns:
        A list of the column of each row and the row of each column, -1 if there is none.

    Example:
        >>> scores = nd.array([[0.5, 0.6], [0.1, 0.2]])
        >>> [y.asnumpy().tolist() for y in nd.contrib.bipartite_matching(scores, threshold=0.1)]
        [[1.0, -1.0], [-1.0, 0.0]]
    """
    required("bipartite_matching", "threshold", threshold)
    if data.ndim < 2:
        raise MXNetError(f"bipartite_matching: data must have at least 2 axes, got the shape {data.shape}")
    batch, (n, m) = data.shape[:-2], data.shape[-2:]
    found = op.bipartite_matching(_by_image(data), threshold=threshold, smallest=bool(is_ascend), topk=topk)
    return [y if data.ndim == 3 else op.reshape(y, shape=(*batch, k)) for y, k in zip(found, (n, m), strict=True)]


def _by_image(data: Any) -> Any:
    """(..., n, m) as (batch, n, m)."""
    if data.ndim == 3:
        return data
    return op.reshape(data, shape=(math.prod(data.shape[:-2]), *data.shape[-2:]))


# ---- non-maximum suppression -----------------------------------------------------------------------------------------
@operator("data", name="_contrib_box_nms", aliases=("_contrib_box_non_maximum_suppression",))
def box_nms(
    data, overlap_thresh=0.5, valid_thresh=0.0, topk=-1, coord_start=2, score_index=1, id_index=-1, background_id=-1,
    force_suppress=False, in_format="corner", out_format="corner",
):  # fmt: skip
    """Boxes (..., n, width) by falling scores, without those that overlap a better one by more than `overlap_thresh`.

    score_index, id_index and coord_start (four columns) are the columns of score, class and coordinates. Boxes whose
    score is not above `valid_thresh`, those of class background_id and all after the best `topk` are left out. Boxes of
    different classes do not suppress each other, unless id_index is -1 or `force_suppress` is set. Rows at the end
    are -1 for the boxes left out. Where the formats differ, boxes that begin left of 0 are not converted; with a topk
    of 0 the data is returned unchanged. The gradient goes to the boxes that stay. MXNetError if an index is no
    column, or two are the same.

    Args:
        data: boxes with their scores and classes in the last axis, shape (..., N, at least 5).

    Returns:
        NDArray of the shape of `data`, by falling scores; what is left out is filled with -1.

    Example:
        >>> boxes = nd.array([[0, 0.9, 0, 0, 2, 2], [0, 0.8, 0, 0, 2, 2.1]])
        >>> nd.contrib.box_nms(boxes, coord_start=2, score_index=1, id_index=0).asnumpy()
        array([[ 0. ,  0.9,  0. ,  0. ,  2. ,  2. ],
               [-1. , -1. , -1. , -1. , -1. , -1. ]], dtype=float32)
    """
    name = "box_nms"
    one_of(name, "in_format", in_format, _FORMATS)
    one_of(name, "out_format", out_format, _FORMATS)
    least = 5 + (id_index >= 0)
    if data.ndim < 2 or data.shape[-1] < least:
        raise MXNetError(f"{name}: data must be (..., boxes, at least {least}), got the shape {data.shape}")
    columns = {"coord_start": coord_start, "coord_start + 3": coord_start + 3, "score_index": score_index}
    if id_index >= 0:
        columns["id_index"] = id_index
    for argument, column in columns.items():
        if not 0 <= column < data.shape[-1]:
            raise MXNetError(f"{name}: {argument} {column} is no column of data of the shape {data.shape}")
    for argument in ("score_index", "id_index"):
        if coord_start <= columns.get(argument, -1) <= coord_start + 3:
            raise MXNetError(f"{name}: {argument} {columns[argument]} is one of the coordinates from {coord_start} on")
    if id_index == score_index:
        raise MXNetError(f"{name}: id_index and score_index are both {id_index}")
    y = op.box_nms(
        _by_image(data), overlap_thresh=overlap_thresh, valid_thresh=valid_thresh, topk=topk, coord_start=coord_start,
        score_index=score_index, id_index=id_index, background_id=background_id, force_suppress=bool(force_suppress),
        centered_in=in_format == "center", centered_out=out_format == "center",
    )  # fmt: skip
    return y if data.ndim == 3 else op.reshape(y, shape=data.shape)


# ---- targets ---------------------------------------------------------------------------------------------------------
@operator("samples, matches, anchors, refs, means?, stds?", name="_contrib_box_encode", outputs=2)
def box_encode(samples, matches, anchors, refs, means=None, stds=None):
    """Training targets of a detector: the offset of each anchor to its reference box, and a mask of anchors that count.

    samples (batch, n): above 0.5 where the anchor counts; matches (batch, n): which of refs (batch, m, 4) belongs to
    it; anchors (batch, n, 4); means, stds (4,). Boxes are corners. Both results are (batch, n, 4), without gradient.

    Args:
        samples (NDArray): 1 for anchors with a box, 0 or -1 for others, shape (batch, N).
        matches (NDArray): the box of each anchor, shape (batch, N).
        refs (NDArray): boxes, shape (batch, M, 4).
        means (NDArray): subtracted from the changes, shape (4,).
        stds (NDArray): divides the changes, shape (4,).

    Returns:
        A list of the changes and their masks, shape (batch, N, 4).

    Example:
        >>> box = nd.array([[[0.0, 0.0, 1.0, 1.0]]])
        >>> y, mask = nd.contrib.box_encode(nd.ones((1, 1)), nd.zeros((1, 1)), box, box, nd.zeros(4), nd.ones(4))
        >>> y.asnumpy(), mask.asnumpy()
        (array([[[0., 0., 0., 0.]]], dtype=float32), array([[[1., 1., 1., 1.]]], dtype=float32))
    """
    name = "box_encode"
    require_ndim(name, "samples", samples, 2)
    batch, n = samples.shape
    require_shape(name, "matches", matches.shape, (batch, n))
    require_ndim(name, "anchors", anchors, 3)
    require_shape(name, "anchors", anchors.shape, (anchors.shape[0], n, 4))
    require_shape(name, "refs", refs.shape, (batch, *refs.shape[1:2], 4))
    return list(op.box_encode(samples, matches, anchors, refs, means, stds))


@operator("data, anchors", name="_contrib_box_decode")
def box_decode(data, anchors, std0=1.0, std1=1.0, std2=1.0, std3=1.0, clip=-1.0, format="center"):
    """Decodes a network's results, data (batch, n, 4), into boxes, as corners, by their anchors (1, n, 4).

    `format`: that of the anchors; std0 ... std3 multiply the results; clip > 0 bounds the logarithms of sizes. No
    gradient. MXNetError if shapes do not fit.

    Args:
        data: changes of the anchors, shape (batch, N, 4).
        std0: the factor of the first change.
        std1: the factor of the second change.
        std2: the factor of the third change.
        std3: the factor of the fourth change.
        clip: the largest height and width, as the logarithm of a factor; a negative number for no limit.

    Example:
        >>> nd.contrib.box_decode(nd.zeros((1, 1, 4)), nd.array([[[0.5, 0.5, 1.0, 1.0]]])).asnumpy()
        array([[[0., 0., 1., 1.]]], dtype=float32)
    """
    one_of("box_decode", "format", format, _FORMATS)
    require_ndim("box_decode", "data", data, 3)
    require_shape("box_decode", "data", data.shape, (*data.shape[:2], 4))
    require_shape("box_decode", "anchors", anchors.shape, (1, data.shape[1], 4))
    return op.box_decode(
        data, anchors, std0=std0, std1=std1, std2=std2, std3=std3, clip=clip, centered=format == "center"
    )


# ---- single-shot detection -------------------------------------------------------------------------------------------
def _floats(name: str, argument: str, value: Any) -> torch.Tensor:
    values = [value] if isinstance(value, (int, float)) else list(value)
    if not values:
        raise MXNetError(f"{name}: {argument} must not be empty")
    return torch.tensor(values, dtype=torch.float32)


@operator("data", name="_contrib_MultiBoxPrior")
def multibox_prior(data, sizes=(1.0,), ratios=(1.0,), clip=False, steps=(-1.0, -1.0), offsets=(0.5, 0.5)):
    """Anchor boxes around each pixel of data (batch, channels, height, width): (1, height * width * k, 4), corners.

    Each pixel has one for each of `sizes` with the first of `ratios` (width / height) and one for each other ratio
    with the first size. `steps` (y, x): the distance of pixels, by default 1 / size; `offsets` (y, x): where in a pixel
    the center is; `clip`: cut to [0, 1].

    Args:
        data: an array whose last two axes are height and width.

    Returns:
        float32, shape (1, height * width * (sizes + ratios - 1), 4).

    Example:
        >>> nd.contrib.MultiBoxPrior(nd.zeros((1, 3, 1, 1)), sizes=(0.5,)).asnumpy()
        array([[[0.25, 0.25, 0.75, 0.75]]], dtype=float32)
    """
    name = "MultiBoxPrior"
    require_ndim(name, "data", data, 4)
    if len(steps) != 2 or steps[0] * steps[1] < 0:
        raise MXNetError(f"{name}: steps must be two numbers that are both positive, or both not, got {steps}")
    if len(offsets) != 2 or not all(0 <= v <= 1 for v in offsets):
        raise MXNetError(f"{name}: offsets must be two numbers from 0 to 1, got {offsets}")
    return op.multibox_prior(
        data, sizes=_floats(name, "sizes", sizes), ratios=_floats(name, "ratios", ratios), clip=bool(clip),
        step_y=steps[0], step_x=steps[1], offset_y=offsets[0], offset_x=offsets[1],
    )  # fmt: skip


@operator("anchor, label, cls_pred", name="_contrib_MultiBoxTarget", outputs="loc_target, loc_mask, cls_target")
def multibox_target(
    anchor, label, cls_pred, overlap_threshold=0.5, ignore_label=-1.0, negative_mining_ratio=-1.0,
    negative_mining_thresh=0.5, minimum_negative_samples=0, variances=(0.1, 0.1, 0.2, 0.2),
):  # fmt: skip
    """Training targets of a single-shot detector: offsets (batch, n * 4), their mask, and classes (batch, n).

    anchor (1, n, 4); label (batch, m, 5): class, x1, y1, x2, y2, ended by a class -1; cls_pred (batch, classes, n).
    Each box is matched with its best anchor, and an anchor with the box that it overlaps most, if by more than
    `overlap_threshold`; class 0 means no box. With negative_mining_ratio > 0, that many unmatched anchors for each
    matched one are negative samples: the hardest of those that overlap no box by negative_mining_thresh. The others
    get `ignore_label`. No gradient. minimum_negative_samples has no effect, as in MXNet. MXNetError if mining finds
    too few anchors.

    Args:
        label: boxes: class, left, top, right, bottom; shape (batch, M, at least 5); the class is -1 where there is
            none.

    Returns:
        A list of changes and masks, shape (batch, 4 * N), and classes, shape (batch, N).

    Example:
        >>> anchor = nd.array([[[0.0, 0.0, 0.5, 0.5]]])
        >>> label = nd.array([[[0, 0.0, 0.0, 0.5, 0.5]]])
        >>> [y.asnumpy().tolist() for y in nd.contrib.MultiBoxTarget(anchor, label, nd.zeros((1, 2, 1)))]
        [[[0.0, 0.0, 0.0, 0.0]], [[1.0, 1.0, 1.0, 1.0]], [[1.0]]]
    """
    name = "MultiBoxTarget"
    require_ndim(name, "anchor", anchor, 3)
    n = anchor.shape[1]
    require_shape(name, "anchor", anchor.shape, (1, n, 4))
    require_ndim(name, "label", label, 3)
    require_ndim(name, "cls_pred", cls_pred, 3)
    require_shape(name, "cls_pred", cls_pred.shape, (label.shape[0], cls_pred.shape[1], n))
    return list(
        op.multibox_target(
            anchor, label, cls_pred, variances=_floats(name, "variances", variances), ignore_label=ignore_label,
            overlap_threshold=overlap_threshold, mining_ratio=negative_mining_ratio,
            mining_threshold=negative_mining_thresh,
        )
    )  # fmt: skip


@operator("cls_prob, loc_pred, anchor", name="_contrib_MultiBoxDetection")
def multibox_detection(
    cls_prob, loc_pred, anchor, clip=True, threshold=0.01, background_id=0, nms_threshold=0.5, force_suppress=False,
    variances=(0.1, 0.1, 0.2, 0.2), nms_topk=-1,
):  # fmt: skip
    """Detections of a single-shot detector, (batch, n, 6): class, score, x1, y1, x2, y2, best first; class -1: none.

    cls_prob (batch, classes, n), class 0 being the background, whatever background_id; loc_pred (batch, n * 4); anchor
    (1, n, 4). Scores below `threshold` are out, as are boxes that overlap a better one of the same class (of any, with
    force_suppress) by nms_threshold or more, where that is in (0, 1]; else all stay, in the order of anchors. No
    gradient. MXNetError if shapes do not fit.

    Args:
        cls_prob: probabilities of the classes, the background first, shape (batch, classes + 1, N).
        threshold: the least score that counts.

    Returns:
        Class, score, left, top, right, bottom of each box, shape (batch, N, 6); the class is -1 for what is left out.

    Example:
        >>> anchor = nd.array([[[0.0, 0.0, 0.5, 0.5]]])
        >>> nd.contrib.MultiBoxDetection(nd.array([[[0.2], [0.8]]]), nd.zeros((1, 4)), anchor).asnumpy()
        array([[[0. , 0.8, 0. , 0. , 0.5, 0.5]]], dtype=float32)
    """
    name = "MultiBoxDetection"
    require_ndim(name, "cls_prob", cls_prob, 3)
    batch, _, n = cls_prob.shape
    require_shape(name, "loc_pred", loc_pred.shape, (batch, n * 4))
    require_shape(name, "anchor", anchor.shape, (1, n, 4))
    return op.multibox_detection(
        cls_prob, loc_pred, anchor, variances=_floats(name, "variances", variances), clip=bool(clip),
        threshold=threshold, nms_threshold=nms_threshold, force_suppress=bool(force_suppress), topk=nms_topk,
    )  # fmt: skip


__all__ = public_names(globals())
