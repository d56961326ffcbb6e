"""The folder and the download address of the files of pretrained networks."""

from __future__ import annotations

import os

from ..logger import logger
from ..utils.download import get_data_home

__all__ = ["get_model_home", "get_model_url_base", "get_model_url_base_from_env"]

_ADDRESS = "https://nnabla.org/pretrained-models/nnp_models/"


def get_model_home() -> str:
    """The folder of the files of pretrained networks, which is made if it does not exist.

    Returns:
        The value of the environment variable NNABLA_MODELS, else nnp_models in the folder of `get_data_home`.

    Example:
        >>> import os
        >>> from compatgrad.nnabla.models.utils import get_model_home
        >>> os.environ["NNABLA_MODELS"] = "models"
        >>> get_model_home(), os.path.isdir("models")
        ('models', True)
        >>> del os.environ["NNABLA_MODELS"]

    Source: `nnabla.models.utils.get_model_home` of nnabla 1.39.0.
    """
    home = os.environ.get("NNABLA_MODELS") or os.path.join(get_data_home(), "nnp_models")
    os.makedirs(home, exist_ok=True)
    return home


def get_model_url_base_from_env() -> str | None:
    """The address in the environment variable NNABLA_MODELS_URL_BASE.

    Returns:
        The address, or None if the variable is not set.

    Example:
        >>> from compatgrad.nnabla.models.utils import get_model_url_base_from_env
        >>> get_model_url_base_from_env() is None
        True

    Source: `nnabla.models.utils.get_model_url_base_from_env` of nnabla 1.39.0.
    """
    return os.environ.get("NNABLA_MODELS_URL_BASE")


def get_model_url_base() -> str:
    """The address from which files of pretrained networks are downloaded.

    Returns:
        The value of the environment variable NNABLA_MODELS_URL_BASE, else an address at nnabla.org.

    Example:
        >>> from compatgrad.nnabla.models.utils import get_model_url_base
        >>> get_model_url_base()
        'https://nnabla.org/pretrained-models/nnp_models/'

    Source: `nnabla.models.utils.get_model_url_base` of nnabla 1.39.0.
    """
    base = get_model_url_base_from_env()
    if base is None:
        return _ADDRESS
    logger.info("Models are downloaded from %s (NNABLA_MODELS_URL_BASE).", base)
    return base
