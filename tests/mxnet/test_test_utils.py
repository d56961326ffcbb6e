"""mx.test_utils, and the small modules util, runtime, profiler, engine, error and libinfo."""

import os
import sys
import warnings

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import nd, sym, test_utils, util
from compatgrad.mxnet.base import MXNetError


def test_comparisons():
    a = np.array([[1.0, 2.0], [3.0, 4.0]], dtype="float32")
    test_utils.assert_almost_equal(a, nd.array(a * (1 + 5e-5)))
    test_utils.assert_almost_equal(nd.array(a), mx.np.array(a))
    test_utils.assert_almost_equal(a.astype("float16"), a * 1.004)  # the less precise dtype sets the tolerance
    test_utils.assert_almost_equal(2, 2.0000001)
    with pytest.raises(AssertionError) as e:
        test_utils.assert_almost_equal(a, a + [[0, 0], [0, 1]], names=("left", "right"))
    text = str(e.value)
    assert "exceeds tolerance rtol=1.000000e-04, atol=1.000000e-03 (mismatch 25.000000%)" in text
    assert "Location of maximum error: (1, 1), left=4.00000000, right=5.00000000" in text
    with pytest.raises(AssertionError, match="shapes differ"):
        test_utils.assert_almost_equal(a, a[0], use_broadcast=False)
    nans = np.array([1.0, np.nan])
    test_utils.assert_almost_equal(nans, nans, equal_nan=True)
    test_utils.assert_almost_equal_ignore_nan(nans, np.array([1.0, 5.0]))
    with pytest.raises(AssertionError):
        test_utils.assert_almost_equal(nans, nans)
    with pytest.raises(AssertionError):
        test_utils.assert_almost_equal(np.array([1, 2]), np.array([1, 3]))  # integers are compared exactly
    test_utils.assert_almost_equal_with_err(np.ones(10), np.r_[np.ones(9), 5], etol=0.1)
    assert test_utils.same(a, nd.array(a)) and not test_utils.same(a, a + 1) and test_utils.almost_equal(a, a)
    assert test_utils.default_rtols()[np.dtype("float16")] == 1e-2 and test_utils.get_atol() == 1e-20
    assert test_utils.get_tols(a, a.astype("float16"), None, None) == (1e-2, 1e-1)
    test_utils.assert_exception(lambda: 1 / 0, ZeroDivisionError)
    with pytest.raises(AssertionError):
        test_utils.assert_exception(lambda: 1, ZeroDivisionError)


def test_random_arrays():
    assert len(test_utils.rand_shape_nd(4)) == 4 and len(test_utils.rand_shape_2d()) == 2
    assert len(test_utils.rand_shape_3d(allow_zero_size=True)) == 3
    x, y = test_utils.rand_coord_2d(0, 3, 5, 9)
    assert 0 <= x < 3 and 5 <= y < 9
    assert test_utils.random_arrays((2, 3)).dtype == np.float32 and len(test_utils.random_arrays((2,), (3,))) == 2
    (u,) = test_utils.random_uniform_arrays((50,), low=2, high=3, dtype="float64")
    assert u.dtype == np.float64 and u.min() >= 2 and u.max() < 3
    for stype in ("default", "row_sparse", "csr"):
        x = test_utils.rand_ndarray((6, 4), stype, density=0.5)
        assert x.stype == stype and x.shape == (6, 4)
    r, (values, rows) = test_utils.rand_sparse_ndarray((6, 4), "row_sparse", rsp_indices=[1, 3], data_init=2)
    assert r.asnumpy()[[1, 3]].tolist() == [[2] * 4] * 2 and list(rows) == [1, 3] and (values == 2).all()
    assert test_utils.create_sparse_array((4, 4), "csr", density=0.25).indices.shape == (4,)
    assert test_utils.rand_ndarray((8, 16), "csr", density=0.4, distribution="powerlaw").stype == "csr"
    with pytest.raises(ValueError, match="too small"):
        test_utils.rand_ndarray((8, 8), "csr", density=0.01, distribution="powerlaw")
    assert test_utils.create_2d_tensor(2, 3).asnumpy().tolist() == [[0, 0, 0], [1, 1, 1]]
    assert sorted(test_utils.random_sample([1, 2, 3], 2))[0] in (1, 2)


