"""Optimizer, GradientMethod, UpdateRule and the optimizer hooks."""

import copy
import pickle

import numpy as np
import pytest

from tests.chainer.subject import chainer, f32

O = chainer.optimizers  # noqa: E741
H = chainer.optimizer_hooks
optimizer_module = chainer.optimizer


def make_link(names="abc", dtype=np.float32):
    link = chainer.Link()
    with link.init_scope():
        for i, name in enumerate(names):
            setattr(link, name, chainer.Parameter(np.arange(1 + i, 4 + i, dtype=dtype)))
    set_grads(link)
    return link


def set_grads(link):
    for i, p in enumerate(link.params()):
        p.grad = np.full(p.shape, 0.5 + i, p.dtype)


def arrays(link):
    return [p.array.copy() for p in link.params()]


def assert_same(xs, ys):
    for x, y in zip(xs, ys, strict=True):
        np.testing.assert_array_equal(x, y)


# ---- update -----------------------------------------------------------------------------------------------


def test_update_with_a_loss_function_clears_before_backward():
    link = make_link("a")
    optimizer = O.SGD(lr=0.1).setup(link)
    seen = []

    def loss(scale, offset=0):
        seen.append(link.a.grad.copy())
        return chainer.functions.sum(link.a * scale) + offset

    optimizer.update(loss, 2.0, offset=1)
    assert_same(seen, [f32([0.5, 0.5, 0.5])])
    np.testing.assert_allclose(link.a.array, f32([0.8, 1.8, 2.8]))
    np.testing.assert_array_equal(link.a.grad, f32([2, 2, 2]))
    assert optimizer.t == link.a.update_rule.t == 1


def test_missing_gradients_become_zeros():
    link = make_link()
    optimizer = O.MomentumSGD().setup(link)
    link.b.grad = None
    before = arrays(link)
    optimizer.update()
    np.testing.assert_array_equal(link.b.grad, f32([0, 0, 0]))
    np.testing.assert_array_equal(link.b.array, before[1])
    assert link.b.update_rule.t == 1 and (link.a.array != before[0]).all()


def test_lazy_parameters_wait():
    link = make_link("a")
    link.add_param("z")
    optimizer = O.Adam().setup(link)
    link.cleargrads()
    optimizer.update()
    assert link.z.array is None and link.z.update_rule.t == 1 and link.z.update_rule.state is None
    link.z.initialize((2,))
    link.z.grad = f32([1, 1])
    optimizer.update()
    assert link.z.update_rule.t == 2 and link.z.update_rule.state["m"].shape == (2,)


def test_disabled_rules_do_nothing():
    link = make_link()
    optimizer = O.Adam().setup(link)
    link.b.update_rule.enabled = False
    before = arrays(link)
    optimizer.update()
    np.testing.assert_array_equal(link.b.array, before[1])
    assert [p.update_rule.t for p in link.params()] == [1, 0, 1]
    link.b.update_rule.enabled = True
    optimizer.update()
    assert [p.update_rule.t for p in link.params()] == [2, 1, 2]
    # its update is a first step, although the other parameters had two
    lonely = make_link("b")
    lonely.b.array[:] = before[1]
    lonely.b.grad = link.b.grad
    O.Adam().setup(lonely).update()
    np.testing.assert_array_equal(link.b.array, lonely.b.array)


def test_a_parameter_of_two_links_is_updated_twice():
    link = make_link("a")
    model = chainer.ChainList(link, chainer.Link())
    with model[1].init_scope():
        model[1].again = link.a
    O.Adam(alpha=0.1).setup(model).update()
    twice = make_link("a")
    optimizer = O.Adam(alpha=0.1).setup(twice)
    optimizer.update()
    optimizer.update()
    assert link.a.update_rule.t == 2
    np.testing.assert_array_equal(link.a.array, twice.a.array)


def test_hyperparameters_of_one_parameter():
    link = make_link()
    optimizer = O.SGD(lr=0.1).setup(link)
    link.b.update_rule.hyperparam.lr = 1.0
    optimizer.lr = 0.5
    before = arrays(link)
    optimizer.update()
    steps = [b - p.array for b, p in zip(before, link.params(), strict=True)]
    np.testing.assert_allclose([s[0] / p.grad[0] for s, p in zip(steps, link.params(), strict=True)], [0.5, 1, 0.5])


