"""What `mxnet.nd.contrib` has for detection; the module `contrib` hands it out.

Boxes are four numbers: x1, y1, x2, y2 in format "corner", or x, y of the center, width and height in "center".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ..base import MXNetError
from ._arguments import axis_in, one_of, public_names, require_ndim, require_shape
from ._operator import op, operator
from .ndarray import NDArray
from .nn_layers import required

Tensor = torch.Tensor
_FORMATS = ("corner", "center")


def _corners(boxes: Tensor) -> Tensor:
    """From center to corner."""
    half = boxes[..., 2:] / 2
    return torch.cat([boxes[..., :2] - half, boxes[..., :2] + half], -1)


def _centers(boxes: Tensor) -> Tensor:
    """From corner to center."""
    return torch.cat([(boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]], -1)


def _overlaps(a: Tensor, b: Tensor) -> Tensor:
    """Intersection over union of boxes (..., n, 4) with (..., m, 4), corners: (..., n, m)."""
    low = torch.maximum(a[..., :, None, :2], b[..., None, :, :2])
    high = torch.minimum(a[..., :, None, 2:], b[..., None, :, 2:])
    inside = (high - low).clamp(min=0).prod(-1)
    sizes = [(v[..., 2:] - v[..., :2]).clamp(min=0).prod(-1) for v in (a, b)]
    union = sizes[0][..., :, None] + sizes[1][..., None, :] - inside
    return torch.where(union > 0, inside / union, torch.zeros_like(union))


def _plain(x: NDArray) -> Tensor:
    return x.tensor.detach()


# ---- overlap and matching --------------------------------------------------------------------------------------------
@operator("lhs, rhs", name="_contrib_box_iou")
def box_iou(lhs, rhs, format="corner"):
    """Intersection over union of all boxes of lhs (..., 4) with all of rhs (..., 4).

    The shape is that of both without the last axes. No gradient. MXNetError where a last axis is not of length 4.
    """
    one_of("box_iou", "format", format, _FORMATS)
    boxes = []
    for name, x in (("lhs", lhs), ("rhs", rhs)):
        if x.shape[-1] != 4:
            raise MXNetError(f"box_iou: the last axis of {name} must have length 4, got the shape {x.shape}")
        t = _plain(x).reshape(-1, 4)
        boxes.append(_corners(t) if format == "center" else t)
    return NDArray(_overlaps(*boxes).reshape(lhs.shape[:-1] + rhs.shape[:-1] or (1,)))


@operator("data", name="_contrib_bipartite_matching")
def bipartite_matching(data, is_ascend=False, threshold=None, topk=-1):
    """Pairs of rows and columns of scores (..., n, m), the best scores first, each row and column once.

    Scores below `threshold` (above it with `is_ascend`, where small ones are best) make no pair; with topk > 0 it ends
    after topk + 1 pairs, as in MXNet. Gives each row's column, (..., n), and each column's row, (..., m); -1: none.
    """
    required("bipartite_matching", "threshold", threshold)
    if data.ndim < 2:
        raise MXNetError(f"bipartite_matching: data must have at least 2 axes, got the shape {data.shape}")
    t = _plain(data)
    n, m = data.shape[-2:]
    rows, columns = (torch.full((*data.shape[:-2], k), -1, dtype=t.dtype, device=t.device) for k in (n, m))
    flat = t.reshape(-1, n * m)
    order = flat.argsort(dim=1, descending=not is_ascend, stable=True)
    values = flat.gather(1, order).tolist()
    for k, places in enumerate(order.tolist()):
        row, column, count = rows.view(-1, n)[k], columns.view(-1, m)[k], 0
        by_row, by_column = [-1] * n, [-1] * m
        for place, score in zip(places, values[k], strict=True):
            if (score > threshold) if is_ascend else (score < threshold):
                break
            i, j = divmod(place, m)
            if by_row[i] < 0 and by_column[j] < 0:
                by_row[i], by_column[j] = j, i
                count += 1
                if 0 < topk < count:
                    break
        row.copy_(torch.tensor(by_row))
        column.copy_(torch.tensor(by_column))
    return [NDArray(rows), NDArray(columns)]


# ---- non-maximum suppression -----------------------------------------------------------------------------------------
def _stays(boxes: Tensor, classes: Tensor | None, thresh: float) -> Tensor:
    """Which of boxes, corners and best first, no better one of the same class that stays overlaps by more than
    `thresh`.
    """
    given = [NDArray(boxes)] if classes is None else [NDArray(boxes), NDArray(classes)]
    return op.box_suppression(*given, threshold=thresh).tensor


@operator("data", name="_contrib_box_nms", aliases=("_contrib_box_non_maximum_suppression",))
def box_nms(
    data, overlap_thresh=0.5, valid_thresh=0.0, topk=-1, coord_start=2, score_index=1, id_index=-1, background_id=-1,
    force_suppress=False, in_format="corner", out_format="corner",
):  # fmt: skip
    """Boxes (..., n, width) by falling scores, without those that overlap a better one by more than `overlap_thresh`.

    Of each box score_index, id_index and coord_start (four numbers) say where its numbers are. Boxes whose score is
    not above `valid_thresh`, those of class background_id and all after the best `topk` are out; boxes of different
    classes stay both, unless id_index is -1 or `force_suppress`. Missing boxes at the end are -1. The gradient goes to
    the boxes that stay. MXNetError where an index is no column.
    """
    name = "box_nms"
    one_of(name, "in_format", in_format, _FORMATS)
    one_of(name, "out_format", out_format, _FORMATS)
    if data.ndim < 2 or data.shape[-1] < 5:
        raise MXNetError(f"{name}: data must be (..., boxes, at least 5), got the shape {data.shape}")
    n, width = data.shape[-2:]
    for argument, value in (("score_index", score_index), ("coord_start + 3", coord_start + 3)):
        axis_in(name, value, width, argument)
    t = _plain(data).reshape(-1, n, width)
    rows, there = torch.zeros(t.shape[:2], dtype=torch.int64), torch.zeros(t.shape[:2], dtype=torch.bool)
    for k, boxes in enumerate(t):
        scores = boxes[:, score_index]
        valid = scores > valid_thresh
        if id_index >= 0:
            valid &= boxes[:, id_index] != background_id
        order = scores.argsort(descending=True, stable=True)
        order = order[valid[order]]
        if topk > 0:
            order = order[:topk]
        places = boxes[order, coord_start : coord_start + 4]
        if in_format == "center":
            places = _corners(places)
        classes = boxes[order, id_index] if id_index >= 0 and not force_suppress else None
        kept = order[_stays(places, classes, overlap_thresh)].cpu()
        rows[k, : len(kept)] = kept
        there[k, : len(kept)] = True
    rows, there = rows.to(t.device), there.to(t.device)
    y = op.gather_along(op.reshape(data, shape=t.shape), NDArray(rows[..., None].expand(t.shape)), axis=1)
    if in_format != out_format:
        y = _reformatted(y, coord_start, out_format)
    y = op.bool_fill(y, NDArray(~there[..., None].expand(t.shape)), value=-1.0)
    return y if data.ndim == 3 else op.reshape(y, shape=data.shape)


def _reformatted(y: NDArray, start: int, out_format: str) -> NDArray:
    """Boxes whose four numbers from column `start` on are in the other format: a linear map of columns."""
    half = [[1, 0, 1, 0], [0, 1, 0, 1], [-0.5, 0, 0.5, 0], [0, -0.5, 0, 0.5]]  # rows: from x, y, w, h
    full = [[0.5, 0, -1, 0], [0, 0.5, 0, -1], [0.5, 0, 1, 0], [0, 0.5, 0, 1]]  # rows: from x1, y1, x2, y2
    change = torch.eye(y.shape[-1], dtype=y.tensor.dtype, device=y.tensor.device)
    change[start : start + 4, start : start + 4] = torch.tensor(half if out_format == "corner" else full)
    return op.matmul(y, NDArray(change))


# ---- targets ---------------------------------------------------------------------------------------------------------
@operator("samples, matches, anchors, refs, means?, stds?", name="_contrib_box_encode")
def box_encode(samples, matches, anchors, refs, means=None, stds=None):
    """What a network must give for each anchor to find its reference box; and a mask of which anchors count.

    samples (batch, n): above 0.5 where the anchor counts; matches (batch, n): which of refs (batch, m, 4) belongs to
    it; anchors (batch, n, 4); means, stds (4,). Boxes are corners. Both results are (batch, n, 4), without gradient.
    """
    name = "box_encode"
    require_ndim(name, "samples", samples, 2)
    batch, n = samples.shape
    require_shape(name, "matches", matches.shape, (batch, n))
    require_ndim(name, "anchors", anchors, 3)
    require_shape(name, "anchors", anchors.shape, (anchors.shape[0], n, 4))
    require_ndim(name, "refs", refs, 3)
    t = _plain(refs)
    rows = _plain(matches).to(torch.int64).clamp(0, max(refs.shape[1] - 1, 0))
    found = _centers(t.gather(1, rows[..., None].expand(batch, n, 4)))
    a = _centers(_plain(anchors))
    places = (found[..., :2] - a[..., :2]) / a[..., 2:]
    sizes = torch.log(found[..., 2:] / a[..., 2:])
    y = torch.cat([places, sizes], -1)
    y = (y - (0 if means is None else _plain(means))) / (1 if stds is None else _plain(stds))
    mask = (_plain(samples) > 0.5)[..., None].expand(batch, n, 4)
    return [NDArray(torch.where(mask, y, torch.zeros_like(y))), NDArray(mask.to(t.dtype))]


@operator("data, anchors", name="_contrib_box_decode")
def box_decode(data, anchors, std0=1.0, std1=1.0, std2=1.0, std3=1.0, clip=-1.0, format="center"):
    """The boxes, as corners, that a network's results data (batch, n, 4) mean for anchors (1, n, 4).

    `format`: that of the anchors; std0 ... std3 multiply the results; clip > 0 bounds the logarithms of sizes.
    MXNetError where shapes do not fit.
    """
    one_of("box_decode", "format", format, _FORMATS)
    require_ndim("box_decode", "data", data, 3)
    require_shape("box_decode", "data", data.shape, (*data.shape[:2], 4))
    require_shape("box_decode", "anchors", anchors.shape, (1, data.shape[1], 4))
    a = _plain(anchors)
    a = _centers(a) if format == "corner" else a
    scaled = op.mul(data, NDArray(torch.tensor([std0, std1, std2, std3]).to(a)))
    places, sizes = op.split(scaled, indices=(2,), axis=2)
    middle = op.add(op.mul(places, NDArray(a[..., 2:])), NDArray(a[..., :2]))
    if clip > 0:
        sizes = op.minimum_scalar(sizes, value=clip)
    half = op.mul(op.exp(sizes), NDArray(a[..., 2:] / 2))
    return op.concat([op.sub(middle, half), op.add(middle, half)], axis=2)


# ---- single-shot detection -------------------------------------------------------------------------------------------
def _floats(name: str, argument: str, value: Any) -> list[float]:
    values = [value] if isinstance(value, (int, float)) else list(value)
    if not values:
        raise MXNetError(f"{name}: {argument} must not be empty")
    return [float(v) for v in values]


@operator("data", name="_contrib_MultiBoxPrior")
def multibox_prior(data, sizes=(1.0,), ratios=(1.0,), clip=False, steps=(-1.0, -1.0), offsets=(0.5, 0.5)):
    """Anchor boxes around each pixel of data (batch, channels, height, width): (1, height * width * k, 4), corners.

    Each pixel has one for each of `sizes` with the first of `ratios` (width / height) and one for each other ratio
    with the first size. `steps` (y, x): the distance of pixels, by default 1 / size; `offsets` (y, x): where in a pixel
    the center is; `clip`: cut to [0, 1].
    """
    name = "MultiBoxPrior"
    require_ndim(name, "data", data, 4)
    sizes, ratios = _floats(name, "sizes", sizes), _floats(name, "ratios", ratios)
    height, width = data.shape[2:]
    t = data.tensor
    dy, dx = (s if s > 0 else 1 / n for s, n in zip(steps, (height, width), strict=True))
    ys = (torch.arange(height, device=t.device) + offsets[0]) * dy
    xs = (torch.arange(width, device=t.device) + offsets[1]) * dx
    root = math.sqrt(ratios[0])
    halves = [(s * height / width * root / 2, s / root / 2) for s in sizes]
    halves += [(sizes[0] * height / width * math.sqrt(r) / 2, sizes[0] / math.sqrt(r) / 2) for r in ratios[1:]]
    half = torch.tensor(halves, device=t.device)
    middle = torch.stack([xs.expand(height, width), ys[:, None].expand(height, width)], -1)[:, :, None]
    boxes = torch.cat([middle - half, middle + half], -1).reshape(1, -1, 4).to(t.dtype)
    return NDArray(boxes.clamp(0, 1) if clip else boxes)


def _targets(found: Tensor, anchors: Tensor, variances: Sequence[float]) -> Tensor:
    """Offsets of boxes from anchors, both corners, over the variances."""
    f, a = _centers(found), _centers(anchors)
    offsets = torch.cat([(f[..., :2] - a[..., :2]) / a[..., 2:], torch.log(f[..., 2:] / a[..., 2:])], -1)
    return offsets / torch.tensor(variances, device=a.device)


def _matched(overlaps: Tensor, threshold: float) -> Tensor:
    """The box of each anchor, or -1: each box's best anchor, one after another, then all above the threshold."""
    n, m = overlaps.shape
    match = torch.full((n,), -1, dtype=torch.int64)
    left = overlaps.clone()
    for _ in range(m):
        best = int(left.argmax())
        i, j = divmod(best, m)
        if left[i, j] <= 1e-6:
            break
        match[i] = j
        left[i, :] = -1
        left[:, j] = -1
    if threshold > 0:
        value, j = overlaps.max(1)
        match = torch.where((match < 0) & (value > threshold), j, match)
    return match