def test_scopes(capfd):
    with test_utils.environment("MX_TEST_VARIABLE", "1"):
        assert os.environ["MX_TEST_VARIABLE"] == mx.util.getenv("MX_TEST_VARIABLE") == "1"
        with test_utils.environment({"MX_TEST_VARIABLE": None}):
            assert mx.util.getenv("MX_TEST_VARIABLE") is None
        assert os.environ["MX_TEST_VARIABLE"] == "1"
    assert "MX_TEST_VARIABLE" not in os.environ
    with test_utils.discard_stderr():
        print("nobody sees this", file=sys.stderr)
    with mx.cpu(2):
        assert test_utils.default_context() == mx.cpu(2)
    test_utils.set_default_context(mx.cpu(1))
    assert nd.ones((1,)).context == mx.cpu(1)
    test_utils.set_default_context(mx.cpu(0))
    assert list(test_utils.list_gpus()) == list(range(mx.num_gpus()))
    runs = []

    @test_utils.retry(3)
    def flaky():
        runs.append(1)
        assert len(runs) > 1

    flaky()
    assert len(runs) == 2


def test_symbolic_checks():
    x, y = sym.Variable("x"), sym.Variable("y")
    a, b = np.random.RandomState(0).rand(2, 3) + 0.5, np.random.RandomState(1).rand(2, 3) + 0.5
    s = sym.log(x) * y
    test_utils.check_symbolic_forward(s, [a, b], [np.log(a) * b])
    g = np.ones((2, 3))
    for req in ("write", "add", "null"):
        test_utils.check_symbolic_backward(s, {"x": a, "y": b}, [g], {"x": b / a, "y": np.log(a)}, grad_req=req)
    test_utils.check_numeric_gradient(s, [a, b], rtol=1e-2, atol=1e-3)
    bn = sym.BatchNorm(x, fix_gamma=False, name="bn")
    args = {"x": a, "bn_gamma": np.ones(3), "bn_beta": np.zeros(3)}
    aux = {"bn_moving_mean": np.zeros(3), "bn_moving_var": np.ones(3)}
    test_utils.check_numeric_gradient(bn, args, aux, rtol=0.05, atol=1e-2, dtype=np.float64)
    with pytest.raises(AssertionError, match="BACKWARD_x|NUMERICAL_x"):
        test_utils.check_numeric_gradient(sym.BlockGrad(x) * x, [a], rtol=1e-2, atol=1e-3)
    with pytest.raises(AssertionError, match="EXPECTED"):
        test_utils.check_symbolic_forward(s, [a, b], [a])
    with pytest.raises(ValueError, match="do not match"):
        test_utils.check_symbolic_forward(s, {"x": a}, [a])
    np.testing.assert_allclose(test_utils.simple_forward(s, x=a, y=b), np.log(a) * b, rtol=1e-5)
    contexts = [{"ctx": mx.cpu(), "x": (2, 3), "type_dict": {"x": t}} for t in ("float64", "float32")]
    test_utils.check_consistency(sym.tanh(x), contexts)
    assert test_utils.check_speed(s, {"x": a, "y": b}, N=2) > 0
    assert test_utils.same_symbol_structure(s, sym.log(y) * x) and not test_utils.same_symbol_structure(s, x * y)


