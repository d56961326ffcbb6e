"""Graph networks of molecules, each with its predictor and regressor, on random graphs."""

import contextlib
import io

import _chainer
import chainer
import numpy as np


def train(run):
    run.path()
    rdkit = ["rdkit", "rdkit.Chem"]
    rdkit += [f"rdkit.Chem.{name}" for name in ("AllChem", "Draw", "Draw.rdMolDraw2D", "Scaffolds", "rdmolops")]
    run.without(*rdkit, "tqdm", "pandas", "networkx", "joblib")
    from chainer_chemistry.models import Regressor
    from chainer_chemistry.models.prediction import set_up_predictor

    rng = np.random.RandomState(1)
    size = 6

    def molecule(method):
        atoms = rng.randint(1, 10, size).astype("i")
        bonds = np.triu(rng.randint(0, 5, (size, size)), 1)
        bonds += bonds.T
        if method == "schnet":
            graph = np.abs(rng.normal(2, 1, (size, size)))
            graph += graph.T
        elif method in ("nfp", "rsgcn", "gin", "nfp_gwm"):
            graph = (bonds > 0) + np.eye(size)
        elif method == "weavenet":
            graph = rng.uniform(size=(20 * 20, 15))
            atoms = np.concatenate([atoms, np.zeros(20 - size, "i")])
        else:
            graph = np.stack([bonds == n for n in range(1, 5)])
        whole = [rng.normal(size=5).astype(run.dtype)] if method.endswith("gwm") else []
        return (atoms, graph.astype(run.dtype), *whole, rng.normal(size=1).astype(run.dtype))

    def training(method):
        with contextlib.redirect_stdout(io.StringIO()):
            model = Regressor(set_up_predictor(method, 8, 2, 1))
        data = [molecule(method) for _ in range(24)]
        with chainer.no_backprop_mode():
            model(*chainer.dataset.concat_examples(data[:2]))  # initializes parameters whose sizes depend on the input
        run.perturb(_chainer.arrays(model))
        updater = chainer.training.updaters.StandardUpdater(
            chainer.iterators.SerialIterator(data, 8), chainer.optimizers.Adam().setup(model)
        )
        return _chainer.updates(updater, model)

    methods = ("nfp", "ggnn", "schnet", "weavenet", "rsgcn", "relgcn", "relgat", "gin", "ggnn_gwm", "nfp_gwm")
    yield from run.together(**{method: training(method) for method in methods})
