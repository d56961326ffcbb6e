"""Names of parameters, and modules of nnabla."""

import subprocess
import sys

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
from compatgrad.nnabla import function_bases


def test_parameters_have_the_names_of_the_original():
    seen = []
    nn.callback.set_function_pre_hook("a", function_pre_hook=lambda f: seen.append("before"))
    nn.callback.set_function_post_hook("a", function_post_hook=lambda f: seen.append("after"))
    try:
        F.relu(nn.Variable((2,))).forward()
    finally:
        nn.callback.unset_function_pre_hook("a")
        nn.callback.unset_function_post_hook("a")
    assert seen == ["before", "after"]
    nn.set_global_recompute(recompute=False)
    assert function_bases.relu is F.relu and function_bases.affine is F.affine
    x = nn.Variable.from_numpy_array(np.float32([[1, 2]]))
    y = function_bases.affine(x=x, weight=nn.Variable.from_numpy_array(np.float32([[1], [1]])), base_axis=1)
    y.forward()
    assert y.d.tolist() == [[3]]
    with pytest.raises(AttributeError, match="unheard_of"):
        function_bases.unheard_of  # noqa: B018


def test_modules_that_come_with_nnabla_itself():
    """Programs read `nn._variable.Variable` and `nn.utils.rnn` after `import nnabla` alone."""
    script = """
import nnabla as nn
assert nn._variable.Variable is nn.Variable and nn._variable.Context is nn.Context
assert nn.utils.rnn.pad_sequence and nn.communicator.Communicator
assert nn.dtypes.np_dtpye_to_int and nn.normalization_functions.batch_normalization
"""
    done = subprocess.run([sys.executable, "-m", "compatgrad", "run", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
