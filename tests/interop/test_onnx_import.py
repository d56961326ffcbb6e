"""`mx.contrib.onnx.import_model`: ONNX files as symbols, compared with onnx's own evaluator."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet.gluon import nn

onnx = pytest.importorskip("onnx", reason="needs the extra compatgrad[onnx]")
from onnx import TensorProto, helper, numpy_helper, reference  # noqa: E402

_rng = np.random.RandomState(0)


def f(*shape):
    return _rng.randn(*shape).astype(np.float32)


X2, X3, X4 = f(3, 4), f(2, 3, 5), f(2, 4, 6, 6)
N = np.array
# operator, inputs, constants, attributes, and if needed the opset and the number of outputs
CASES = [
    ("Conv", [X4], [f(5, 4, 3, 3), f(5)], {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    ("Conv", [X4], [f(4, 2, 3, 3)], {"group": 2, "dilations": [2, 1]}),
    ("Conv", [X4], [f(5, 4, 3, 3)], {"pads": [0, 1, 1, 2]}),
    ("ConvTranspose", [X4], [f(4, 3, 3, 3), f(3)], {"strides": [2, 2], "pads": [1] * 4, "output_padding": [1, 1]}),
    ("Gemm", [X2], [f(5, 4), f(5)], {"transB": 1}),
    ("Gemm", [X2], [f(4, 5), f(5)], {"alpha": 0.5, "beta": 2.0}),
    ("Gemm", [f(4, 3)], [f(4, 5), f(5)], {"transA": 1}),
    ("MatMul", [X3], [f(5, 2)], {}),
    ("MatMul", [X3, f(2, 5, 2)], [], {}),
    ("BatchNormalization", [X4], [f(4), f(4), f(4), abs(f(4))], {}),
    ("MaxPool", [X4], [], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [0, 0, 1, 1]}),
    ("AveragePool", [X4], [], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ("AveragePool", [X4], [], {"kernel_shape": [2, 2], "pads": [0, 1, 1, 0], "count_include_pad": 1}),
    ("GlobalAveragePool", [X4], [], {}),
    ("Softmax", [X3], [], {"axis": 1}),
    ("LeakyRelu", [X2], [], {}),
    ("Elu", [X2], [], {"alpha": 0.7}),
    ("PRelu", [X4], [f(4, 1, 1)], {}),
    ("InstanceNormalization", [X4], [f(4), f(4)], {}),
    ("LayerNormalization", [X3], [f(5), f(5)], {}),
    ("Reshape", [X3], [N([0, -1])], {}),
    ("Flatten", [X3], [], {}),
    ("Flatten", [X3], [], {"axis": 0}),
    ("Squeeze", [f(1, 3, 1)], [N([0])], {}),
    ("Unsqueeze", [X2], [N([0, 2])], {}),
    ("Unsqueeze", [X2], [], {"axes": [1]}, 11),
    ("Split", [X4], [], {"axis": 1, "num_outputs": 2}, 18, 2),
    ("Split", [X4], [N([1, 3])], {"axis": 1}, 18, 2),
    ("Slice", [X4], [N([0, 1]), N([2**31 - 1, 5]), N([0, 2])], {}),
    ("Slice", [X4], [N([1]), N([6]), N([2]), N([2])], {}),
    ("Slice", [X4], [], {"starts": [1], "ends": [-1], "axes": [2]}, 9),
    ("Pad", [X4], [N([0, 0, 1, 2, 0, 0, 3, 0]), N(2.0, np.float32)], {}, 18),
    ("Pad", [X4], [N([0, 0, 1, 2, 0, 0, 3, 0])], {"mode": "edge"}, 18),
    ("Transpose", [X3], [], {"perm": [2, 0, 1]}),
    ("Concat", [X2, f(3, 2)], [], {"axis": 1}),
    ("Gather", [X3], [N([0, -1])], {"axis": 2}),
    ("DepthToSpace", [X4], [], {"blocksize": 2}),
    ("Clip", [X2], [N(-0.5, np.float32)], {}),
    ("ReduceSum", [X3], [N([1])], {"keepdims": 0}),
    ("ReduceMean", [X3], [], {"axes": [0, 2]}, 13),
    ("ReduceL2", [X3], [], {"axes": [1]}, 13),
    ("ReduceLogSumExp", [X3], [], {"axes": [1]}, 13),
    ("ArgMax", [X3], [], {"axis": 1}),
    ("TopK", [X3], [N([2])], {"axis": 1, "largest": 0}, 13, 2),
    ("LpNormalization", [X3], [], {"axis": 1}),
    ("Cast", [X3], [], {"to": TensorProto.INT64}),
    ("HardSigmoid", [X3], [], {}),
    ("Max", [X2, f(4), f(3, 1)], [], {}),
    ("Mean", [X2, f(4)], [], {}),
    ("Add", [X2], [f(4)], {}),
    ("Sub", [X2], [N(2.0, np.float32)], {}),
    ("Less", [X2, f(4)], [], {}),
    ("Where", [(X2 > 0).astype(np.float32), X2], [f(3, 4)], {}),
    ("Dropout", [X2], [], {}),
    ("Dropout", [X2], [], {"ratio": 0.3}, 7),
    ("Shape", [X2], [], {}),
    ("Erf", [X2], [], {}),
    ("Softplus", [X2], [], {}),
]


def model(operator, inputs, constants, attributes, opset=20, outputs=1):
    names = [f"x{i}" for i in range(len(inputs))]
    given = [f"c{i}" for i in range(len(constants))]
    made = [f"y{i}" for i in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(operator, names + given, made, name="node", **attributes)], "graph",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, x.shape) for n, x in zip(names, inputs, strict=True)],
        [helper.make_empty_tensor_value_info(n) for n in made],
        [numpy_helper.from_array(c, n) for n, c in zip(given, constants, strict=True)],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def imported(proto, path, inputs):
    onnx.save(proto, path)
    sym, arguments, auxiliary = mx.contrib.onnx.import_model(path)
    given = {f"x{i}": mx.nd.array(x) for i, x in enumerate(inputs)}
    executor = sym.bind(mx.cpu(), {**given, **arguments}, aux_states=auxiliary, grad_req="null")
    return [y.asnumpy() for y in executor.forward()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_operators(case, tmp_path):
    proto, inputs = model(*case), case[1]
    given = inputs if case[0] != "Where" else [inputs[0] > 0, *inputs[1:]]
    expected = reference.ReferenceEvaluator(proto).run(None, {f"x{i}": x for i, x in enumerate(given)})
    found = imported(proto, str(tmp_path / "net.onnx"), inputs)
    assert len(found) == len(expected)
    for a, b in zip(expected, found, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def test_softmax_before_opset_13_is_over_all_that_follows_the_axis(tmp_path):
    (y,) = imported(model("Softmax", [X3], [], {}, opset=11), str(tmp_path / "net.onnx"), [X3])
    e = np.exp(X3)
    np.testing.assert_allclose(y, e / e.sum((1, 2), keepdims=True), rtol=1e-5)


def test_there_and_back_as_a_block(tmp_path):
    pytest.importorskip("onnxscript", reason="needs the extra compatgrad[onnx]")
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(), nn.Dense(3))
    net.initialize(mx.init.Normal(0.5))
    net.hybridize()
    x = mx.nd.array(f(2, 3, 8, 8))
    y = net(x)
    net.export(str(tmp_path / "net"))
    files = str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0000.params"), [(2, 3, 8, 8)]
    path = mx.onnx.export_model(*files, onnx_file_path=str(tmp_path / "net.onnx"))
    back = mx.contrib.onnx.import_to_gluon(path, mx.cpu())
    np.testing.assert_allclose(back(x).asnumpy(), y.asnumpy(), rtol=1e-4, atol=1e-5)
    metadata = mx.contrib.onnx.get_model_metadata(path)
    assert metadata["input_tensor_data"] == [("data", (2, 3, 8, 8), TensorProto.FLOAT)]
    assert metadata["output_tensor_data"][0][1] == (2, 3)


@pytest.mark.parametrize(
    "operator, inputs, constants, attributes, reason",
    [
        ("NonZero", [X2], [], {}, "no symbol for this operator"),
        ("Reshape", [X2, f(2)], [], {}, "x1 is computed"),
        ("Conv", [X4], [f(5, 4, 3, 3)], {"auto_pad": "SAME_UPPER"}, "depends on the input's size"),
    ],
)
def test_unsupported_nodes_are_refused_by_name(operator, inputs, constants, attributes, reason, tmp_path):
    path = str(tmp_path / "net.onnx")
    onnx.save(model(operator, inputs, constants, attributes), path)
    with pytest.raises(NotImplementedError, match=f"{operator} node: .*{reason}"):
        mx.contrib.onnx.import_model(path)


def test_files_that_are_no_models_are_named(tmp_path):
    from google.protobuf.message import DecodeError

    path = tmp_path / "bad.onnx"
    for content, error in ((b"", ValueError), (b"\x00\xff junk", DecodeError)):
        path.write_bytes(content)
        for read in (mx.contrib.onnx.import_model, mx.contrib.onnx.get_model_metadata):
            with pytest.raises(error, match="bad.onnx is no ONNX model"):
                read(str(path))
    node = helper.make_node("Add", ["x", "missing"], ["y"])
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (2,)) for name in "xy"]
    onnx.save(helper.make_model(helper.make_graph([node], "g", values[:1], values[1:])), str(path))
    with pytest.raises(KeyError, match="nothing in the graph computes 'missing'"):
        mx.contrib.onnx.import_model(str(path))


def test_operator_sets_that_cannot_be_written_are_refused(tmp_path):
    pytest.importorskip("onnxscript", reason="needs the extra compatgrad[onnx]")
    import compatgrad.chainer.links as L
    from compatgrad import onnx_chainer

    path = tmp_path / "old.onnx"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match="opset_version.*converted to 999"):
        onnx_chainer.export(L.Linear(3, 2), np.ones((1, 3), np.float32), filename=str(path), opset_version=999)
    assert path.read_bytes() == b"old"