def test_checks_of_generators():
    mx.random.seed(3)
    draw = lambda n: nd.random.normal(1, 2, shape=(n,)).asnumpy()  # noqa: E731
    assert test_utils.mean_check(draw, 1, 2, 20000) and test_utils.var_check(draw, 2, 20000)
    stats = pytest.importorskip("scipy.stats")
    buckets, probs = test_utils.gen_buckets_probs_with_ppf(lambda q: stats.norm.ppf(q, 1, 2), 5)
    test_utils.verify_generator(draw, buckets, probs, nsamples=20000, nrepeat=3)
    with pytest.raises(AssertionError, match="do not follow"):
        test_utils.verify_generator(lambda n: draw(n) + 1, buckets, probs, nsamples=20000, nrepeat=2)


def test_other_helpers():
    a = np.arange(6.0).reshape(2, 3)
    assert (test_utils.collapse_sum_like(a, (1, 3)) == a.sum(0, keepdims=True)).all()
    assert (test_utils.np_reduce(a, (0, 1), True, np.sum) == [[15]]).all()
    x = nd.ones((3,))
    assert test_utils.same_array(x, x[:]) and not test_utils.same_array(x, x.copy())
    assert test_utils.assign_each(a, lambda v: v * 2)[1, 2] == 10
    sgd = mx.optimizer.SGD(learning_rate=0.1, momentum=0.9)
    test_utils.compare_optimizer(sgd, mx.optimizer.SGD(learning_rate=0.1, momentum=0.9), (3, 4), np.float32)
    with pytest.raises(AssertionError):
        test_utils.compare_optimizer(sgd, mx.optimizer.SGD(learning_rate=0.3, momentum=0.9), (3, 4), np.float32)


def test_numpy_semantics_switches():
    assert not util.is_np_array() and not util.is_np_shape()
    with util.np_array(True), util.np_shape(True):
        assert util.is_np_array() and util.is_np_shape()

    @util.use_np
    def inside():
        return util.is_np_array(), util.is_np_shape()

    @util.use_np
    class Both:
        def __init__(self):
            self.made = util.is_np_array()

        @property
        def flag(self):
            return util.is_np_shape()

        @staticmethod
        def plain(x):
            return x, util.is_np_array()

    assert inside() == (True, True) and not util.is_np_array()
    assert Both().made and Both().flag and Both().plain(3) == (3, True) and not util.is_np_shape()
    mx.npx.set_np()
    assert inside() == (True, True) and util.is_np_array()
    with pytest.raises(ValueError, match="must stay on while its arrays are on"):
        util.set_np_shape(False)
    mx.npx.reset_np()
    assert not util.is_np_shape()
    with pytest.raises(ValueError, match="need its shapes"):
        util.set_np(shape=False, array=True)
    with pytest.raises(TypeError, match="class or something callable"):
        util.use_np(3)
    with pytest.raises(ValueError):
        with util.np_shape(True):
            raise ValueError
    assert not util.is_np_shape()


