"""What mxnet.autograd promises: recording, marks, passes, Function. Rows M01 to M08."""

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest
import torch

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, nd
from compatgrad.mxnet.base import MXNetError


def marked(*values, req="write"):
    x = nd.array(values)
    x.attach_grad(req)
    return x


def numbers(x):
    return x.asnumpy().tolist()


@pytest.fixture(autouse=True)
def flags():
    yield
    assert not autograd.is_recording() and not autograd.is_training()


# ---- M01: flags --------------------------------------------------------------------------------------------------
@pytest.mark.semantics("M01")
def test_scopes_nest_and_restore_both_flags():
    seen = []

    def look():
        seen.append((autograd.is_recording(), autograd.is_training()))

    with autograd.record():
        look()
        with autograd.pause():
            look()
            with autograd.train_mode():
                look()
            look()
        with autograd.predict_mode():
            look()
        look()
        with autograd.record(train_mode=False):
            look()
        with autograd.pause(train_mode=True):
            look()
    assert seen == [(True, True), (False, False), (False, True), (False, False), (True, False), (True, True),
                    (True, False), (False, True)]  # fmt: skip


@pytest.mark.semantics("M01")
def test_an_exception_restores_the_flags():
    with pytest.raises(KeyError):
        with autograd.record():
            with autograd.pause(train_mode=True):
                raise KeyError


@pytest.mark.semantics("M01")
def test_setters_return_what_was_set():
    assert autograd.set_recording(True) is False
    assert autograd.set_recording(False) is True
    assert autograd.set_training(True) is False
    assert autograd.set_training(False) is True


@pytest.mark.semantics("M01")
def test_flags_belong_to_the_thread():
    seen = []
    with autograd.record():
        t = threading.Thread(target=lambda: seen.append((autograd.is_recording(), autograd.is_training())))
        t.start()
        t.join()
    assert seen == [(False, False)]


# ---- M02: marks --------------------------------------------------------------------------------------------------
@pytest.mark.semantics("M02")
@pytest.mark.parametrize("req, expected", [("write", [2, 4]), ("add", [4, 8])])
def test_requests(req, expected):
    x = marked(1, 2, req=req)
    for _ in range(2):
        with autograd.record():
            y = x * x
        y.backward()
    assert numbers(x.grad) == expected


@pytest.mark.semantics("M02")
def test_null_leaves_the_gradient_out():
    x, w = marked(1, 2, req="null"), marked(3, 4)
    with autograd.record():
        y = x * w
    y.backward()
    assert numbers(w.grad) == [1, 2] and numbers(x.grad) == [0, 0]
    with autograd.record():
        y, z = x * 2, w * 2
    with pytest.raises(MXNetError, match="no array that requires a gradient"):
        y.backward()
    autograd.backward([y, z])
    assert numbers(w.grad) == [2, 2]


@pytest.mark.semantics("M02")
def test_mark_variables_writes_into_the_arrays_it_was_given():
    x, w = nd.array([1, 2]), nd.array([3, 4])
    gx, gw = nd.zeros(2), nd.ones(2)
    seen = gx.tensor  # a second reference to the memory
    autograd.mark_variables([x, w], [gx, gw], ["write", "add"])
    with autograd.record():
        y = x * w
    y.backward()
    assert numbers(gx) == [3, 4] and numbers(gw) == [2, 3] and seen.tolist() == [3, 4]
    assert numbers(x.grad) == [3, 4]


@pytest.mark.semantics("M02")
def test_the_gradient_array_stays_the_same_memory():
    x = marked(1, 2)
    whole, part = x.grad, x.grad[0:1]
    for factor in (2, 3):
        with autograd.record():
            y = x * factor
        y.backward()
        assert numbers(whole) == [factor] * 2 and numbers(part) == [factor]
    whole[:] = 7
    assert numbers(x.grad) == [7, 7]


def test_one_gradient_for_two_marks_is_two_arrays():
    x, w = marked(1, 2), marked(3, 4)
    with autograd.record():
        y = x + w
    y.backward()
    x.grad[:] = 9
    assert numbers(w.grad) == [1, 1]


def test_a_head_gradient_is_not_handed_out():
    x, g = marked(1, 2), nd.array([3, 4])
    with autograd.record():
        y = x + 0
    y.backward(g)
    x.grad[:] = 9
    assert numbers(g) == [3, 4]