def test_state_arrays_are_the_users():
    link = make_link("a")
    optimizer = O.MomentumSGD(lr=0.1, momentum=0.5).setup(link)
    assert link.a.update_rule.state is None
    optimizer.update()
    state = link.a.update_rule.state
    v = state["v"]
    assert isinstance(v, np.ndarray)
    np.testing.assert_allclose(v, -0.05, rtol=1e-6)
    v[:] = 4  # a program writes into the state
    link.a.array[:] = 0
    optimizer.update()
    np.testing.assert_allclose(link.a.array, 2 - 0.05, rtol=1e-6)
    state["v"] = f32([0, 2, 4])  # a program replaces the state
    optimizer.update()
    np.testing.assert_allclose(state["v"], f32([-0.05, 0.95, 1.95]), rtol=1e-6)
    state["v"] = f32([4, 2, 0])[::-1]  # the new state is not contiguous
    optimizer.update()
    np.testing.assert_allclose(state["v"], f32([-0.05, 0.95, 1.95]), rtol=1e-6)
    assert v.tolist() == f32([1.95] * 3).tolist()


def test_arrays_that_torch_cannot_alias():
    link = chainer.Link()
    with link.init_scope():
        link.a = chainer.Parameter(f32([3, 2, 1])[::-1])
    link.a.grad = f32([1, 2, 3])[::-1]
    optimizer = O.SGD(lr=1).setup(link)
    optimizer.add_hook(H.WeightDecay(1.0))
    optimizer.update()
    np.testing.assert_array_equal(link.a.grad, f32([4, 4, 4]))
    np.testing.assert_array_equal(link.a.array, f32([-3, -2, -1]))


class NumpyAdam(O.adam.AdamRule):
    def init_state(self, param):
        super().init_state(param)
        self.state["steps"] = 0

    def update_core_cpu(self, param):
        grad, hp = param.grad, self.hyperparam
        m, v = self.state["m"], self.state["v"]
        m += (1 - hp.beta1) * (grad - m)
        v += (1 - hp.beta2) * (grad * grad - v)
        param.data -= hp.eta * (self.alpha_t * m / (np.sqrt(v) + hp.eps))
        self.state["steps"] += 1


class NumpyAdamOptimizer(O.Adam):
    def create_update_rule(self):
        return NumpyAdam(self.hyperparam)


def test_rules_written_on_arrays():
    link, stock = make_link(), make_link()
    optimizer = NumpyAdamOptimizer(alpha=0.1).setup(link)
    reference = O.Adam(alpha=0.1).setup(stock)
    # a custom rule among built-in ones
    stock.b.update_rule = NumpyAdam(reference.hyperparam)
    for _ in range(3):
        optimizer.update()
        reference.update()
    for p, q in zip(link.params(), stock.params(), strict=True):
        np.testing.assert_allclose(p.array, q.array, rtol=1e-6)
    assert link.a.update_rule.state["steps"] == stock.b.update_rule.state["steps"] == 3
    assert "steps" not in stock.a.update_rule.state


def test_a_method_replaced_on_an_instance_is_called():
    link = make_link()
    optimizer = O.Adam().setup(link)
    called = []
    link.b.update_rule.update_core = called.append
    before = arrays(link)
    optimizer.update()
    assert len(called) == 1 and called[0] is link.b
    np.testing.assert_array_equal(link.b.array, before[1])


def test_rules_without_core():
    rule = chainer.UpdateRule()
    p = chainer.Parameter(f32([1]))
    p.grad = f32([1])
    p.update_rule = rule
    with pytest.raises(NotImplementedError):
        p.update()
    with pytest.raises(NotImplementedError):
        chainer.Optimizer().update()
    with pytest.raises(NotImplementedError):
        chainer.GradientMethod().setup(make_link())


