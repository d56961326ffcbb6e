"""All functions and layers of the frontends on each other's and on native Variables (see `tests/interop/mixing.py`).

This module tests float32; `-m slow` and `python -m tests.interop.mixing` test float64, too.
"""

import re

import numpy as np
import pytest

import compatgrad
from compatgrad import chainer, interop
from tests.interop import mixing

# Names whose examples pass no arrays: they create arrays, draw random numbers, read files, query or set something.
NO_ARRAYS = re.compile(
    r"(nd|np)\.(arange|array|empty|eye|linspace|ones|zeros|indices|logspace|blackman|hamming|hanning"
    r"|from_dlpack|from_numpy|load|load_frombuffer|save|waitall|set_printoptions)|nd\.full|np\.identity"
    r"|nd\.(random\.|random_)(normal|exponential|gamma|poisson|randint|randn|negative_binomial"
    r"|generalized_negative_binomial)|nd\.(random_uniform|normal|uniform)"
    r"|nd\.contrib\.(dgl_adjacency|getnnz)"  # accept csr arrays only
    r"|npx\.(constraint_check|cpu|cpu_pinned|current_context|current_device|get_cuda_compute_capability|gpu"
    r"|gpu_memory_info|is_np_array|is_np_shape|load|num_gpus|reset_np|save|set_np|waitall)"
    r"|NF\.(arange|constant|linspace|rand|rand_beta|rand_binomial|rand_gamma|randint|randn)"
    r"|PF\.(calc_uniform_lim_glorot|get_parameter|get_parameter_or_create|parametric_function_api)"
    r"|L\.(GoogLeNet|ResNet\d+Layers|VGG\d+Layers)"  # take minutes; their layers are tested
    r"|L\.(Parameter|TheanoFunction)"
    r"|rnn\.(ModifierCell|RecurrentCell)"  # base classes
)
DIFFERENT = {"np.empty_like": "what it gives is nothing but memory"}
NAMES = mixing.names()


@pytest.fixture(autouse=True)
def _files_of_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def check(names, *dtypes):
    wrong = []
    for name in names:
        count, found = mixing.differences(name, *NAMES[name], dtypes)
        wrong += found if name not in DIFFERENT else []
        if (count == 0) != (NO_ARRAYS.fullmatch(name) is not None):
            wrong.append(f"{name}: its example has arrays or none, and NO_ARRAYS says the contrary")
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", sorted({name.rpartition(".")[0] for name in NAMES}))
def test_all_names_of_a_package(package):
    check([name for name in NAMES if name.rpartition(".")[0] == package], np.float32)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_all_names_in_both_dtypes():
    check(NAMES, np.float32, np.float64)


def test_the_matrix_is_complete():
    kinds = {name.split(".")[0] for name in NAMES}
    assert len(NAMES) > 1200 and kinds == {"F", "L", "NF", "PF", "nd", "np", "npx", "nn", "rnn", "loss", "contrib"}


def test_a_wrong_number_is_detected():
    """The comparison detects a wrong number."""

    def f(x):
        """Example:
        >>> f(np.array([1.0, 2.0]))
        """
        return chainer.functions.exp(x) * (2.0 if isinstance(given[0], compatgrad.Variable) else 1.0)

    given = []

    class Spy(mixing.Run):
        def enter(self, value):
            given[:] = [super().enter(value)]
            return given[0]

    names = mixing.names_of_examples
    mixing_run, mixing.Run = mixing.Run, Spy
    mixing.names_of_examples = lambda frontend: {**names(frontend), "f": f}
    try:
        _, found = mixing.differences("f", "chainer", f)
    finally:
        mixing.Run, mixing.names_of_examples = mixing_run, names
    assert len(found) == 2 and all("on native: values" in said for said in found)


# ---- types that a program's own code gets ----------------------------------------------------------------------------
def own(x, kind):
    return mixing.MAKE[kind](np.array(x, "f"), False)


@pytest.mark.parametrize("kind", ["native", "mxnet"])
def test_a_link_of_a_program_gets_chainer_s_variables(kind):
    seen = []

    class Mine(chainer.Chain):
        def forward(self, x, y=None):
            seen.extend([type(x), x.dtype.kind, x.xp is np, None if y is None else type(y[0])])
            return chainer.functions.sum(x * x)

    x = own([1.0, 2.0], kind)
    Mine()(x, y=[x]).backward()
    assert seen == [chainer.Variable, "f", True, chainer.Variable]
    np.testing.assert_array_equal(mixing.gradient_of(x), [2, 4])


@pytest.mark.parametrize("kind", ["native", "mxnet", "nnabla"])
def test_a_function_node_of_a_program_gets_chainer_s_variables(kind):
    class Square(chainer.FunctionNode):
        def forward(self, inputs):
            self.retain_inputs((0,))
            return (inputs[0] ** 2,)

        def backward(self, indexes, gys):
            (x,) = self.get_retained_inputs()
            assert x.xp is np and gys[0].xp is np
            return (2 * x * gys[0],)

    x = own([1.0, 2.0], kind)
    (y,) = Square().apply((x,))
    loss = interop.to("compatgrad", y).sum()
    (g,) = compatgrad.grad([loss], [x], enable_double_backprop=True)
    np.testing.assert_array_equal(g.tensor, [2, 4])
    np.testing.assert_array_equal(compatgrad.grad([g.sum()], [x])[0].tensor, [2, 2])


def test_a_written_statistic_of_float64_is_refused():
    """nnabla would write the statistic to a float32 copy, and the gradient would belong to other numbers."""
    import compatgrad.nnabla.functions as NF

    x = compatgrad.Variable(np.zeros((2, 2)))
    with pytest.raises(TypeError, match="mean_subtraction: rmean: the function writes into its inputs"):
        NF.mean_subtraction(x, compatgrad.Variable(np.zeros(2)), compatgrad.Variable(np.zeros(1)))