@pytest.mark.semantics("M02")
def test_bad_marks():
    x = nd.zeros((2, 3))
    with pytest.raises(KeyError, match="grad_req: expected 'write', 'add' or 'null', got 'often'"):
        x.attach_grad("often")
    with pytest.raises(MXNetError, match=r"gradients\[0\]: expected shape \(2, 3\), got \(2,\)"):
        autograd.mark_variables([x], [nd.zeros(2)])
    with pytest.raises(AssertionError, match="1 variables, 2 gradients"):
        autograd.mark_variables([x], [x, x])
    assert x.grad is None


def test_a_mark_cuts_history_inside_record_and_keeps_it_outside():
    x = marked(1, 2)
    with autograd.record():
        y = x * 2
        y.attach_grad()
        z = y * y
    z.backward()
    assert numbers(y.grad) == [4, 8] and numbers(x.grad) == [0, 0]
    with autograd.record():
        y = x * 2
        z = y * y
    y.attach_grad()
    z.attach_grad()
    z.backward()
    assert numbers(y.grad) == [4, 8] and numbers(x.grad) == [8, 16] and numbers(z.grad) == [1, 1]


# ---- M03: backward -----------------------------------------------------------------------------------------------
@pytest.mark.semantics("M03")
def test_heads_and_their_gradients():
    x = marked(1, 2, 3)
    g = nd.array([1, 10, 100])

    def heads():
        with autograd.record():
            return x * 2, x * 3

    autograd.backward(list(heads()), [None, g])
    assert numbers(x.grad) == [5, 32, 302]
    y, _ = heads()
    autograd.backward(y, g)
    assert numbers(x.grad) == [2, 20, 200]
    y, _ = heads()
    y.backward(g)
    assert numbers(x.grad) == [2, 20, 200]
    y, z = heads()
    autograd.backward([y, z, y])
    assert numbers(x.grad) == [7, 7, 7]


@pytest.mark.parametrize("shape", [(3, 2), (6,), (1, 6), (3, 3)])
def test_a_head_gradient_of_another_shape_is_read_element_by_element(shape):
    x = nd.array([[1, 2, 3], [4, 5, 6]])
    x.attach_grad()
    with autograd.record():
        y = x * 2
    y.backward(nd.arange(9)[: 9 if shape == (3, 3) else 6].reshape(shape), retain_graph=True)
    assert x.grad.asnumpy().tolist() == [[0, 2, 4], [6, 8, 10]]
    (g,) = autograd.grad(y, [x], head_grads=nd.arange(6))
    assert g.asnumpy().tolist() == [[0, 2, 4], [6, 8, 10]]


@pytest.mark.semantics("M03")
def test_bad_heads():
    x = marked(1, 2)
    with autograd.record():
        y = x * 2
    with pytest.raises(AssertionError, match="same length"):
        autograd.backward([y], [nd.ones(2), nd.ones(2)])
    with pytest.raises(MXNetError, match=r"head_grads\[0\]: expected shape \(2,\), got \(1,\)"):
        y.backward(nd.ones(1))
    with pytest.raises(MXNetError, match="heads is empty"):
        autograd.backward([])
    with pytest.raises(MXNetError, match=r"heads\[1\] is not in a computational graph.*attach_grad\(\)"):
        autograd.backward([y, nd.ones(2)])
    y.backward()  # a refused backward frees nothing
    assert numbers(x.grad) == [2, 2]


@pytest.mark.semantics("M03")
def test_a_second_pass_needs_retain_graph():
    x = marked(1, 2, req="add")
    with autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert numbers(x.grad) == [4, 8]
    with pytest.raises(MXNetError, match="retain_graph=True"):
        y.backward()
    assert numbers(x.grad) == [4, 8]


@pytest.mark.semantics("M03")
def test_a_subgraph_that_was_freed():
    x = marked(1, 2)
    with autograd.record():
        shared = x * x
        y, z = shared * 2, shared * 3
    y.backward()
    with pytest.raises(MXNetError, match="freed this graph"):
        z.backward()
    with autograd.record():  # a freed array is a constant in later recordings
        z = shared * x
    z.backward()
    assert numbers(x.grad) == [1, 4]


