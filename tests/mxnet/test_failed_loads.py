"""A load that fails leaves the block unchanged, and the error for a file of another kind has the file's name."""

import json
import struct

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import gluon, nd


def _net(deferred=False):
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(3, in_units=0 if deferred else 2), gluon.nn.Dense(2, in_units=3))
    net.initialize()
    return net


def _state(net):
    return {
        name: (p.shape, str(p.dtype), p._data and p._data[0].asnumpy().tobytes())
        for name, p in net.collect_params().items()
    }


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize("names", ["paths", "full names"])
def test_a_parameter_file_that_does_not_fit_changes_nothing(tmp_path, deferred, names):
    net, path = _net(), str(tmp_path / "a.params")
    if names == "paths":
        net.save_parameters(path)
    else:
        net.collect_params().save(path)
    saved = nd.load(path)
    for name in list(saved):
        for bad in (nd.ones((7, 7)), saved[name].astype("float64"), None):
            damaged = dict(saved)
            damaged[name] = bad
            if bad is None:
                damaged["extra.weight" if names == "paths" else "net_extra"] = damaged.pop(name) or nd.ones((1,))
            damaged = {key: value for key, value in damaged.items() if value is not None}
            nd.save(path, damaged)
            target = _net(deferred)
            before = _state(target)
            with pytest.raises((AssertionError, ValueError)):
                if names == "paths":
                    target.load_parameters(path)
                else:
                    target.collect_params().load(path)
            assert _state(target) == before
    nd.save(path, saved)
    target = _net(deferred)
    if names == "paths":
        target.load_parameters(path)
    else:
        target.collect_params().load(path)
    assert [v[2] for v in _state(target).values()] == [v[2] for v in _state(net).values()]


def test_a_model_file_that_does_not_fit_changes_nothing(tmp_path):
    net, prefix = _net(), str(tmp_path / "m")
    net.save(prefix)
    whole = json.load(open(prefix + "-model.json"))
    target = _net()
    names = [target.name, list(target._children), list(target.collect_params())]
    (root,) = whole
    first = next(key for key in whole[root] if key.startswith("dense"))
    for damage in ({}, [], {root: {}}, {root: {**whole[root], first: 3}}, {root: {**whole[root], "children": {}}}):
        with open(prefix + "-model.json", "w") as file:
            json.dump(damage, file)
        with pytest.raises(ValueError, match="m-model.json"):
            target.load(prefix)
        assert [target.name, list(target._children), list(target.collect_params())] == names


def test_sparse_arrays_that_would_be_large_are_refused(tmp_path):
    path = str(tmp_path / "sparse.params")
    nd.save(path, {"x": nd.sparse.row_sparse_array((np.ones((1, 4)), [0]), shape=(8, 4))})
    content = open(path, "rb").read()
    assert content.count(struct.pack("<qq", 8, 4)) == 1
    with open(path, "wb") as file:
        file.write(content.replace(struct.pack("<qq", 8, 4), struct.pack("<qq", 1 << 30, 4)))
    with pytest.raises(mx.MXNetError, match="would need 34359738368 bytes"):
        nd.load(path)


@pytest.mark.parametrize(
    "text",
    [
        '{"nodes": ' + "[" * 100_000,
        "[" * 100_000,
        '{"nodes": [{"op": "null", "name": "x", "inputs": []}], "heads": [[-1, 0, 0]]}',
        '{"nodes": [{"op": "exp", "name": "x", "inputs": [[-1, 0, 0]]}], "heads": [[0, 0, 0]]}',
        '{"nodes": [], "heads": [], "attrs": [1]}',
    ],
)
def test_texts_that_are_no_symbols(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    if "attrs" in text:
        mx.sym.load(str(tmp_path / "a.json"))
        return
    with pytest.raises(mx.MXNetError, match='a.json" is no symbol'):
        mx.sym.load(str(tmp_path / "a.json"))


def test_a_module_keeps_its_parameters_where_a_file_does_not_fit(tmp_path):
    path = str(tmp_path / "m.params")
    y = mx.sym.FullyConnected(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="a"), num_hidden=2, name="b")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(y, name="softmax"))
    module.bind([("data", (2, 4))], [("softmax_label", (2,))])
    module.init_params()
    module.save_params(path)
    saved = nd.load(path)

    def state():
        return {name: x.asnumpy().tobytes() for name, x in module.get_params()[0].items()}

    before = state()
    for name in saved:
        for bad in (nd.ones((7, 7)), None):
            damaged = {key: nd.ones_like(value) for key, value in saved.items()}
            damaged[name] = bad
            nd.save(path, {key: value for key, value in damaged.items() if value is not None})
            with pytest.raises(RuntimeError, match="m.params"):
                module.load_params(path)
            assert state() == before
    nd.save(path, {key: nd.ones_like(value) for key, value in saved.items()})
    module.load_params(path)
    assert state() != before
