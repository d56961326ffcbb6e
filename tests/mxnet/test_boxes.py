"""Operators on boxes at thresholds, with ties and with options that are easy to get wrong, as in MXNet."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, nd

ROWS = [[0, 0.5, -0.1, 0.1, 0.2, 0.2], [1, 0.4, 0.5, 0.5, 0.7, 0.9], [0, 0.9, 0, 0, 0.2, 0.4]]
ANCHORS = [[[0, 0, 1, 1], [0, 0, 0.9, 0.9], [0, 0, 0.8, 0.8], [0.5, 0.5, 1, 1]]]
LABEL = [[[0, 0, 0, 1, 1]]]


def rounded(y):
    return (y.asnumpy().astype("float64").round(3) + 0.0).tolist()


def target(label=LABEL, scores=((0, 0, 0, 0), (0, 0, 0, 0)), anchors=ANCHORS, **args):
    ys = nd.contrib.MultiBoxTarget(nd.array(anchors), nd.array(label), nd.array([scores]), **args)
    return [y.asnumpy() for y in ys]


def test_suppression_gives_everything_with_a_topk_of_0():
    y = nd.contrib.box_nms(nd.array(ROWS), topk=0, out_format="center")
    np.testing.assert_array_equal(y.asnumpy(), np.float32(ROWS))


def test_suppression_converts_no_boxes_with_negative_coordinates():
    y = nd.contrib.box_nms(nd.array(ROWS), out_format="center")
    assert rounded(y) == [[0, 0.9, 0.1, 0.2, 0.2, 0.4], [0, 0.5, -0.1, 0.1, 0.2, 0.2], [1, 0.4, 0.6, 0.7, 0.2, 0.4]]


def test_suppression_truncates_class_numbers():
    rows = np.array([[0.9, 0.5, 0, 0, 1, 1], [0.1, 0.4, 0, 0, 1, 1], [1.1, 0.3, 0, 0, 1, 1]])
    y = nd.contrib.box_nms(nd.array(rows), id_index=0)
    assert rounded(y)[:2] == [[0.9, 0.5, 0, 0, 1, 1], [1.1, 0.3, 0, 0, 1, 1]]


def test_the_gradient_goes_to_the_boxes_that_stay():
    x = nd.array([ROWS, ROWS[::-1]])
    x.attach_grad()
    with autograd.record():
        y = nd.contrib.box_nms(x, overlap_thresh=0.3, valid_thresh=0.45)
    y.backward(nd.array(np.arange(36).reshape(2, 3, 6)))
    assert x.grad.asnumpy()[0].tolist() == [list(range(6, 12)), [0] * 6, list(range(6))]
    assert x.grad.asnumpy()[1].tolist() == [list(range(18, 24)), [0] * 6, list(range(24, 30))]


@pytest.mark.parametrize("args, message", [
    (dict(score_index=3), "score_index 3 is one of the coordinates"), (dict(score_index=-1), "score_index -1"),
    (dict(id_index=4), "id_index 4 is one of the coordinates"), (dict(id_index=1), "both 1"),
    (dict(coord_start=3), "coord_start [+] 3"),
])  # fmt: skip
def test_columns_out_of_range_or_used_twice(args, message):
    with pytest.raises(mx.MXNetError, match=message):
        nd.contrib.box_nms(nd.array(ROWS), **args)


def test_overlap_of_invalid_boxes():
    boxes = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0], [np.nan] * 4]
    assert rounded(nd.contrib.box_iou(nd.array(boxes[:3]), nd.array(boxes))) == [[1, 0, 0, 0], [0] * 4, [0] * 4]
    with pytest.raises(mx.MXNetError, match="rhs"):
        nd.contrib.box_iou(nd.array(boxes), nd.array(boxes[0]))


@pytest.mark.parametrize("ascend", [False, True])
def test_a_score_at_the_threshold_makes_no_pair(ascend):
    rows, columns = nd.contrib.bipartite_matching(
        nd.array([[0.5, 0.25]]), threshold=0.5 - 0.25 * ascend, is_ascend=ascend
    )
    assert rows.asnumpy().tolist() == [-1]
    assert columns.asnumpy().tolist() == [-1, -1]


def test_of_equal_scores_the_first_pair_is_taken():
    rows, columns = nd.contrib.bipartite_matching(nd.ones((1, 2, 2, 3)), threshold=0.5)
    assert rows.asnumpy().tolist() == [[[0, 1], [0, 1]]]
    assert columns.asnumpy().tolist() == [[[0, 1, -1], [0, 1, -1]]]
    _, _, classes = target([[[k, 0, 0, 1, 1] for k in (5, 3)]], anchors=[ANCHORS[0][:1] * 4])
    assert classes.tolist() == [[6, 4, 6, 6]]


def test_decoding_has_no_gradient():
    x = nd.ones((1, 4, 4))
    x.attach_grad()
    with autograd.record():
        y = nd.contrib.box_decode(x, nd.array(ANCHORS)) * 2
    y.backward()
    assert not x.grad.asnumpy().any()


def test_deviations_are_in_single_precision():
    y = nd.contrib.box_decode(nd.ones((1, 1, 4), dtype="float64"), nd.zeros((1, 1, 4), dtype="float64") + 1, std0=0.1)
    assert y.asnumpy()[0, 0, 0] == np.float64(np.float32(0.1)) + 1 - np.exp(1.0) / 2


def test_anchors_take_both_steps_or_none():
    y = nd.contrib.MultiBoxPrior(nd.zeros((1, 1, 1, 2)), sizes=(0.5,), steps=(0, 0.25))
    assert rounded(y) == [[[0.125, 0.25, 0.375, 0.75], [0.625, 0.25, 0.875, 0.75]]]
    for wrong in (dict(steps=(-1, 0.5)), dict(steps=(1,)), dict(offsets=(-1, 0.5))):
        with pytest.raises(mx.MXNetError, match=next(iter(wrong))):
            nd.contrib.MultiBoxPrior(nd.zeros((1, 1, 1, 1)), **wrong)


def test_mining_takes_the_hardest_and_ignores_the_minimum():
    mining = dict(overlap_threshold=0.95, negative_mining_thresh=0.9)
    scores = (0, 3, 1, 2), (0, 0, 0, 0)
    assert target(scores=scores, negative_mining_ratio=2, **mining)[2].tolist() == [[1, -1, 0, 0]]
    # of equally hard samples the first is taken
    assert target(negative_mining_ratio=2, **mining)[2].tolist() == [[1, 0, 0, -1]]
    few = target(negative_mining_ratio=0.1, minimum_negative_samples=2, **mining)
    assert few[2].tolist() == [[1, -1, -1, -1]]


@pytest.mark.parametrize("args, message", [
    (dict(overlap_threshold=0.95, negative_mining_ratio=3), "needs 3 anchors, but only 1"),
    (dict(negative_mining_ratio=3, negative_mining_thresh=0), "must be positive"),
    (dict(variances=(0.1, 0.1, 0.2)), "variances must be 4 numbers"),
    (dict(label=[[[0, 0, 0, 1, 1], [-1, 0, 0, 1, 1]]]), "must be -1 throughout"),
    (dict(label=[[[0, 0, 0, 1]]]), "at least 5"),
])  # fmt: skip
def test_targets_that_cannot_be_made(args, message):
    with pytest.raises(mx.MXNetError, match=message):
        target(**args)


def detected(scores, anchors, **args):
    n = len(anchors)
    given = nd.array([[[0] * n, scores]]), nd.zeros((1, 4 * n)), nd.array([anchors])
    return nd.contrib.MultiBoxDetection(*given, **args).asnumpy()[0, :, :2].round(3).tolist()


def test_detections_that_overlap_by_the_limit_are_gone():
    anchors = [[0, 0, 1, 1], [0, 0, 0.5, 1]]
    assert detected([1, 1], anchors) == [[0, 1], [-1, 1]]
    assert detected([1, 1], anchors, nms_threshold=0.51) == [[0, 1], [0, 1]]


@pytest.mark.parametrize("limit", [0, -1, 1.5])
def test_detections_stay_as_they_are_without_suppression(limit):
    anchors = [[0, 0, 1, 1], [0, 0, 0.5, 1], [0, 0, 0.9, 1]]
    assert detected([0.25, 0, 0.75], anchors, nms_threshold=limit, nms_topk=1) == [[0, 0.25], [0, 0.75], [-1, -1]]


def test_the_background_is_class_0_whatever_is_given():
    assert detected([1], [[0, 0, 1, 1]], background_id=1) == [[0, 1]]


def test_shapes_of_box_operators_are_inferred():
    x, y, z = (mx.sym.var(k) for k in "xyz")
    shapes = dict(x=(2, 3, 5), y=(2, 20), z=(1, 5, 4))
    assert mx.sym.contrib.MultiBoxDetection(x, y, z).infer_shape(**shapes)[1] == [(2, 5, 6)]
    shapes = dict(x=(1, 5, 4), y=(2, 3, 5), z=(2, 4, 5))
    assert mx.sym.contrib.MultiBoxTarget(x, y, z).infer_shape(**shapes)[1] == [(2, 20), (2, 20), (2, 5)]
    assert mx.sym.contrib.box_nms(x).infer_shape(x=(2, 5, 6))[1] == [(2, 5, 6)]
    assert mx.sym.contrib.box_iou(x, y).infer_shape(x=(2, 5, 4), y=(3, 4))[1] == [(2, 5, 3)]
