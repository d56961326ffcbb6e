"""Saves files of nnabla networks as models of MLflow, and loads them. It needs mlflow.

The files are those that nnabla 1.39 writes, and name its module as their loader: either one reads the other's models.
"""

from __future__ import annotations

import logging
import os
import posixpath
import shutil
import sys
from typing import Any

import mlflow
from mlflow import MlflowClient, pyfunc
from mlflow.models import Model, infer_pip_requirements
from mlflow.models.model import MLMODEL_FILE_NAME
from mlflow.models.signature import _infer_signature_from_input_example
from mlflow.models.utils import _save_example
from mlflow.tracking.artifact_utils import _download_artifact_from_uri
from mlflow.tracking.fluent import _get_experiment_id
from mlflow.utils import environment, model_utils
from mlflow.utils.file_utils import write_to
from mlflow.utils.requirements_utils import _get_pinned_requirement

from compatgrad.nnabla._version import __version__

__all__ = [
    "get_default_conda_env",
    "get_default_pip_requirements",
    "get_runid_by_name",
    "load_model",
    "log_model",
    "save_model",
    "unique_run_name",
]

FLAVOR_NAME = "nnabla"
_LOADER_MODULE = "nnabla.mlflow_save_load_model"
_MODEL_FOLDER = "model"
# folders of a model, which are keys of its flavor too
_CHECKPOINT_FILES_KEY, _NNP_FILES_KEY, _EXTRA_FILES_KEY = "checkpoint_files", "nnp_files", "extra_files"

_logger = logging.getLogger(__name__)
original_start_run = mlflow.start_run


def get_default_pip_requirements() -> list[str]:
    """The packages that a saved model needs at least: this version of nnabla.

    Source: `nnabla.mlflow_save_load_model.get_default_pip_requirements` of nnabla 1.39.0.
    """
    return [_get_pinned_requirement("nnabla")]


def get_default_conda_env() -> dict[str, Any]:
    """The Conda environment that a saved model has where none is given.

    Source: `nnabla.mlflow_save_load_model.get_default_conda_env` of nnabla 1.39.0.
    """
    return environment._mlflow_conda_env(additional_pip_deps=get_default_pip_requirements())


def log_model(
    nnabla_model_name: str,
    path: str,
    nnp: list[str] | None = None,
    checkpoint: list[str] | None = None,
    config_file: str | None = None,
    extra_files: list[str] | None = None,
    conda_env: Any = None,
    code_paths: list[str] | None = None,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: Any = None,
    extra_pip_requirements: Any = None,
    metadata: dict[str, Any] | None = None,
) -> Any:
    """Saves files as a model of MLflow's active run.

    Args:
        nnabla_model_name: the name of a file of parameters in the folder `path`.
        path: the folder of that file, and the path of the model among the run's artifacts.
        nnp, checkpoint, config_file, extra_files, conda_env, code_paths, signature, input_example, pip_requirements,
        extra_pip_requirements, metadata: as for `save_model`.

    Returns:
        MLflow's `ModelInfo`.

    Source: `nnabla.mlflow_save_load_model.log_model` of nnabla 1.39.0.
    """
    return Model.log(
        artifact_path=path,
        flavor=sys.modules[__name__],
        nnabla_model_name=os.path.abspath(os.path.join(path, nnabla_model_name)),
        nnp=nnp,
        checkpoint=checkpoint,
        config_file=config_file,
        extra_files=extra_files,
        conda_env=conda_env,
        code_paths=code_paths,
        signature=signature,
        input_example=input_example,
        pip_requirements=pip_requirements,
        extra_pip_requirements=extra_pip_requirements,
        metadata=metadata,
    )


def _copied(argument: str, files: Any, path: str, folder: str) -> list[dict[str, str]]:
    """Copies `files`, paths or URIs, to a new `folder` in `path`; returns what the flavor says of them."""
    if not isinstance(files, list):
        raise TypeError(f"{argument}: expected a list of paths or URIs, got {type(files).__name__}")
    os.makedirs(os.path.join(path, folder))
    for file in files:
        _download_artifact_from_uri(artifact_uri=file, output_path=os.path.join(path, folder))
    return [{"path": posixpath.join(folder, os.path.basename(file))} for file in files]


