"""chainer.testing: its helpers accept correct functions and links, and report wrong ones by name."""

import importlib
import itertools
import random
import subprocess
import sys
import textwrap
import unittest
import warnings

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, chainer, f32

testing = importlib.import_module(chainer.__name__ + ".testing")
condition, parameterized, random_module = (
    importlib.import_module(f"{testing.__name__}.{name}") for name in ("condition", "parameterized", "random")
)
CPU = testing.BackendConfig({})
ours_only = pytest.mark.skipif(ORIGINAL, reason="the original fails here")


def generated(decorator, cls):
    """The classes that a decorator generates from a class; removes them from this module."""
    module = sys.modules[__name__]
    before = set(vars(module))
    result = decorator(cls)
    classes = {name: vars(module)[name] for name in set(vars(module)) - before}
    for name in classes:
        delattr(module, name)
    assert not isinstance(result, type)
    return classes


def outcome(cls, name):
    result = unittest.TestResult()
    cls(name).run(result)
    return result


# parameterisation


class Base(unittest.TestCase):
    __test__ = False  # keeps pytest from collecting it

    def test_it(self):
        self.check()

    def helper(self):
        return "helper"


def test_class_names_and_attributes():
    classes = generated(testing.parameterize({"b": np.float32, "a": [1]}, {"b": len, "a": "x" * 200}), Base)
    long = "'" + "x" * 47 + "..." + "x" * 48 + "'"
    assert set(classes) == {"Base_param_0_{a=[1], b=float32}", f"Base_param_1_{{a={long}, b=len}}"}
    first = classes["Base_param_0_{a=[1], b=float32}"]
    assert issubclass(first, Base) and first.a == [1] and first.b is np.float32
    assert first("test_it").helper() == "helper"


def test_a_function_parameter_is_no_method():
    (cls,) = generated(testing.parameterize({"check": lambda: None}), Base).values()
    assert outcome(cls, "test_it").wasSuccessful()


def test_failure_names_the_parameters():
    def check():
        raise KeyError("lost")

    (cls,) = generated(testing.parameterize({"check": check, "size": 3}), Base).values()
    ((_, text),) = outcome(cls, "test_it").errors
    assert "KeyError" in text and "Base.test_it" in text and "size: 3" in text and "lost" in text


@ours_only
def test_failure_of_a_class_that_needs_more_than_a_message():
    def check():
        b"\xff".decode("utf-8")

    (cls,) = generated(testing.parameterize({"check": check}), Base).values()
    ((_, text),) = outcome(cls, "test_it").errors
    assert "UnicodeDecodeError" in text and "invalid start byte" in text


def test_skip_passes_through():
    def check():
        raise unittest.SkipTest("why not")

    (cls,) = generated(testing.parameterize({"check": check}), Base).values()
    assert [reason for _, reason in outcome(cls, "test_it").skipped] == ["why not"]


def test_stacked_decorators_leave_only_the_product():
    def decorate(cls):
        return testing.parameterize({"p": 1}, {"p": 2})(testing.parameterize({"q": 3}, {"q": 4})(cls))

    classes = generated(decorate, Base).values()
    assert sorted((c.p, c.q) for c in classes) == [(1, 3), (1, 4), (2, 3), (2, 4)]


def test_product_and_pytest_form():
    assert testing.product({"a": [1, 2], "b,c": [(3, 4)]}) == [{"a": 1, "b": 3, "c": 4}, {"a": 2, "b": 3, "c": 4}]
    assert testing.product([[{"a": 1}], [{"b": 2}, {"b": 3}]]) == [{"a": 1, "b": 2}, {"a": 1, "b": 3}]
    assert testing.from_pytest_parameterize("a", [(1, 2)]) == [{"a": (1, 2)}]
    for wrong in ((), [{"a": 1}], [[1]]):
        with pytest.raises(TypeError):
            testing.product(wrong)


def test_pairwise_product_shows_every_pair():
    lists = [[{name: i} for i in range(n)] for name, n in (("a", 4), ("b", 3), ("c", 5), ("d", 2))]
    full, some = parameterized._product_dict_orig(*lists), parameterized._pairwise_product_dict(*lists)
    assert len(some) < len(full) and some == parameterized._pairwise_product_dict(*lists)
    for x, y in itertools.combinations("abcd", 2):
        assert {(p[x], p[y]) for p in some} == {(p[x], p[y]) for p in full}
    assert parameterized._pairwise_product_dict(*lists[:2]) == parameterized._product_dict_orig(*lists[:2])