def test_backward_frees_the_graph_behind_it():
    x = marked(*range(1000))
    with autograd.record():
        u = nd.sin(x)
        y = nd.sin(u)
    held = weakref.ref(u)
    del u
    gc.collect()
    assert held() is None  # the first sine's node stays, with the data that the second one reads
    y.backward()
    assert y.node.creator_node.inputs in (None, ())


def test_freeing_keeps_gradients_that_wait():
    x = marked(0.5)
    with autograd.record():
        y = nd.sin(x)
        y = y * y  # the product's two inputs are the only references to the sine
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.sin(1.0), rtol=1e-6)


def test_a_long_graph_is_freed():
    x = marked(1.0)
    with autograd.record():
        y = x
        for _ in range(100_000):
            y = y + 1
    y.backward()
    assert numbers(x.grad) == [1]


def test_operators_without_a_gradient_give_zeros():
    x = marked(1, 2, 3)
    x.grad[:] = 5
    with autograd.record():
        y = (x > 1) * 2
    y.backward()
    assert numbers(x.grad) == [0, 0, 0] and x._fresh_grad


def test_nothing_is_recorded_outside_and_in_pause():
    x = marked(1, 2)
    with autograd.record():
        a = x * 2
        with autograd.pause():
            b = a * 3
        c = a + b
        d = nd.sin(b)
    e = c * 2
    c.backward()
    assert numbers(x.grad) == [2, 2]
    for outside in (b, d, e):
        with pytest.raises(MXNetError, match="not in a computational graph"):
            outside.backward()


# ---- M04, M05: grad ----------------------------------------------------------------------------------------------
@pytest.mark.semantics("M04")
def test_grad_gives_a_list_and_leaves_the_gradients_alone():
    x, w = marked(1, 2), marked(3, 4)
    with autograd.record():
        y = x * w
    got = autograd.grad(y, x, retain_graph=True)
    assert isinstance(got, list) and numbers(got[0]) == [3, 4]
    gw, gx = autograd.grad(y, [w, x], head_grads=nd.array([10, 1]))
    assert numbers(gw) == [10, 2] and numbers(gx) == [30, 4]
    assert numbers(x.grad) == [0, 0] and not x._fresh_grad
    with pytest.raises(MXNetError):
        autograd.grad(y, x)


@pytest.mark.semantics("M04")
def test_bad_variables():
    x, w, free = marked(1, 2), marked(3, 4), nd.ones(2)
    with autograd.record():
        y = x * 2
        z = y * 3
    with pytest.raises(AssertionError, match="empty"):
        autograd.grad(z, [])
    for bad in (free, y):
        with pytest.raises(MXNetError, match=r"variables\[1\] because it does not require gradient"):
            autograd.grad(z, [x, bad])
    with pytest.raises(MXNetError, match=r"variables\[1\] is not reachable"):
        autograd.grad(z, [x, w], retain_graph=True)
    assert numbers(autograd.grad(z, x)[0]) == [6, 6]


@pytest.mark.semantics("M05")
def test_any_order():
    x = marked(0.3, 0.7)
    with autograd.record():
        y = nd.sin(x)
        for _ in range(5):
            (y,) = autograd.grad(y, x, create_graph=True)
    np.testing.assert_allclose(y.asnumpy(), np.cos([0.3, 0.7]), rtol=1e-6)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), -np.sin([0.3, 0.7]), rtol=1e-6)


@pytest.mark.semantics("M05")
def test_a_gradient_that_is_constant():
    x = marked(1, -2)
    with autograd.record():
        (g,) = autograd.grad(nd.abs(x), x, create_graph=True)
        (h,) = autograd.grad(g, x, create_graph=True)
    assert numbers(g) == [1, -1] and numbers(h) == [0, 0]


@pytest.mark.semantics("M08")
def test_head_gradients_are_part_of_the_graph():
    x, g = marked(1, 2), marked(3, 4)
    with autograd.record():
        y = x * x
        (gx,) = autograd.grad(y, x, head_grads=g, create_graph=True)
    gx.backward()
    assert numbers(g.grad) == [2, 4] and numbers(x.grad) == [6, 8]


