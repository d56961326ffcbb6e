"""Link, Chain and ChainList."""

import copy
import pickle

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, chainer, f32


class Affine(chainer.Link):
    def __init__(self, n_in=2, n_out=3):
        super().__init__()
        with self.init_scope():
            self.W = chainer.Parameter(chainer.initializers.Normal(), (n_out, n_in))
            self.b = chainer.Parameter(0, (n_out,))
        self.note = "plain"

    def forward(self, x):
        return x, self.note


class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.second = Affine(3, 4)
            self.first = Affine()
            self.stack = chainer.ChainList(Affine(1, 1), Affine(1, 2))
            self.scale = chainer.Parameter(1.0, (1,))
        self.add_persistent("steps", 7)
        self.add_persistent("mean", f32([1, 2]))

    def forward(self, x):
        return self.first(x)


PATHS = [
    "/scale",
    "/first/W",
    "/first/b",
    "/second/W",
    "/second/b",
    "/stack/0/W",
    "/stack/0/b",
    "/stack/1/W",
    "/stack/1/b",
]


def test_assignment_in_init_scope_registers():
    model = Model()
    assert [path for path, _ in model.namedparams()] == PATHS
    assert [id(p) for p in model.params()] == [id(p) for _, p in model.namedparams()]
    assert model.first.W.name == "W" and model.first.name == "first" and model.stack[1].name == "1"
    assert model.name is None and not model.within_init_scope
    with model.init_scope():
        assert model.within_init_scope
        with pytest.raises(AttributeError, match="first"):
            model.first = Affine()
    model.late = chainer.Parameter(0, (1,))
    assert len(list(model.params())) == len(PATHS)


def test_init_scope_ends_with_an_exception():
    link = Affine()
    with pytest.raises(ZeroDivisionError), link.init_scope():
        raise ZeroDivisionError
    assert not link.within_init_scope


def test_names_of_links_and_children():
    model = Model()
    assert [path for path, _ in model.namedlinks()] == [
        "/",
        "/first",
        "/second",
        "/stack",
        "/stack/0",
        "/stack/1",
    ]
    assert next(iter(model.links())) is model
    assert list(model.links(skipself=True)) == [link for _, link in model.namedlinks(skipself=True)]
    assert list(model.children()) == [model.first, model.second, model.stack]
    assert model["first"] is model.first
    assert list(Affine().children()) == []


def test_deleting_and_replacing():
    model = Model()
    del model.second
    del model.first.b
    assert [p for p, _ in model.namedparams()] == [p for p in PATHS if "second" not in p and p != "/first/b"]
    model.first.register_persistent("W")
    assert "/first/W" not in dict(model.namedparams())
    replacement = model.first.W = chainer.Parameter(0, (1,))
    assert "/first/W" not in dict(model.namedparams())
    with model.first.init_scope():
        model.first.W = replacement
    assert dict(model.namedparams())["/first/W"] is replacement


def test_errors_of_registration():
    link = Affine()
    with pytest.raises(AttributeError, match="W"):
        link.add_param("W", (1,))
    with pytest.raises(AttributeError, match="W"):
        link.add_persistent("W", 1)
    with pytest.raises(AttributeError, match="unknown"):
        link.register_persistent("unknown")
    with pytest.raises(TypeError, match="non-link"):
        chainer.Chain().add_link("x", 3)
    with pytest.raises(AttributeError, match="a"):
        chainer.Chain(a=Affine()).add_link("a", Affine())
    chain_list = chainer.ChainList()
    with pytest.raises(TypeError, match="init_scope"), chain_list.init_scope():
        chain_list.child = Affine()
    with pytest.raises(NotImplementedError):
        chainer.Link.from_params()


def test_a_link_whose_init_was_not_called():
    class Forgetful(chainer.Link):
        def __init__(self):
            pass

        def forward(self):
            pass

    with pytest.raises(RuntimeError, match="__init__"):
        Forgetful()()
    with pytest.raises(RuntimeError, match="__init__"), Forgetful().init_scope():
        pass


def test_keyword_parameters():
    link = chainer.Link(a=(2, 3), b=4, c=((1,), np.float64), d=None)
    assert link.a.shape == (2, 3) and link.a.dtype == np.float32 and np.isnan(link.a.array).all()
    assert link.b.shape == (4,) and link.c.dtype == np.float64
    assert link.d.array is None and not link.d.is_initialized
    link.add_param("e", (2,), initializer=3)
    np.testing.assert_array_equal(link.e.array, f32([3, 3]))
    assert [p.name for p in link.params(include_uninit=False)] == ["a", "b", "c", "e"]