# backends


def test_backend_config():
    with pytest.raises(TypeError):
        testing.BackendConfig([])
    with pytest.raises(ValueError, match="use_tpu"):
        testing.BackendConfig({"use_tpu": True})
    config = testing.BackendConfig({"autotune": True, "use_cudnn": "always"})
    with config, config:
        assert chainer.config.autotune is True and chainer.config.use_cudnn == "always"
    assert chainer.config.autotune is False and chainer.config.use_cudnn == "auto"
    assert config.device == chainer.get_device("@numpy") and config.xp is np
    x = f32([1])
    assert config.get_array((x,))[0] is x
    assert testing.BackendConfig({"use_cuda": True}).get_func_str() == (
        "use_chainerx_false__chainerx_device_None__use_cuda_true__cuda_device_0__use_cudnn_never__"
        "cudnn_deterministic_false__autotune_false__cudnn_fast_batch_normalization_false__use_ideep_never"
    )


def test_inject_some_methods():
    class Some(unittest.TestCase):
        def test_with(self, config):
            assert config.device.xp is np

        def test_without(self):
            pass

    classes = generated(testing.inject_backend_tests(["test_with"], [{}]), Some)
    with_config, without = classes[f"Some_{CPU.get_func_str()}"], classes["Some"]
    assert outcome(with_config, "test_with").wasSuccessful() and with_config.test_without is None
    assert outcome(without, "test_without").wasSuccessful() and without.test_with is None
    for wrong in (("a",), {}), (None, {}), (None, [1]):
        with pytest.raises(TypeError):
            testing.inject_backend_tests(*wrong)


INNER = """
    import unittest
    import numpy as np
    import pytest
    import {chainer} as chainer
    from {chainer} import testing
    from {chainer}.testing import attr, condition

    @testing.parameterize(*testing.product({{'n': [1, 2]}}))
    @testing.inject_backend_tests(None, [{{}}, {{'use_cuda': True, 'cuda_device': 1, 'use_cudnn': 'always'}},
                                         {{'use_ideep': 'auto'}}])
    class TestFunction(testing.FunctionTestCase):
        def generate_inputs(self):
            return np.random.rand(self.n).astype('f'),
        def forward(self, inputs, device):
            return inputs[0] * inputs[0],
        def forward_expected(self, inputs):
            return inputs[0] ** 2,

    @testing.fix_random()
    @testing.inject_backend_tests(None, [{{}}])
    @pytest.mark.xfail(strict=True, raises=testing.FunctionTestError)
    class TestWrong(testing.FunctionTestCase):
        skip_backward_test = skip_double_backward_test = True
        def generate_inputs(self):
            return np.random.rand(3).astype('f'),
        def forward(self, inputs, device):
            return inputs[0] * 2,
        def forward_expected(self, inputs):
            return inputs[0] ** 2,

    class TestRetry(unittest.TestCase):
        n = 0
        @condition.retry(5)
        def test_retry(self):
            TestRetry.n += 1
            self.assertEqual(TestRetry.n, 3)
        @attr.slow
        def test_slow(self):
            pass
        @condition.repeat(2)
        def test_skip(self):
            pytest.skip('no reason')
        @testing.with_requires('no-such-distribution>=1')
        def test_requires(self):
            raise AssertionError

    testing.run_module(__name__, __file__)
"""


def run_inner(tmp_path, *arguments):
    """Runs pytest once for each list of arguments, all in one process; returns the summary line of each run."""
    (tmp_path / "test_inner.py").write_text(textwrap.dedent(INNER.format(chainer=chainer.__name__)))
    markers = "\n".join(f"    {m}" for m in ("gpu", "multi_gpu", "cudnn", "slow", "ideep", "chainerx"))
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = --strict-markers\nmarkers =\n{markers}\n")
    program = f"import pytest\nfor a in {arguments!r}:\n    pytest.main(['-q', '-p', 'no:cacheprovider', *a])"
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    summaries = [line for line in run.stdout.splitlines() if "deselected" in line]
    assert len(summaries) == len(arguments), run.stdout + run.stderr
    return summaries


def test_under_pytest(tmp_path):
    (summary,) = run_inner(tmp_path, ["-m", "not gpu and not ideep and not slow"])
    for part in ("7 passed", "4 skipped", "1 xfailed", "13 deselected"):
        assert part in summary
    assert "failed" not in summary.replace("xfailed", "")