# ---- M08: writes, detach, drop_grad --------------------------------------------------------------------------------
@pytest.mark.semantics("M08")
@pytest.mark.parametrize("write", [
    lambda y, x: y.__setitem__(slice(None), 1), lambda y, x: x.__setitem__(0, 1), lambda y, x: y.__iadd__(1),
    lambda y, x: y.__imul__(x), lambda y, x: nd.sin(x, out=x), lambda y, x: y.__setitem__(0, x[0]),
])  # fmt: skip
def test_writes_to_recorded_arrays_raise_inside_record(write):
    x = marked(1, 2)
    with autograd.record():
        y = x * x
        with pytest.raises(MXNetError, match="Inplace operations"):
            write(y, x)
    y.backward()
    assert numbers(x.grad) == [2, 4]


@pytest.mark.semantics("M08")
def test_writes_outside_record():
    x = marked(1, 2)
    with autograd.record():
        y = x * 2
    y += 5
    assert numbers(y) == [7, 9]
    y.backward()
    assert numbers(x.grad) == [2, 2]


def test_a_fresh_array_filled_inside_record():
    x, z = marked(1, 2), nd.empty((2, 2))
    with autograd.record():
        z[:] = x * x
        with pytest.raises(MXNetError, match="Inplace operations"):
            z[:] = x
        y = z * z
    y.backward()
    assert numbers(x.grad) == [8, 64]
    with autograd.record():
        y = (x * x).copyto(nd.empty(2)) * x  # MXNet raises MXNetError here, as if the target were in a graph
    y.backward()
    assert numbers(x.grad) == [3, 12]


def test_out_takes_the_place_of_the_result():
    x, y = marked(0.5, 1.5), nd.zeros(2)
    with autograd.record():
        assert nd.sin(x, out=y) is y
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.cos([0.5, 1.5]), rtol=1e-6)


@pytest.mark.semantics("M08")
def test_detach_shares_memory_and_no_history():
    x = marked(1, 2)
    with autograd.record():
        y = (x * 2).detach() * x
    y.backward()
    assert numbers(x.grad) == [2, 4]
    d = x.detach()
    d[:] = 5
    assert numbers(x) == [5, 5] and d.grad is None


@pytest.mark.semantics("M08")
def test_drop_grad():
    x, w = marked(1, 2), marked(3, 4)
    with autograd.record():
        u = x * w
        y = u * x
    u.attach_grad()
    y.backward(retain_graph=True)
    assert numbers(u.grad) == [1, 2] and numbers(w.grad) == [1, 4]
    u.drop_grad()
    w.drop_grad()
    x.grad[:] = 0
    y.backward()
    assert u.grad is None and w.grad is None and numbers(x.grad) == [6, 16]


def test_slices_share_memory_and_are_recorded():
    x = marked(1, 2, 3)
    with autograd.record():
        y = x[0:2] * 3
        z = x[2] * 5
    autograd.backward([y, z])
    assert numbers(x.grad) == [3, 3, 5]
    x[0:2][:] = 9
    x[2][:] = 8
    assert numbers(x) == [9, 9, 8]
    m = nd.array([[1, 2], [3, 4]])
    m[:, 0:1][:] = 7  # not contiguous: a copy
    m.T[:] = 7
    nd.reshape(m, (4,))[0:1] *= 1
    assert numbers(m) == [[1, 2], [3, 4]]


def test_indexing():
    a = np.arange(24.0).reshape(2, 3, 4)
    x = nd.array(a)
    for key in [1, -1, (1, 2), (slice(None), 1), (slice(None, None, -1), [0, 2]), ([0, 1], slice(None, None, -2)),
                (slice(None), slice(2, 0, -1), np.array([1, 3])), (Ellipsis, 2), (None, 1), ([0, 1], [1, 2]),
                (slice(0, 2), slice(1, 3)), np.array([[1, 0]]), slice(5, 9)]:  # fmt: skip
        np.testing.assert_array_equal(x[key].asnumpy(), a[key])
        if isinstance(key, tuple) and any(isinstance(k, slice) and (k.step or 1) < 0 for k in key):
            continue
        y, b = x.copy(), a.copy()
        y[key], b[key] = -1, -1
        np.testing.assert_array_equal(y.asnumpy(), b)
    y, b = x.copy(), a.copy()
    y[0, ::-1], b[0, ::-1] = nd.array(a[1]), a[1]
    np.testing.assert_array_equal(y.asnumpy(), b)
    assert x[1, 2, 3].shape == (1,)
    x[nd.array([0]), 1] = [1, 2, 3, 4]
    assert numbers(x[0, 1]) == [1, 2, 3, 4]


