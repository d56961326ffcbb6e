"""Network files: networks of nnabla 1.39.0 give the recorded results, and the written files are identical to
nnabla's."""

import io
import zipfile

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S
from compatgrad.formats import prototext
from compatgrad.nnabla.core import graph_def
from compatgrad.nnabla.utils import nnabla_pb2
from compatgrad.nnabla.utils.load import base_load, load, restore_optimizer_state
from compatgrad.nnabla.utils.nnp_graph import NnpLoader, NnpNetworkPass
from compatgrad.nnabla.utils.save import create_proto, save
from tests.golden import nnabla_parameters
from tests.golden.nnabla_parameters import GOLDEN

pytest.importorskip("h5py")
VALUES = np.load(GOLDEN / "network.npz")
PARAMETERS = ["conv/W", "conv/b", "bn/beta", "bn/gamma", "bn/mean", "bn/var", "affine/W", "affine/b"]


@pytest.fixture(autouse=True)
def no_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


def computed(network, x):
    network.inputs["x"].d = x
    (y,) = network.outputs.values()
    y.forward()
    return y.d


@pytest.mark.parametrize("name", ["network_h5.nnp", "network_protobuf.nnp", "network.nntxt"])
def test_recorded_network_computes_the_same(name):
    loader = NnpLoader(str(GOLDEN / name))
    assert loader.get_network_names() == ["net"]
    assert not nn.get_parameters()
    network = loader.get_network("net", batch_size=2)
    assert list(nn.get_parameters(grad_only=False)) == PARAMETERS
    assert network.inputs["x"].shape == (2, 1, 8, 8)
    assert network.variables["@net/Convolution_out"].shape == (2, 3, 6, 6)
    np.testing.assert_allclose(computed(network, VALUES["x"][:2]), VALUES["y"][:2], rtol=1e-5)
    np.testing.assert_allclose(computed(loader.get_network("net"), VALUES["x"]), VALUES["y"], rtol=1e-5)
    assert list(nn.get_parameters()) == PARAMETERS  # including the moving averages, as in the original


def test_written_network_is_that_of_nnabla(tmp_path):
    recorded = prototext.merge((GOLDEN / "network.nntxt").read_text(), nnabla_pb2.NNablaProtoBuf())
    contents = nnabla_parameters.network(nn)[2]
    written = create_proto(contents, include_params=True)
    for ours, theirs in zip(written.parameter, recorded.parameter, strict=True):
        assert ours.variable_name == theirs.variable_name and ours.need_grad == theirs.need_grad
        np.testing.assert_allclose(ours.data, theirs.data, rtol=1e-6)
    for message in (written, recorded):
        message.ClearField("parameter")
    assert str(written) == str(recorded)
    save(str(tmp_path / "network.nnp"), contents)
    assert zipfile.ZipFile(tmp_path / "network.nnp").namelist() == [
        "nnp_version.txt",
        "network.nntxt",
        "parameter.h5",
    ]


@pytest.mark.parametrize("extension", [".nnp", ".nntxt", ".protobuf"])
def test_round_trip(tmp_path, extension):
    contents = nnabla_parameters.network(nn)[2]
    file = io.BytesIO()
    save(file, contents, include_params=True, extension=extension, parameter_format=".protobuf")
    save(str(tmp_path / f"a{extension}"), contents, include_params=True)
    for source in (file, str(tmp_path / f"a{extension}")):
        nn.clear_parameters()
        network = NnpLoader(source, extension=extension).get_network("net")
        np.testing.assert_allclose(computed(network, VALUES["x"]), VALUES["y"], rtol=1e-5)


def test_two_uses_of_a_parameter_and_several_outputs():
    x = nn.Variable((3, 4))
    h = PF.affine(x, 4, name="shared")
    a, b = F.split(F.reshape(F.tanh(PF.affine(h, 4, name="shared")), (3, 2, 2)), axis=1)
    free = nn.Variable.from_numpy_array(np.ones((3, 2), np.float32))
    contents = {"networks": [{"name": "n", "batch_size": 3, "outputs": {"a": a + free, "b": b}, "names": {"x": x}}]}
    (network,) = create_proto(contents).network
    assert [v.name for v in network.variable if v.type == "Parameter"] == [
        "shared/affine/W",
        "shared/affine/b",
    ]
    assert [f.type for f in network.function] == ["Affine", "Affine", "Tanh", "Reshape", "Split", "Add2"]
    assert [list(f.output) for f in network.function[-2:]] == [["@n/Split_out", "b"], ["a"]]
    assert list(network.function[-1].input) == ["@n/Split_out", "@n/Add2_in"]
    assert list(network.function[3].reshape_param.shape.dim) == [-1, 2, 2]
    (fixed,) = create_proto(contents, variable_batch_size=False).network
    assert list(fixed.function[3].reshape_param.shape.dim) == [3, 2, 2]
    assert [list(v.shape.dim) for v in fixed.variable if v.name == "x"] == [[3, 4]]
    graph = graph_def.create_graph_from_variable("n", [b], {"x": x})
    other = nn.Variable.from_numpy_array(np.random.RandomState(0).randn(3, 4).astype(np.float32))
    x.d = other.d
    _, rebuilt = graph(other)  # the first output of the split is not used
    nn.forward_all([rebuilt, b])
    np.testing.assert_allclose(rebuilt.d, b.d)


