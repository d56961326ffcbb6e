"""Region proposals, and pooling of rotated regions and of regions with offsets."""

from __future__ import annotations

import itertools
import math

import torch

from ..base import MXNetError
from ._arguments import as_index, pair, public_names, require_ndim, require_shape, required
from ._operator import op, operator
from .ndarray import NDArray


def _proposals(
    name, cls_prob, bbox_pred, im_info, before, after, threshold, min_size, scales, ratios, stride, iou_loss
):
    """Regions of all images and their scores."""
    for argument, x, ndim in (("cls_prob", cls_prob, 4), ("bbox_pred", bbox_pred, 4), ("im_info", im_info, 2)):
        require_ndim(name, argument, x, ndim)
    images, channels, height, width = cls_prob.shape
    kinds = len(ratios) * len(scales)
    if channels != 2 * kinds:
        raise MXNetError(f"{name}: {kinds} anchors need {2 * kinds} channels of cls_prob, got {channels}")
    require_shape(name, "bbox_pred", bbox_pred.shape, (images, 4 * kinds, height, width))
    require_shape(name, "im_info", im_info.shape, (images, 3))
    return op.region_proposals(
        cls_prob, bbox_pred, im_info, scales=torch.tensor(scales), ratios=torch.tensor(ratios), before=before,
        after=after, threshold=threshold, min_size=min_size, stride=stride, iou_loss=bool(iou_loss),
    )  # fmt: skip


@operator("cls_prob, bbox_pred, im_info", name="_contrib_MultiProposal", outputs="output, score? if output_score")
def multi_proposal(
    cls_prob, bbox_pred, im_info, rpn_pre_nms_top_n=6000, rpn_post_nms_top_n=300, threshold=0.7, rpn_min_size=16,
    scales=(4.0, 8.0, 16.0, 32.0), ratios=(0.5, 1.0, 2.0), feature_stride=16, output_score=False, iou_loss=False,
):  # fmt: skip
    """The best regions of each image by a region proposal network (Ren et al. 2015); no gradient.

    cls_prob: (images, 2 * anchors, height, width), whose second half are the scores; bbox_pred: (images, 4 * anchors,
    height, width), how the anchors move; im_info: (images, 3), each height, width and scale. Of the
    rpn_pre_nms_top_n best regions those stay that no better one overlaps by more than `threshold`. Gives
    (images * rpn_post_nms_top_n, 5): the image's number and x1, y1, x2, y2; with `output_score` the scores too. Where
    fewer regions stay, they are repeated.

    Args:
        threshold: the overlap from which the box of the lower score is left out.

    Returns:
        Regions of all images: the number of the image and four corners, shape (batch * rpn_post_nms_top_n, 5); with
        `output_score` a list of them and their scores.

    Example:
        >>> scores, changes = nd.ones((1, 2, 2, 2)), nd.zeros((1, 4, 2, 2))
        >>> options = {"scales": (1.0,), "ratios": (1.0,), "rpn_post_nms_top_n": 2, "rpn_min_size": 1}
        >>> nd.contrib.MultiProposal(scores, changes, nd.array([[32, 32, 1]]), **options).shape
        (2, 5)
    """
    y = _proposals("MultiProposal", cls_prob, bbox_pred, im_info, rpn_pre_nms_top_n, rpn_post_nms_top_n, threshold,
                   rpn_min_size, scales, ratios, feature_stride, iou_loss)  # fmt: skip
    return list(y) if output_score else y[0]


@operator("cls_prob, bbox_pred, im_info", name="_contrib_Proposal", outputs="output, score? if output_score")
def proposal(
    cls_prob, bbox_pred, im_info, rpn_pre_nms_top_n=6000, rpn_post_nms_top_n=300, threshold=0.7, rpn_min_size=16,
    scales=(4.0, 8.0, 16.0, 32.0), ratios=(0.5, 1.0, 2.0), feature_stride=16, output_score=False, iou_loss=False,
):  # fmt: skip
    """MultiProposal of one image. MXNetError for several.

    Args:
        threshold: the overlap from which the box of the lower score is left out.

    Returns:
        Regions: 0 and four corners, shape (rpn_post_nms_top_n, 5); with `output_score` a list of them and their
        scores.

    Example:
        >>> scores, changes = nd.ones((1, 2, 2, 2)), nd.zeros((1, 4, 2, 2))
        >>> options = {"scales": (1.0,), "ratios": (1.0,), "rpn_post_nms_top_n": 2, "rpn_min_size": 1}
        >>> nd.contrib.Proposal(scores, changes, nd.array([[32, 32, 1]]), **options).shape
        (2, 5)
    """
    if cls_prob.shape[0] != 1:
        raise MXNetError(f"Proposal: takes one image, got {cls_prob.shape[0]}; MultiProposal takes several")
    y = _proposals("Proposal", cls_prob, bbox_pred, im_info, rpn_pre_nms_top_n, rpn_post_nms_top_n, threshold,
                   rpn_min_size, scales, ratios, feature_stride, iou_loss)  # fmt: skip
    return list(y) if output_score else y[0]