def test_pickles_and_copies():
    arrays = [nd.array([[1, 2, 3]]), nd.array([1], dtype="int64"), nd.ones(2, ctx=mx.cpu(1)), nd.empty((0, 2)),
              nd.ones((3, 2)).tostype("row_sparse"), nd.ones((3, 2)).tostype("csr"), mx.np.array(3.0)]  # fmt: skip
    for x in arrays:
        for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
            assert type(y) is type(x) and y.context == x.context and y.dtype == x.dtype and y.shape == x.shape
            np.testing.assert_array_equal(x.asnumpy(), y.asnumpy())
    with pytest.raises(MXNetError, match="pickled NDArray"):
        nd.NDArray(None).__setstate__({"handle": b"nonsense"})


@pytest.mark.parametrize(
    "key, error, message",
    [
        (2, IndexError, "index 2 is out of bounds for axis 0 with size 2"),
        ((0, 0, 0), IndexError, r"too many indices \(3\) for array with 2 dimensions"),
        ("a", ValueError, "does not support slicing with key a of type"),
        ([0, 5], IndexError, "values from 0 to 5 is out of bounds for axis 0 with size 2"),
        ((Ellipsis, Ellipsis), IndexError, "single Ellipsis"),
    ],
)
def test_bad_keys(key, error, message):
    x = nd.ones((2, 3))
    with pytest.raises(error, match=message):
        x[key]
    with pytest.raises(error, match=message):
        x[key] = 1
    with pytest.raises(ValueError, match=r"shape \(4,\) cannot be broadcast to shape \(3,\)"):
        x[0] = nd.ones(4)


def test_results_own_their_memory():
    x = nd.array([[1, 2], [3, 4]])
    same = nd.broadcast_to(x, (2, 2)), x.astype("float32")
    results = nd.transpose(x), nd.expand_dims(x, 0), nd.identity(x), x.T, *same
    for y in results:
        y[:] = 0
    assert numbers(x) == [[1, 2], [3, 4]]


def test_threads_record_on_their_own():
    x = marked(*range(1, 9))
    errors = []

    def work(k):
        try:
            for _ in range(50):
                w = marked(*range(8))
                with autograd.record():
                    y = nd.sin(w * k) * x
                (g,) = autograd.grad(y, w)
                np.testing.assert_allclose(
                    g.asnumpy(), k * np.cos(np.arange(8) * k) * np.arange(1, 9), rtol=1e-4, atol=1e-5
                )
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_the_engine_reads_no_dead_memory_after_a_swap():
    x = marked(1, 2)
    seen = x.grad.tensor.numpy()  # a view by NumPy, which must stay valid
    with autograd.record():
        y = x * 3
    y.backward()
    assert seen.tolist() == [3, 3]


def test_contexts():
    assert mx.cpu() == mx.cpu(0) != mx.cpu(1) and repr(mx.gpu(2)) == "gpu(2)"
    with mx.cpu(3) as c:
        assert mx.current_context() == c and nd.zeros(1).context == mx.cpu(3)
    assert mx.current_context() == mx.cpu()
    if not torch.cuda.is_available():
        with pytest.raises(MXNetError, match=r"gpu\(0\): this machine has 0 GPUs"):
            nd.zeros(2, ctx=mx.gpu())


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_share_no_memory(create_graph):
    """Gradients of two arrays share no memory with each other or with the head gradient."""
    x, z, head = mx.nd.ones((3,)), mx.nd.ones((3,)), mx.nd.ones((3,))
    x.attach_grad()
    z.attach_grad()
    with mx.autograd.record():
        y, total = x + z, (x * 1 + z).sum()
    for heads, given in ([y], [head]), ([total], None):
        gx, gz = mx.autograd.grad(heads, [x, z], given, create_graph=create_graph, retain_graph=True)
        gx[0] = 5
        assert gx.asnumpy().tolist() == [5, 1, 1]
        assert gz.asnumpy().tolist() == head.asnumpy().tolist() == [1, 1, 1]