@operator("anchor, label, cls_pred", name="_contrib_MultiBoxTarget")
def multibox_target(
    anchor, label, cls_pred, overlap_threshold=0.5, ignore_label=-1.0, negative_mining_ratio=-1.0,
    negative_mining_thresh=0.5, minimum_negative_samples=0, variances=(0.1, 0.1, 0.2, 0.2),
):  # fmt: skip
    """What a single-shot detector must give: offsets (batch, n * 4), their mask, and classes (batch, n).

    anchor (1, n, 4); label (batch, m, 5): class, x1, y1, x2, y2, ended by a class -1; cls_pred (batch, classes, n).
    An anchor gets the box that it overlaps most, if by more than `overlap_threshold`, and each box its best anchor;
    class 0 means none. With negative_mining_ratio > 0 only that many hardest anchors without a box per one with a box
    count, of those that overlap no box by negative_mining_thresh; the others have `ignore_label`. No gradient.
    """
    name = "MultiBoxTarget"
    require_ndim(name, "anchor", anchor, 3)
    n = anchor.shape[1]
    require_shape(name, "anchor", anchor.shape, (1, n, 4))
    require_ndim(name, "label", label, 3)
    batch = label.shape[0]
    require_ndim(name, "cls_pred", cls_pred, 3)
    require_shape(name, "cls_pred", cls_pred.shape, (batch, cls_pred.shape[1], n))
    a, labels, scores = _plain(anchor)[0].cpu(), _plain(label).cpu(), _plain(cls_pred).cpu()
    place, mask = torch.zeros(batch, n, 4), torch.zeros(batch, n, 4)
    classes = torch.full((batch, n), float(ignore_label))
    for b in range(batch):
        count = int((labels[b, :, 0] == -1).to(torch.int64).cumsum(0).eq(0).sum())
        if not count:
            continue
        boxes = labels[b, :count]
        overlaps = _overlaps(a, boxes[:, 1:5])
        match = _matched(overlaps, overlap_threshold)
        positive = match >= 0
        negative = ~positive
        if negative_mining_ratio > 0:
            wanted = max(int(int(positive.sum()) * negative_mining_ratio), int(minimum_negative_samples))
            candidates = negative & (overlaps.max(1).values < negative_mining_thresh)
            hardness = scores[b].softmax(0)[0].masked_fill(~candidates, math.inf)
            order = hardness.argsort(stable=True)[: min(wanted, int(candidates.sum()))]
            negative = torch.zeros(n, dtype=torch.bool)
            negative[order] = True
        classes[b][negative] = 0.0
        chosen = boxes[match[positive]]
        classes[b][positive] = chosen[:, 0] + 1
        place[b][positive] = _targets(chosen[:, 1:5], a[positive], _floats(name, "variances", variances))
        mask[b][positive] = 1.0
    like = anchor.tensor
    return [NDArray(v.to(like)) for v in (place.reshape(batch, n * 4), mask.reshape(batch, n * 4), classes)]