def test_marks_select(tmp_path):
    counts = {"cudnn": 6, "gpu and not cudnn": 0, "ideep": 6, "slow": 1}
    summaries = run_inner(tmp_path, *(["-m", marks, "--collect-only"] for marks in counts))
    for summary, n in zip(summaries, counts.values(), strict=True):
        assert f"{25 - n} deselected" in summary


# functions and links


class Cube(chainer.FunctionNode):
    """x ** 3, with an optional error in the output (wrong=0), the gradient (1) or the second derivative (2)."""

    def __init__(self, wrong=None):
        super().__init__()
        self.wrong = wrong

    def forward(self, inputs):
        self.retain_inputs((0,))
        (x,) = inputs
        return (np.asarray(x**3 + (self.wrong == 0), x.dtype),)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        if self.wrong == 1:
            return (grad_outputs[0] * x * x * 4.0,)
        if self.wrong == 2:
            return (chainer.Variable(3.0 * grad_outputs[0].array * x.array**2) + 0.0 * x * grad_outputs[0],)
        return (grad_outputs[0] * x * x * 3.0,)


class CubeTest(testing.FunctionTestCase):
    __test__ = False
    wrong = None
    shape = (2, 3)

    def generate_inputs(self):
        return (np.random.uniform(0.5, 1, self.shape).astype(np.float32),)

    def forward(self, inputs, device):
        return Cube(self.wrong).apply(inputs)

    def forward_expected(self, inputs):
        return (np.asarray(inputs[0] ** 3, np.float32),)


STEPS = ("run_test_forward", "run_test_backward", "run_test_double_backward")


def make_case(base, method="test_forward", **attributes):
    return type(base.__name__, (base,), attributes)(method)


@pytest.mark.parametrize("shape", [(2, 3), (), (0,)])
@pytest.mark.parametrize("contiguous", [None, "C"])
def test_right_function(shape, contiguous):
    for step in STEPS:
        getattr(make_case(CubeTest, shape=shape, contiguous=contiguous), step)(CPU)


@pytest.mark.parametrize("wrong", range(3))
def test_wrong_function(wrong):
    for i, step in enumerate(STEPS):
        case = make_case(CubeTest, wrong=wrong)
        if i < wrong:
            getattr(case, step)(CPU)
        elif i == wrong:
            with pytest.raises(testing.FunctionTestError):
                getattr(case, step)(CPU)


def test_function_that_writes_to_its_input():
    def forward(self, inputs, device):
        y = Cube().apply(inputs)
        inputs[0].array[...] = 0
        return y

    with pytest.raises(testing.FunctionTestError, match="(?s)modified.*Indices of modified inputs: 0"):
        make_case(CubeTest, forward=forward).run_test_forward(CPU)


def test_function_with_wrong_results():
    cases = {
        "shapes and/or dtypes": lambda self, inputs, device: (inputs[0].reshape(3, 2),),
        "Number of outputs": lambda self, inputs, device: (inputs[0], inputs[0]),
        "return a tuple": lambda self, inputs, device: inputs[0],
        "tuple of Variables": lambda self, inputs, device: (inputs[0].array,),
    }
    for message, forward in cases.items():
        with pytest.raises(testing.FunctionTestError, match=f"(?i){message}"):
            make_case(CubeTest, forward=forward).run_test_forward(CPU)
    with pytest.raises(TypeError, match="generate_inputs"):
        make_case(CubeTest, generate_inputs=lambda self: f32([1])).run_test_forward(CPU)


def test_skips_and_hooks():
    case = make_case(CubeTest, skip_backward_test=True)
    with pytest.raises(unittest.SkipTest, match="skip_backward_test"):
        case.run_test_backward(CPU)
    seen = []
    case = make_case(CubeTest, before_test=lambda self, name: seen.append((name, self.backend_config)))
    case.run_test_double_backward(CPU)
    assert seen == [("test_double_backward", CPU)] and case.test_name == "test_double_backward"


def test_dodge_nondifferentiable():
    drawn = []

    def generate_inputs(self):
        drawn.append(0.0 if len(drawn) < 2 else 0.7)
        return (np.array([drawn[-1]], np.float32),)

    case = make_case(
        CubeTest,
        generate_inputs=generate_inputs,
        dodge_nondifferentiable=True,
        forward=lambda self, inputs, device: (abs(inputs[0]),),
        forward_expected=lambda self, inputs: (abs(inputs[0]),),
    )
    case.run_test_backward(CPU)
    assert drawn == [0.0, 0.0, 0.7]


