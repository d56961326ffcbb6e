"""python -m tests.benchmarks.tables

Writes the tables of docs/benchmarks.md and README.md from the runs recorded in tests/benchmarks/figures.json
(`tests/benchmarks/record.py`). A table follows a line `<!-- figures: NAME -->`.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
from collections.abc import Callable

from tests.benchmarks import large

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = (ROOT / "docs/benchmarks.md", ROOT / "README.md")
RECORDED = ROOT / "tests/benchmarks/figures.json"

PROGRAMS = {
    "compatgrad": "Chainer",
    "compatgrad compiled": "Chainer, compiled",
    "native": "native API",
    "nn static": "nnabla, static",
    "nn dynamic": "nnabla, dynamic",
    "mx": "MXNet",
}
ORIGINALS = {
    "compatgrad": "Chainer",
    "compatgrad compiled": "Chainer",
    "nn static": "nnabla static",
    "nn dynamic": "nnabla dynamic",
    "mx": "MXNet",
}
NETWORKS = {
    "resnet18": "ResNet-18",
    "resnet50": "ResNet-50",
    "vgg16": "VGG-16",
    "mobilenet2": "MobileNet-V2",
    "unet": "U-Net",
    "dcgan": "DCGAN",
    "wavenet": "WaveNet",
    "transformer": "transformer",
    "bert": "BERT",
}
SECOND = {
    "second penalty": "gradient penalty on ResNet-18",
    "second hessian": "Hessian-vector product of a transformer",
    "second sine, 1": "MAML, sines, 1 inner step",
    "second sine, 5": "MAML, sines, 5 inner steps",
    "second images, 1": "MAML, images, 1 inner step",
    "second images, 5": "MAML, images, 5 inner steps",
}
RECURRENT = {
    "lstm layer": "LSTM layer, 50 steps, 256 units",
    "gru layer": "GRU layer, 50 steps, 256 units",
    "lstm layer, 1024": "LSTM layer, 20 steps, 1,024 units",
    "gru layer, 1024": "GRU layer, 20 steps, 1,024 units",
    "lstm cells": "LSTM cells in a loop, 50 steps, 256 units",
}
STEPS = ("chain fb", "chain dbl", "mlp_tiny", "mlp_mnist", "cnn", "lstm_lm", "wgan_gp")


def load() -> tuple[dict[tuple, dict], dict[str, dict]]:
    """The recorded rows by (workload, framework, against, unit, threads), and what of each step the limits take."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    keys = ("workload", "framework", "against", "unit", "threads")
    return {tuple(row[key] for key in keys): row for row in recorded["rows"]}, recorded["limits"]


def number(value: float) -> str:
    """Three digits, or all digits before the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"


class Figures:
    """The cells of a table, from the recorded rows."""

    def __init__(self) -> None:
        self.rows, self.limits = load()

    def of(self, workload: str, framework: str, unit: str = "ms", threads: int = 1) -> dict | None:
        """The row of a program with the most rounds, against anything: nnabla, for one, is measured in one round."""
        wanted = (workload, framework, unit, threads)
        fits = [row for key, row in self.rows.items() if (*key[:2], *key[3:]) == wanted]
        return max(fits, key=lambda row: row["rounds"], default=None)

    def own(self, workload: str, framework: str, unit: str = "ms", threads: int = 1) -> str:
        """The figure of a program of compatgrad."""
        row = self.of(workload, framework, unit, threads)
        return number(row["value"]) if row else ""

    def other(self, workload: str, framework: str, against: str, unit: str = "ms", threads: int = 1) -> str:
        """The figure of another program, and compatgrad's divided by it, in bold letters if it misses a target."""
        row = self.rows.get((workload, framework, against, unit, threads))
        if row is None:
            return ""
        ratio = f"{row['ratio']:.2f}"
        return f"{number(row['other'])} ({f'**{ratio}**' if row['met'] is False else ratio})"

    def limit(self, workload: str, framework: str = "compatgrad") -> str:
        """Which share of a program's time its products, and the movement of its parameters, take at the limits."""
        row, limit = self.of(workload, framework), self.limits.get(workload)
        if row is None or limit is None:
            return ""
        return ", ".join(f"{1e3 * seconds / row['value']:.0%}" for seconds in limit.values())


def table(head: list[str], rows: list[list[str]], texts: int = 1) -> list[str]:
    """A table whose first `texts` columns are texts, without empty rows and columns."""
    rows = [row for row in rows if any(row[texts:])]
    used = [i for i in range(len(head)) if i < texts or any(row[i] for row in rows)]
    marks = ["---" if i < texts else "---:" for i in used]
    return [
        "| " + " | ".join(cells) + " |"
        for cells in ([head[i] for i in used], marks, *([r[i] for i in used] for r in rows))
    ]


def steps(figures: Figures) -> list[str]:
    rows = []
    for workload in STEPS:
        unit = "us/op" if workload.startswith("chain") else "ms"
        for framework, shown in PROGRAMS.items():
            others = [figures.other(workload, framework, peer, unit) for peer in ("torch", "compiled torch", "JAX")]
            original = figures.other(workload, framework, ORIGINALS.get(framework, ""), unit)
            share = figures.limit(workload, framework) if unit == "ms" else ""
            rows.append([workload, shown, figures.own(workload, framework, unit), *others, original, share])
    head = ["workload", "program", "compatgrad", "torch", "torch, compiled", "JAX", "original", "share of the limit"]
    return table(head, rows, 2)


