"""Forward and backward with `clear_buffer` and `clear_no_need_grad` free no array in use, and give the same results."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF


@pytest.fixture(autouse=True)
def clean():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


def residual(x):
    def conv_bn(h, name, maps):
        h = PF.convolution(h, maps, (3, 3), pad=(1, 1), with_bias=name != "b", name="conv" + name)
        return PF.batch_normalization(h, name="bn" + name)

    h = F.relu(conv_bn(x, "a", 8))
    h = F.relu(conv_bn(F.relu(conv_bn(h, "b", 8)), "c", 8) + h)
    h = F.relu(h + conv_bn(h, "d", 8))
    return h, F.mean(F.average_pooling(h, (4, 4)) ** 2)


def images(n, size):
    random = np.random.RandomState(0)
    return nn.Variable.from_numpy_array(random.randn(n, 3, size, size).astype(np.float32))


@pytest.mark.semantics("N13")
def test_gradients_do_not_depend_on_freed_arrays():
    x = images(4, 8).apply(need_grad=True)
    h, y = residual(x)
    parameters = nn.get_parameters()
    found = []
    for forward, backward in [
        ({}, {}),
        ({"clear_no_need_grad": True}, {"clear_buffer": True}),
        ({"clear_buffer": True}, {"clear_buffer": True}),
        ({}, {"clear_buffer": True}),
    ]:
        for p in (x, *parameters.values()):
            p.grad.zero()
        y.forward(**forward)
        y.backward(**backward)
        found.append([y.d.copy(), x.g.copy(), *(p.g.copy() for p in parameters.values())])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


@pytest.mark.semantics("N13")
def test_arrays_held_by_a_program_keep_their_values():
    x = images(2, 8).apply(need_grad=True)
    a = PF.convolution(x, 3, (3, 3), pad=(1, 1), name="conv")
    b = PF.batch_normalization(a, name="bn")
    c = b + x
    h = F.relu(c)
    y = F.sum(h * h)
    y.forward()
    y.backward()
    views = [v.d for v in (a, b, c, h)] + [v.g for v in (a, b, c, h)]
    copies = [v.copy() for v in views]
    y.forward(clear_no_need_grad=True)
    y.backward(clear_buffer=True)
    for view, copy in zip(views, copies, strict=True):
        np.testing.assert_array_equal(view, copy)


@pytest.mark.semantics("N13")
def test_persistent_variables_keep_their_values_when_buffers_are_reused():
    x = images(2, 8).apply(need_grad=True)
    a = PF.convolution(x, 3, (3, 3), pad=(1, 1), name="conv")
    b = PF.batch_normalization(a, name="bn")
    h = F.relu(b)
    y = F.sum(h * h)
    y.forward()
    y.backward()
    want = [v.copy() for v in (a.d, a.g, b.d, b.g, h.d, h.g)]
    for v in (a, b, h):
        v.persistent = True
    y.forward(clear_no_need_grad=True)
    y.backward(clear_buffer=True)
    for value, expected in zip((a.d, a.g, b.d, b.g, h.d, h.g), want, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.semantics("N13")
def test_hooks_see_what_a_pass_is_about_to_free():
    x = images(2, 8).apply(need_grad=True)
    b = PF.batch_normalization(PF.convolution(x, 3, (3, 3), pad=(1, 1), name="conv"), name="bn")
    y = F.sum(F.relu(b))
    y.forward(clear_no_need_grad=True)
    seen = []

    def see(f):
        seen.extend(v.grad.clear_called for v in f.outputs)

    y.backward(clear_buffer=True, function_post_hook=see)
    assert len(seen) == 4 and not any(seen)


def test_a_convolution_of_more_images_than_run_at_once():
    random = np.random.RandomState(0)
    n, size, maps = 9, 96, 24
    arrays = [random.randn(*s).astype(np.float32) for s in ((n, maps, size, size), (maps, maps, 3, 3), (maps,))]

    def gradients(arrays):
        x, w, b = (nn.Variable.from_numpy_array(a).apply(need_grad=True) for a in arrays)
        y = F.convolution(x, w, b, pad=(1, 1))
        scale = nn.Variable.from_numpy_array((np.arange(len(arrays[0])) + 1.0).reshape(-1, 1, 1, 1))
        z = F.mean((y * scale) ** 2)
        for v in (x, w, b):
            v.grad.zero()
        z.forward(clear_no_need_grad=True)
        z.backward(clear_buffer=True)
        return z.d.copy(), x.g.copy(), w.g.copy(), b.g.copy(), scale.d

    z, gx, gw, gb, _ = gradients(arrays)
    weights = (np.arange(n) + 1.0) ** 2
    parts = [gradients([arrays[0][i : i + 1], *arrays[1:]]) for i in range(n)]
    np.testing.assert_allclose(z, sum(w * p[0] for w, p in zip(weights, parts, strict=True)) / n, rtol=1e-5)
    for i, (w, p) in enumerate(zip(weights, parts, strict=True)):
        np.testing.assert_allclose(gx[i], p[1][0] * w / n, rtol=1e-4, atol=1e-6)
    for got, k in ((gw, 2), (gb, 3)):
        want = sum(w * p[k] for w, p in zip(weights, parts, strict=True)) / n
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())


def shaped(*shape, need_grad=False):
    x = nn.Variable(shape, need_grad=need_grad)
    x.d = np.random.RandomState(0).rand(*shape)
    return x


#: networks with a layer of which one input needs no gradient and the other one is the output of a function
ONE_SIDED = {
    "spectral norm": lambda x: PF.convolution(x, 5, (3, 3), apply_w=lambda w: PF.spectral_norm(w, test=True)),
    "weight norm": lambda x: PF.convolution(x, 5, (3, 3), apply_w=PF.weight_normalization),
    "standardized": lambda x: F.convolution(x, F.weight_standardization(shaped(5, 4, 3, 3, need_grad=True))),
    "transposed": lambda x: F.deconvolution(x, shaped(4, 5, 3, 3, need_grad=True) * 2.0),
    "transposed, padded": lambda x: F.deconvolution(
        x, shaped(4, 5, 3, 3, need_grad=True) * 2.0, stride=(2, 2), output_padding=(1, 1)
    ),
    "each channel": lambda x: F.depthwise_convolution(x, shaped(4, 3, 3, need_grad=True) * 2.0),
    "transposed each channel": lambda x: F.depthwise_deconvolution(x, shaped(4, 3, 3, need_grad=True) * 2.0),
    "frozen": lambda x: PF.convolution(
        PF.batch_normalization(PF.convolution(x, 4, (3, 3), name="a")), 4, (3, 3), name="b", fix_parameters=True
    ),
    "frozen, transposed": lambda x: PF.deconvolution(
        PF.convolution(x, 4, (3, 3), name="a"), 4, (3, 3), name="b", fix_parameters=True
    ),
    "frozen, each channel": lambda x: PF.depthwise_convolution(
        PF.convolution(x, 4, (3, 3), name="a"), (3, 3), name="b", fix_parameters=True
    ),
    "computed and frozen": lambda x: F.convolution(shaped(2, 4, 6, 6, need_grad=True) * 1.0, shaped(5, 4, 3, 3) * 2.0),
}


@pytest.mark.parametrize("name", ONE_SIDED)
@pytest.mark.parametrize("size", [6, 96])
def test_what_only_one_gradient_reads_is_freed_with_that_one(name, size):
    nn.random.prng = np.random.RandomState(0)
    y = F.mean(ONE_SIDED[name](shaped(2, 4, size, size)) ** 2)
    leaves = [x for f in y._functions() for x in f.inputs if x.parent is None and x.need_grad]
    found = []
    for clear in (False, True):
        for x in leaves:
            x.grad.zero()
        y.forward(clear_no_need_grad=clear)
        y.backward(clear_buffer=clear)
        found.append([x.g.copy() for x in leaves])
    assert any(np.abs(g).sum() > 0 for g in found[0])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("size", [2, 300])  # large arrays are computed without the interpreter lock
def test_data_that_a_user_cleared_is_named(size):
    a, b = (shaped(size, size, need_grad=True) for _ in range(2))
    y = F.mean(F.affine(a, b * 1.0))
    y.forward()
    a.data.clear()
    with pytest.raises(RuntimeError, match="the data of input 0 of Affine was cleared"):
        y.backward()


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("clear", [False, True])
def test_a_state_that_goes_on_into_the_next_pass_is_not_freed(size, clear):
    # expected: nnabla's results without clear_buffer; with it, nnabla reads freed memory
    c0 = nn.Variable((size,))
    c0.data.zero()
    f = nn.Variable.from_numpy_array(np.resize(np.array([1.0, 2, 3], "f"), size)).apply(need_grad=True)
    c2 = f * (f * c0 + 1.0) + 1.0
    c0.data = c2.data
    y = F.sum(F.relu(c2))
    for state, gradient in [([2, 3, 4], [3, 7, 13]), ([4, 15, 40], [7, 37, 133])]:
        f.grad.zero()
        y.forward()
        y.backward(clear_buffer=clear)
        np.testing.assert_array_equal(f.g, np.resize(gradient, size))
        np.testing.assert_array_equal(c0.d, np.resize(state, size))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("size", [3, 5000])
def test_what_an_unlinked_variable_reads_later_is_not_freed(size, dynamic):
    # the two losses of a VQ-VAE: each treats one side as constant
    x = nn.Variable.from_numpy_array(np.full(size, 2.0, "f")).apply(need_grad=True)
    w = nn.Variable.from_numpy_array(np.full(size, 3.0, "f")).apply(need_grad=True)
    with nn.auto_forward(dynamic):
        q = F.reshape(F.tanh(F.sin(w * x.get_unlinked_variable(need_grad=False))), (1, size))
        e = F.reshape(x, (1, size))
        y = F.sum(F.squared_error(q.get_unlinked_variable(need_grad=False), e))
        y = y + F.sum(F.squared_error(q, e.get_unlinked_variable(need_grad=False)))
    value = np.tanh(np.sin(6.0))
    for _ in range(2):
        if not dynamic:
            y.forward(clear_no_need_grad=True)
        x.grad.zero()
        w.grad.zero()
        y.backward(clear_buffer=True)
        np.testing.assert_allclose(x.g, np.full(size, 2 * (2 - value)), rtol=1e-4)
        np.testing.assert_allclose(w.g, np.full(size, 2 * (value - 2) * (1 - value**2) * np.cos(6.0) * 2), rtol=1e-4)
        if dynamic:
            break


@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((100, 100), (100, 100)), ((3, 4), (1, 4)), ((0, 4), (0, 4))])
@pytest.mark.parametrize("turned", [False, True])
def test_sums_in_the_memory_of_an_input(shapes, turned):
    random = np.random.RandomState(0)
    a, b = (nn.Variable.from_numpy_array(random.randn(*s).astype(np.float32), need_grad=True) for s in shapes)
    x = F.mul_scalar(a, 2.0)
    y = F.transpose(F.transpose(F.mul_scalar(b, 3.0), (1, 0)), (1, 0)) if turned else F.mul_scalar(b, 3.0)
    z = x + y
    loss = F.sum(F.mul2(z, z))
    for _ in range(2):
        loss.forward(clear_no_need_grad=True)
        a.grad.zero()
        b.grad.zero()
        loss.backward(clear_buffer=True)
        total = 2 * a.d + 3 * b.d
        np.testing.assert_allclose(loss.d, (total**2).sum(), rtol=1e-4)
        np.testing.assert_allclose(a.g, 4 * total, rtol=1e-5)
        np.testing.assert_allclose(
            b.g, 6 * (total if shapes[0] == shapes[1] else total.sum(0, keepdims=True)), rtol=1e-4
        )


@pytest.mark.parametrize("auto", [False, True])
def test_data_that_an_unlinked_variable_shares_is_kept_for_its_gradients(auto):
    """`forward(clear_no_need_grad=True)` cleared it behind tanh, whose gradient does not read its input."""
    draw = np.random.RandomState(0)
    a, w = (nn.Variable.from_numpy_array(draw.randn(2, 3).astype("f"), need_grad=True) for _ in range(2))
    with nn.auto_forward(auto):
        c = a + a
        y = F.sum(F.tanh(c)) + F.sum(w * c.get_unlinked_variable(need_grad=False))
        y.forward(clear_no_need_grad=True)
        for v in (a, w):
            v.g = 0
        y.backward(clear_buffer=True)
    np.testing.assert_allclose(w.g, 2 * a.d, rtol=1e-6)
    np.testing.assert_allclose(a.g, 2 * (1 - np.tanh(2 * a.d) ** 2), rtol=1e-4, atol=1e-6)