@operator("cls_prob, loc_pred, anchor", name="_contrib_MultiBoxDetection")
def multibox_detection(
    cls_prob, loc_pred, anchor, clip=True, threshold=0.01, background_id=0, nms_threshold=0.5, force_suppress=False,
    variances=(0.1, 0.1, 0.2, 0.2), nms_topk=-1,
):  # fmt: skip
    """Detections of a single-shot detector, (batch, n, 6): class, score, x1, y1, x2, y2, best first; class -1: none.

    cls_prob (batch, classes, n), class 0 being the background; loc_pred (batch, n * 4); anchor (1, n, 4). Scores below
    `threshold` are out, as are boxes that overlap a better one of the same class (of any, with force_suppress) by more
    than nms_threshold. No gradient. MXNetError where shapes do not fit.
    """
    name = "MultiBoxDetection"
    require_ndim(name, "cls_prob", cls_prob, 3)
    batch, _, n = cls_prob.shape
    require_shape(name, "loc_pred", loc_pred.shape, (batch, n * 4))
    require_shape(name, "anchor", anchor.shape, (1, n, 4))
    if background_id != 0:
        raise MXNetError(f"{name}: background_id must be 0, got {background_id}")
    probabilities, a = _plain(cls_prob), _centers(_plain(anchor))
    moves = _plain(loc_pred).reshape(batch, n, 4) * torch.tensor(_floats(name, "variances", variances)).to(a)
    middle = moves[..., :2] * a[..., 2:] + a[..., :2]
    half = torch.exp(moves[..., 2:]) * a[..., 2:] / 2
    boxes = torch.cat([middle - half, middle + half], -1)
    boxes = boxes.clamp(0, 1) if clip else boxes
    scores, classes = probabilities[:, 1:].max(1)
    found = torch.full((batch, n, 6), -1.0).to(a)
    for b in range(batch):
        (valid,) = torch.nonzero(scores[b] >= threshold, as_tuple=True)
        rows = torch.cat([classes[b, valid, None].to(a), scores[b, valid, None], boxes[b, valid]], 1)
        best = rows[scores[b, valid].argsort(descending=True, stable=True)]
        best = best[: int(nms_topk)] if nms_topk > 0 else best
        found[b, : len(rows)] = rows
        found[b, len(best) : len(rows), 0] = -1
        found[b, : len(best)] = best
        if 0 < nms_threshold <= 1 and len(best):
            stays = _stays(best[:, 2:], None if force_suppress else best[:, 0], nms_threshold)
            found[b, : len(best), 0][~stays] = -1
    return NDArray(found)


__all__ = public_names(globals())