def test_passes():
    loader = NnpLoader(str(GOLDEN / "network_h5.nnp"))
    x = nn.Variable((3, 1, 8, 8))
    changes = NnpNetworkPass()
    changes.set_variable("x", x)
    changes.remove_and_rewire("@net/ReLU")
    changes.set_batch_normalization_batch_stat_all(True)
    changes.fix_parameters()
    changes.use_up_to("@net/Affine_out")
    seen = []

    @changes.on_generate_function_by_type("MaxPooling")
    def on_pooling(f):
        seen.append((f.name, [v.name for v in f.inputs], f.proto.max_pooling_param.kernel.dim[:]))
        return f

    network = loader.get_network("net", batch_size=3, callback=changes)
    assert seen == [("@net/MaxPooling", ["@net/ReLU_out"], [2, 2])]
    assert network.inputs["x"] == x
    assert list(network.outputs) == ["@net/Affine_out"]
    assert "@net/ReLU_out" not in network.variables and "y" not in network.variables
    assert not any(v.need_grad for v in network.variables.values())
    found = computed(network, VALUES["x"][:3])
    h = F.max_pooling(PF.batch_normalization(PF.convolution(x, 3, (3, 3))), (2, 2))
    y = PF.affine(h, 5)
    y.forward()
    np.testing.assert_allclose(found, y.d, rtol=1e-5, atol=1e-6)


def trained(solver_kind):
    x, t = nn.Variable((4, 3)), nn.Variable((4, 1))
    y = PF.affine(PF.batch_normalization(x), 2)
    loss = F.mean(F.softmax_cross_entropy(y, t))
    solver = solver_kind(0.5)
    solver.set_parameters({k: v for k, v in nn.get_parameters().items() if k != "affine/b"})
    loss.forward()
    loss.backward()
    solver.update()
    network = {"batch_size": 4, "names": {"x": x, "t": t}}
    return solver, {
        "global_config": {"default_context": nn.get_current_context()},
        "training_config": {"max_epoch": 3, "iter_per_epoch": 2, "save_best": True},
        "networks": [
            {"name": "train", "outputs": {"loss": loss}, **network},
            {"name": "run", "outputs": {"y": y}, **network},
        ],
        "datasets": [
            {
                "name": "data",
                "uri": "DATA",
                "cache_dir": "cache",
                "variables": {"x": x, "t": t},
                "shuffle": True,
                "batch_size": 4,
                "no_image_normalization": True,
            }
        ],
        "optimizers": [
            {
                "name": "the_optimizer",
                "solver": solver,
                "network": "train",
                "dataset": ["data"],
                "weight_decay": 0.25,
                "lr_decay": 0.5,
                "lr_decay_interval": 10,
                "update_interval": 2,
                "data_variables": {"x": "x", "t": "y"},
            }
        ],
        "monitors": [{"name": "error", "network": "train", "dataset": "data"}],
        "executors": [{"name": "runtime", "network": "run", "data": ["x"], "output": ["y"]}],
    }


@pytest.mark.parametrize("format_", [".h5", ".protobuf"])
def test_training_goes_on(tmp_path, format_):
    solver, contents = trained(S.Adam)
    path = str(tmp_path / "t.nnp")
    save(path, contents, include_solver_state=True, solver_state_format=format_)
    weights = nn.get_parameters()["affine/W"].d.copy()
    states = solver.get_states()
    nn.clear_parameters()
    info = load([path], prepare_data_iterator=False)
    np.testing.assert_array_equal(nn.get_parameters()["affine/W"].d, weights)
    optimizer = info.optimizers["the_optimizer"]
    assert optimizer.weight_decay == 0.25 and optimizer.update_interval == 2
    assert optimizer.scheduler.get_learning_rate(10) == pytest.approx(0.25)
    assert {v.name: data for v, data in optimizer.dataset_assign.items()} == {"x": "x", "t": "y"}
    assert list(optimizer.parameters) == ["affine/W", "bn/beta", "bn/gamma"]
    assert optimizer.network is info.networks["train"]
    restored = optimizer.solver.get_states()
    for name in optimizer.parameters:
        assert restored[name].t == states[name].t == 1
        for key, array in states[name].pstate.items():
            np.testing.assert_allclose(restored[name].pstate[key].d, array.d, rtol=1e-6)
    optimizer.target.forward()
    assert info.training_config.max_epoch == 3 and info.datasets["data"].normalize is False
    (output,) = info.executors["runtime"].output_assign
    assert output.name == "y" and output.variable_instance.shape == (4, 2)
    assert [v.name for v in info.monitors["error"].monitor_variables] == ["loss"]