# ---- pooling of regions ----------------------------------------------------------------------------------------------
@operator("data, rois", name="_contrib_RROIAlign")
def rroi_align(data, rois, pooled_size=None, spatial_scale=None, sampling_ratio=-1):
    """Means of pooled_size (height, width) bins of rotated regions: (regions, channels, *pooled_size).

    rois: (regions, 6), each the number of an image, the center x and y, width and height, times `spatial_scale`, and
    an angle in degrees. Each bin is the mean of sampling_ratio ** 2 bilinear samples, or of about one for each pixel
    where sampling_ratio is not positive. Regions get no gradient.

    Args:
        data: floating point, shape (batch, channels, height, width).
        rois: regions: the number of the image, the middle (x, y), width, height, and the angle in degrees; shape (N,
            6).

    Example:
        >>> x = nd.arange(16).reshape((1, 1, 4, 4))
        >>> nd.contrib.RROIAlign(x, nd.array([[0, 2, 2, 2, 2, 0]]), pooled_size=(1, 1), spatial_scale=1.0).shape
        (1, 1, 1, 1)
    """
    name = "RROIAlign"
    require_ndim(name, "data", data, 4)
    require_shape(name, "rois", rois.shape, (rois.shape[0], 6))
    high, wide = pair(name, "pooled_size", pooled_size)
    scale = required(name, "spatial_scale", spatial_scale)
    height, width = data.shape[2:]
    flat = op.transpose(op.reshape(data, shape=(*data.shape[:2], height * width)), axes=(0, 2, 1))
    found = []
    for image, cx, cy, w, h, angle in rois.tensor.detach().double().tolist():
        if not 0 <= int(image) < data.shape[0]:
            raise MXNetError(f"{name}: there is no image {int(image)} among {data.shape[0]}")
        w, h = max(w * scale, 1.0), max(h * scale, 1.0)
        down, right = (sampling_ratio if sampling_ratio > 0 else math.ceil(n / m) for n, m in ((h, high), (w, wide)))
        ys, xs = ((torch.arange(n * m, dtype=torch.float64) + 0.5) * size / (n * m) - size / 2
                  for n, m, size in ((high, down, h), (wide, right, w)))  # fmt: skip
        yy, xx = torch.meshgrid(ys, xs, indexing="ij")
        turn = math.radians(angle)
        x = xx * math.cos(turn) + yy * math.sin(turn) + cx * scale
        y = yy * math.cos(turn) - xx * math.sin(turn) + cy * scale
        inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
        x, y = x.clamp(0, width - 1), y.clamp(0, height - 1)
        parts = []
        for dy, dx in itertools.product((0, 1), repeat=2):
            share = (y - y.floor() if dy else 1 - y + y.floor()) * (x - x.floor() if dx else 1 - x + x.floor())
            place = (y.floor() + dy).clamp(max=height - 1) * width + (x.floor() + dx).clamp(max=width - 1)
            weight = NDArray((share * inside)[..., None].to(data.tensor))
            parts.append(op.mul(op.get_item(flat, index=(int(image), place.long().to(data.tensor.device))), weight))
        bins = op.reshape(op.add_n(parts), shape=(high, down, wide, right, data.shape[1]))
        found.append(op.transpose(op.mean(bins, axis=(1, 3)), axes=(2, 0, 1)))
    return op.stack(found, axis=0)