class Affine(chainer.Link):
    """a * x + b. `wrong` ignores b's initializer."""

    def __init__(self, a=None, b=None, wrong=False):
        super().__init__()
        with self.init_scope():
            self.a = chainer.Parameter(1 if a is None else a, shape=(3,))
            self.b = chainer.Parameter(0 if wrong or b is None else b, shape=(3,))

    def forward(self, x):
        return self.a * x + self.b


class AffineTest:
    __test__ = False
    param_names = ("a", "b")
    wrong = False

    def generate_params(self):
        return tuple(np.random.rand(3).astype(np.float32) for _ in range(2))

    def create_link(self, initializers):
        return Affine(*initializers, wrong=self.wrong)

    def generate_inputs(self):
        return (np.random.rand(2, 3).astype(np.float32),)

    def forward_expected(self, link, inputs):
        return (link.a.array * inputs[0] + link.b.array,)

    def get_initializers(self):
        return [2, f32([1, 2, 3])], [chainer.initializers.Constant(3), testing.InitializerArgument(None, 0)]


class AffineLinkTest(AffineTest, testing.LinkTestCase):
    pass


class AffineInitializersTest(AffineTest, testing.LinkInitializersTestCase):
    pass


def test_right_link():
    make_case(AffineLinkTest).test_forward(CPU)
    make_case(AffineLinkTest).test_backward(CPU)
    make_case(AffineInitializersTest, "test_initializers").test_initializers(CPU)


def test_wrong_link():
    with pytest.raises(testing.LinkTestError):
        make_case(AffineLinkTest, forward_expected=lambda self, link, inputs: inputs).test_forward(CPU)
    with pytest.raises(testing.LinkTestError, match="'c'"):
        make_case(AffineLinkTest, param_names=("c",)).test_backward(CPU)
    with pytest.raises(testing.LinkTestError):
        make_case(AffineInitializersTest, "test_initializers", wrong=True).test_initializers(CPU)
    with pytest.raises(TypeError, match="create_link"):
        make_case(AffineLinkTest, create_link=lambda self, initializers: None).test_forward(CPU)
    with pytest.raises(TypeError, match="generate_params"):
        make_case(AffineLinkTest, generate_params=lambda self: 3).test_forward(CPU)
    with pytest.raises(ValueError, match="InitializerArgument"):
        make_case(AffineLinkTest, generate_params=lambda self: (None, 0)).test_forward(CPU)
    with pytest.raises(ValueError):
        testing.InitializerArgument(1, None)


def test_wrong_gradient_of_a_link():
    def forward(self, link, inputs, device):
        y = link(*inputs)
        return (chainer.Variable(y.array) + 0 * y,)

    with pytest.raises(testing.LinkTestError, match="backward"):
        make_case(AffineLinkTest, forward=forward).test_backward(CPU)


# arrays


def test_assert_allclose():
    testing.assert_allclose(f32([1, np.nan]), [1.00005, np.nan])
    with pytest.raises(AssertionError) as e:
        testing.assert_allclose(f32([[1, 2]]), f32([[1, 2.5]]), atol=0.125, rtol=0.125)
    text = str(e.value)
    for part in (
        "i: (0, 1)",
        "x[i]: 2.0",
        "y[i]: 2.5",
        "absolute error[i]: 0.5",
        "total tolerance: 0.4375",
        "shape: (1, 2) (1, 2)",
    ):
        assert part in text
    with pytest.raises(AssertionError, match=r"shape: \(2,\) \(3,\)"):
        testing.assert_allclose(np.zeros(2), np.zeros(3))


@ours_only
def test_assert_allclose_of_booleans_and_unsigned_integers():
    with pytest.raises(AssertionError, match=r"absolute error\[i\]: 1.0"):
        testing.assert_allclose(np.array([True]), np.array([False]))
    with pytest.raises(AssertionError, match=r"absolute error\[i\]: 2.0"):
        testing.assert_allclose(np.array([1], np.uint8), np.array([3], np.uint8))


