"""What the tools do with files, folders and streams that are not as they should be."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from compatgrad.tools.scan import command, sources

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