def test_call_goes_to_forward():
    class Mixin:
        def __call__(self, x):
            return "mixin", x

    class OldStyle(chainer.Link, Mixin):
        pass

    class Overriding(chainer.Link):
        def __call__(self, x):
            return "own", x

    assert Affine()(x=1) == (1, "plain")
    assert OldStyle()(2) == ("mixin", 2)
    assert Overriding()(3) == ("own", 3)
    link = Affine()
    link.forward = lambda x: ("instance", x)
    assert link(4) == ("instance", 4)
    with pytest.raises(AttributeError, match="forward"):
        chainer.Link()()


class Recorder(chainer.LinkHook):
    name = "Recorder"

    def __init__(self):
        self.events = []

    def added(self, link):
        self.events.append(("added", link))

    def deleted(self, link):
        self.events.append(("deleted", link))

    def forward_preprocess(self, args):
        self.events.append(("pre", args.link, args.forward_name, args.args, args.kwargs))

    def forward_postprocess(self, args):
        self.events.append(("post", args.link, args.forward_name, args.args, args.kwargs, args.out))


def test_thread_hooks():
    model, hook = Model(), Recorder()
    with hook:
        model(5)
        with pytest.raises(KeyError, match="Recorder"), Recorder():
            pass
    model(6)
    out = (5, "plain")
    assert hook.events == [
        ("added", None),
        ("pre", model, "forward", (5,), {}),
        ("pre", model.first, "forward", (5,), {}),
        ("post", model.first, "forward", (5,), {}, out),
        ("post", model, "forward", (5,), {}, out),
        ("deleted", None),
    ]


def test_local_hooks():
    model, hook = Model(), Recorder()
    assert model.first.add_hook(hook) is model.first
    assert list(model.first.local_link_hooks) == ["Recorder"]
    with pytest.raises(KeyError, match="Recorder"):
        model.first.add_hook(Recorder())
    with pytest.raises(TypeError, match="LinkHook"):
        model.first.add_hook(print)
    model.first.add_hook(Recorder(), name="other")
    model(x=1)
    model.first.delete_hook("Recorder")
    model(x=2)
    with pytest.raises(KeyError, match="Recorder"):
        model.first.delete_hook("Recorder")
    assert [event[0] for event in hook.events] == ["added", "pre", "post", "deleted"]
    assert all(event[1] is model.first for event in hook.events)


def test_copy_modes():
    model = Model()
    model.first.W.grad = np.ones_like(model.first.W.array)
    shared, copied, drawn = (model.copy(mode) for mode in ("share", "copy", "init"))
    for other in (shared, copied, drawn):
        assert [path for path, _ in other.namedparams()] == PATHS
        assert other.first.W is not model.first.W
        assert other.first.name == "first" and other.stack[1].name == "1"
    assert shared.first.W.array is model.first.W.array and shared.first.W.grad is None
    assert model.copy().first.W.array is model.first.W.array
    assert copied.first.W.array is not model.first.W.array
    np.testing.assert_array_equal(copied.first.W.array, model.first.W.array)
    assert (drawn.first.W.array != model.first.W.array).all()
    shared.first.extra = 1
    assert not hasattr(model.first, "extra")
    with pytest.raises(ValueError, match="mode"):
        model.copy("steal")


def test_copyparams_and_addgrads():
    source, target = Model(), Model()
    source.mean[:] = 9
    source.steps = 11
    target.copyparams(source)
    for (path, p), (_, q) in zip(source.namedparams(), target.namedparams(), strict=True):
        np.testing.assert_array_equal(p.array, q.array, err_msg=path)
        assert p.array is not q.array
    assert target.steps == 11
    np.testing.assert_array_equal(target.mean, f32([9, 9]))
    source.mean[:] = 0
    target.copyparams(source, copy_persistent=False)
    np.testing.assert_array_equal(target.mean, f32([9, 9]))
    for k, link in enumerate((source, target)):
        link.cleargrads()
        for p in link.params():
            p.grad = np.full_like(p.array, 10**k)
    target.addgrads(source)
    for p in target.params():
        np.testing.assert_array_equal(p.grad, np.full_like(p.array, 11))


def test_gradients_and_counts():
    model = Model()
    model.cleargrads()
    assert all(p.grad is None for p in model.params())
    with pytest.warns(DeprecationWarning):
        model.zerograds()
    assert all((p.grad == 0).all() for p in model.params())
    assert model.count_params() == 1 + 6 + 3 + 12 + 4 + 2 + 4
    model.first.add_param("lazy")
    with pytest.warns(UserWarning, match="/first/lazy"):
        assert model.count_params() == 32