def test_generate_matrix():
    a = testing.generate_matrix((2, 3, 4), np.complex64, singular_values=[3, 2, 1])
    assert a.dtype == np.complex64
    np.testing.assert_allclose(np.linalg.svd(a, compute_uv=False), [[3, 2, 1]] * 2, rtol=1e-5)
    assert testing.generate_matrix((0, 3), singular_values=1).shape == (0, 3)
    for error, shape, dtype, values in (
        (ValueError, (3,), float, 1),
        (TypeError, (2, 2), int, 1),
        (TypeError, (2, 2), float, None),
        (TypeError, (2, 2), float, 1j),
        (ValueError, (2, 2), float, -1),
        (ValueError, (2, 2), float, [1, 2, 3]),
    ):
        with pytest.raises(error):
            testing.generate_matrix(shape, dtype, singular_values=values)


# conditions, random numbers, helpers


def count_runs(decorator, succeeds):
    class Case(unittest.TestCase):
        def setUp(self):
            runs.append("setUp")

        def tearDown(self):
            runs.append("tearDown")

        @decorator
        def test_it(self):
            runs.append("run")
            assert succeeds(runs.count("run"))

    runs = []
    result = outcome(Case, "test_it")
    assert runs.count("setUp") == runs.count("tearDown") == runs.count("run") + 1  # one more for the outer test
    return runs.count("run"), result


@pytest.mark.parametrize(
    "decorator,succeeds,runs,passes",
    [
        (condition.retry(5), lambda n: n == 3, 3, True),
        (condition.retry(5), lambda n: False, 5, False),
        (condition.repeat(5), lambda n: True, 5, True),
        (condition.repeat(5), lambda n: n != 2, 2, False),
        (condition.repeat_with_success_at_least(5, 2), lambda n: n > 3, 5, True),
        (condition.repeat_with_success_at_least(5, 3), lambda n: n > 3, 3, False),
    ],
)
def test_condition(decorator, succeeds, runs, passes):
    n, result = count_runs(decorator, succeeds)
    assert (n, result.wasSuccessful()) == (runs, passes)
    if not passes:
        assert "first error message" in result.failures[0][1]


def test_fix_random():
    drawn = []

    class Case(unittest.TestCase):
        def test_it(self):
            drawn.append((np.random.rand(), testing.generate_seed()))

    before = np.random.get_state()[1].copy(), random.getstate()
    decorated = testing.fix_random()(Case)
    for _ in range(2):
        assert outcome(Case, "test_it").wasSuccessful()
    assert drawn[0] == drawn[1]
    assert (np.random.get_state()[1] == before[0]).all() and random.getstate() == before[1]
    assert ORIGINAL or decorated is Case
    with pytest.raises(AssertionError):
        testing.generate_seed()


@ours_only
def test_fix_random_after_a_failed_setup():
    class Case(unittest.TestCase):
        def setUp(self):
            raise RuntimeError

        def test_it(self):
            pass

    testing.fix_random()(Case)
    outcome(Case, "test_it")
    assert random_module._nest_count == 0


def test_assert_warns():
    with testing.assert_warns(DeprecationWarning):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    with pytest.raises(AssertionError, match="DeprecationWarning"), testing.assert_warns(DeprecationWarning):
        warnings.warn("odd", RuntimeWarning, stacklevel=1)


def test_with_requires():
    def skipped(decorator):
        def f(self):
            pass

        return getattr(decorator(f), "__unittest_skip__", False)

    assert not skipped(testing.with_requires("numpy>=1.20"))
    assert skipped(testing.with_requires("numpy>=1.20", "numpy<1.0"))
    assert skipped(testing.with_requires("no-such-distribution"))
    assert skipped(testing.without_requires("numpy"))
    assert not skipped(testing.without_requires("no-such-distribution"))


def test_patch_calls_the_original():
    with testing.patch("os.path.join") as join:
        import os

        assert os.path.join("a", "b") == f"a{os.sep}b"
    join.assert_called_once_with("a", "b")
    with testing.patch("os.path.join", wraps=lambda *args: args):
        assert os.path.join("a") == ("a",)


def test_save_and_load():
    a, b = Affine(1, 2), Affine(3, 4)
    testing.save_and_load_npz(a, b)
    np.testing.assert_array_equal(b.b.array, [2, 2, 2])
    pytest.importorskip("h5py")
    testing.save_and_load_hdf5(Affine(5, 6), b)
    np.testing.assert_array_equal(b.a.array, [5, 5, 5])


def test_mock_updater():
    trainer = testing.get_trainer_with_mock_updater((3, "epoch"), iter_per_epoch=2)
    seen = []
    trainer.extend(lambda t: seen.append((t.updater.iteration, t.updater.epoch_detail)), name="see")
    trainer.run()
    assert seen == [(i, i / 2) for i in range(1, 7)]