def test_copies_of_a_model_have_states_of_their_own():
    link = make_link()
    optimizer = O.Adam(alpha=0.1).setup(link)
    optimizer.update()
    for other in (copy.deepcopy(link), pickle.loads(pickle.dumps(link))):
        expected = copy.deepcopy(arrays(link))
        state = {name: array.copy() for name, array in link.a.update_rule.state.items()}
        other_state = other.a.update_rule.state
        for p in other.params():
            p.grad = np.ones_like(p.array)
            p.update()
        assert_same(arrays(link), expected)
        assert_same(link.a.update_rule.state.values(), state.values())
        assert (other_state["m"] != state["m"]).all()


# ---- hooks ------------------------------------------------------------------------------------------------


def test_hooks_run_in_order_around_the_update():
    link = make_link("ab")
    optimizer = O.SGD(lr=1).setup(link)
    log = []
    optimizer.add_hook(lambda opt: log.append(("first", opt.t)), name="first")
    optimizer.add_hook(lambda opt: log.append(("post", opt.t)), name="post", timing="post")
    optimizer.add_hook(lambda opt: log.append(("second", opt.t)), name="second")
    link.a.update_rule.add_hook(lambda rule, p: log.append(("rule pre", p.array[0])), name="x")
    link.a.update_rule.add_hook(lambda rule, p: log.append(("rule post", p.array[0])), name="y", timing="post")
    optimizer.update()
    assert log == [("first", 0), ("second", 0), ("rule pre", 1), ("rule post", 0.5), ("post", 1)]
    optimizer.remove_hook("first")
    optimizer.remove_hook("post")
    link.a.update_rule.remove_hook("x")
    link.a.update_rule.remove_hook("y")
    log.clear()
    optimizer.update()
    assert log == [("second", 1)]


def test_hooks_for_each_parameter():
    link = make_link("ab")
    optimizer = O.SGD(lr=1).setup(link)

    class Each:
        name = "Each"
        call_for_each_param = True
        seen = []

        def __call__(self, rule, param):
            assert param.update_rule is rule
            self.seen.append(param.name)
            param.grad = None

    optimizer.add_hook(Each())
    before = arrays(link)
    optimizer.update()
    assert Each.seen == ["a", "b"]
    assert_same(arrays(link), before)


def test_errors_of_hooks():
    optimizer = O.SGD()
    with pytest.raises(RuntimeError, match="setup"):
        optimizer.add_hook(print)
    with pytest.raises(RuntimeError, match="setup"):
        optimizer.call_hooks()
    with pytest.raises(TypeError, match="link"):
        optimizer.setup("model")
    optimizer.setup(make_link())
    with pytest.raises(TypeError, match="callable"):
        optimizer.add_hook(1)
    with pytest.raises(ValueError, match="timing"):
        optimizer.add_hook(print, timing="now")
    optimizer.add_hook(print)
    with pytest.raises(KeyError, match="print"):
        optimizer.add_hook(print)
    with pytest.raises(KeyError):
        optimizer.remove_hook("unknown")
    with pytest.raises(ValueError, match="name"):
        optimizer.add_hook(type("Nameless", (), {"__call__": lambda self, opt: None})())
    strange = H.WeightDecay(1)
    strange.timing = "sometime"
    with pytest.warns(UserWarning, match="timing"):
        optimizer.add_hook(strange)


