"""``nnabla_cli`` with wrong or unusual input: no file is lost, and messages name the mistake."""

import csv
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

import compatgrad.nnabla as nn
from compatgrad.nnabla.core import graph_def
from compatgrad.nnabla.utils.load import load
from tests.nnabla.test_cli import folder, no_parameters, run  # noqa: F401

pytest.importorskip("h5py")


def refused(monkeypatch, capsys, *words):
    with pytest.raises(SystemExit):
        run(monkeypatch, *words)
    return capsys.readouterr().out


def test_a_data_set_survives_a_conversion_that_fails(folder, monkeypatch, capsys):  # noqa: F811
    run(monkeypatch, "conv_dataset", "data.csv", "o.cache")
    before = sorted(os.listdir("o.cache"))
    assert "is also the source" in refused(monkeypatch, capsys, "conv_dataset", "-F", "o.cache", "o.cache")
    assert "no.csv" in refused(monkeypatch, capsys, "conv_dataset", "-F", "no.csv", "o.cache")
    assert sorted(os.listdir("o.cache")) == before
    refused(monkeypatch, capsys, "conv_dataset", "no.csv", "new.cache")
    assert not os.path.exists("new.cache") and not [name for name in os.listdir(".") if name.startswith(".compat")]
    run(monkeypatch, "conv_dataset", "-F", "data.csv", "o.cache")
    assert sorted(os.listdir("o.cache")) == before


def test_names_of_parameters_are_kept_in_texts(folder, monkeypatch):  # noqa: F811
    values = {"a/W": np.arange(6.0).reshape(2, 3), "a~W": np.ones(2), "ü x/%41": np.array([np.nan]), "s": np.array(3.5)}
    with nn.parameter_scope("", {}):
        for name, value in values.items():
            nn.parameter.set_parameter(name, nn.Variable.from_numpy_array(value.astype(np.float32), need_grad=True))
        nn.save_parameters("odd.h5")
    nn.clear_parameters()
    run(monkeypatch, "decode_param", "-p", "odd.h5", "-o", "texts")
    nn.clear_parameters()
    run(monkeypatch, "encode_param", "-i", "texts", "-p", "back.h5")
    nn.clear_parameters()
    nn.load_parameters("back.h5")
    found = {name: v.d for name, v in nn.get_parameters().items()}
    assert found.keys() == values.keys()
    for name, value in values.items():
        np.testing.assert_array_equal(found[name], value.astype(np.float32))


def test_messages_name_what_is_wrong(folder, monkeypatch, capsys):  # noqa: F811
    os.mkdir("texts")
    with open("texts/bad.txt", "w") as file:
        file.write("(2, 2)\n1\n2\n3\n")
    assert "texts/bad.txt" in refused(monkeypatch, capsys, "encode_param", "-i", "texts", "-p", "x.h5")
    np.zeros(5, np.float32).tofile("five.bin")
    assert "input 'x'" in refused(monkeypatch, capsys, "infer", "-c", "net.nnp", "-o", "y", "five.bin")
    out = refused(monkeypatch, capsys, "train", "-c", "data.csv", "-o", "out")
    assert "data.csv" in out and "training_config" in out
    pytest.importorskip("matplotlib")
    assert "data.csv" in refused(monkeypatch, capsys, "plot_series", "data.csv", "-o", "x.png")


def test_forward_takes_another_batch_size(folder, monkeypatch):  # noqa: F811
    for size in ("-1", "3", "100"):
        run(monkeypatch, "forward", "-c", "net.nnp", "-d", "data.csv", "-o", "out" + size, "-b", size)
    with open("out-1/output_result.csv") as first:
        rows = list(csv.reader(first))
    for size in ("3", "100"):
        with open(f"out{size}/output_result.csv") as file:
            other = list(csv.reader(file))
        assert other[0] == rows[0] and len(other) == len(rows)
        for a, b in zip(rows[1:], other[1:], strict=True):
            np.testing.assert_allclose([float(x) for x in a[-2:]], [float(x) for x in b[-2:]], rtol=1e-5)


def test_an_optimized_file_keeps_its_batch_size(folder, monkeypatch):  # noqa: F811
    run(monkeypatch, "optimize", "net.nnp", "opt.nnp")
    sizes = {name: n.batch_size for name, n in graph_def.load("net.nnp").networks.items()}
    assert {name: n.batch_size for name, n in graph_def.load("opt.nnp").networks.items()} == sizes
    load("opt.nnp", prepare_data_iterator=False)
    graph = graph_def.load("opt.nnp")
    for network in graph.networks.values():
        network.batch_size = -1
    graph.save("open.nnp", variable_batch_size=False)
    with pytest.raises(ValueError, match="open.nnp.*give batch_size"):
        load("open.nnp", prepare_data_iterator=False)
    load("open.nnp", prepare_data_iterator=False, batch_size=2)


def test_the_last_state_survives_an_interrupted_training(folder):  # noqa: F811
    with zipfile.ZipFile("net.nnp") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    text = parts["network.nntxt"].decode()
    begin = text.index("max_epoch:")
    text = text[:begin] + "max_epoch: 100000" + text[text.index("\n", begin) :]
    with zipfile.ZipFile("long.nnp", "w") as archive:
        for name, content in (parts | {"network.nntxt": text.encode()}).items():
            archive.writestr(name, content)
    command = [sys.executable, "-m", "compatgrad.nnabla.utils.cli.cli", "train", "-c", "long.nnp", "-o", "out"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    training = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs of a shell ignore SIGINT
    )
    try:
        for _ in range(1200):
            states = [n for n in os.listdir("out") if n.startswith("results_current_")] if os.path.isdir("out") else []
            if len(states) == 1 and states[0] != "results_current_1.nnp":
                break
            time.sleep(0.05)
        training.send_signal(signal.SIGINT)
        assert training.wait(60) != 0
    finally:
        training.kill()
    left = [name for name in os.listdir("out") if name != "monitoring_report.yml"]
    assert "results.nnp" in left and any(name.startswith("results_current_") for name in left)
    for name in set(left) - {"progress.txt", "network.nntxt"}:
        with zipfile.ZipFile(os.path.join("out", name)) as archive:
            assert archive.testzip() is None
