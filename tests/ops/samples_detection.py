"""Samples of the ops on boxes, against loops that do one thing after another."""

import itertools

import numpy as np
import torch

from tests.ops.harness import Floats as A
from tests.ops.harness import sample

rng = np.random.default_rng(5)
HARD = dict(differentiable=())
SINGLE = dict(dtypes=("float64",), tolerance=1e8)  # the ops compute in single precision


def boxes(*shape, low=0.0, size=0.6):
    corner = low + rng.random((*shape, 2))
    return np.concatenate([corner, corner + 0.05 + size * rng.random((*shape, 2))], -1)


def corners(b):
    return np.concatenate([b[..., :2] - b[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2], -1)


def centers(b):
    return np.concatenate([(b[..., :2] + b[..., 2:]) / 2, b[..., 2:] - b[..., :2]], -1)


def overlap(a, b, edge=0.0):
    w, h = (min(a[k + 2], b[k + 2]) - max(a[k], b[k]) + edge for k in (0, 1))
    area = sum((c[2] - c[0] + edge) * (c[3] - c[1] + edge) for c in (a, b))
    return w * h / (area - w * h) if min(w, h) > 0 else 0.0


def overlaps(lhs, rhs, centered=False):
    lhs, rhs = (corners(v) if centered else v for v in (lhs, rhs))
    y = [overlap(a, b) for a in lhs.reshape(-1, 4) for b in rhs.reshape(-1, 4)]
    return np.reshape(y, lhs.shape[:-1] + rhs.shape[:-1])


def stay(rows, covers, most=None):
    kept = []
    for row in rows:
        if len(kept) != most and not any(covers(better, row) for better in kept):
            kept.append(row)
    return kept


def suppressed(b, classes=None, threshold=0.5):
    kind = np.zeros(len(b)) if classes is None else classes
    kept = stay(range(len(b)), lambda i, j: kind[i] == kind[j] and overlap(b[i], b[j]) > threshold)
    return np.isin(np.arange(len(b)), kept)


def nms(x, overlap_thresh=0.5, valid_thresh=0.0, topk=-1, coord_start=2, score_index=1, id_index=-1, background_id=-1,
        force_suppress=False, centered_in=False, centered_out=False):  # fmt: skip
    if topk == 0:
        return x
    y = np.full_like(x, -1)
    place = slice(coord_start, coord_start + 4)
    for b, image in enumerate(x):
        rows = sorted((r for r in image if r[score_index] > valid_thresh), key=lambda r: -r[score_index])
        rows = [r for r in rows if id_index < 0 or r[id_index] != background_id]

        def covers(r, s):
            if id_index >= 0 and not force_suppress and int(r[id_index]) != int(s[id_index]):
                return False
            return overlap(*(corners(v[place]) if centered_in else v[place] for v in (r, s))) > overlap_thresh

        for k, row in enumerate(stay(rows[: None if topk < 0 else topk], covers)):
            y[b, k] = row
            if centered_in != centered_out and row[coord_start] >= 0:
                y[b, k, place] = (centers if centered_out else corners)(row[place])
    return y


def matched(x, threshold, smallest=False, topk=-1):
    rows, columns = np.full(x.shape[:2], -1.0), np.full((len(x), x.shape[2]), -1.0)
    for scores, row, column in zip(x, rows, columns, strict=True):
        pairs = sorted(np.ndindex(*scores.shape), key=lambda p: scores[p] if smallest else -scores[p])
        for count, (i, j) in enumerate(stay(pairs, lambda p, q: p[0] == q[0] or p[1] == q[1])):
            good = scores[i, j] < threshold if smallest else scores[i, j] > threshold
            if good and not 0 < topk < count:
                row[i], column[j] = j, i
    return [rows, columns]


def encoded(samples, matches, anchors, refs, means=None, stds=None):
    found = centers(np.stack([r[m.astype(int).clip(0, len(r) - 1)] for r, m in zip(refs, matches, strict=True)]))
    a = centers(anchors)
    y = np.concatenate([(found[..., :2] - a[..., :2]) / a[..., 2:], np.log(found[..., 2:] / a[..., 2:])], -1)
    mask = np.broadcast_to(samples[..., None] > 0.5, y.shape)
    y = (y - (0 if means is None else means)) / (1 if stds is None else stds)
    return [np.where(mask, y, 0), mask.astype("float64")]


def decoded(x, anchors, std0=1.0, std1=1.0, std2=1.0, std3=1.0, clip=-1.0, centered=True):
    a = anchors if centered else centers(anchors)
    moves = x * [std0, std1, std2, std3]
    logs = np.minimum(moves[..., 2:], clip) if clip > 0 else moves[..., 2:]
    return corners(np.concatenate([moves[..., :2] * a[..., 2:] + a[..., :2], np.exp(logs) * a[..., 2:]], -1))


def priors(x, sizes, ratios, clip=False, step_y=-1.0, step_x=-1.0, offset_y=0.5, offset_x=0.5):
    height, width = x.shape[2:]
    if min(step_y, step_x) <= 0:
        step_y, step_x = 1 / height, 1 / width
    shapes = [(s, ratios[0]) for s in sizes.tolist()] + [(sizes[0], r) for r in ratios[1:].tolist()]
    found = []
    for i, j, (size, ratio) in itertools.product(range(height), range(width), shapes):
        wide, high = size * height / width * ratio**0.5, size / ratio**0.5
        found.append([(j + offset_x) * step_x, (i + offset_y) * step_y, wide, high])
    y = corners(np.array(found)[None])
    return y.clip(0, 1) if clip else y


def targets(anchor, label, cls_pred, variances, overlap_threshold=0.5, ignore_label=-1.0, mining_ratio=-1.0,
            mining_threshold=0.5):  # fmt: skip
    places, masks = (np.zeros((len(label), anchor.shape[1], 4)) for _ in range(2))
    classes = np.full((len(label), anchor.shape[1]), ignore_label)
    for b, (rows, scores) in enumerate(zip(label, cls_pred, strict=True)):
        rows = list(itertools.takewhile(lambda r: r[0] != -1, rows))
        if not rows:
            continue
        table = overlaps(anchor[0], np.array(rows)[:, 1:5])
        box = matched(table[None], 1e-6)[0][0].astype(int)
        if overlap_threshold > 0:
            box = np.where((box < 0) & (table.max(1) > overlap_threshold), table.argmax(1), box)
        negative = np.flatnonzero((box < 0) & ((mining_ratio <= 0) | (table.max(1) < mining_threshold)))
        if mining_ratio > 0:
            ease = (np.exp(scores) / np.exp(scores).sum(0))[0]
            wanted = min(int((box >= 0).sum() * mining_ratio), (box < 0).sum())
            negative = sorted(negative, key=lambda j: ease[j])[:wanted]
        classes[b][negative] = 0
        for j in np.flatnonzero(box >= 0):
            row = rows[box[j]]
            classes[b, j] = row[0] + 1
            one = encoded(np.ones((1, 1)), np.zeros((1, 1)), anchor[:, j : j + 1], row[None, None, 1:5])
            places[b, j], masks[b, j] = one[0][0, 0] / np.array(variances.tolist()), 1
    return [places.reshape(len(label), -1), masks.reshape(len(label), -1), classes]


def detections(cls_prob, loc_pred, anchor, variances, clip=True, threshold=0.01, nms_threshold=0.5,
               force_suppress=False, topk=-1):  # fmt: skip
    moves = loc_pred.reshape(len(cls_prob), -1, 4) * np.array(variances.tolist())
    places = decoded(moves, anchor, centered=False)
    places = places.clip(0, 1) if clip else places
    y = np.full((*places.shape[:2], 6), -1.0)
    for b, scores in enumerate(cls_prob[:, 1:]):
        rows = [np.array([scores[:, i].argmax(), scores[:, i].max(), *places[b, i]]) for i in range(scores.shape[1])]
        rows = [r for r in rows if r[1] >= threshold]
        y[b, : len(rows)] = np.reshape(rows, (-1, 6))
        if not 0 < nms_threshold <= 1:
            continue
        best = sorted(rows, key=lambda r: -r[1])[: topk if topk > 0 else None]
        y[b, : len(rows), 0] = -1
        y[b, : len(best), 1:] = np.reshape(best, (-1, 6))[:, 1:]

        def covers(i, j, best=best):
            same = force_suppress or best[i][0] == best[j][0]
            return same and overlap(best[i][2:], best[j][2:]) >= nms_threshold

        for k in stay(range(len(best)), covers):
            y[b, k, 0] = best[k][0]
    return y


def proposals(cls_prob, bbox_pred, im_info, scales, ratios, before=6000, after=300, stride=16, threshold=0.7,
              min_size=16.0, iou_loss=False):  # fmt: skip
    kinds, (height, width) = len(scales) * len(ratios), cls_prob.shape[2:]
    regions, points = [], []
    for image, (scores, deltas, (tall, wide, scale)) in enumerate(zip(cls_prob, bbox_pred, im_info, strict=True)):
        found = []
        for i, j, kind in itertools.product(range(height), range(width), range(kinds)):
            ratio, size = ratios[kind // len(scales)].item(), scales[kind % len(scales)].item()
            w = np.floor(np.sqrt(np.floor(stride * stride / ratio)) + 0.5)
            w, h = w * size, np.floor(w * ratio + 0.5) * size
            x, y = ((stride - 1) / 2 + stride * v for v in (j, i))
            d = deltas[4 * kind : 4 * kind + 4, i, j]
            b = np.array([x - (w - 1) / 2, y - (h - 1) / 2, x + (w - 1) / 2, y + (h - 1) / 2])
            if iou_loss:
                b = b + d
            else:
                x, y, w, h = x + d[0] * w, y + d[1] * h, w * np.exp(d[2]), h * np.exp(d[3])
                b = np.array([x - (w - 1) / 2, y - (h - 1) / 2, x + (w - 1) / 2, y + (h - 1) / 2])
            b = np.maximum(np.minimum(b, [wide - 1, tall - 1] * 2), 0)
            out = i >= int(tall / stride) or j >= int(wide / stride)
            score = -1.0 if out else scores[kinds + kind, i, j]
            least = min_size * scale
            if min(b[2:] - b[:2]) + 1 < least:
                b, score = b + np.array([-1, -1, 1, 1]) * least / 2, -1.0
            found.append((score, b))
        found = sorted(found, key=lambda f: -f[0])[: before if before > 0 else None]
        kept = stay(found, lambda f, g: overlap(f[1], g[1], 1.0) > threshold, after)
        for k in range(after):
            score, b = kept[k % len(kept)]
            regions.append([image, *b])
            points.append([score])
    return [np.array(regions), np.array(points)]


def overlapping():
    for lhs, rhs in (((3,), (5,)), ((2, 3), (17,)), ((0,), (2,))):
        for centered in (False, True):
            yield sample("box_iou", overlaps, boxes(*lhs), boxes(*rhs), centered=centered)
    square = A(2, 9, 4, low=0.0, high=1.0)
    yield sample("box_iou", overlaps, square, A(3, 4, low=0.0, high=2.0), centered=True, **HARD, tolerance=4)
    fixed = np.array([[0, 0, 2, 2], [0, 0, 2, 1.9], [1.5, 1.5, 3, 3], [0.1, 0, 2, 2], [5, 5, 6, 6]])
    for classes in (None, np.array([0, 1, 1, 0, 0])):
        yield sample("box_suppression", suppressed, fixed, classes, threshold=0.5)
    yield sample("box_suppression", suppressed, boxes(60), threshold=0.25)


def suppressing():
    x = A(2, 12, 6, low=0.1, high=2.9)
    for params in [
        {},
        dict(overlap_thresh=0.1, id_index=0, topk=6, valid_thresh=0.7),
        dict(overlap_thresh=0.05, id_index=5, coord_start=1, score_index=0, centered_in=True, force_suppress=True),
        dict(overlap_thresh=0.2, centered_out=True),
        dict(overlap_thresh=0.05, centered_in=True),
        dict(topk=0, centered_in=True),
    ]:
        yield sample("box_nms", nms, x, **params)
    y = np.concatenate([rng.integers(-1, 2, (2, 40, 1)), rng.random((2, 40, 1)), boxes(2, 40, low=-0.3)], -1)
    yield sample("box_nms", nms, y, id_index=0, background_id=0, overlap_thresh=0.2, centered_out=True)


def matching():
    ties = np.round(rng.random((2, 4, 5)) * 3) / 3
    for params in [dict(threshold=0.3), dict(threshold=0.7, smallest=True), dict(threshold=0.0, topk=2)]:
        yield sample("bipartite_matching", matched, rng.random((2, 5, 4)), **params)
        yield sample("bipartite_matching", matched, ties, **params)


def training():
    kinds, places = np.array([[1.0, -1, 0, 1]]), np.array([[0.0, 1, 2, 2]])
    inputs = kinds, places, boxes(1, 4), boxes(1, 3)
    yield sample("box_encode", encoded, *inputs)
    yield sample("box_encode", encoded, *inputs, np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.1, 0.1, 0.2, 0.2]))
    stds = dict(std0=0.5, std1=0.25, std2=0.125, std3=0.75)  # exact: the op takes them in single precision
    for params in ({}, dict(stds, centered=False), dict(clip=0.25)):
        yield sample("box_decode", decoded, A(2, 5, 4), boxes(1, 5), **params, **HARD)
    halves, few = torch.tensor([0.5, 0.25]), torch.tensor([4.0, 1.0, 0.25])
    x = np.zeros((1, 2, 2, 4))
    for params in ({}, dict(clip=True), dict(step_y=0.25, step_x=0.5, offset_y=0.25, offset_x=1.0)):
        yield sample("multibox_prior", priors, x, sizes=halves, ratios=few, **params)
    anchors = boxes(1, 30)
    label = np.concatenate([rng.integers(0, 3, (3, 4, 1)), boxes(3, 4)], -1)
    label[1, 2:], label[2] = -1, -1
    near = torch.tensor([0.5, 0.25, 0.125, 0.5])
    for params in [
        {},
        dict(overlap_threshold=0.25, ignore_label=7.0, mining_ratio=1.5, mining_threshold=0.75),
        dict(overlap_threshold=-1.0, mining_ratio=100.0, mining_threshold=2.0),
    ]:
        given = [np.float32(v).astype("float64") for v in (anchors, label, rng.random((3, 3, 30)))]
        yield sample("multibox_target", targets, *given, variances=near, **params, **SINGLE)


