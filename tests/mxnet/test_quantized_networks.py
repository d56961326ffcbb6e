"""Networks that `mx.contrib.quantization` quantizes: results and ranges of MXNet 1.9.1, and wrong arguments."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import MXNetError, gluon, nd

Q = mx.contrib.quantization


def mlp():
    y = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="a")
    return mx.sym.FullyConnected(mx.sym.Activation(y, act_type="relu", name="r"), num_hidden=2, name="b")


def arrays():
    r = np.random.RandomState(7)
    x = r.uniform(-1, 1, (4, 3)).astype("float32")
    shapes = {"a_weight": (4, 3), "a_bias": 4, "b_weight": (2, 4), "b_bias": 2}
    return x, {name: nd.array(r.normal(0, 0.5, shape)) for name, shape in shapes.items()}


def batches(x):
    return mx.io.NDArrayIter(x, batch_size=len(x))


def results(qsym, args, x):
    return qsym.bind(mx.cpu(), {**args, "data": nd.array(x)}, grad_req="null").forward()[0].asnumpy()


def calibrated(qsym):
    """Name -> range of the nodes that have one."""
    ends = {n.name: [n.params.get(k) for k in ("min_calib_range", "max_calib_range")] for n in qsym._nodes() if n.op}
    return {name: tuple(map(float, pair)) for name, pair in ends.items() if None not in pair}


@pytest.mark.parametrize("mode", ["none", "naive", "entropy"])
def test_dense_networks_give_the_originals_numbers(mode):
    x, args = arrays()
    qsym, qargs, _ = Q.quantize_model(mlp(), args, {}, calib_mode=mode, calib_data=batches(x[:2]))
    found = results(mx.sym.load_json(qsym.tojson()), qargs, x * 1.5)
    own = [-2.605569839477539, 0.535072386264801, -1.6517452001571655, -0.20937615633010864,
           -2.9545302391052246, 0.5816004276275635, -1.3027849197387695, -0.27916818857192993]  # fmt: skip
    given = [-2.5197789669036865, 0.48104873299598694, -1.7409381866455078, -0.13744249939918518,
             -2.9091994762420654, 0.5497699975967407, -1.2827966213226318, -0.29779207706451416]  # fmt: skip
    np.testing.assert_allclose(found.ravel(), own if mode == "none" else given, rtol=1e-6)
    # the results of layers keep the range of each batch
    assert list(calibrated(qsym)) == ([] if mode == "none" else ["data_quantize"])


def cnn():
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            gluon.nn.Conv2D(4, 3, in_channels=2),
            gluon.nn.Activation("relu"),
            gluon.nn.Conv2D(4, 3, in_channels=4),
            gluon.nn.BatchNorm(in_channels=4),
            gluon.nn.Dense(3, in_units=64),
        )
    net.initialize()
    r = np.random.RandomState(1)
    for name, p in net.collect_params().items():
        p.set_data(nd.array(r.uniform(0.5, 1.5, p.shape) if "var" in name else r.normal(0, 0.3, p.shape)))
    return net


def test_blocks_take_the_ranges_of_fused_operators():
    x = np.random.RandomState(0).uniform(-1, 1, (4, 2, 8, 8)).astype("float32")
    net = cnn()
    small = Q.quantize_net_v2(net, calib_mode="naive", calib_data=batches(x))
    relu = net[1](net[0](nd.array(x))).asnumpy()
    norm = net[3](net[2](nd.array(relu))).asnumpy()
    (_, data), *found = calibrated(small._outputs).items()
    assert data == (x.min(), x.max())
    # the convolution before relu has the range of what relu returns, and the layers before a batch normalization and at
    # the end are not calibrated: the former is float32 in the one, the latter's results are the network's
    (name, ends), (last_name, last) = found
    assert name == "requantize_net_conv0_fwd" and ends == (0, pytest.approx(relu.max()))
    assert last_name == "net_batchnorm0_fwd_output_quantize" and last == pytest.approx((norm.min(), norm.max()))
    y, expected = small(nd.array(x)), net(nd.array(x))
    assert (abs(y - expected).max() / abs(expected).max()).asscalar() < 0.02


def test_uint8_is_for_data_without_negative_numbers():
    x = np.random.RandomState(0).uniform(0, 1, (4, 2, 8, 8)).astype("float32")
    net = cnn()
    y, expected = (
        Q.quantize_net_v2(net, "uint8", calib_mode="naive", calib_data=batches(x))(nd.array(x)),
        net(nd.array(x)),
    )
    assert (abs(y - expected).max() / abs(expected).max()).asscalar() < 0.06  # though the network has negative numbers
    with pytest.raises(MXNetError, match="data has numbers down to -1, but quantized_dtype='uint8' has none below 0"):
        Q.quantize_net_v2(net, "uint8", calib_mode="naive", calib_data=batches(-x / x.max()))


@pytest.mark.parametrize("mode", ["none", "naive"])
@pytest.mark.parametrize("name", ["a_weight", "b_weight", "data"])
def test_the_bias_is_added_to_products_that_are_all_0(name, mode):
    """MXNet loses it there: the range of the products has no length."""
    x, args = arrays()
    x *= name != "data"
    args = {k: v * (k != name) for k, v in args.items()}
    qsym, qargs, _ = Q.quantize_model(mlp(), args, {}, calib_mode=mode, calib_data=batches(x))
    np.testing.assert_allclose(results(qsym, qargs, x), results(mlp(), args, x), atol=0.02)


def test_wrong_arguments():
    x, args = arrays()
    options = {"calib_mode": "naive", "calib_data": batches(x)}
    with pytest.raises(ValueError, match=r"data_names: there is no input 'x'; the inputs are \['data', 'a_weight'"):
        Q.quantize_model(mlp(), args, {}, data_names=["x"], **options)
    with pytest.raises(RuntimeError, match="b_bias is not presented: it is neither a parameter nor among data_names"):
        Q._collect(mlp(), {k: v for k, v in args.items() if k != "b_bias"}, batches(x), None, None, ["data"])
    with pytest.raises(ValueError, match="unknown calibration mode foo received"):
        Q.calib_graph(mlp(), args, {}, None, calib_mode="foo")
    net = cnn()
    with pytest.raises(
        ValueError, match=r"data_shapes: expected DataDescs or tuples of ints, got \('data', \(1, 2, 8, 8\)"
    ):
        Q.quantize_net_v2(net, data_shapes=[("data", (1, 2, 8, 8))])
    with pytest.raises(TypeError, match="calib_data is not a valid iterator. 'int' object is not iterable"):
        Q.quantize_net_v2(net, calib_data=3, calib_mode="naive")
    with pytest.raises(TypeError, match="calib_data is not a valid iterator. it is empty"):
        Q.quantize_net_v2(net, calib_data=[], calib_mode="naive")
    x = batches(np.zeros((1, 2, 8, 8), "float32"))
    with pytest.raises(ValueError, match="currently only supports single ctx, while received"):
        Q.quantize_net_v2(net, calib_data=x, calib_mode="naive", ctx=[mx.cpu()])
