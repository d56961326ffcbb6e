"""The processes of a job: how they are found, connected and ended."""

import os
import signal
import subprocess
import sys
import time

import pytest

from compatgrad.core import distributed
from compatgrad.core.distributed import launching
from tests.distributed.launches import LONGEST, PROGRAMS, check, environment, launch


def test_groups_and_messages(tmp_path):
    out = check(3, PROGRAMS / "core.py", folder=tmp_path)
    assert sorted(out.split("\n")) == ["", "[0] done", "[1] done", "[2] done"]


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({}, ("", 0, 1, 0, 1)),
        ({"RANK": 3, "WORLD_SIZE": 8, "LOCAL_RANK": 1, "LOCAL_WORLD_SIZE": 2}, ("torchrun", 3, 8, 1, 2)),
        (
            {f"OMPI_COMM_WORLD_{name}": i for i, name in enumerate(("RANK", "LOCAL_RANK", "LOCAL_SIZE", "SIZE"))},
            ("Open MPI", 0, 3, 1, 2),
        ),
        ({"PMI_RANK": 1, "PMI_SIZE": 2, "MPI_LOCALRANKID": 0, "MPI_LOCALNRANKS": 1}, ("MPICH", 1, 2, 0, 1)),
        ({"MV2_COMM_WORLD_RANK": 1, "MV2_COMM_WORLD_SIZE": 2}, ("MVAPICH2", 1, 2, None, None)),
        ({"SLURM_PROCID": 1, "SLURM_STEP_NUM_TASKS": 2, "SLURM_LOCALID": 1}, ("Slurm", 1, 2, 1, None)),
        ({"SLURM_PROCID": 0, "SLURM_NTASKS": 8}, ("", 0, 1, 0, 1)),  # a batch script: one process
        ({"HOROVOD_RANK": 1, "HOROVOD_SIZE": 2}, ("horovodrun", 1, 2, None, None)),
        ({"WORLD_SIZE": 4}, ("", 0, 1, 0, 1)),  # no rank
        ({"RANK": 0, "WORLD_SIZE": 2, "PMI_RANK": 5, "PMI_SIZE": 6}, ("torchrun", 0, 2, None, None)),
    ],
)
def test_launchers_are_told_apart(variables, found):
    assert distributed.detect({name: str(value) for name, value in variables.items()}) == found


def test_a_rank_must_be_below_the_size():
    with pytest.raises(RuntimeError, match="RANK is 2, but WORLD_SIZE says that there are 2"):
        distributed.detect({"RANK": "2", "WORLD_SIZE": "2"})


def test_mpiexec_needs_no_port_even_if_each_rank_is_in_a_shell(tmp_path):
    program = "from compatgrad.core import distributed as d; g = d.world(); print(g.all_gather_objects(g.rank))"
    ranks = []
    for rank in range(2):
        variables = environment(PMI_RANK=rank, PMI_SIZE=2, MPI_LOCALRANKID=rank, MPI_LOCALNRANKS=2, TMPDIR=tmp_path)
        command = ["sh", "-c", f'"{sys.executable}" -c "{program}"; exit $?']
        ranks.append(subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True))
    assert [rank.communicate(timeout=LONGEST)[0] for rank in ranks] == ["[0, 1]\n"] * 2
    assert list(tmp_path.iterdir()) == []


def test_several_hosts_need_an_address(monkeypatch):
    for name in ("COMPATGRAD_STORE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    from compatgrad.core.distributed import _connecting

    with pytest.raises(RuntimeError, match="MASTER_ADDR to the host of rank 0"):
        _connecting._store(launching.Launch("MPICH", 0, 2, 0, 1))
    assert _connecting._first_host("node[03-05,9],login") == "node03" and _connecting._first_host("a,b") == "a"


def test_a_helper_of_a_rank_does_not_join(monkeypatch):
    from compatgrad.core.distributed import _connecting

    monkeypatch.setattr(_connecting, "is_helper", lambda: True)
    with pytest.raises(RuntimeError, match="multiprocessing started this process for rank 1"):
        _connecting.connect(launching.Launch("torchrun", 1, 2, 1, 2))


def test_a_world_of_one_imports_nothing_and_opens_no_socket(monkeypatch):
    import socket

    monkeypatch.setattr(socket, "socket", None)
    group = distributed.world()
    assert group.size == 1 and group.split(3, 1).all_gather_objects("a") == ["a"]


# ---- python -m compatgrad launch -------------------------------------------------------------------------------------


def test_the_first_failure_ends_all_and_is_printed_last(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys, time\n"
        "rank = int(os.environ['RANK'])\n"
        "assert os.environ['OMPI_COMM_WORLD_SIZE'] == os.environ['HOROVOD_SIZE'] == '3'\n"
        "print('said', sys.argv[1:])\n"
        "if rank == 1:\n"
        "    time.sleep(1)\n"
        "    raise KeyError('of rank 1')\n"
        "if rank == 0:\n"
        "    import subprocess\n"
        "    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)  # child of a rank'])\n"
        "time.sleep(99)\n"
    )
    start = time.monotonic()
    done = launch(3, program, "--epoch", "3", folder=tmp_path)
    assert done.returncode == 1 and time.monotonic() - start < 60
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] said ['--epoch', '3']" for rank in range(3)]
    assert "rank 1 failed first (exit code 1), and said:" in done.stderr
    assert done.stderr.splitlines()[-1] == "KeyError: 'of rank 1'"
    assert "child of a rank" not in subprocess.run(["ps", "axww"], capture_output=True, text=True).stdout


def test_signals_and_exit_codes_are_passed_on(tmp_path):
    code = "import sys, signal, time\nsignal.signal(15, lambda *_: sys.exit(7))\nprint('up')\ntime.sleep(99)"
    command = [sys.executable, "-m", "compatgrad", "launch", "-n2", "-c", code]
    job = subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True)
    assert sorted(job.stdout.readline() for _ in range(2)) == ["[0] up\n", "[1] up\n"]
    os.kill(job.pid, signal.SIGTERM)
    job.stdout.read()
    assert job.wait(60) == 128 + signal.SIGTERM
    assert launch(2, "-c", "import os; os._exit(int(os.environ['RANK']) * 5)", folder=tmp_path).returncode == 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train.py"], "say by -n"),
        (["-n", "0", "train.py"], "at least 1, got '0'"),
        (["-n", "2"], "name a script"),
        (["-n"], "-n needs a value"),
        (["-n", "2", "--timeout=soon", "train.py"], "above 0, got 'soon'"),
    ],
)
def test_wrong_command_lines(arguments, words, capsys):
    from compatgrad.tools import launch as tool

    assert tool.main(arguments) == 2 and words in capsys.readouterr().err
