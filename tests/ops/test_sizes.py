"""Parameters of the wrong size are refused: the kernels would write beyond them."""

import pytest
import torch

from compatgrad import ops


def given(**sizes):
    x = torch.rand(4, 3, 2, 2)
    found = {name: torch.ones(sizes.get(name, 3)) for name in ("gamma", "beta", "running_mean", "running_var")}
    running = {name: found[name] for name in ("running_mean", "running_var") if sizes.get(name, 3)}
    return ops.batch_normalization(x, found["gamma"], found["beta"], **running)


@pytest.mark.parametrize("name", ["gamma", "beta", "running_mean", "running_var"])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_parameter_of_another_size_is_refused(name, size):
    with pytest.raises(ValueError, match=rf"a parameter of shape \[{size}\] for 3 channels|for input of size {size}"):
        given(**{name: size})


@pytest.mark.parametrize("name", ["running_mean", "running_var"])
def test_one_running_statistic_alone_is_refused(name):
    with pytest.raises(ValueError, match="running_mean and running_var must be given together"):
        given(**{name: 0})


def test_three_of_each_are_taken():
    assert given().shape == (4, 3, 2, 2)