def _programs(figures: Figures, workload: str, best: str, unit: str = "ms") -> list[str]:
    """The cells of a workload's row: each frontend's program, against torch's program `best` and the original."""
    cells = []
    for framework in ("compatgrad", "nn static", "mx"):
        cells += [figures.own(workload, framework, unit), figures.other(workload, framework, best, unit)]
        if framework != "compatgrad":
            cells.append(figures.other(workload, framework, ORIGINALS[framework], unit))
    return cells


def _networks(mode: str) -> dict[str, str]:
    """The workloads of large networks, and what their rows are called."""
    return {
        f"{name} {mode} {batch}": f"{NETWORKS[name]}, {batch}"
        for name, batches in large.BATCHES.items()
        for batch in batches
    }


HEAD = ["network, batch"]
for _program in ("Chainer", "nnabla", "MXNet"):
    HEAD += [f"{_program} program", "torch, best", *([_program] if _program != "Chainer" else [])]


def networks(mode: str) -> Callable[[Figures], list[str]]:
    def made(figures: Figures) -> list[str]:
        rows = [
            [shown, *_programs(figures, workload, "torch best"), figures.limit(workload)]
            for workload, shown in _networks(mode).items()
        ]
        return table([*HEAD, "share of the limit"], rows)

    return made


def memory(figures: Figures) -> list[str]:
    rows = [[shown, *_programs(figures, name, "torch best", "MB")] for name, shown in _networks("train").items()]
    rows += [[f"{shown}, 32", *_programs(figures, name, "torch", "MB")] for name, shown in RECURRENT.items()]
    return table(HEAD, rows)


def threads(figures: Figures) -> list[str]:
    rows = []
    for name in large.names():
        network, mode, batch = name.split()
        one, two = (figures.rows.get((name, "compatgrad", "torch best", "ms", n)) for n in (1, 2))
        if one and two:
            gains = [f"{two[key] / one[key]:.2f}" for key in ("value", "other")]
            both = [
                figures.own(name, "compatgrad", threads=2),
                figures.other(name, "compatgrad", "torch best", threads=2),
            ]
            rows.append(
                [f"{NETWORKS[network]}, {batch}, {'training' if mode == 'train' else 'inference'}", *both, *gains]
            )
    head = [
        "network, batch",
        "Chainer program",
        "torch, best",
        "two threads / one, compatgrad",
        "two threads / one, torch",
    ]
    return table(head, rows)


def second(figures: Figures) -> list[str]:
    rows = []
    for workload, shown in SECOND.items():
        for framework in ("compatgrad", "compatgrad compiled", "native"):
            others = [figures.other(workload, framework, peer) for peer in ("torch", "JAX", "Chainer")]
            rows.append([shown, PROGRAMS[framework], figures.own(workload, framework), *others])
    return table(["workload", "program", "compatgrad", "torch", "JAX", "Chainer"], rows, 2)


def recurrent(figures: Figures) -> list[str]:
    rows = []
    for workload, shown in RECURRENT.items():
        for framework in PROGRAMS:
            others = [figures.other(workload, framework, peer) for peer in ("torch", ORIGINALS.get(framework, ""))]
            rows.append([shown, PROGRAMS[framework], figures.own(workload, framework), *others])
    return table(["layer", "program", "compatgrad", "torch", "original"], rows, 2)


def readme(figures: Figures) -> list[str]:
    names = {"mlp_tiny": "small MLP", "cnn": "convolutions", "lstm_lm": "LSTM", "wgan_gp": "gradient penalty"}
    rows = []
    for framework, shown in (("compatgrad", "Chainer"), ("nn static", "nnabla"), ("mx", "MXNet")):
        row = [f"{shown}'s program: {shown}, PyTorch"]
        for workload in names:
            ratios = [
                figures.rows.get((workload, framework, peer, "ms", 1)) for peer in (ORIGINALS[framework], "torch")
            ]
            row.append(", ".join(f"{ratio['ratio']:.2f}" if ratio else f"{shown} cannot" for ratio in ratios))
        rows.append(row)
    return table(["time divided by that of", *names.values()], rows)


TABLES: dict[str, Callable[[Figures], list[str]]] = {
    "steps": steps,
    "training": networks("train"),
    "inference": networks("infer"),
    "threads": threads,
    "second": second,
    "recurrent": recurrent,
    "memory": memory,
    "readme": readme,
}


def written(text: str) -> str:
    """A document with its tables as recorded."""
    figures = Figures()

    def filled(found: re.Match[str]) -> str:
        return found[1] + "".join(f"{line}\n" for line in TABLES[found[2]](figures))

    return re.sub(r"(<!-- figures: (\w+) -->\n\n)(?:\|.*\n)*", filled, text)


def main(arguments: list[str] | None = None) -> None:
    about = (__doc__ or "").split("\n\n", 1)[1]
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.tables", description=about)
    parser.parse_args(arguments)
    try:
        load()
    except (OSError, ValueError, KeyError, TypeError) as error:
        named = f"{RECORDED}: {type(error).__name__}: {error}"
        parser.error(f"{named}; `python -m tests.benchmarks.record` records runs")
    for document in DOCUMENTS:
        document.write_text(written(document.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
