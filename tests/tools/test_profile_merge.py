"""`profile merge`, and profiles in the forms of other tools."""

import json
import os
import pathlib
import pstats
import subprocess
import sys
import textwrap

import pytest

from compatgrad.tools.profile import main


def part(name, step, functions, **more):
    """A report of a process, as `--format json` writes it."""
    times = {"median": step, "q1": step, "q3": step, "count": 2, "times": [step, step]}
    row = {"calls": 2.0, "forward": 0.001, "backward": 0.002, "other": 0.0, "total": 0.003}
    return {
        "schema": 1,
        "tool": "compatgrad profile",
        "program": [name],
        "started": "",
        "ends_with": "SGD.update",
        "step": times,
        "hooked_step": times,
        "table_of": step,
        "parts": {"forward": step, "backward": 0.0, "update": 0.0, "data": 0.0, "other": 0.0},
        "clock": "wall",
        "seen": 4,
        "device": "CPU",
        "threads": 2,
        "versions": {},
        "functions": [{"name": f, **row} for f in functions],
        "layers": [
            {"name": "net/l1", "calls": 1.0, "forward": 0.003, "self_forward": 0.001, "backward": 0.0, "total": 0.001}
        ],
        "lines": [{"name": "a.py:3", "file": "/a.py", "line": 3, "source": "f(x)", **row}],
        "memory": [],
        "trace": None,
        "original": None,
        "hints": [],
        **more,
    }


@pytest.fixture
def parts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, (step, functions) in enumerate([(0.01, ["relu", "sum"]), (0.03, ["relu"])]):
        (tmp_path / f"{number}.json").write_text(json.dumps(part("train.py", step, functions)))
    return ["0.json", "1.json"]


def test_merge(parts, capsys):
    assert main(["merge", *parts]) == 0
    out = capsys.readouterr().out
    assert "step 20 ms median (10–30 IQR, 4 steps, which end with SGD.update)" in out
    lines = [line.split() for line in out.splitlines()]
    assert ["0.json", "10", "ms", "(10–10):", "forward", "100", "%,"] == next(x for x in lines if x[:1] == ["0.json"])[
        :7
    ]
    assert next(x for x in lines if x[:1] == ["relu"]) == ["relu", "2", "1.000", "2.000", "15.0"]
    assert next(x for x in lines if x[:1] == ["sum"]) == [
        "sum",
        "1",
        "0.500",
        "1.000",
        "7.5",
    ]  # in one of two processes
    assert main(["merge", *parts, "--by", "line", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["lines"][0]["line"] == 3 and data["lines"][0]["calls"] == 2 and data["seen"] == 8
    assert [p["file"] for p in data["processes"]] == parts


def test_merge_of_files_that_are_none(parts, tmp_path, capsys):
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text("[1]")
    (tmp_path / "new.json").write_text(json.dumps(part("x", 1.0, [], schema=99)))
    for name, error in (
        ("none.json", "none.json: No such file"),
        ("broken.json", "broken.json is no JSON"),
        ("other.json", "other.json was not written by `profile --format json`"),
        ("new.json", "new.json has the version 99"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["merge", parts[0], name])
        assert ended.value.code == 2 and error in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["merge", *parts, "--sort", "memory"])
    assert "the files have no memory" in capsys.readouterr().err


def test_speedscope_and_pstats(parts, tmp_path, capsys):
    assert main(["merge", *parts, "--speedscope", "s.json", "--pstats", "p.bin", "--html", "page.html"]) == 0
    assert "profile for pstats: p.bin" in capsys.readouterr().out
    data = json.loads((tmp_path / "s.json").read_text())
    frames = data["shared"]["frames"]
    by_function, by_layer, by_line = data["profiles"]
    named = {
        tuple(frames[i]["name"] for i in s): w
        for s, w in zip(by_function["samples"], by_function["weights"], strict=True)
    }
    assert named[("backward", "relu")] == 0.002 and by_function["endValue"] == pytest.approx(sum(named.values()))
    assert [frames[i]["name"] for i in by_layer["samples"][0]] == ["forward", "net", "l1"]
    assert {frames[i].get("line") for i in by_line["samples"][0]} == {None, 3}
    stats = pstats.Stats(str(tmp_path / "p.bin")).stats
    assert stats["/a.py", 3, "f(x)"][:4] == (2, 2, 0.0, 0.003) and ("~", 0, "relu") in stats
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")


def test_a_file_that_cannot_be_written(parts, tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    assert main(["merge", *parts, "--pstats", "folder"]) == 0
    assert "--pstats: [Errno 21]" in capsys.readouterr().err
    assert main(["merge", *parts, "--output", "folder"]) == 1
    with pytest.raises(SystemExit):
        main(["merge", *parts, "--speedscope", "nowhere/s.json"])
    assert "--speedscope: there is no folder" in capsys.readouterr().err


def test_of_a_program(tmp_path, monkeypatch, capsys):
    (tmp_path / "train.py").write_text(
        textwrap.dedent(
            """\
            import chainer.functions as F, chainer.links as L, numpy as np, chainer

            l = L.Linear(3, 2)
            o = chainer.optimizers.SGD().setup(l)
            for _ in range(20):
                loss = F.sum(l(np.ones((4, 3), "f")))
                l.cleargrads()
                loss.backward()
                o.update()
            """
        )
    )
    monkeypatch.chdir(tmp_path)
    options = ["--steps", "2", "--warmup", "1", "--stop", "--speedscope", "s.json"]
    command = [sys.executable, "-m", "compatgrad", "profile", *options, "--format", "json", "--output", "a.json"]
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[2])}
    subprocess.run([*command, "--", "train.py"], env=environment, check=True)
    names = {frame["name"] for frame in json.loads((tmp_path / "s.json").read_text())["shared"]["frames"]}
    assert {"chainer:LinearFunction", "forward", "backward"} <= names
    assert main(["merge", "a.json", "--by", "line"]) == 0
    assert "train.py:6" in capsys.readouterr().out
