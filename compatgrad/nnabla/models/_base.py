"""The base class of the pretrained networks."""

from __future__ import annotations

import inspect
import os
import urllib.error
from typing import Any

from ..logger import logger
from ..utils.download import download
from ..utils.nnp_graph import NnpLoader, NnpNetwork, NnpNetworkPass
from ..variable import Variable
from . import utils

__all__ = ["TrainedNetwork", "read_names"]


_SECTIONS = """Raises:
    urllib.error.URLError: the network's file is not in the folder of the models and cannot be downloaded.

Example:
    >>> from compatgrad.{package} import {name}
    >>> network = {name}()  # doctest: +SKIP
    >>> network.input_shape  # doctest: +SKIP
    {shape}
    >>> y = network(nn.Variable((8, *network.input_shape)))  # doctest: +SKIP

Source: `{package}.{name}` of nnabla 1.39.0.
"""


class TrainedNetwork:
    """A network from a .nnp file; a call builds it on an input.

    Subclasses set the `_family` (folder of the files), the `_size` of an input and `_KEY_VARIABLE`, which maps the
    values of `use_up_to` to variables of the file.
    """

    _family: str
    _size: tuple[int, int, int]
    _KEY_VARIABLE: dict[str, str]
    nnp: NnpLoader

    def __init_subclass__(cls) -> None:
        """Completes the docstring of a network's class."""
        super().__init_subclass__()
        if cls.__doc__ and "Source:" not in cls.__doc__:  # base classes have whole docstrings
            package = ".".join(cls.__module__.split(".")[1:4])
            cls.__doc__ = f"{inspect.cleandoc(cls.__doc__)}\n\n" + _SECTIONS.format(
                name=cls.__name__, shape=cls._size, package=package
            )

    @property
    def input_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the images on which the network was trained."""
        return self._input_shape()

    def _input_shape(self) -> tuple[int, int, int]:
        return self._size

    def _load_nnp(self, rel_name: str, rel_url: str) -> None:
        path = os.path.join(utils.get_model_home(), self._family, rel_name)
        if not os.path.exists(path):
            url = f"{utils.get_model_url_base().rstrip('/')}/{self._family}/{rel_url}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            logger.info("%s comes from %s.", rel_name, url)
            try:
                download(url, path, open_file=False)
            except urllib.error.URLError as e:
                reason = getattr(e, "reason", e)
                raise urllib.error.URLError(
                    f"{type(self).__name__} needs {rel_name}, which is not in {os.path.dirname(path)} and could not "
                    f"be downloaded from {url} ({reason}); put the file into that folder, or name another folder "
                    f"with NNABLA_MODELS or another address with NNABLA_MODELS_URL_BASE"
                ) from e
        logger.info("Loading %s.", path)
        self.nnp = NnpLoader(path)

    def use_up_to(self, key: str, callback: NnpNetworkPass, **variable_format_dict: Any) -> None:
        """Ends the network at the variable that `key` stands for. Raises ValueError for an unknown key."""
        if key not in self._KEY_VARIABLE:
            offered = ", ".join(repr(name) for name in self._KEY_VARIABLE if not name.startswith("_"))
            raise ValueError(f"{type(self).__name__}: use_up_to={key!r} is none of {offered}")
        callback.use_up_to(self._KEY_VARIABLE[key].format(**variable_format_dict))

    def get_input_var(self, input_var: Variable | None) -> Variable:
        """`input_var`, or a Variable for one image. Raises AssertionError unless it contains images of 3 channels."""
        if input_var is None:
            input_var = Variable((1, *self.input_shape))
        assert input_var.ndim == 4, f"input_var must have 4 axes, not {input_var.ndim}"
        assert input_var.shape[1] == 3, f"input_var must have 3 channels (RGB) in axis 1, not {input_var.shape[1]}"
        return input_var

    def _built(self, network: str, x: Variable, callback: NnpNetworkPass) -> NnpNetwork:
        return self.nnp.get_network(network, batch_size=x.shape[0], callback=callback)


def _result(net: NnpNetwork, returns_net: bool) -> Any:
    return net if returns_net else next(iter(net.outputs.values()))


def read_names(family: str, file: str) -> list[str]:
    """The lines of a list of categories in the folder of the models.

    Raises FileNotFoundError, which says where to put the list, if the file is missing.
    """
    path = os.path.join(utils.get_model_home(), family, file)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"the names of the categories are read from {path}, one per line in the order of the network's outputs; "
            f"nnabla's own package has them in nnabla/models/{family}/{file}"
        )
    with open(path, encoding="utf-8") as lines:
        return lines.read().splitlines()