@pytest.mark.parametrize("format_", [".h5", ".protobuf"])
def test_states_for_another_network(tmp_path, format_):
    solver, contents = trained(S.Adam)
    path = str(tmp_path / "t.nnp")
    save(path, contents, include_solver_state=True, solver_state_format=format_)
    states = solver.get_states()
    (optimizer,) = base_load(path, prepare_data_iterator=False).optimizers.values()
    assert not optimizer.solver.get_parameters()
    with pytest.raises(RuntimeError, match="affine/W|bn/"):
        restore_optimizer_state(optimizer)
    optimizer.solver.set_parameters({name: nn.get_parameters()[name] for name in states})
    assert optimizer.solver.get_states()["affine/W"].t == 0
    restore_optimizer_state(optimizer)
    for name, restored in optimizer.solver.get_states().items():
        assert restored.t == 1
        for key, array in states[name].pstate.items():
            np.testing.assert_allclose(restored.pstate[key].d, array.d, rtol=1e-6)


def test_what_cannot_be_saved(tmp_path):
    x, y, contents = nnabla_parameters.network(nn)
    with pytest.raises(ValueError, match="'.h5'"):
        save(str(tmp_path / "a.h5"), contents)
    with pytest.raises(ValueError, match="'z'.*'net'"):
        create_proto({**contents, "executors": [{"name": "e", "network": "net", "data": ["z"]}]})
    with pytest.raises(ValueError, match="network 'other'"):
        create_proto({**contents, "executors": [{"name": "e", "network": "other"}]})
    with pytest.raises(ValueError, match="two variables with the name 'conv/W'"):
        create_proto({"networks": [{**contents["networks"][0], "names": {"conv/W": x}}]})
    flat = PF.affine(F.reshape(x, (2, 128)), 2, name="flat")
    with pytest.raises(ValueError, match="variable_batch_size=False"):
        create_proto(
            {"networks": [{"name": "n", "batch_size": 4, "outputs": {"y": F.reshape(flat, (4,))}, "names": {}}]}
        )
    with pytest.raises(KeyError, match="optimizers"):
        save(str(tmp_path / "a.nnp"), contents, include_solver_state=True)
    assert not list(tmp_path.iterdir())


def test_optimizers_without_a_dataset():
    _, contents = trained(S.Sgd)
    (optimizer,) = contents["optimizers"]
    for given, held in (("data", ["data"]), (("data",), ["data"]), ("None", []), ([], [])):
        proto = create_proto({**contents, "optimizers": [{**optimizer, "dataset": given}]})
        assert list(proto.optimizer[0].dataset_name) == held
    with pytest.raises(ValueError, match="dataset 'None'"):
        create_proto({**contents, "optimizers": [{**optimizer, "dataset": ["data", "None"]}]})


def test_what_cannot_be_loaded():
    text = (GOLDEN / "network.nntxt").read_text()
    for old, new, what in (
        ('type: "Tanh"', 'type: "Tango"', "'@net/Tanh'.*unknown type 'Tango'"),
        ('input: "@net/Affine_out"', 'input: "@net/Nothing"', "no variable '@net/Nothing'"),
    ):
        with pytest.raises(ValueError, match=what):
            NnpLoader(io.StringIO(text.replace(old, new, 1))).get_network("net")


def test_graph_traced_while_it_is_built(tmp_path):
    with graph_def.graph(name="mine") as g:
        x = graph_def.ProtoVariable((4, 3), name="x")
        z = graph_def.ProtoVariable((4, 3))
        h = PF.affine(x, 5) + PF.affine(z, 5, name="other")
        offset = nn.Variable.from_numpy_array(np.full((1, 5), 2, np.float32))
        a, b = F.tanh(h), h + offset
    network = g.default_graph()
    assert network.name == "mine" and network.inputs == ["x", "@mine/Affine_in"]
    assert sorted(g.get_parameters()) == [
        "@mine/Add2_1_1",  # a Variable that is not an input
        "affine/W",
        "affine/b",
        "other/affine/W",
        "other/affine/b",
    ]
    u, w = (nn.Variable.from_numpy_array(np.random.RandomState(i).randn(4, 3)) for i in range(2))
    made = g(u, w)
    x.d, z.d = u.d, w.d
    nn.forward_all([a, b, *made])
    np.testing.assert_allclose(made[0].d, a.d)
    np.testing.assert_allclose(made[1].d, b.d)
    executor = {"name": "run", "network": "mine", "data": ["x"], "output": {"first": a, "second": b}}
    g.save(str(tmp_path / "g.nnp"), executors=[executor])
    again = NnpLoader(str(tmp_path / "g.nnp")).get_network("mine", batch_size=2)
    assert sorted(again.outputs) == ["first", "second"] and again.inputs["x"].shape == (2, 3)


