"""What the tools do with files, folders and streams that are not as they should be."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from compatgrad.tools import compare as compare_command
from compatgrad.tools import verify
from compatgrad.tools.scan import command, sources
from compatgrad.tools.verify.recording import read

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
BAD = "import chainer.functions as F\nF.no_such\n"


def run(folder, *arguments, **more):
    words = [sys.executable, "-m", "compatgrad", *map(str, arguments)]
    return subprocess.run(words, cwd=folder, env=ENVIRONMENT, text=True, timeout=120, stderr=subprocess.PIPE, **more)


def test_scan_does_not_wait_for_pipes_and_prints_names_that_are_no_text(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe.py")
    for name in (b"na\xffme.py", b"new\nline.py", b"\x1b[31mred.py"):
        try:
            Path(os.fsdecode(name)).write_text(BAD)
        except OSError:
            pytest.skip("the file system takes only names that are text")
    os.symlink(".", "loop")
    for form in ("text", "json", "sarif", "github"):
        assert command.main([".", "--format", form]) == 1
        out = capsys.readouterr().out
        assert "no_such" in out.encode().decode() and "\x1b" not in out
    assert (
        command.main([".", "--write-baseline", "known.json"]) == 0
        and command.main([".", "--baseline", "known.json"]) == 0
    )
    assert "3 findings of the baseline not shown" in capsys.readouterr().out
    command.main(["."])
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == [r"\x1b[31mred.py", r"na\udcffme.py", r"new\nline.py"]


def test_scan_says_which_folder_cannot_be_looked_into(tmp_path, monkeypatch, capsys):
    (tmp_path / "closed").mkdir()
    (tmp_path / "program.py").write_text(BAD)
    monkeypatch.chdir(tmp_path)
    programs = sources._programs

    def closed(folder):
        if folder.name == "closed":
            raise PermissionError(13, "Permission denied")
        return programs(folder)

    monkeypatch.setattr(sources, "_programs", closed)
    assert command.main(["."]) == 1
    out = capsys.readouterr().out
    assert "closed:1:1: CG311 unreadable: cannot be read" in out and "program.py:2:1: CG104" in out


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disks(tmp_path):
    (tmp_path / "program.py").write_text(BAD)
    with open("/dev/full", "w") as full:
        done = run(tmp_path, "scan", "program.py", stdout=full)
    assert done.returncode == 2 and "standard output: No space left" in done.stderr
    done = run(tmp_path, "scan", "program.py", "--output", "/dev/full")
    assert done.returncode == 2 and "/dev/full: No space left" in done.stderr


@pytest.mark.parametrize("words", [["info"], ["--help"], ["scan", "program.py"]])
def test_output_that_nobody_reads(tmp_path, words):
    (tmp_path / "program.py").write_text(BAD)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        done = run(tmp_path, *words, stdout=closed)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr


STEPS = """
    import sys
    import chainer, chainer.functions as F, chainer.links as L, numpy as np

    l = L.Linear(3, 2)
    o = chainer.optimizers.SGD().setup(l)
    sys.stdout.close()
    for _ in range(20):
        loss = F.sum(l(np.ones((4, 3), "f")))
        l.cleargrads()
        loss.backward()
        o.update()
    open("end.json", "w").write("[1]")
"""


def test_profile_goes_on_where_its_report_cannot_be_printed(tmp_path):
    (tmp_path / "train.py").write_text(textwrap.dedent(STEPS))
    done = run(tmp_path, "profile", "--steps", 2, "--warmup", 1, "--", "train.py", stdout=subprocess.PIPE)
    assert done.returncode == 0 and "the report cannot be printed" in done.stderr
    assert json.loads((tmp_path / "end.json").read_text()) == [1]


KILLED = """
    import os, signal, threading
    import chainer, chainer.functions as F, chainer.links as L, numpy as np

    l = L.Linear(3, 2)
    o = chainer.optimizers.SGD().setup(l)
    def train():
        for _ in range(3):
            loss = F.sum(l(np.ones((4, 3), "f")))
            l.cleargrads()
            loss.backward()
            o.update()
    END
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The folder of a recording of a program that ends itself after three updates."""
    folder = tmp_path_factory.mktemp("killed")
    end = "train()\n    os.kill(os.getpid(), signal.SIGKILL)"
    (folder / "train.py").write_text(textwrap.dedent(KILLED.replace("END", end)))
    assert run(folder, "record", "-o", "r", "--", "train.py").returncode == -9
    return folder / "r"


def test_what_a_killed_program_recorded_is_compared(killed, tmp_path, capsys):
    recording = read(killed)
    assert recording.steps == 3 and recording.meta["ended"] == "killed"
    assert compare_command.main([str(killed), str(killed)]) == 0
    out = capsys.readouterr().out
    assert "Both runs failed after 3 updates: killed" in out and "compared: 3 steps" in out
    shutil.copytree(killed, tmp_path / "cut")
    with open(tmp_path / "cut/events.jsonl", "a") as file:
        file.write('[{"k":"forw')  # killed within a line
    assert len(read(tmp_path / "cut").events) == len(recording.events)


def test_a_program_that_trains_in_a_thread(tmp_path, capsys):
    end = "t = threading.Thread(target=train)\n    t.start()\n    t.join()"
    (tmp_path / "train.py").write_text(textwrap.dedent(KILLED.replace("END", end)))
    assert run(tmp_path, "record", "-o", "r", "--", "train.py").returncode == 0
    assert compare_command.main([str(tmp_path / "r"), str(tmp_path / "r")]) == 0
    assert "trains in a thread that it starts, in which the functions were not seen" in capsys.readouterr().out


def test_damaged_recordings(killed, tmp_path, capsys):
    for number, (name, content, error) in enumerate(
        [
            ("meta.json", "[]", "meta.json is damaged: it holds no object"),
            ("meta.json", "{", "meta.json is damaged"),
            ("meta.json", '{"schema": 9}', "has a recording of version 9"),
            ("events.jsonl", '[{"k": 1}]\n', "events.jsonl, line 1: expected events with the keys k, s and n"),
            ("events.jsonl", "[3]\n", "events.jsonl, line 1: expected events with the keys k, s and n"),
            ("events.jsonl", "3\n", "events.jsonl, line 1: expected a list of events, got int"),
            ("arrays.bin", "", "arrays.bin ends before an array"),
        ]
    ):
        folder = shutil.copytree(killed, tmp_path / str(number))
        (folder / name).write_text(content)
        assert compare_command.main([str(killed), str(folder)]) == 2
        assert error in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-o", "/dev/null/x", "--", "train.py"], "--output: [Errno 20]"),
        (["--", "-m"], "-m needs an argument"),
        (["--", "-"], "a program from standard input cannot run twice"),
        (["--", "nowhere.py"], "there is no program 'nowhere.py'"),
        (["--original", "/no/python", "--", "train.py"], "'/no/python' is neither a Python interpreter nor a command"),
    ],
)
def test_command_lines_that_no_run_could_follow(killed, monkeypatch, capsys, words, error):
    monkeypatch.chdir(killed.parent)
    with pytest.raises(SystemExit) as ended:
        verify.main(["--original", sys.executable, *words])
    assert ended.value.code == 2 and error in capsys.readouterr().err