@operator("data, rois, trans?", name="_contrib_DeformablePSROIPooling", outputs="output, kept?")
def deformable_psroi_pooling(
    data, rois, trans=None, spatial_scale=None, output_dim=None, group_size=None, pooled_size=None, part_size=0,
    sample_per_part=1, trans_std=0.0, no_trans=False,
):  # fmt: skip
    """Means of bins of regions, each of which reads its own channels and is moved by an offset (Dai et al. 2017).

    data: (images, output_dim * group_size ** 2, height, width); rois: (regions, 5), each the number of an image, x1,
    y1, x2, y2, times `spatial_scale`; trans: (regions, 2 * classes, part_size, part_size), offsets along x then y, as
    shares of a region's size times `trans_std`, none with `no_trans`. Gives (regions, output_dim, pooled_size,
    pooled_size); each bin is the mean of those of its sample_per_part ** 2 samples that lie in the image. Gradients are
    computed by data and trans.

    Args:
        data: floating point, shape (batch, output_dim * group_size * group_size, height, width).

    Example:
        >>> x, rois = nd.ones((1, 1, 4, 4)), nd.array([[0, 0, 0, 3, 3]])
        >>> options = {"spatial_scale": 1.0, "output_dim": 1, "group_size": 1, "pooled_size": 2, "no_trans": True}
        >>> nd.contrib.DeformablePSROIPooling(x, rois, **options).asnumpy()
        array([[[[1., 1.],
                 [1., 1.]]]], dtype=float32)
    """
    name = "DeformablePSROIPooling"
    require_ndim(name, "data", data, 4)
    require_shape(name, "rois", rois.shape, (rois.shape[0], 5))
    for argument, value in (("spatial_scale", spatial_scale), ("output_dim", output_dim), ("group_size", group_size),
                            ("pooled_size", pooled_size)):  # fmt: skip
        required(name, argument, value)
    require_shape(name, "data", data.shape[1:2], (output_dim * group_size**2,))
    moves = not no_trans and trans is not None
    parts = part_size or pooled_size
    kinds = trans.shape[1] // 2 if moves else 1
    if moves:
        require_shape(name, "trans", trans.shape, (rois.shape[0], 2 * kinds, parts, parts))
    (height, width), n, device = data.shape[2:], rois.shape[0], data.tensor.device
    t = rois.tensor.detach().to(data.tensor.dtype)
    image = as_index(rois)[:, 0]
    # rounds halves away from zero, like C
    corners = torch.sign(t[:, 1:]) * torch.floor(t[:, 1:].abs() + 0.5)
    start = corners[:, :2] * spatial_scale - 0.5
    size = ((corners[:, 2:] + 1) * spatial_scale - 0.5 - start).clamp(min=0.1)  # (regions, 2): x, y
    bins = torch.arange(pooled_size, device=device)
    part = bins * parts // pooled_size
    group = (bins * group_size // pooled_size).clamp(0, group_size - 1)
    samples = torch.arange(sample_per_part, device=device).to(t)
    kind = torch.arange(output_dim, device=device) // max(output_dim // kinds, 1)
    places = []
    for axis, along in ((0, 5), (1, 4)):  # x runs along the last axis of bins, y along the one before
        shape = [1] * 6  # regions, channels, rows and columns of samples, rows and columns of bins
        shape[0] = n
        own = list(shape)
        own[along], own[along - 2] = pooled_size, sample_per_part
        step = size[:, axis] / pooled_size
        grid = bins[None] * step[:, None] + start[:, axis, None]  # (regions, bins)
        fine = grid[:, None] + (samples[:, None] * (step / sample_per_part)[:, None, None])
        place = NDArray(fine.reshape(own))
        if moves:
            table = op.get_item(trans, index=(slice(None), slice(axis, None, 2)))
            shift = op.get_item(table, index=(slice(None), kind[:, None, None], part[:, None], part))
            shift = op.reshape(shift, shape=(n, output_dim, 1, 1, pooled_size, pooled_size))
            place = op.add(place, op.mul(shift, NDArray((size[:, axis] * trans_std).reshape(shape))))
        places.append(place)
    whole = (n, output_dim, sample_per_part, sample_per_part, pooled_size, pooled_size)
    x, y = (op.broadcast_to(p, shape=whole) for p in places)
    inside = ((x.tensor >= -0.5) & (x.tensor <= width - 0.5) & (y.tensor >= -0.5) & (y.tensor <= height - 0.5)).to(t)
    x, y = op.clip(x, min=0.0, max=width - 1.0), op.clip(y, min=0.0, max=height - 1.0)
    first = torch.arange(output_dim, device=device)[:, None, None] * group_size
    channel = (first + group[:, None]) * group_size + group
    index = (image.reshape(n, 1, 1, 1, 1, 1), channel.reshape(1, output_dim, 1, 1, pooled_size, pooled_size))
    left, top = (p.tensor.detach().floor() for p in (x, y))
    found = []
    for dy, dx in itertools.product((0, 1), repeat=2):
        weight = op.mul(op.add_scalar(op.sub(y, NDArray(top)) * (2 * dy - 1), value=1 - dy),
                        op.add_scalar(op.sub(x, NDArray(left)) * (2 * dx - 1), value=1 - dx))  # fmt: skip
        row, column = ((v + d).clamp(max=m - 1).long() for v, d, m in ((top, dy, height), (left, dx, width)))
        found.append(op.mul(op.get_item(data, index=(*index, row, column)), op.mul(weight, NDArray(inside))))
    total = op.sum(op.add_n(found), axis=(2, 3))
    return op.div(total, NDArray(inside.sum((2, 3)).clamp(min=1)))


__all__ = public_names(globals())