def test_default_graph():
    graph_def.reset_default_graph()
    x = graph_def.ProtoVariable((4, 3))
    y = F.relu(x)
    network = graph_def.get_default_graph_by_variable(y)
    assert graph_def.get_default_graph("model") is network
    assert [f.type for f in network.functions.values()] == ["ReLU"]
    with pytest.raises(ValueError, match="not an output of a network"):
        graph_def.get_default_graph_by_variable(nn.Variable((1,)))
    graph_def.reset_default_graph()
    assert not graph_def.get_default_graph().networks


def test_functions_of_a_network_and_the_context_it_is_built_in():
    network = graph_def.load(str(GOLDEN / "network_h5.nnp")).default_graph()
    met = []
    network.execute_on_proto(met.append)
    assert [f.type for f in met[:2]] == ["Convolution", "BatchNormalization"] and met[0].function_instance is None
    assert met == list(network.forward_sequence())
    other = nn.Context(["cpu:float"], "CpuArray", "3")
    assert network.current_context == nn.get_current_context()
    y = network(nn.Variable((2, 1, 8, 8)), batch_size=2, ctx=other)
    assert y.parent.context == other and met[0].function_instance.context == other
    assert met[0].function_instance.info.type_name == "Convolution"
    assert network.current_context == network.owner.current_context == other != nn.get_current_context()


@pytest.mark.parametrize("kind", ["NormalCLConvHeForward", "UniformAffineGlorot", "Range"])
def test_initializer_of_a_file(kind):
    variable = nnabla_pb2.Variable(name="w")
    assert graph_def._create_initializer(variable, None) is None
    variable.initializer.type, variable.initializer.multiplier = kind, 2.0
    rng, again = np.random.RandomState(3), np.random.RandomState(3)
    want = {
        "NormalCLConvHeForward": lambda s: again.randn(*s) * np.sqrt(2 / (s[0] * s[1] * s[2])) * 2.0,
        "UniformAffineGlorot": lambda s: again.uniform(*np.sqrt(6 / 6) * np.array([-1, 1]), s) * 2.0,
        "Range": lambda s: np.broadcast_to(np.arange(s[-1]) * 2.0, s),
    }[kind]((2, 2, 2))
    np.testing.assert_allclose(graph_def._create_initializer(variable, rng)((2, 2, 2)), want, rtol=1e-6)


def test_passes_return_what_they_were_given():
    changes = NnpNetworkPass()
    changes.on_generate_function_by_name("f")(lambda f: f)
    function, variable = nnabla_pb2.Function(name="f", type="ReLU"), nnabla_pb2.Variable(name="v")
    for apply in (changes._apply_generate_function_by_name, changes._apply_generate_variable):
        given = function if "function" in apply.__name__ else variable
        assert apply(given) is given
    given = type("F", (), {"proto": function, "name": "f"})()
    assert changes._apply_generate_function_by_type(given) is given


@pytest.mark.parametrize("explicitly", [False, True])
def test_cache_of_a_dataset(tmp_path, monkeypatch, explicitly):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("x,t\n" + "".join(f"{i},{i * 2}\n" for i in range(8)))

    def values(**settings):
        _, contents = trained(S.Sgd)
        proto = create_proto(contents)
        dataset = proto.dataset[0]
        dataset.uri, dataset.shuffle, dataset.cache_dir = "data.csv", False, "kept/cache"
        dataset.create_cache_explicitly = explicitly
        for name, value in settings.items():
            setattr(dataset, name, value)
        (tmp_path / "net.nntxt").write_text(str(proto))
        with load(["net.nntxt"]).datasets["data"].data_iterator() as iterator:
            return [float(v) for _ in range(2) for v in iterator.next()[1].ravel()]

    want = [float(i * 2) for i in range(8)]
    assert values() == want
    assert {"cache_index.csv", "cache_info.csv"} < {p.name for p in (tmp_path / "kept/cache").iterdir()}
    (tmp_path / "data.csv").write_text("x,t\n" + "".join(f"{i},{i * 3}\n" for i in range(8)))
    assert values() == want  # read from the existing cache files
    assert values(overwrite_cache=True) == [float(i * 3) for i in range(8)]