def finding():
    probabilities, anchors = rng.dirichlet((1, 1, 1, 1), (2, 25)).transpose(0, 2, 1), boxes(1, 25)
    near = torch.tensor([0.5, 0.25, 0.125, 0.5])
    for params in [
        {},
        dict(threshold=0.25, nms_threshold=0.125, clip=False),
        dict(force_suppress=True, nms_threshold=0.25, topk=9),
        dict(nms_threshold=0.0),
    ]:
        moves = rng.standard_normal((2, 100))
        yield sample("multibox_detection", detections, probabilities, moves, anchors, variances=near, **params)
    info = np.array([[47.0, 64.0, 1.0], [32.0, 47.0, 0.5]])
    sides = dict(scales=torch.tensor([1.0, 2.0]), ratios=torch.tensor([0.5, 1.0, 2.0]))
    for params in [
        dict(after=20),
        dict(before=30, after=12, stride=16, threshold=0.25, min_size=20.0),
        dict(after=7, iou_loss=True),
    ]:
        scores, deltas = rng.random((2, 12, 3, 4)), rng.standard_normal((2, 24, 3, 4)) / 4
        yield sample("region_proposals", proposals, scores, deltas, info, **sides, **params, **SINGLE)


SAMPLES = [s for family in (overlapping, suppressing, matching, training, finding) for line in family() for s in line]
