"""Rarely used operators: values of MXNet 1.9.1 (tests/golden/mxnet_contrib.py), derivatives, symbols."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import MXNetError, autograd, nd
from tests.golden import mxnet_contrib
from tests.golden.mxnet_contrib import CASES, GOLDEN
from tests.mxnet.operator_checks import A, check_gradients


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as file:
        return dict(file)


@pytest.mark.parametrize("k", range(len(CASES)), ids=lambda k: f"{k}-{CASES[k][0]}")
def test_like_mxnet(k, golden):
    ys, grads, _ = mxnet_contrib.run(mx, *CASES[k])
    assert len(ys) == sum(key.startswith(f"{k}_y") for key in golden)
    for j, y in enumerate(ys):
        np.testing.assert_allclose(y, golden[f"{k}_y{j}"], rtol=3e-5, atol=3e-5, strict=True)
    for i, g in enumerate(grads):
        if g is not None:
            np.testing.assert_allclose(g, golden[f"{k}_g{i}"], rtol=1e-4, atol=1e-4, strict=True)


TURNED = np.array([[0, 2.0, 2.0, 3.0, 2.0, 30.0], [1, 1.0, 2.0, 2.0, 3.0, -75.0]])


def hawkes(*inputs):
    lags = nd.array(A(2, 3, low=0, high=1), dtype="float64")
    marks, lengths = nd.array([[0, 1, 0], [1, 1, 0]], dtype="int32"), nd.array([3, 1])
    return nd.contrib.hawkesll(*inputs, lags, marks, lengths, nd.array([4, 5], dtype="float64"))


def sketch(x):
    return nd.contrib.count_sketch(x, nd.array([[0, 2, 0, 1]]), nd.array([[1, -1, -1, 1]]), out_dim=3)


def turned(x):
    return nd.contrib.RROIAlign(x, nd.array(TURNED), pooled_size=(2, 2), spatial_scale=1.0, sampling_ratio=2)


def moved(x, trans):
    boxes = nd.array([[0, 0, 0, 2, 2]])
    return nd.contrib.DeformablePSROIPooling(
        x, boxes, trans, spatial_scale=1.0, output_dim=1, group_size=2, pooled_size=2, part_size=2, sample_per_part=2,
        trans_std=0.1,
    )  # fmt: skip


def compared(x, y):
    return nd.Correlation(x, y, kernel_size=3, max_displacement=1, pad_size=1)


def distances(x, y):
    return nd.Correlation(x, y, is_multiply=False, stride1=2)


KINDS = A(2, low=0.1, high=0.5), A(2, low=0.5, high=2)
DIFFERENTIABLE = [
    (hawkes, A(2, 2, low=0.5, high=2), *KINDS, A(2, 2, low=0.2, high=1)),
    (compared, A(1, 2, 3, 4), A(1, 2, 3, 4, seed=1)),
    (distances, A(1, 2, 4, 4), A(1, 2, 4, 4, seed=2)),
    (nd.contrib.fft, A(2, 4)),
    (nd.contrib.ifft, A(2, 6)),
    (sketch, A(2, 4)),
    (turned, A(2, 2, 3, 4)),
    (moved, A(1, 4, 3, 3), A(1, 2, 2, 2)),
]


@pytest.mark.parametrize("k", range(len(DIFFERENTIABLE)), ids=lambda k: DIFFERENTIABLE[k][0].__name__)
def test_derivatives(k):
    check_gradients(*DIFFERENTIABLE[k])


def test_transforms():
    x = np.random.default_rng(0).standard_normal((3, 8)).astype("float32")
    y = nd.contrib.fft(nd.array(x))
    whole = np.fft.fft(x)
    np.testing.assert_allclose(y.asnumpy(), np.stack([whole.real, whole.imag], -1).reshape(3, 16), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(nd.contrib.ifft(y).asnumpy() / 8, x, rtol=1e-5, atol=1e-6)
    sketch = nd.contrib.count_sketch(nd.array(x[:, :3]), nd.array([1, 1, 0]), nd.array([1, -1, 1]), out_dim=2)
    np.testing.assert_allclose(sketch.asnumpy(), np.stack([x[:, 2], x[:, 0] - x[:, 1]], 1), rtol=1e-6)
    with pytest.raises(MXNetError, match="h must be from 0 to 1"):
        nd.contrib.count_sketch(nd.array(x), nd.arange(8), nd.ones(8), out_dim=2)


def test_deformable_pooling_without_offsets():
    """A bin with one sample in the centre of a pixel gives that pixel, from the bin's own channels."""
    x = nd.array(np.arange(4.0 * 16).reshape(1, 4, 4, 4))
    y = nd.contrib.DeformablePSROIPooling(x, nd.array([[0, 0, 0, 3, 3]]), spatial_scale=1.0, output_dim=1, group_size=2,
                                          pooled_size=2, no_trans=True)  # fmt: skip
    # bins begin at -0.5 (clipped to 0) and at 1.5
    assert y.asnumpy().tolist() == [[[[0.0, 16 + 1.5], [32 + 6.0, 48 + 7.5]]]]


def csr(values, indices, indptr, shape):
    return nd.sparse.csr_matrix((np.array(values, "float32"), indices, indptr), shape=shape)


