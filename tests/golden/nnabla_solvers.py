"""What real nnabla 1.39.0's solvers and data iterators do.

    PYTHON -m tests.golden.nnabla_solvers

records nnabla_solvers.json beside this file; PYTHON is an interpreter in which real nnabla runs (see
record_nnabla.py).
"""

import itertools
import pathlib

import numpy as np

from tests.golden import files

GOLDEN = pathlib.Path(__file__).with_suffix(".json")

SOLVERS = [
    ("Sgd", {}),
    ("SgdW", {"lr": 0.1, "wd": 0.01}),
    ("Momentum", {"lr": 0.1}),
    ("Nesterov", {"lr": 0.1}),
    ("Lars", {"lr": 1.0, "coefficient": 0.1}),
    ("Adagrad", {}),
    ("Adadelta", {}),
    ("RMSprop", {}),
    ("RMSpropGraves", {}),
    ("Adam", {"alpha": 0.01}),
    ("AdamW", {"alpha": 0.01, "wd": 0.1}),
    ("AMSGRAD", {"alpha": 0.01}),
    ("AMSGRAD", {"alpha": 0.01, "bias_correction": True}),
    ("AdaBound", {"alpha": 0.01, "gamma": 0.1}),
    ("AMSBound", {"alpha": 0.01}),
    ("AMSBound", {"alpha": 0.01, "bias_correction": True}),
    ("Adamax", {}),
    ("Lamb", {"eta": 0.01}),
    ("Lamb", {"eta": 0.1, "bias_correction": True, "gamma_u": 1.0}),
    ("Lion", {"lr": 0.01}),
    ("AdaBelief", {}),
    ("AdaBelief", {"alpha": 0.01, "amsgrad": True}),
    ("AdaBelief", {"alpha": 0.01, "wd": 0.1, "weight_decouple": True}),
    ("AdaBelief", {"alpha": 0.01, "wd": 0.1, "weight_decouple": True, "fixed_decay": True}),
    ("AdaBelief", {"alpha": 0.01, "rectify": True, "amsgrad": True, "wd": 0.1}),
]


def _arrays(variables, what):
    return {key: np.asarray(getattr(v, what)).tolist() for key, v in sorted(variables.items())}


def train(nn, S, name, kwargs):
    """Eight updates with everything that a program does between them; "z" has no gradient in most of them."""
    rng = np.random.RandomState(0)
    solver = getattr(S, name)(**kwargs)
    params = {key: nn.Variable(shape) for key, shape in (("a", (3,)), ("b", (2, 2)), ("c", ()), ("z", (2,)))}
    for p in params.values():
        p.d = np.asarray(rng.randn(*p.shape), np.float32)
    solver.set_parameters(params)
    seen = []
    for i in range(8):
        for p in params.values():
            p.g = np.asarray(rng.randn(*p.shape), np.float32)
        if i % 3 != 2:
            params["z"].grad.zero()
        if i in (2, 5):
            solver.weight_decay(0.1)
        if i == 3:
            solver.set_learning_rate(solver.learning_rate() * 0.3)
        if i == 4:
            solver.clip_grad_by_norm(0.5)
        if i == 6:
            solver.scale_grad(0.5)
        solver.update()
        if i in (1, 7):
            seen.append([_arrays(params, "d"), _arrays({k: params[k] for k in "abc"}, "g")])
    states = {key: [int(state.t), _arrays(state.pstate, "d")] for key, state in sorted(solver.get_states().items())}
    facts = [solver.name, solver.info, solver.learning_rate(), solver.weight_decay_is_fused()]
    return [seen, states, facts]


ITERATORS = list(itertools.product(["own", "simple", "concat", "csv"], *[[False, True]] * 4))


def iterate(U, folder, kind, shuffle, memory, file, stop):
    """Twelve batches of 5 from 11 examples, and what the callbacks are told."""

    class Own(U.DataSource):
        def __init__(self, n):
            super().__init__(shuffle=shuffle, rng=rng)
            self._size = n
            self._variables = ("x", "y")
            self.reset()

        def reset(self):
            self._indexes = self._rng.permutation(self._size) if self._shuffle else np.arange(self._size)
            super().reset()

        def _get_data(self, position):
            i = self._indexes[position]
            return np.array([i], np.float32), [float(i) + 1]

    rng = np.random.RandomState(7)
    options = {
        "rng": rng,
        "use_thread": memory,
        "with_memory_cache": memory,
        "with_file_cache": file,
        "stop_exhausted": stop,
    }
    if kind == "own":
        made = U.data_iterator(Own(11), 5, **options)
    elif kind == "simple":
        options["with_memory_cache"] = False
        made = U.data_iterator_simple(lambda i: (np.array([i]), np.array([i + 1])), 11, 5, shuffle, **options)
    elif kind == "concat":
        made = U.data_iterator_concat_datasets([Own(5), Own(6)], 5, shuffle, **options)
    else:
        path = pathlib.Path(folder, "data.csv")
        path.write_text("x:a,#no,y__0,y__1\n" + "".join(f"{i},-,{i + 1},{i + 2}\n" for i in range(11)))
        made = U.data_iterator_csv_dataset(str(path), 5, shuffle, **options)
    seen = []
    made.register_epoch_end_callback(lambda epoch: seen.append(f"end {epoch}"))
    made.register_epoch_begin_callback(lambda epoch: seen.append(f"begin {epoch}"))
    with made:
        for _ in range(12):
            try:
                batch = made.next()
            except StopIteration:
                seen.append("stop")
                break
            seen.append([[str(a.dtype), list(a.shape), a.ravel().tolist()] for a in batch])
    return [seen, made.epoch, made.size, list(made.variables)]


def iterate_all(config, U, folder):
    """All iterators, with three examples in a cache file."""
    setting = ("DATA_ITERATOR", "data_source_file_cache_size")
    before = config.get(*setting)
    config.set(*setting, "3")
    try:
        return [iterate(U, folder, *case) for case in ITERATORS]
    finally:
        config.set(*setting, before)


if __name__ == "__main__":
    import tempfile

    import nnabla as nn
    import nnabla.solvers as S
    from nnabla.config import nnabla_config
    from nnabla.utils import data_iterator as U
    from nnabla.utils.data_source import DataSource

    U.DataSource = DataSource
    with tempfile.TemporaryDirectory() as folder:
        recorded = {
            "solvers": [train(nn, S, *case) for case in SOLVERS],
            "iterators": iterate_all(nnabla_config, U, folder),
        }
    files.write(GOLDEN, recorded, files.versions("nnabla"))
