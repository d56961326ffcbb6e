"""States of solvers, and their files."""

import os
from collections import OrderedDict

import numpy

from compatgrad.core.files import replacing
from compatgrad.formats import hdf5, prototext

from .core._file_errors import names_of, naming, reading
from .logger import logger
from .utils import nnabla_pb2
from .variable import Variable


class SolverState:
    """The state of a parameter in a solver.

    Attributes:
        pstate: arrays, such as running means, by their names: a dictionary of Variables.
        t: number of updates.

    Example:
        >>> w = nn.Variable.from_numpy_array(np.array([1.0]), need_grad=True)
        >>> w.g = 0.5
        >>> solver = S.Momentum(lr=0.1)
        >>> solver.set_parameters({"w": w})
        >>> solver.update()
        >>> state = solver.get_states()["w"]
        >>> state.t, state.pstate["m"].d
        (1, array([0.05], dtype=float32))

    Source: `nnabla.solver.SolverState` of nnabla 1.39.0.
    """

    def __init__(self) -> None:
        self.pstate = {}
        self.t = 0


def _extension(path):
    return os.path.splitext(path)[1]


def save(solver, path):
    """Writes the states of `solver` to a .h5 or .protobuf file."""
    extension = _extension(path)
    if extension == ".h5":
        _save_h5(solver.get_states(), path)
    elif extension == ".protobuf":
        message = nnabla_pb2.Optimizer()
        to_message(solver.get_states(), message)
        with replacing(path) as file:
            file.write(message.SerializeToString())
    else:
        logger.critical("Only supported hdf5 or protobuf.")
        raise AssertionError(f"save_states: expected a .h5 or .protobuf file, got {path!r}")
    logger.info("Solver state save (%s): %s", extension, path)


def load(solver, path):
    """Reads the states of `solver` from a .h5 or .protobuf file, or from a text file in the format of protocol
    buffers."""
    extension = _extension(path)
    if extension == ".h5":
        with reading(path, extension):
            states = _load_h5(path)
        with naming(names_of(path)):
            solver.set_states(states)
    elif extension == ".protobuf":
        message = nnabla_pb2.Optimizer()
        with open(path, "rb") as file, reading(path, extension):
            message.MergeFromString(file.read())
        with naming(names_of(path)):
            solver.set_states_from_protobuf(message)
    elif extension in (".nntxt", ".prototxt"):
        with open(path, encoding="utf-8") as file, reading(path, extension):
            message = prototext.merge(file.read(), nnabla_pb2.Optimizer())
        with naming(names_of(path)):
            solver.set_states_from_protobuf(message)
    elif extension == ".nnp":
        raise NotImplementedError(f"load_states: .nnp files are not read, got {path!r}")
    else:
        raise AssertionError(f"load_states: expected a .h5 or .protobuf file, got {path!r}")
    logger.info("State load (%s): %s", extension, path)


def _save_h5(states, path):
    with hdf5.creating(path) as file:
        for i, (key, state) in enumerate(states.items()):
            group = file.require_group(key)
            group.attrs["index"] = i
            group.create_dataset("t", data=state.t)
            for j, (name, variable) in enumerate(state.pstate.items()):
                dataset = group.create_dataset(name, data=variable.data.get_data("r"))
                dataset.attrs["index"] = j


def _load_h5(path):
    h5py = hdf5.h5py()
    groups = []
    with h5py.File(path, "r") as file:
        # A parameter's name is a path of groups in the file; its group is the one with the number of updates.
        def visit(name, item):
            if isinstance(item, h5py.Group) and isinstance(item.get("t"), h5py.Dataset):
                groups.append((item.attrs.get("index", 0), name))

        file.visititems(visit)
        states = OrderedDict()
        for _, name in sorted(groups):
            group = file[name]
            names = [key for key, item in group.items() if key != "t" and isinstance(item, h5py.Dataset)]
            arrays = {key: hdf5.read(group[key]) for key in names}
            states[name] = _state(hdf5.read(group["t"]), arrays)
    return states


def _state(t, arrays):
    state = SolverState()
    state.t = int(t)
    for name, array in arrays.items():
        state.pstate[name] = Variable.from_numpy_array(numpy.asarray(array, numpy.float32))
    return state


def to_message(states, optimizer):
    """Writes `states` into `optimizer`, an Optimizer message."""
    for key, state in states.items():
        message = optimizer.solver.states[key]
        message.t = state.t
        for name, variable in state.pstate.items():
            parameter = message.state_parameter[name]
            parameter.shape.dim.extend(variable.shape)
            parameter.data.extend(variable.data.get_data("r").ravel().tolist())


def from_message(optimizer):
    """The states that the Optimizer message `optimizer` contains."""
    states = OrderedDict()
    for key, message in optimizer.solver.states.items():
        arrays = {
            name: numpy.array(parameter.data, numpy.float32).reshape(tuple(parameter.shape.dim))
            for name, parameter in message.state_parameter.items()
        }
        states[key] = _state(message.t, arrays)
    return states
