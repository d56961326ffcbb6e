"""`nnabla.mlflow_save_load_model` with a small stand-in for mlflow, which is not needed to run the tests.

nnabla's own test of the module passes with mlflow 2.17 (docs/conformance.md).
"""

import importlib
import os
import shutil
import sys
import types
from unittest import mock

import pytest


class Model:
    """What the module needs of mlflow.models.Model."""

    def __init__(self, artifact_path=None):
        self.artifact_path, self.flavors, self.signature = artifact_path, {}, None

    def add_flavor(self, name, **keys):
        self.flavors[name] = keys

    def save(self, path):
        with open(path, "w") as file:
            file.write("saved")

    @classmethod
    def log(cls, artifact_path, flavor, **keys):
        model = cls(artifact_path)
        flavor.save_model(path="saved", mlflow_model=model, **keys)
        return model


def run(name, run_id):
    return types.SimpleNamespace(
        data=types.SimpleNamespace(tags={"mlflow.runName": name}), info=types.SimpleNamespace(run_id=run_id)
    )


def download(artifact_uri, output_path):
    return artifact_uri if output_path is None else shutil.copy(artifact_uri, output_path)


@pytest.fixture
def flavor(monkeypatch):
    """The module, imported with the stand-in."""
    contents = {
        "mlflow": {"start_run": mock.Mock(), "MlflowClient": mock.Mock(), "pyfunc": mock.Mock()},
        "mlflow.models": {"Model": Model, "infer_pip_requirements": mock.Mock(return_value=["numpy==1", "nnabla==1"])},
        "mlflow.models.model": {"MLMODEL_FILE_NAME": "MLmodel"},
        "mlflow.models.signature": {"_infer_signature_from_input_example": mock.Mock(return_value="inferred")},
        "mlflow.models.utils": {"_save_example": mock.Mock()},
        "mlflow.tracking": {},
        "mlflow.tracking.artifact_utils": {"_download_artifact_from_uri": download},
        "mlflow.tracking.fluent": {"_get_experiment_id": lambda: "active"},
        "mlflow.utils": {},
        "mlflow.utils.environment": {
            "_validate_env_arguments": mock.Mock(),
            "_process_conda_env": mock.Mock(return_value=({"name": "given"}, ["b"], ["c<2"])),
            "_process_pip_requirements": mock.Mock(side_effect=lambda default, *rest: ({"name": "made"}, default, [])),
            "_PythonEnv": mock.Mock(),
            "_CONDA_ENV_FILE_NAME": "conda.yaml",
            "_CONSTRAINTS_FILE_NAME": "constraints.txt",
            "_PYTHON_ENV_FILE_NAME": "python_env.yaml",
            "_REQUIREMENTS_FILE_NAME": "requirements.txt",
        },
        "mlflow.utils.model_utils": {
            "_validate_and_prepare_target_save_path": os.makedirs,
            "_validate_and_copy_code_paths": mock.Mock(return_value="code"),
            "_add_code_from_conf_to_system_path": mock.Mock(),
            "_get_flavor_configuration": lambda model_path, flavor_name: {"model_data": "model"},
        },
        "mlflow.utils.file_utils": {"write_to": lambda path, text: open(path, "w").write(text)},
        "mlflow.utils.requirements_utils": {"_get_pinned_requirement": lambda name: f"{name}==1.39.0"},
        "yaml": {"safe_dump": lambda data, stream, default_flow_style: stream.write(str(data))},
    }
    for name, attributes in contents.items():
        module = types.ModuleType(name)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, name, module)
        parent, _, child = name.rpartition(".")
        if parent:
            monkeypatch.setattr(sys.modules[parent], child, module, raising=False)
    name = "compatgrad.nnabla.mlflow_save_load_model"
    monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module(name)
    del sys.modules[name]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.makedirs("made")
    for name in ("params.h5", "net.nnp", "a.json", "b.h5", "config.txt"):
        with open(f"made/{name}", "w") as file:
            file.write(name)


def test_files_of_a_model(flavor, files):
    given = {"nnp": ["made/net.nnp"], "checkpoint": ["made/a.json", "made/b.h5"], "config_file": "made/config.txt"}
    model = flavor.log_model("params.h5", "made", **given)
    found = sorted(os.path.relpath(os.path.join(d, f), "saved") for d, _, fs in os.walk("saved") for f in fs)
    assert found == [
        "MLmodel", "checkpoint_files/a.json", "checkpoint_files/b.h5", "conda.yaml", "config.txt", "model/params.h5",
        "nnp_files/net.nnp", "requirements.txt",
    ]  # fmt: skip
    assert model.flavors["nnabla"] == {
        "model_data": "model",
        "nnabla_version": "1.39.0",
        "code": "code",
        "checkpoint_files": [{"path": "checkpoint_files/a.json"}, {"path": "checkpoint_files/b.h5"}],
        "nnp_files": [{"path": "nnp_files/net.nnp"}],
    }
    assert flavor.pyfunc.add_to_model.call_args.kwargs["loader_module"] == "nnabla.mlflow_save_load_model"
    with open("saved/requirements.txt") as file:
        assert file.read() == "nnabla==1\nnnabla==1.39.0\nnumpy==1"
    assert flavor.load_model("saved") == "saved/model/params.h5"
    assert flavor.load_model("saved", model="MLmodel") == "saved"
    assert flavor.load_model("saved", model="nnp") == ["saved/nnp_files/net.nnp"]
    assert len(flavor.load_model("saved", model="checkpoint")) == 2


def test_what_a_model_has_not(flavor, files, caplog, capsys):
    flavor.save_model("made/params.h5", "saved", conda_env="env.yaml")
    with open("saved/constraints.txt") as file:
        assert file.read() == "c<2"
    assert flavor.load_model("saved", model="nnp") is None and "saved/nnp_files" in caplog.text
    assert flavor.load_model("saved", model="weights") is None and "'weights'" in caplog.text
    with pytest.raises(TypeError, match="nnp: expected a list of paths or URIs, got str"):
        flavor.save_model("made/params.h5", "other", nnp="made/net.nnp")
    assert flavor._load_pyfunc("saved/model").predict(None) is None
    assert capsys.readouterr().out == "model: saved/model/params.h5\n"


@pytest.mark.parametrize("signature, expected", [(None, "inferred"), (False, None), ("given", "given")])
def test_signature(flavor, files, signature, expected):
    model = Model()
    flavor.save_model("made/params.h5", "saved", mlflow_model=model, signature=signature, input_example=[1])
    assert model.signature == expected


def test_names_of_runs(flavor):
    client = flavor.MlflowClient.return_value
    client.search_runs.return_value = [run("b", "3"), run("a-1", "2"), run("a", "1"), run("a", "0")]
    assert flavor.get_runid_by_name("a") == "1" and flavor.get_runid_by_name("c") is None
    client.search_runs.assert_called_with(["active"])
    client.get_experiment_by_name.return_value.experiment_id = "other"
    flavor.get_runid_by_name("b", "named")
    client.search_runs.assert_called_with(["other"])
    flavor.unique_run_name()
    for name, expected in (("a", "a-2"), ("b", "b-1"), ("c", "c"), (None, None)):
        flavor.mlflow.start_run(run_name=name, nested=True)
        flavor.original_start_run.assert_called_with(None, None, expected, nested=True)