@pytest.mark.parametrize(
    "hook, expected",
    [
        (lambda: H.WeightDecay(0.1), lambda p, g: g + 0.1 * p),
        (lambda: H.Lasso(0.1), lambda p, g: g + 0.1 * np.sign(p)),
        (lambda: H.GradientHardClipping(-0.5, 0.75), lambda p, g: np.clip(g, -0.5, 0.75)),
        (
            lambda: H.GradientLARS(0.01, 0.1, 1e-9),
            lambda p, g: (g + 0.1 * p) * np.linalg.norm(p) / (1e-9 + np.linalg.norm(g) + 0.1 * np.linalg.norm(p)),
        ),
    ],
)
@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_hooks_that_change_each_gradient(hook, expected, each, dtype):
    link = chainer.Link()
    with link.init_scope():
        link.a = chainer.Parameter(np.array([[-2, 0], [0.5, 3]], dtype))
        link.b = chainer.Parameter(np.array([1, -1, 4], dtype).reshape(3, 1))
        link.none = chainer.Parameter(np.ones(2, dtype))
    grads = [np.array([[-1, 1], [0.25, 0]], dtype), np.array([2, -3, 0.5], dtype).reshape(3, 1)]
    link.cleargrads()
    link.a.grad, link.b.grad = (g.copy() for g in grads)
    views = link.a.grad, link.b.grad
    if each:
        for p in link.params():
            hook()(p.update_rule, p)
    else:
        O.SGD().setup(link).call_hook(hook())
    for p, g, view in zip((link.a, link.b), grads, views, strict=True):
        value = expected(p.array.astype(np.float64), g.astype(np.float64))
        np.testing.assert_allclose(view, value, rtol=4e-3 if dtype is np.float16 else 1e-6)
        assert p.grad is view or np.shares_memory(p.grad, view)
    np.testing.assert_array_equal(link.none.array, [1, 1])


def test_weight_decay_follows_the_loss_scale():
    link = make_link("ab")
    link.a._loss_scale = 8
    O.SGD().setup(link).call_hook(H.WeightDecay(0.5))
    np.testing.assert_allclose(link.a.grad, 0.5 + 4 * link.a.array)
    np.testing.assert_allclose(link.b.grad, 1.5 + 0.5 * link.b.array)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threshold", [0.5, 100.0])
def test_gradient_clipping(threshold, dtype):
    link = make_link(dtype=dtype)
    before = [p.grad.copy() for p in link.params()]
    norm = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in before))
    optimizer = O.SGD().setup(link)
    optimizer.add_hook(H.GradientClipping(threshold))
    optimizer.call_hooks("pre")
    for p, g in zip(link.params(), before, strict=True):
        np.testing.assert_allclose(p.grad, g * min(1, threshold / norm), rtol=1e-6)


def test_gradient_clipping_of_many_elements():
    grads = np.random.RandomState(0).normal(size=(1003, 57)).astype(np.float32)
    link = chainer.Link()
    with link.init_scope():
        link.a = chainer.Parameter(np.zeros_like(grads))
    link.a.grad = grads.copy()
    O.SGD().setup(link).call_hook(H.GradientClipping(1.0))
    np.testing.assert_allclose(link.a.grad, grads / np.linalg.norm(grads.astype(np.float64)), rtol=1e-5)


def test_gradient_noise_draws_from_the_global_stream():
    link = make_link("ab")
    before = [p.grad.copy() for p in link.params()]
    optimizer = O.SGD().setup(link)
    np.random.seed(0)
    noise = [np.random.normal(0, np.sqrt(0.1), 3).astype(np.float32) for _ in "ab"]
    np.random.seed(0)
    optimizer.call_hook(H.GradientNoise(0.1))
    assert_same([p.grad for p in link.params()], [b + n for b, n in zip(before, noise, strict=True)])
    optimizer.call_hook(H.GradientNoise(0.1, noise_func=lambda xp, shape, dtype, hook, rule: -noise[0]))
    np.testing.assert_allclose(link.a.grad, before[0], atol=1e-6)


def test_old_names_of_hooks_warn():
    for name, args in {
        "WeightDecay": (1,),
        "Lasso": (1,),
        "GradientClipping": (1,),
        "GradientNoise": (1,),
        "GradientHardClipping": (0, 1),
    }.items():
        with pytest.warns(DeprecationWarning, match="optimizer_hooks"):
            hook = getattr(optimizer_module, name)(*args)
        assert isinstance(hook, getattr(H, name)) and hook.name == name
    link, other = make_link(), make_link()
    with pytest.warns(DeprecationWarning):
        O.SGD().setup(link).call_hook(optimizer_module.WeightDecay(0.1))
    O.SGD().setup(other).call_hook(H.WeightDecay(0.1))
    assert_same([p.grad for p in link.params()], [p.grad for p in other.params()])


# ---- loss scaling and precision ---------------------------------------------------------------------------


