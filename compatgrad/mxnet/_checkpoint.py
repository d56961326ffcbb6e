"""Checkpoints: a symbol and its parameters in files `prefix-symbol.json` and `prefix-0001.params`."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from . import ndarray, symbol
from .context import cpu
from .kvstore import KVStore
from .ndarray import NDArray
from .symbol import Symbol


class BatchEndParam(NamedTuple):
    """The argument of callbacks after each batch.

    Args:
        epoch: number of the epoch, from 0.
        nbatch: number of the batch in it, from 0.
        eval_metric: the metric of the epoch so far, or None.
        locals: the local variables of the loop over batches.

    Example:
        >>> mx.model.BatchEndParam(epoch=0, nbatch=5, eval_metric=None, locals=None).nbatch
        5

    Source: `mxnet.model.BatchEndParam` of MXNet 1.9.1.
    """

    epoch: int
    nbatch: int
    eval_metric: Any
    locals: Any


BatchEndParam.__name__ = "BatchEndParams"  # what the original prints


def save_checkpoint(
    prefix: str,
    epoch: int,
    symbol: Symbol | None,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Writes a symbol and its parameters into the files `prefix-symbol.json` and `prefix-0001.params`.

    Args:
        prefix: beginning of the files' names.
        epoch: the number in the name of the parameters' file, four digits or more.
        symbol: the symbol, None for none.
        arg_params: the parameters by name.
        aux_params: the auxiliary states by name.
        remove_amp_cast: leaves casts of mixed precision out of the symbol.

    Raises:
        TypeError: `epoch` is no number.
        MXNetError: a file cannot be written.

    Example:
        >>> y = mx.sym.var("x") * mx.sym.var("w")
        >>> mx.model.save_checkpoint("net", 1, y, {"w": nd.array([3])}, {})
        >>> symbol, arg_params, aux_params = mx.model.load_checkpoint("net", 1)
        >>> symbol.list_arguments(), arg_params["w"].asnumpy()
        (['x', 'w'], array([3.], dtype=float32))

    Source: `mxnet.model.save_checkpoint` of MXNet 1.9.1.
    """
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    file = checkpoint_file(prefix, epoch)
    ndarray.save(file, collected_params(arg_params, aux_params))
    logging.info('Saved checkpoint to "%s"', file)


def collected_params(arg_params, aux_params):
    """Both dicts as one, on the CPU, with the names that files have: "arg:name" and "aux:name"."""
    arrays = {f"arg:{name}": x.as_in_context(cpu()) for name, x in arg_params.items()}
    arrays.update({f"aux:{name}": x.as_in_context(cpu()) for name, x in aux_params.items()})
    return arrays


def separated_params(arrays, file):
    """Undoes `collected_params`: {"arg": parameters by name, "aux": auxiliary states by name}.

    AttributeError if the arrays of `file` have no names, ValueError for a name without a kind.
    """
    if not isinstance(arrays, dict):
        raise AttributeError(f"{file}: expected arrays named arg:NAME and aux:NAME, got arrays without names")
    found = {"arg": {}, "aux": {}}
    for key, x in arrays.items():
        kind, colon, name = key.partition(":")
        if not colon:
            raise ValueError(f"{file}: expected arrays named arg:NAME and aux:NAME, got {key!r}")
        found.setdefault(kind, {})[name] = x
    return found


