"""Where the files of trained networks are kept, and where they come from."""

from __future__ import annotations

import os

from ..logger import logger
from ..utils.download import get_data_home

__all__ = ["get_model_home", "get_model_url_base", "get_model_url_base_from_env"]

_ADDRESS = "https://nnabla.org/pretrained-models/nnp_models/"


def get_model_home() -> str:
    """The folder of the files, which is made if need be: `NNABLA_MODELS` or nnp_models in the data folder."""
    home = os.environ.get("NNABLA_MODELS") or os.path.join(get_data_home(), "nnp_models")
    os.makedirs(home, exist_ok=True)
    return home


def get_model_url_base_from_env() -> str | None:
    """The address that the environment variable NNABLA_MODELS_URL_BASE names, or None."""
    return os.environ.get("NNABLA_MODELS_URL_BASE")


def get_model_url_base() -> str:
    """The address that files are fetched from."""
    base = get_model_url_base_from_env()
    if base is None:
        return _ADDRESS
    logger.info("Models are fetched from %s (NNABLA_MODELS_URL_BASE).", base)
    return base
