"""GluonCV's model zoo on MXNet and on compatgrad: outputs and gradients of the same random parameters and one image.

    python -m tests.programs.zoo --gluoncv DIR --legacy PYTHON --out results.jsonl [--only NAME ...] [--double]

`DIR` holds the package `gluoncv`; `PYTHON` has MXNet 1.9.1. Each network runs in a process of its own on either side.
Networks that `--out` already has are not run again, so an interrupted run can be continued.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import zlib
from pathlib import Path

INFERENCE = ("rcnn", "yolo3", "rfcn", "smot", "siamrpn")  # networks whose outputs are detections
TRAINING = ("ssd_", "center_net")  # networks that return detections unless they record for training


def shapes(name):
    """Shapes of inputs to try; the first that the network accepts is used."""
    if "siamrpn" in name:
        return [[(1, 3, 127, 127), (1, 3, 287, 287)]]
    if name.startswith("ssd_"):
        size = int(name.split("_")[1])
        return [[(1, 3, size, size)]]
    if "slowfast" in name:
        return [[(1, 3, frames, size, size)] for size in (64, 224) for frames in (36, 40, 64)]
    if name.startswith(("c3d", "r2plus1d", "i3d", "p3d")):
        return [[(1, 3, frames, size, size)] for size in (64, 112, 160, 224) for frames in (8, 16, 32)]
    if "pose" in name:
        return [[(1, 3, 128, 96)], [(1, 3, 256, 192)]]
    if name.startswith(("fcn", "psp", "deeplab", "icnet", "danet", "fastscnn")):
        return [[(1, 3, 480, 480)], [(1, 3, 768, 768)], [(1, 3, 1024, 1024)]]
    if "rcnn" in name or "rfcn" in name:
        return [[(1, 3, 160, 160)], [(1, 3, 320, 320)]]
    if "monodepth" in name:
        return [[(1, 3, 64, 96)], [(1, 3, 192, 640)]]
    sizes = (32,) if "cifar" in name else (64, 96, 128, 224, 299, 331)
    if name.startswith("yolo3"):
        sizes = (96, 416)
    if name.startswith("center_net"):
        sizes = (128, 512)
    return [[(1, 3, size, size)] for size in sizes]


def flat(outputs):
    """All arrays of nested lists and tuples."""
    if isinstance(outputs, (list, tuple)):
        return [a for part in outputs for a in flat(part)]
    return [outputs] if hasattr(outputs, "asnumpy") else []


def digest(array):
    """The size, sum of absolute values and a projection of an array."""
    import numpy as np

    a = array.asnumpy().astype(np.float64).ravel()
    return [a.size, float(np.abs(a).sum()), float((a * np.cos(np.arange(a.size))).sum())]


def build(get_model, name):
    """Build a network; some take `pretrained_base`, and custom ones need classes."""
    failures = []
    for words in ({"pretrained_base": False}, {}, {"classes": ["cat", "dog"], "pretrained_base": False}):
        try:
            return get_model(name, pretrained=False, **words)
        except Exception as e:
            failures.append(e)
    raise failures[0]


def worker(name, shape, double):
    """Run one network, and print a JSON line."""
    import builtins

    import numpy as np

    for old in ("float", "int", "bool", "object"):
        if old not in vars(np):
            setattr(np, old, getattr(builtins, old))
    import mxnet as mx
    from gluoncv import model_zoo

    type_ = "float64" if double else "float32"
    random = np.random.RandomState(zlib.crc32(name.encode()))
    net = build(model_zoo.get_model, name)
    net.initialize(mx.init.Zero())
    if double:
        net.cast("float64")
    inputs, failures = None, []
    for candidate in [shape] if shape else shapes(name):
        try:
            inputs = [mx.nd.array(random.randn(*s) * 0.5, dtype=type_) for s in candidate]
            for out in flat(net(*inputs)):
                out.asnumpy()
            break
        except Exception as e:
            failures.append(
                f"{candidate}: {type(e).__name__}: {str(e).strip().splitlines()[0][:200] if str(e).strip() else ''}"
            )
            inputs = None
    if inputs is None:
        return {"failed": failures}
    random = np.random.RandomState(zlib.crc32(name.encode()))
    inputs = [mx.nd.array(random.randn(*s) * 0.5, dtype=type_) for s in candidate]
    parameters = list(net.collect_params().items())
    for key, p in parameters:
        n = random.randn(*p.shape)
        if key.endswith("gamma"):
            value = 1 + 0.1 * n
        elif key.endswith("running_var"):
            value = 1 + 0.1 * np.abs(n)
        elif p.grad_req == "null" and not key.endswith("running_mean"):
            continue  # constants such as anchors
        elif key.endswith("weight"):
            value = n * np.sqrt(2.0 / max(1, int(np.prod(p.shape[1:]))))
        else:
            value = 0.1 * n
        p.set_data(mx.nd.array(value, dtype=p.dtype))
    result = {"shape": candidate, "parameters": len(parameters)}
    if any(part in name for part in INFERENCE):
        if hasattr(net, "set_nms"):
            net.set_nms(nms_thresh=0)  # keeps all boxes, of which suppression would leave few in an untrained network
        result["outputs"] = [digest(a) for a in flat(net(*inputs))]
        return result
    training = name.startswith(TRAINING)
    begun = time.perf_counter()
    with mx.autograd.record(train_mode=training):
        outputs = [a for a in flat(net(*inputs)) if np.dtype(a.dtype).kind == "f"]
        loss = sum(((a * mx.nd.array(random.rand(*a.shape), dtype=a.dtype)).sum().astype(type_) for a in outputs), 0)
    loss.backward(train_mode=training)
    result["outputs"] = [digest(a) for a in outputs]
    result["gradients"] = {str(i): digest(p.grad()) for i, (_, p) in enumerate(parameters) if p.grad_req != "null"}
    result["seconds"] = time.perf_counter() - begun
    return result


def run(side, name, args, shape=None):
    """Run the worker on one side, and return its answer."""
    me = str(Path(__file__).resolve())
    words = [me, "--worker", name, "--gluoncv", args.gluoncv]
    words += ["--shape", json.dumps(shape)] if shape else []
    words += ["--double"] if args.double else []
    command = [args.legacy, *words] if side == "original" else [args.python, "-m", "compatgrad", "run", *words]
    env = {**os.environ, "MXNET_MKLDNN_ENABLED": "0", "OMP_NUM_THREADS": "1"}
    if side == "original":
        env.pop("PYTHONPATH", None)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=args.limit, env=env)
    except subprocess.TimeoutExpired:
        return {"failed": [f"more than {args.limit} s"]}
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        return {"failed": [f"exit {done.returncode}: {(done.stderr.strip().splitlines() or [''])[-1][:300]}"]}
    return json.loads(lines[-1].removeprefix("RESULT "))


def difference(a, b):
    """The difference of two digests, relative to the sum of absolute values."""
    return max(abs(x - y) for x, y in zip(a[1:], b[1:], strict=True)) / max(abs(a[1]), 1e-30)


def compare(mine, original):
    """The largest difference of the outputs, and the median and largest differences of the gradients."""
    if len(mine["outputs"]) != len(original["outputs"]):
        return {"verdict": "another number of outputs"}
    result = {
        "outputs": max(
            (difference(b, a) for a, b in zip(mine["outputs"], original["outputs"], strict=True)), default=0.0
        )
    }
    if "gradients" in original:
        largest = max((g[1] / g[0] for g in original["gradients"].values()), default=0.0)
        # skips gradients that are zero up to rounding
        kept = [k for k, g in original["gradients"].items() if g[1] / g[0] > 1e-6 * largest]
        far = sorted(difference(original["gradients"][k], mine["gradients"][k]) for k in kept)
        result |= {"median": far[len(far) // 2], "largest": far[-1]} if far else {}
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gluoncv", required=True, help="folder that holds the package gluoncv")
    parser.add_argument("--legacy", default=sys.executable, help="a Python that has MXNet 1.9.1")
    parser.add_argument("--python", default=sys.executable, help="a Python that has compatgrad and NumPy 1.26")
    parser.add_argument("--out", help="file of results, one JSON object a line; names in it are not run again")
    parser.add_argument("--only", nargs="+", help="names, instead of all")
    parser.add_argument("--double", action="store_true", help="in float64")
    parser.add_argument("--limit", type=float, default=400, help="seconds for a run")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--shape", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        sys.path.insert(0, args.gluoncv)
        print("RESULT " + json.dumps(worker(args.worker, args.shape, args.double)), flush=True)
        return
    names = args.only
    if not names:
        code = "import sys\nsys.path.insert(0, sys.argv[1])\n"
        code += "from gluoncv import model_zoo\nprint(*model_zoo.get_model_list())"
        listed = subprocess.run(
            [args.legacy, "-c", code, args.gluoncv], capture_output=True, text=True, check=True
        ).stdout
        names = [name for name in sorted(listed.split()) if "int8" not in name]
    out = Path(args.out)
    have = {json.loads(line)["name"] for line in out.read_text().splitlines()} if out.exists() else set()
    for name in names:
        if name in have:
            continue
        original = run("original", name, args)
        mine = run("ours", name, args, original.get("shape"))
        row = {"name": name, "shape": original.get("shape")}
        if "failed" in original or "failed" in mine:
            row |= {"original": original.get("failed", "runs"), "ours": mine.get("failed", "runs")}
        else:
            row |= compare(mine, original) | {"seconds": [original.get("seconds"), mine.get("seconds")]}
        with out.open("a") as f:
            f.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
