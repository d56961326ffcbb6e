"""Failed loads leave parameters and states unchanged, and data files run no code unless the configuration allows
pickles."""

import os

import numpy as np
import pytest

import compatgrad.nnabla as nn
from compatgrad.nnabla import functions as F
from compatgrad.nnabla import parametric_functions as PF
from compatgrad.nnabla.config import nnabla_config
from compatgrad.nnabla.utils.data_source_implements import CacheDataSource, CsvDataSource
from compatgrad.nnabla.utils.data_source_loader import load_npy
from compatgrad.nnabla.utils.load import load
from compatgrad.nnabla.utils.save import save


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nn.clear_parameters()
    yield
    nn.clear_parameters()


def _scope():
    return {name: (p.d.tobytes(), p.shape, p.need_grad) for name, p in nn.get_parameters(grad_only=False).items()}


def test_two_arrays_of_one_name_in_a_file_change_nothing():
    nn.parameter.set_parameter("a", nn.Variable.from_numpy_array(np.ones(2), need_grad=True))
    before = _scope()
    text = 'parameter {{ variable_name: "{}" shape {{ dim: {} }} {} need_grad: true }}\n'
    lines = [("a", 2, "data: 3 data: 4"), ("b", 1, "data: 1"), ("b", 2, "data: 1 data: 2")]
    with open("x.nntxt", "w") as file:
        file.writelines(text.format(*line) for line in lines)
    with pytest.raises(ValueError, match="'b'"):
        nn.load_parameters("x.nntxt")
    assert _scope() == before


def test_a_network_that_cannot_be_built_leaves_the_parameters():
    x = nn.Variable((2, 3))
    network = {"name": "n", "batch_size": 2, "outputs": {"y": F.relu(PF.affine(x, 2))}, "names": {"x": x}}
    save("x.nntxt", {"networks": [network]})
    text = open("x.nntxt").read().replace('type: "ReLU"', 'type: "Nope"')
    with open("bad.nntxt", "w") as file:
        file.write(text + 'parameter { variable_name: "new/w" shape { dim: 1 } data: 1 }\n')
    before = _scope()
    with pytest.raises(ValueError, match="bad.nntxt"):
        load("bad.nntxt")
    assert _scope() == before and len(before) == 2


class _Bomb:
    def __reduce__(self):
        return os.mkdir, ("executed",)


def test_pickles_in_data_sets_and_caches_are_refused(monkeypatch):
    np.save("x.npy", np.array([_Bomb()], dtype=object), allow_pickle=True)
    with open("d.csv", "w") as file:
        file.write("x,y\nx.npy,1\n")
    os.mkdir("cache")
    with open("cache/cache_info.csv", "w") as file:
        file.write("x\n")
    with open("cache/cache_index.csv", "w") as file:
        file.write("x.npy,1\n")
    os.rename("x.npy", "cache/x.npy")
    np.save("x.npy", np.array([_Bomb()], dtype=object), allow_pickle=True)
    calls = [
        lambda: load_npy("x.npy"),
        lambda: CsvDataSource("d.csv").next(),
        lambda: CacheDataSource("cache").next(),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="x.npy.*pickled object.*allow_pickle"):
            call()
    assert not os.path.exists("executed")
    for call in (lambda: load_npy("x.npy", allow_pickle=True), *calls):
        monkeypatch.setattr(nnabla_config, "getboolean", lambda *_: True)
        call()
        os.rmdir("executed")
    open("cache/cache_index.csv", "w").write("x.npy,1000000000000\n")
    with pytest.raises(ValueError, match="cache.*announces 1000000000000 examples in x.npy"):
        CacheDataSource("cache")
    open("cache/cache_index.csv", "w").write("missing.npy,1000000000000\n")
    with pytest.raises(FileNotFoundError, match="missing.npy"):
        CacheDataSource("cache")


def test_arrays_that_announce_more_than_their_file_has_are_refused():
    np.save("x.npy", np.zeros(10))
    content = open("x.npy", "rb").read().replace(b"(10,), }       ", b"(1000000000,),}")
    with open("x.npy", "wb") as file:
        file.write(content)
    with pytest.raises(ValueError, match="x.npy is cut off: 80 bytes of an array of shape \\(1000000000,\\)"):
        load_npy("x.npy")