def test_graphs():
    graph = csr([7, 8, 0, 9], [1, 2, 0, 2], [0, 2, 3, 4], (3, 3))
    assert nd.contrib.getnnz(graph).asnumpy().tolist() == [4]
    assert nd.contrib.getnnz(graph, axis=1).asnumpy().tolist() == [2, 1, 1]
    assert nd.contrib.edge_id(graph, nd.array([0, 1, 1]), nd.array([2, 0, 1])).asnumpy().tolist() == [8, 0, -1]
    ones = nd.contrib.dgl_adjacency(graph)
    assert ones.data.asnumpy().tolist() == [1, 1, 1, 1] and ones.indices.asnumpy().tolist() == [1, 2, 0, 2]
    part, kept = nd.contrib.dgl_subgraph(graph, nd.array([0, 2], dtype="int64"), return_mapping=True)
    assert part.indptr.asnumpy().tolist() == [0, 1, 2] and part.data.asnumpy().tolist() == [0, 1]
    assert kept.asnumpy().tolist() == [[0, 8], [0, 9]]
    ids, edges, layers = nd.contrib.dgl_csr_neighbor_uniform_sample(
        graph, nd.array([0], dtype="int64"), num_hops=1, num_neighbor=5, max_num_vertices=4
    )
    assert ids.asnumpy().tolist() == [0, 1, 2, 0, 3] and layers.asnumpy().tolist() == [0, 1, 1, -1]
    whole = nd.contrib.dgl_graph_compact(edges, ids, graph_sizes=3, return_mapping=True)
    assert whole[1].asnumpy().tolist() == [[0, 7, 8], [0, 0, 0], [0, 0, 0]]
    with pytest.raises(MXNetError, match="expected a CSRNDArray"):
        nd.contrib.getnnz(nd.ones((2, 2)))
    with pytest.raises(MXNetError, match="fewer than 1 neighbours of positive"):
        nd.contrib.dgl_csr_neighbor_non_uniform_sample(
            graph, nd.zeros(3), nd.array([0], dtype="int64"), num_neighbor=1, max_num_vertices=4
        )


def test_first_names_of_operators():
    x, internal = nd.array([1.0, 2.0]), nd._internal
    assert internal._Plus(x, x).asnumpy().tolist() == [2, 4] and internal._RDivScalar(x, scalar=2).asnumpy()[1] == 1
    assert internal._Greater_Equal(x, x).asnumpy().tolist() == [1, 1]
    assert internal._PlusScalar(x, scalar=1).asnumpy().tolist() == [2, 3]
    with pytest.raises(AttributeError, match="_NoSuch"):
        internal._NoSuch  # noqa: B018


def test_distinct_zipfian_samples():
    drawn, tries = nd._internal._sample_unique_zipfian(50, shape=(3, 40))
    assert drawn.dtype == tries.dtype == np.int64 and tries.shape == (3,)
    for row, n in zip(drawn.asnumpy(), tries.asnumpy(), strict=True):
        assert len(set(row)) == 40 and 0 <= row.min() and row.max() < 50 and n >= 40
    with pytest.raises(MXNetError, match="at most 4 samples"):
        nd._internal._sample_unique_zipfian(4, shape=(1, 5))


def test_in_graphs():
    """Symbols of these operators have MXNet's inputs and outputs, and the values of the arrays' operators."""
    s = mx.sym.Correlation(mx.sym.var("a"), mx.sym.var("b"), kernel_size=1, max_displacement=1, pad_size=1, name="c")
    assert s.list_arguments() == ["a", "b"] and s.list_outputs() == ["c_output"]
    assert s.infer_shape(a=(1, 2, 4, 4), b=(1, 2, 4, 4))[1] == [(1, 9, 4, 4)]
    again = mx.sym.load_json(s.tojson())
    x = nd.random.uniform(shape=(1, 2, 4, 4))
    (y,) = again.eval_imperative({"a": x, "b": x})
    np.testing.assert_array_equal(y.asnumpy(), nd.Correlation(x, x, pad_size=1).asnumpy())
    assert mx.sym.contrib.hawkesll(name="h").list_arguments()[-2:] == ["h_valid_length", "h_max_time"]
    assert len(mx.sym.contrib.Proposal(output_score=True)) == 2
    assert mx.sym.random_pdf_normal(name="p").list_arguments() == ["p_sample", "p_mu", "p_sigma"]


def test_errors():
    x = nd.ones((1, 2, 4, 4))
    with pytest.raises(MXNetError, match="kernel_size must be an odd number"):
        nd.Correlation(x, x, kernel_size=2)
    with pytest.raises(MXNetError, match="smaller than a border"):
        nd.Correlation(x, x, max_displacement=3)
    with pytest.raises(MXNetError, match="does not fit parameters"):
        nd.random_pdf_normal(nd.ones((3, 2)), nd.ones(2), nd.ones(2))
    with pytest.raises(MXNetError, match="takes one image"):
        nd.contrib.Proposal(nd.ones((2, 2, 1, 1)), nd.ones((2, 4, 1, 1)), nd.ones((2, 3)))


def test_correlation_where_pixels_are_equal():
    x, y = nd.array([[[[1.0, 2.0]]]]), nd.array([[[[1.0, 3.0]]]])
    x.attach_grad()
    y.attach_grad()
    with autograd.record():
        z = nd.Correlation(x, y, max_displacement=0, is_multiply=False)
    z.backward()
    np.testing.assert_array_equal(z.asnumpy(), [[[[0, 1]]]])
    np.testing.assert_array_equal(x.grad.asnumpy(), [[[[1, -1]]]])
    np.testing.assert_array_equal(y.grad.asnumpy(), [[[[-1, 1]]]])


def test_allclose_gives_one_number_without_axes():
    y = nd.contrib.allclose(nd.ones(2), nd.ones(2))
    assert y.shape == () and y.asnumpy() == 1 and y.dtype == np.uint8