def test_small_modules(tmp_path):
    assert mx.__version__ == mx.libinfo.__version__ == "1.9.1" and mx.libinfo.find_lib_path()
    features = mx.runtime.Features()
    assert features is mx.runtime.Features() and not features.is_enabled("tvm_op") and "CUDA" in features
    assert repr(features["OPENMP"]).endswith("OPENMP") and len(mx.runtime.feature_list()) == len(features)
    with pytest.raises(RuntimeError, match="'FOO' is unknown"):
        features.is_enabled("foo")
    before = mx.engine.set_bulk_size(3)
    with mx.engine.bulk(10):
        assert mx.engine.set_bulk_size(10) == 10
    assert mx.engine.set_bulk_size(before) == 3
    assert isinstance(mx.error.InternalError("x"), MXNetError) and "report it" in str(mx.error.InternalError("x"))

    @mx.error.register
    class Mine(MXNetError):
        pass

    assert mx.error._types["Mine"] is Mine
    util.makedirs(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()


def test_data(tmp_path):
    import gzip
    import struct

    def write(name, array):
        with gzip.open(tmp_path / name, "wb") as f:
            f.write(bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes())

    r = np.random.RandomState(0)
    for name, n in (("train", 6), ("t10k", 4)):
        write(f"{name}-images-idx3-ubyte.gz", r.randint(0, 256, (n, 28, 28)).astype(np.uint8))
        write(f"{name}-labels-idx1-ubyte.gz", r.randint(0, 10, n).astype(np.uint8))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning that these are not the published files
        mnist = test_utils.get_mnist(str(tmp_path))
        train, _ = test_utils.get_mnist_iterator(2, (784,), num_parts=2, part_index=1, path=str(tmp_path))
    assert mnist["train_data"].shape == (6, 1, 28, 28) and mnist["test_label"].shape == (4,)
    assert mnist["train_data"].dtype == np.float32 and mnist["train_data"].max() <= 1
    same = test_utils.DummyIter(train)
    assert next(same) is next(same) and next(same).data[0].shape == (2, 784)
    q = test_utils.new_orthonormal_matrix_2d(4)
    np.testing.assert_allclose(q @ q.T, np.eye(4), atol=1e-12)
    assert np.isreal(np.linalg.eigvals(test_utils.new_matrix_with_real_eigvals_nd((2, 3, 3)))).all()
    values = np.linalg.eigvalsh(test_utils.new_sym_matrix_with_real_eigvals_nd((2, 3, 3)))
    np.testing.assert_allclose(values, [[1, 2, 3]] * 2)


def test_the_default_context_is_that_of_the_thread():
    import threading

    seen = []

    def inside():
        seen.append(mx.Context.default_ctx)
        test_utils.set_default_context(mx.gpu(11))  # a device need not exist until an array is made on it
        seen.append(mx.Context.default_ctx)

    with mx.cpu(2), pytest.warns(DeprecationWarning, match="current_context"):
        thread = threading.Thread(target=inside)
        thread.start()
        thread.join()
        assert mx.Context.default_ctx == mx.cpu(2)
        mx.Context.default_ctx = mx.cpu(3)
        assert mx.current_context() == mx.cpu(3)
    assert seen == [mx.cpu(0), mx.gpu(11)] and mx.current_context() == mx.cpu(0)


def test_files_that_are_fetched(tmp_path, monkeypatch):
    import bz2
    import zipfile

    asked = []

    def serve(url, path):
        asked.append(url.rsplit("/", 1)[-1])
        if url.endswith(".zip"):
            with zipfile.ZipFile(path, "w") as archive:
                for part in ("train", "t10k"):
                    for kind in ("images-idx3", "labels-idx1"):
                        archive.writestr(f"{part}-{kind}-ubyte", "x")
        else:
            with open(path, "wb") as out:
                out.write(bz2.compress(b"rows") if url.endswith(".bz2") else b"text")
        return path

    monkeypatch.setattr(mx.gluon.utils, "download", serve)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # the second round finds all files and downloads nothing
        test_utils.get_mnist_ubyte()
        test_utils.get_bz2_data("sets", "rows.t", "http://nowhere.invalid/rows.t.bz2", "rows.t.bz2")
        test_utils.get_zip_data("sets", "http://nowhere.invalid/all.zip", "all.zip")
    assert asked == ["mnist.zip", "rows.t.bz2", "all.zip"]
    assert (tmp_path / "data/t10k-labels-idx1-ubyte").exists() and (tmp_path / "sets/rows.t").read_bytes() == b"rows"
    assert not (tmp_path / "sets/rows.t.bz2").exists() and (tmp_path / "sets/train-images-idx3-ubyte").exists()
    assert test_utils.download_model("imagenet1k-inception-bn", "models") == ("models/imagenet1k-inception-bn", 0)
    assert asked[3:] == ["Inception-BN-symbol.json", "Inception-BN-0126.params"]
    assert (tmp_path / "models/imagenet1k-inception-bn-0000.params").exists()
    assert test_utils.download_model("unknown") == (None, 0)
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))
    with pytest.raises(OSError, match="im2rec"):
        test_utils.get_im2rec_path()
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/im2rec.py").touch()
    assert test_utils.get_im2rec_path() == str(tmp_path / "tools/im2rec.py")
