"""Checkpoints: a symbol and its parameters in files `prefix-symbol.json` and `prefix-0001.params`."""

from __future__ import annotations

import logging
from collections import namedtuple

from . import ndarray
from .context import cpu

__all__ = ["BatchEndParam", "load_checkpoint", "load_params", "save_checkpoint"]

# what callbacks get after each batch
BatchEndParam = namedtuple("BatchEndParams", ["epoch", "nbatch", "eval_metric", "locals"])


def save_checkpoint(prefix, epoch, symbol, arg_params, aux_params, remove_amp_cast=True):
    """Writes `symbol` (None for none) and two dicts of name to NDArray, parameters and auxiliary states.

    epoch: int, a part of the parameters' file name. remove_amp_cast: leaves casts of mixed precision out.
    """
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    arrays = {f"arg:{name}": x.as_in_context(cpu()) for name, x in arg_params.items()}
    arrays.update({f"aux:{name}": x.as_in_context(cpu()) for name, x in aux_params.items()})
    file = _params_file(prefix, epoch)
    ndarray.save(file, arrays)
    logging.info('Saved checkpoint to "%s"', file)


def load_params(prefix, epoch):
    """Reads `prefix-epoch.params`: two dicts of name to NDArray, parameters and auxiliary states."""
    file = _params_file(prefix, epoch)
    arrays = ndarray.load(file)
    found = {"arg": {}, "aux": {}}
    if not arrays:
        logging.warning("Params file '%s' is empty", file)
        return found["arg"], found["aux"]
    for key, x in arrays.items():
        kind, name = key.split(":", 1)
        found.setdefault(kind, {})[name] = x
    return found["arg"], found["aux"]


def load_checkpoint(prefix, epoch):
    """Reads what `save_checkpoint` wrote: the symbol, the parameters and the auxiliary states."""
    from . import symbol

    return symbol.load(f"{prefix}-symbol.json"), *load_params(prefix, epoch)


def _params_file(prefix, epoch):
    return f"{prefix}-{epoch:04d}.params"
