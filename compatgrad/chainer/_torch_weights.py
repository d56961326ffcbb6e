"""The parameters in Chainer's files under torch's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compatgrad.core.torch_weights import Weights, grouped

__all__ = ["weights"]

# layers whose parameters are the gates of a recurrent layer, one by one: their number in torch's order
_STACKED = {8: "i, f, g, o of nn.LSTM", 6: "r, z, n of nn.GRU"}
_NORM = {"gamma": "weight", "beta": "bias", "avg_mean": "running_mean", "avg_var": "running_var",
         "N": "num_batches_tracked"}  # fmt: skip


def weights(shapes: Mapping[str, tuple[int, ...]]) -> Weights:
    """Places of the parameters in a file, from their names and shapes."""
    found = Weights()
    groups = grouped(shapes, "/")
    done: set[str] = set()
    for owner, leaves in groups.items():
        parts = owner.split("/")
        if parts[-1] in ("upward", "lateral"):
            cell = "/".join(parts[:-1])
            if cell not in done and _cell(found, cell, groups, shapes):
                done.add(cell)
            if cell in done:
                continue
        if "w0" in leaves:
            parent = "/".join(parts[:-1])
            if parent not in done:
                done.add(parent)
                _stack(found, parent, groups, shapes)
            continue
        _layer(found, owner, leaves, shapes)
    return found


def _name(owner: str, leaf: str) -> str:
    return f"{owner}/{leaf}".lstrip("/").replace("/", ".")


def _layer(found: Weights, owner: str, leaves: dict[str, str], shapes: Mapping[str, tuple[int, ...]]) -> None:
    if "gamma" in leaves or "avg_mean" in leaves:
        for leaf, name in leaves.items():
            if leaf in _NORM:
                found.put(name, _name(owner, _NORM[leaf]))
            else:
                found.keep(name, "no part of a normalization")
        return
    shape = shapes[leaves["W"]] if "W" in leaves else None
    for leaf, name in leaves.items():
        if leaf == "W" and shape is not None and (len(shape) >= 2 or len(leaves) == 1):
            found.put(name, _name(owner, "weight"), "same" if shape else "view:/1")
        elif leaf == "b" and shape is not None and len(shape) >= 2:
            found.put(name, _name(owner, "bias"))
        else:
            found.keep(name, "the names and shapes of its link's parameters fit no layer of torch")


def _cell(found: Weights, owner: str, groups: Any, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """An LSTM cell: `upward` and `lateral`, whose rows are the gates a, i, f, o of each unit in turn."""
    up, side = (groups.get(f"{owner}/{part}".lstrip("/"), {}) for part in ("upward", "lateral"))
    if "W" not in up or set(side) != {"W"} or not set(up) <= {"W", "b"}:
        return False
    rows, units = shapes[side["W"]] if len(shapes[side["W"]]) == 2 else (0, 1)
    if rows != 4 * units or shapes[up["W"]][0] != rows:
        return False
    found.put(up["W"], _name(owner, "weight_ih"), "units:1,2,0,3")
    found.put(side["W"], _name(owner, "weight_hh"), "units:1,2,0,3")
    if "b" in up:
        found.put(up["b"], _name(owner, "bias_ih"), "units:1,2,0,3")
        found.zeros[_name(owner, "bias_hh")] = (rows,)
    return True


def _stack(found: Weights, owner: str, groups: Any, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """NStepLSTM, NStepGRU and the like: one link for each layer and direction."""
    cells = sorted((g for g in groups if g.rpartition("/")[0] == owner and "w0" in groups[g]),
                   key=lambda g: int(g.rpartition("/")[2]) if g.rpartition("/")[2].isdigit() else 0)  # fmt: skip
    count = sum(leaf.startswith("w") for leaf in groups[cells[0]])
    names = [name for g in cells for name in groups[g].values()]
    sizes = [(shapes[groups[g]["w0"]][1], shapes[groups[g]["w0"]][0]) for g in cells]
    both = None
    if len(cells) % 2 or (sizes[1][0] == sizes[1][1] != sizes[0][0]):
        both = False
    elif sizes[1][0] == sizes[0][0] != sizes[0][1]:
        both = True
    if count not in _STACKED or both is None:
        why = "both directions or two layers: the shapes fit both" if count in _STACKED else "torch has no such gates"
        for name in names:
            found.keep(name, why)
        return
    for k, g in enumerate(cells):
        layer, suffix = (k // 2, "_reverse" if k % 2 else "") if both else (k, "")
        for part, start in (("ih", 0), ("hh", count // 2)):
            for kind, leaf in (("weight", "w"), ("bias", "b")):
                own = [groups[g][f"{leaf}{start + i}"] for i in range(count // 2)]
                found.join(own, _name(owner, f"{kind}_{part}_l{layer}{suffix}"))