def load_params(prefix: str, epoch: int) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Reads the parameters that `save_checkpoint` wrote.

    Args:
        prefix: beginning of the file's name.
        epoch: the number in it.

    Returns:
        The parameters by name and the auxiliary states by name.

    Raises:
        TypeError: `epoch` is no number.
        MXNetError: the file cannot be read.
        ValueError: a name in it says neither parameter nor state.

    Example:
        >>> mx.model.save_checkpoint("net", 1, None, {"w": nd.array([3])}, {})
        >>> mx.model.load_params("net", 1)
        ({'w':
        [3.]
        <NDArray 1 @cpu(0)>}, {})

    Source: `mxnet.model.load_params` of MXNet 1.9.1.
    """
    file = checkpoint_file(prefix, epoch)
    arrays = ndarray.load(file)
    if not arrays:
        logging.warning("Params file '%s' is empty", file)
        return {}, {}
    found = separated_params(arrays, file)
    return found["arg"], found["aux"]


def load_checkpoint(prefix: str, epoch: int) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Reads what `save_checkpoint` wrote.

    Args:
        prefix: beginning of the files' names.
        epoch: the number in the name of the parameters' file.

    Returns:
        The symbol, the parameters by name and the auxiliary states by name.

    Raises:
        TypeError: `epoch` is no number.
        MXNetError: a file cannot be read.
        ValueError: a name in it says neither parameter nor state.

    Example:
        >>> mx.model.save_checkpoint("net", 2, mx.sym.exp(mx.sym.var("x")), {}, {})
        >>> mx.model.load_checkpoint("net", 2)[0].list_arguments()
        ['x']

    Source: `mxnet.model.load_checkpoint` of MXNet 1.9.1.
    """
    return symbol.load(f"{prefix}-symbol.json"), *load_params(prefix, epoch)


def checkpoint_file(prefix, epoch, ending="params"):
    """The name of the file of an epoch, cut to an int. TypeError for an epoch that is no number."""
    return "%s-%04d.%s" % (prefix, epoch, ending)  # noqa: UP031 - format() takes no floats here


def _initialize_kvstore(kvstore, param_arrays, arg_params, param_names, update_on_kvstore):
    """Puts parameters into a store; if the store updates them, copies their values to all contexts too."""
    for name, arrays in zip(param_names, param_arrays, strict=True):
        if update_on_kvstore and arg_params[name].stype == "default":
            kvstore.broadcast(name, arg_params[name], out=arrays)
        else:
            kvstore.init(name, arg_params[name])


def _exchange(kvstore, name, grads, targets, priority):
    """Pushes gradients to the store, and pulls their sum or the updated weights into `targets`."""
    if grads[0].stype == "default" and targets[0].stype == "default":
        kvstore.pushpull(name, grads, out=targets, priority=priority)
    else:
        kvstore.push(name, grads, priority=priority)
        kvstore.pull(name, out=targets, priority=priority)


def _together(kvstore, names, grads, targets):
    """Exchanges all gradients in few messages, if processes share the store and all are dense. Returns whether."""
    entries = [(n, g, t) for n, g, t in zip(names, grads, targets, strict=True) if g[0] is not None]
    dense = all(g[0].stype == t[0].stype == "default" for _, g, t in entries)
    if not entries or not dense or not isinstance(kvstore, KVStore) or "dist" not in kvstore.type:
        return False
    keys, values, outs = (list(column) for column in zip(*entries, strict=True))
    kvstore.pushpull(keys, values, out=outs)
    return True


def _update_params_on_kvstore(param_arrays, grad_arrays, kvstore, param_names):
    """Has the store's optimizer update parameters that have a gradient."""
    if _together(kvstore, param_names, grad_arrays, param_arrays):
        return
    for i, (arrays, grads) in enumerate(zip(param_arrays, grad_arrays, strict=True)):
        if grads[0] is not None:
            _exchange(kvstore, param_names[i], grads, arrays, -i)


def _update_params(param_arrays, grad_arrays, updater, num_device, kvstore=None, param_names=None):
    """Calls `updater` for the parameters that have a gradient; a store, if any, adds gradients over contexts first."""
    updates = [[] for _ in range(num_device)]
    if kvstore and _together(kvstore, param_names, grad_arrays, grad_arrays):
        kvstore = None
    for i, (arrays, grads) in enumerate(zip(param_arrays, grad_arrays, strict=True)):
        if grads[0] is None:
            continue
        if kvstore:
            _exchange(kvstore, param_names[i], grads, grads, -i)
        for k, (weight, grad) in enumerate(zip(arrays, grads, strict=True)):
            updates[k].append((i * num_device + k, grad, weight))
    for entries in updates:
        if entries:
            updater(*zip(*entries, strict=True))


def _multiple_callbacks(callbacks, *args, **kwargs):
    """Calls one callback, or each of a list."""
    for callback in callbacks if isinstance(callbacks, list) else [callbacks]:
        if callback:
            callback(*args, **kwargs)