def test_loss_scale():
    link, plain = make_link("a"), make_link("a")
    optimizer = O.MomentumSGD(lr=0.1).setup(link)
    optimizer.set_loss_scale(64)
    reference = O.MomentumSGD(lr=0.1).setup(plain)
    for _ in range(3):
        optimizer.update(lambda: chainer.functions.sum(link.a * link.a))
        reference.update(lambda: chainer.functions.sum(plain.a * plain.a))
    np.testing.assert_allclose(link.a.array, plain.a.array, rtol=1e-6)
    np.testing.assert_allclose(link.a.grad, plain.a.grad, rtol=1e-6)
    for bad in (0, -1):
        with pytest.raises(ValueError, match="loss_scale"):
            optimizer.set_loss_scale(bad)


def test_loss_scales_that_differ():
    """Each update divides each gradient in place by the scale of its parameter, once."""
    link = make_link("abc")
    link.a._loss_scale, link.b._loss_scale = 8, 8.0
    grads = [p.grad.copy() for p in link.params()]
    before = [p.array.copy() for p in link.params()]
    optimizer = O.SGD(lr=0.5).setup(link)
    optimizer.update()
    for p, x, g, scale in zip(link.params(), before, grads, (8, 8, 1), strict=True):
        np.testing.assert_array_equal(p.grad, g / f32(scale))
        np.testing.assert_array_equal(p.array, x - f32(0.5) * p.grad)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_all_gradients_that_are_not_finite_are_named(dtype):
    link = make_link("abc", dtype)
    optimizer = O.SGD().setup(link)
    optimizer.loss_scaling()
    link.a.grad[1], link.c.grad[2] = np.nan, -np.inf
    with pytest.warns(UserWarning) as warnings:
        optimizer.check_nan_in_grads()
    assert [str(w.message).split(" of ")[1].split()[0] for w in warnings] == ["/a", "/c"]
    assert not optimizer.is_safe_to_update()
    link.a.grad[1], link.c.grad[2] = 1, 2
    optimizer.check_nan_in_grads()
    assert optimizer.is_safe_to_update()


def test_dynamic_loss_scale():
    link = make_link("a")
    optimizer = O.SGD(lr=0.1).setup(link)
    with pytest.raises(ValueError, match="interval"):
        optimizer.loss_scaling(interval=0)
    optimizer.loss_scaling(interval=2)
    loss = lambda factor=1.0: chainer.functions.sum(link.a * factor)  # noqa: E731
    scales = []
    before = link.a.array.copy()
    for factor in (1, 1, np.inf, 1, 1):
        if factor == np.inf:
            before = link.a.array.copy()
            with pytest.warns(UserWarning, match="/a"):
                optimizer.update(loss, float(factor))
            np.testing.assert_array_equal(link.a.array, before)
        else:
            optimizer.update(loss, float(factor))
        scales.append(optimizer._loss_scale)
    np.testing.assert_allclose(scales, [2, 4, 2, 2 * 2**0.5, 4])
    assert not optimizer.is_safe_to_update() or optimizer.t == 5


def test_fp32_update():
    link = make_link("ab", np.float16)
    optimizer = O.SGD(lr=2.0**-12).setup(link)
    optimizer.use_fp32_update()
    for _ in range(4):
        optimizer.update()
    # steps of 2**-13 are lost in half precision
    assert link.a.array.dtype == np.float16
    np.testing.assert_array_equal(link.a.array, np.array([1 - 2**-11, 2, 3], np.float16))
    np.testing.assert_array_equal(link.a.update_rule._fp32_param.array, f32([1, 2, 3]) - f32(2**-11))
    plain = make_link("ab", np.float16)
    optimizer = O.SGD(lr=2.0**-12).setup(plain)
    for _ in range(4):
        optimizer.update()
    np.testing.assert_array_equal(plain.a.array, np.array([1, 2, 3], np.float16))