def test_cleargrads_asks_an_overridden_params():
    class Frozen(chainer.Chain):
        def params(self, include_uninit=True):
            return (p for p in super().params(include_uninit) if p.name != "b")

    model = chainer.Chain(frozen=Frozen(a=Affine()), free=Affine())
    for p in (model.frozen.a.b, model.free.b):
        p.grad = np.zeros_like(p.array)
    model.cleargrads()
    assert model.frozen.a.b.grad is not None and model.free.b.grad is None
    # the chain also calls the overridden `params` of its children
    assert [p.name for p in model.params()] == ["W", "b", "W"]


def test_enable_and_disable_update():
    model = Model()
    assert not model.update_enabled
    chainer.optimizers.SGD().setup(model)
    assert model.update_enabled
    model.first.disable_update()
    assert not model.first.update_enabled and model.update_enabled
    model.disable_update()
    assert not model.update_enabled
    model.first.enable_update()
    assert model.update_enabled and not model.second.update_enabled


def test_chain_list_is_a_list():
    links = [Affine(1, 1) for _ in range(5)]
    stack = chainer.ChainList(*links[:2])
    stack.append(links[2])
    stack.insert(0, links[3])
    assert list(stack) == [links[3], *links[:3]] and [link.name for link in stack] == list("0123")
    assert stack[1:3] == links[:2] and stack[-1] is links[2] and len(stack) == 4
    stack[0] = links[4]
    assert stack[0] is links[4] and links[4].name == "0"
    del stack[1]
    assert [link.name for link in stack] == list("012")
    stack[1:] = [links[0]]
    assert list(stack) == [links[4], links[0]] and links[0].name == "1"
    assert stack.pop() is links[0]
    with pytest.raises(TypeError, match="integers or slices"):
        stack["a"] = links[0]
    stack.add_link(links[1])
    stack.extend(links[2:4])
    assert [path for path, _ in stack.namedlinks(True)] == ["/0", "/1", "/2", "/3"]


class Dict(chainer.Serializer):
    def __init__(self, store, prefix=""):
        self.store, self.prefix = store, prefix

    def __getitem__(self, key):
        return Dict(self.store, f"{self.prefix}{key}/")

    def __call__(self, key, value):
        self.store[self.prefix + key] = value
        return value


class Load(chainer.Deserializer):
    def __init__(self, store, prefix=""):
        self.store, self.prefix = store, prefix

    def __getitem__(self, key):
        return Load(self.store, f"{self.prefix}{key}/")

    def __call__(self, key, value):
        stored = self.store[self.prefix + key]
        if isinstance(value, np.ndarray):
            np.copyto(value, stored)
            return value
        return stored


def test_serialize():
    model, other, store = Model(), Model(), {}
    other.first.W = chainer.Parameter(chainer.initializers.Normal())
    other.first._params.add("W")
    model.serialize(Dict(store))
    assert sorted(store) == sorted([path[1:] for path in PATHS] + ["steps", "mean"])
    store["steps"] = 8
    other.serialize(Load(store))
    for p, q in zip(model.params(), other.params(), strict=True):
        np.testing.assert_array_equal(p.array, q.array)
    assert other.steps == 8


def test_repeat():
    link = Affine(2, 2)
    repeated = link.repeat(3)
    assert isinstance(repeated, chainer.Sequential) and len(repeated) == 3
    assert (repeated[0].W.array != repeated[1].W.array).all()
    shared = link.repeat(2, "share")
    assert shared[0].W.array is shared[1].W.array is link.W.array
    assert len(link.repeat(0)) == 0
    with pytest.raises(ValueError, match="mode"):
        link.repeat(2, "steal")


def test_str():
    L = chainer.links
    model = chainer.Chain(a=L.Linear(2, 3, nobias=True), b=chainer.ChainList(L.Convolution2D(None, 4, 3)))
    assert str(model) == (
        "Chain(\n"
        "  (a): Linear(in_size=2, out_size=3, nobias=True),\n"
        "  (b): ChainList(\n"
        "    (0): Convolution2D(in_channels=None, out_channels=4, ksize=3, stride=(1, 1), pad=(0, 0), "
        "nobias=False, dilate=(1, 1), groups=1),\n"
        "  ),\n"
        ")"
    )
    assert str(chainer.Chain()) == "Chain()" and str(Affine()) == "Affine()"


def test_copies_and_pickles_are_independent():
    model = Model()
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert [path for path, _ in other.namedparams()] == PATHS
        other.first.W.array[...] = 5
        assert (model.first.W.array != 5).all()
        with other.init_scope():
            other.more = Affine()
        assert not hasattr(model, "more")


def test_to_device_visits_all():
    model = Model()
    assert model.to_device("@numpy") is model
    assert model.xp is np and model.device == chainer.get_device("@numpy")
    if not ORIGINAL:
        with pytest.warns(DeprecationWarning, match="to_cpu"):
            assert model.to_cpu() is model
