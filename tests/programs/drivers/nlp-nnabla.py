"""Language models, attention, classifiers and embeddings: the program's scripts, with small sizes and synthetic texts.

A script runs until its trainer starts; the trainer then makes one step at a time.
"""

import importlib
import re
import sys

import _nnabla
import nnabla as nn
import nnabla.parametric_functions as PF
import nnabla.solvers as S
import numpy as np

WORDS = 40


class Ready(Exception):
    """An exception that carries a trainer and its data out of a script."""


def without_annotations(api=PF.parametric_function_api):
    """`PF.parametric_function_api` for functions with annotations, which nnabla 1.39's version cannot parse."""

    def make(*args):
        def decorate(function):
            function.__annotations__ = {}
            return api(*args)(function)

        return decorate

    return make


def sentences(rng, number, longest):
    return [[int(w) for w in rng.randint(3, WORDS, rng.randint(3, longest))] + [1] for _ in range(number)]


def train(run):
    run.path()
    sys.argv = ["train"]
    PF.parametric_function_api = without_annotations()
    rng = np.random.RandomState(1)
    common, trainers = importlib.import_module("common.utils"), importlib.import_module("common.trainer")

    class Texts:
        w2i = {"pad": 0, "<eos>": 1, "<bos>": 2, **{f"w{i}": i for i in range(3, WORDS)}}
        i2w = {i: w for w, i in w2i.items()}
        c2i = {c: i for i, c in enumerate(" abdeops<>w0123456789")}
        i2c = {i: c for c, i in c2i.items()}
        word_length = 20

        def __init__(self, return_char_info=False):
            self.train_data = self.valid_data = sentences(rng, 16, 12)

    def labelled(words):
        data = np.array([*sentences(rng, 16, 12), None], object)[:-1]
        return data, data, rng.randint(0, 2, 16), rng.randint(0, 2, 16)

    def ready(trainer, train_iter, *_, **__):
        raise Ready(trainer, train_iter)

    common.PTBDataset, common.load_imdb, trainers.Trainer.run = Texts, labelled, ready
    common.load_enja_parallel_data = lambda lang: [sentences(rng, 16, 9) for _ in range(3)] + [Texts.w2i, Texts.i2w]

    def script(*parts, until=None, **numbers):
        """Run a script with other sizes. Return its global names, and the trainer that it started."""
        run.path(*parts[:-1])
        for name in ("utils", "functions", "parametric_functions"):
            sys.modules.pop(name, None)
        if parts[0] == "transformer":
            importlib.import_module("utils").load_imdb = labelled
        source = run.repo.joinpath(*parts).read_text()
        source = source[: source.index(until)] if until else source
        for name, number in numbers.items():
            source, found = re.subn(rf"^{name}(: int)? = .*", f"{name} = {number}", source, flags=re.M)
            assert found == 1, name
        scope = {"__name__": "__main__"}
        try:
            exec(compile(source, parts[-1], "exec"), scope)
        except Ready as found:
            return scope, *found.args
        return scope, None, None

    def training(name, *parts, **numbers):
        with _nnabla.building(run, name):
            scope, trainer, data = script(*parts, **numbers)
        if trainer is None:  # the transformer's script has its own loop
            solver = S.Adam()
            with nn.parameter_scope(name):
                solver.set_parameters(nn.get_parameters())
            trainer = trainers.Trainer([scope["x"], scope["t"]], scope["loss"], solver)
            data = scope["train_data_iter"]
        while True:
            yield trainer._run_one_epoch(1, 0, data, train=True)

    nn.seed(0)
    small = {"embedding_size": 12, "batch_size": 4}
    yield from run.together(
        lstm=training("lstm", "language-models", "lstmlm", "train.py", sentence_length=8, hidden_size=10, **small),
        characters=training(
            "characters",
            "language-models",
            "char-cnn-lstmlm",
            "train.py",
            sentence_length=6,
            batch_size=3,
            lstm_size=10,
            filters=[4, 5, 6],
            filster_sizes=[1, 2, 3],
        ),
        attention=training(
            "attention", "seq2seq", "encoder-decoder-with-attention", "attention.py", hidden=10, **small
        ),
        classifier=training(
            "classifier",
            "text-classification",
            "self-attention",
            "train.py",
            max_len=10,
            hidden_size=10,
            da=8,
            r=3,
            output_mlp_size=20,
            vocab_size=WORDS,
            **small,
        ),
        transformer=training(
            "transformer",
            "transformer",
            "transformer.py",
            until="# Create solver.",
            max_len=10,
            embedding_size=16,
            batch_size=4,
            vocab_size=WORDS,
            head_num=4,
        ),
    )