@pytest.mark.parametrize("cls, dtype", [(O.RMSprop, np.float16), (O.Adam, np.float32)])
def test_eps_that_underflows(cls, dtype):
    link = make_link("a", dtype)
    optimizer = cls(eps=1e-50).setup(link)
    with pytest.raises((ValueError, AttributeError)):
        optimizer.update()
    link = make_link("a", dtype)
    cls(eps=0).setup(link).update()


def test_adams_rates_need_a_step():
    link = make_link("a")
    optimizer = O.AdaBound().setup(link)
    rule = link.a.update_rule
    for read in (lambda: optimizer.alpha_t, lambda: rule.alpha_t, lambda: rule.bounds):
        with pytest.raises(RuntimeError, match="not been started"):
            read()
    optimizer.update()
    assert optimizer.alpha_t == rule.alpha_t == pytest.approx(0.001 * (1 - 0.999) ** 0.5 / (1 - 0.9))
    with pytest.warns(DeprecationWarning, match="alpha_t"):
        assert optimizer.lr == rule.alpha_t


# ---- the rest ---------------------------------------------------------------------------------------------


def test_epochs():
    optimizer = O.SGD().setup(make_link())
    optimizer.new_epoch()
    assert optimizer.epoch == 1
    with pytest.raises(RuntimeError, match="use_auto_new_epoch"):
        optimizer.new_epoch(auto=True)
    optimizer.use_auto_new_epoch = True
    optimizer.new_epoch(auto=True)
    assert optimizer.epoch == 2
    with pytest.raises(RuntimeError, match="duplicated"):
        optimizer.new_epoch()
    optimizer.setup(make_link())
    assert optimizer.epoch == 0 and optimizer.t == 0


def test_hyperparameters():
    parent = optimizer_module.Hyperparameter()
    parent.x, parent.y = 1, 2
    child = optimizer_module.Hyperparameter(parent)
    child.y = 3
    assert (child.x, child.y, child.parent) == (1, 3, parent)
    assert child.get_dict() == {"x": 1, "y": 3} and parent.get_dict() == {"x": 1, "y": 2}
    assert repr(child) == "Hyperparameter(x=1, y=3)"
    with pytest.raises(AttributeError):
        child.z  # noqa: B018
    parent2, child2 = copy.deepcopy([parent, child])
    parent2.x = 5
    assert child2.x == 5 and child.x == 1


@pytest.mark.parametrize("cls", [O.SGD, O.MomentumSGD, O.Adam, O.AMSGrad, O.SMORMS3, O.RMSpropGraves])
@pytest.mark.parametrize("save, load", [("save_npz", "load_npz"), ("save_hdf5", "load_hdf5")])
def test_training_continues_from_a_file(cls, save, load, tmp_path):
    if load == "load_hdf5":
        pytest.importorskip("h5py")
    link = make_link()
    optimizer = cls().setup(link)
    for _ in range(2):
        optimizer.update()
    path = str(tmp_path / "optimizer")
    getattr(chainer.serializers, save)(path, optimizer)
    other = make_link()
    other.copyparams(link)
    restored = cls().setup(other)
    getattr(chainer.serializers, load)(path, restored)
    assert restored.t == 2 and other.a.update_rule.t == 2
    for opt in (optimizer, restored):
        opt.update()
    assert_same(arrays(link), arrays(other))
    for p, q in zip(link.params(), other.params(), strict=True):
        if p.update_rule.state is not None:
            assert sorted(p.update_rule.state) == sorted(q.update_rule.state)
            for name, state in p.update_rule.state.items():
                np.testing.assert_array_equal(state, q.update_rule.state[name])
    # loads into an existing state
    getattr(chainer.serializers, load)(path, restored)
    assert restored.t == 2


def test_averages_that_underflow_end_as_zeros():
    link = make_link("a")
    optimizer = O.Adam().setup(link)
    optimizer.update()
    state = link.a.update_rule.state
    state["m"][:] = 1e-38
    link.a.grad = f32([0, 0, 0])
    for _ in range(200):
        optimizer.update()
    assert (state["m"] < 1e-40).all() and (state["v"] > 0).all()
    # the processor's flush-to-zero mode was reset
    np.testing.assert_array_equal(f32([2e-39]) * f32([0.5]), f32([1e-39]))