def save_model(
    nnabla_model_name: str,
    path: str,
    nnp: list[str] | None = None,
    checkpoint: list[str] | None = None,
    config_file: str | None = None,
    extra_files: list[str] | None = None,
    conda_env: Any = None,
    code_paths: list[str] | None = None,
    mlflow_model: Any = None,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: Any = None,
    extra_pip_requirements: Any = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Saves files as a model in a new folder.

    Args:
        nnabla_model_name: a file of parameters; its name in the folder `mlflow_model.artifact_path` if there is one.
        path: the new folder.
        nnp, checkpoint, extra_files: files of networks, of checkpoints, and others; paths or URIs.
        config_file: a file that is copied beside them.
        conda_env, pip_requirements, extra_pip_requirements: what the model needs, as in MLflow's other flavors.
        code_paths: Python files that can be imported where the model is loaded.
        mlflow_model: the `mlflow.models.Model` to which nnabla is added as a flavor; None for a new one.
        signature, input_example: MLflow's description of inputs and outputs. With False there is no signature.
        metadata: what else is to be said of the model.

    Raises:
        TypeError: `nnp`, `checkpoint` or `extra_files` is no list.

    Source: `nnabla.mlflow_save_load_model.save_model` of nnabla 1.39.0.
    """
    environment._validate_env_arguments(conda_env, pip_requirements, extra_pip_requirements)
    path = os.path.abspath(path)
    model_utils._validate_and_prepare_target_save_path(path)
    mlflow_model = Model() if mlflow_model is None else mlflow_model
    source = os.path.join(mlflow_model.artifact_path or "", nnabla_model_name)
    if signature is None and input_example is not None:
        signature = _infer_signature_from_input_example(input_example, _NnablaModelWrapper(source))
    if signature is not None and signature is not False:
        mlflow_model.signature = signature
    if input_example is not None:
        _save_example(mlflow_model, input_example, path)
    if metadata is not None:
        mlflow_model.metadata = metadata
    code = model_utils._validate_and_copy_code_paths(code_paths, path)
    model_folder = os.path.join(path, _MODEL_FOLDER)
    os.makedirs(model_folder)
    shutil.copy(source, model_folder)
    if config_file:
        shutil.copy(config_file, path)
    given = (
        ("checkpoint", _CHECKPOINT_FILES_KEY, checkpoint),
        ("nnp", _NNP_FILES_KEY, nnp),
        ("extra_files", _EXTRA_FILES_KEY, extra_files),
    )
    artifacts = {folder: _copied(argument, files, path, folder) for argument, folder, files in given if files}
    mlflow_model.add_flavor(FLAVOR_NAME, model_data=_MODEL_FOLDER, nnabla_version=__version__, code=code, **artifacts)
    pyfunc.add_to_model(
        mlflow_model,
        loader_module=_LOADER_MODULE,
        data=_MODEL_FOLDER,
        code=code,
        conda_env=environment._CONDA_ENV_FILE_NAME,
        python_env=environment._PYTHON_ENV_FILE_NAME,
    )
    mlflow_model.save(os.path.join(path, MLMODEL_FILE_NAME))  # before the requirements are inferred, which loads it
    _save_environment(path, conda_env, pip_requirements, extra_pip_requirements)


def _save_environment(path: str, conda_env: Any, pip_requirements: Any, extra_pip_requirements: Any) -> None:
    """Writes the files that say what the model needs."""
    import yaml  # comes with mlflow

    if conda_env is not None:
        conda_env, requirements, constraints = environment._process_conda_env(conda_env)
    else:
        default = None
        if pip_requirements is None:
            default = get_default_pip_requirements()
            found = infer_pip_requirements(os.path.join(path, _MODEL_FOLDER), FLAVOR_NAME, fallback=default)
            default = sorted({*found, *default})
        conda_env, requirements, constraints = environment._process_pip_requirements(
            default, pip_requirements, extra_pip_requirements
        )
    with open(os.path.join(path, environment._CONDA_ENV_FILE_NAME), "w") as file:
        yaml.safe_dump(conda_env, stream=file, default_flow_style=False)
    if constraints:
        write_to(os.path.join(path, environment._CONSTRAINTS_FILE_NAME), "\n".join(constraints))
    write_to(os.path.join(path, environment._REQUIREMENTS_FILE_NAME), "\n".join(requirements))
    environment._PythonEnv.current().to_yaml(os.path.join(path, environment._PYTHON_ENV_FILE_NAME))


def _load_model(path: str, **kwargs: Any) -> str | list[str] | None:
    """The files of a folder of checkpoints or networks, or the one file of another folder. None without the folder."""
    if not os.path.isdir(path):
        _logger.error("no such folder: %s", path)
        return None
    files = [os.path.join(path, name) for name in os.listdir(path)]
    several = os.path.basename(path.rstrip("/")) in (_CHECKPOINT_FILES_KEY, _NNP_FILES_KEY)
    return files if several else files[0]


def load_model(model_uri: str, dst_path: str | None = None, **kwargs: Any) -> str | list[str] | None:
    """Downloads a model, and says where its files are.

    Args:
        model_uri: the model, in a form that MLflow knows: a folder, `runs:/RUN/PATH`, `models:/NAME/VERSION`.
        dst_path: the folder to which it is downloaded; None for a new one.
        **kwargs: `model`, the files in question: "model", the parameters (the default), "nnp", "checkpoint", or
            "MLmodel", the folder of the whole model.

    Returns:
        The path of the file or folder; a list of paths for "nnp" and "checkpoint". None, with an error in the log,
        where `model` is something else or the model has no such files.

    Source: `nnabla.mlflow_save_load_model.load_model` of nnabla 1.39.0.
    """
    folder = _download_artifact_from_uri(artifact_uri=model_uri, output_path=dst_path)
    flavor = model_utils._get_flavor_configuration(model_path=folder, flavor_name=FLAVOR_NAME)
    model_utils._add_code_from_conf_to_system_path(folder, flavor)
    kind = kwargs.get("model", "model")
    if kind == "MLmodel":
        return folder
    folders = {"model": flavor["model_data"], "nnp": _NNP_FILES_KEY, "checkpoint": _CHECKPOINT_FILES_KEY}
    if kind not in folders:
        _logger.error("model: expected one of %s or MLmodel, got %r", ", ".join(folders), kind)
        return None
    return _load_model(os.path.join(folder, folders[kind]), **kwargs)


def _load_pyfunc(path: str) -> _NnablaModelWrapper:
    """Called by `mlflow.pyfunc.load_model` with the folder of the parameters."""
    return _NnablaModelWrapper(_load_model(path, model="model"))


class _NnablaModelWrapper:
    """What MLflow takes for the network. As in nnabla it knows the file of the parameters and computes nothing."""

    def __init__(self, nnabla_model: Any) -> None:
        self.nnabla_model = nnabla_model

    def predict(self, data: Any, params: dict[str, Any] | None = None) -> None:
        print(f"model: {self.nnabla_model}")


def _runs(experiment: Any) -> dict[str, str]:
    """The names of an experiment's runs, and the id of the newest run of each name."""
    newest_first = MlflowClient().search_runs([experiment])
    return {run.data.tags.get("mlflow.runName"): run.info.run_id for run in reversed(newest_first)}


def unique_run_name() -> None:
    """From now on `mlflow.start_run` changes a name that a run of the experiment has: NAME-1, NAME-2, …

    Source: `nnabla.mlflow_save_load_model.unique_run_name` of nnabla 1.39.0.
    """

    def start_run(
        run_id: Any = None, experiment_id: Any = None, run_name: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        taken = _runs(_get_experiment_id()) if run_name is not None else {}
        name, number = run_name, 1
        while name in taken:
            name, number = f"{run_name}-{number}", number + 1
        if name != run_name:
            _logger.info("the run %s is called %s", run_name, name)
        return original_start_run(run_id, experiment_id, name, *args, **kwargs)

    mlflow.start_run = start_run


def get_runid_by_name(run_name: str, experiment_name: str | None = None) -> str | None:
    """The id of the newest run with a name; None without such a run.

    Args:
        run_name: the name.
        experiment_name: the experiment of the run; None for the active one.

    Source: `nnabla.mlflow_save_load_model.get_runid_by_name` of nnabla 1.39.0.
    """
    if experiment_name is None:
        return _runs(_get_experiment_id()).get(run_name)
    return _runs(MlflowClient().get_experiment_by_name(experiment_name).experiment_id).get(run_name)
