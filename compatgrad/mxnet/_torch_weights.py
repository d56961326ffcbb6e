"""The parameters in MXNet's files under torch's names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from compatgrad.core.torch_weights import Weights

__all__ = ["weights"]

_NAMES = {
    "weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias", "running_mean": "running_mean",
    "moving_mean": "running_mean", "running_var": "running_var", "moving_var": "running_var", "alpha": "weight",
}  # fmt: skip
# the gates of MXNet's LSTM and GRU have torch's order
_GATES = re.compile(r"(?:([lr])(\d+)_)?(i2h|h2h)_(weight|bias)")
# save_parameters names the cells of which Gluon's layers consist; with dropout, cells without parameters are between
_CELLS = re.compile(r"(?:(.*)\.)?_unfused\.(\d+)\.(?:([lr])_cell\.)?((?:i2h|h2h)_(?:weight|bias))")


def weights(shapes: Mapping[str, tuple[int, ...]]) -> Weights:
    """Places of the parameters in a file, from their names: those of symbols and of Gluon's collect_params end in
    _weight, those of save_parameters in .weight."""
    found = Weights()
    cells = [m.groups() for m in map(_CELLS.fullmatch, shapes) if m]
    for name in shapes:
        plain = re.sub(r"^(arg|aux):", "", name)
        if cell := _CELLS.fullmatch(plain):
            owner, number, direction, leaf = cell.groups()
            layer = sorted({int(n) for o, n, *_ in cells if o == owner}).index(int(number))
            plain = f"{f'{owner}.' if owner else ''}{direction or 'l'}{layer}_{leaf}"
        if gates := re.search(rf"(?:^|[._])({_GATES.pattern})$", plain):
            owner = plain[: gates.start()].replace("/", ".")
            direction, layer, part, kind = gates.group(2, 3, 4, 5)
            own = f"{kind}_{'ih' if part == 'i2h' else 'hh'}"
            own += f"_l{layer}{'_reverse' if direction == 'r' else ''}" if layer else ""
            found.put(name, f"{owner}.{own}".lstrip("."))
            continue
        known = re.search(rf"(?:^|[._])({'|'.join(_NAMES)})$", plain)
        if known is None:
            found.keep(name, "its name says no parameter of a layer")
            continue
        owner = plain[: known.start()].replace("/", ".")
        found.put(name, f"{owner}.{_NAMES[known[1]]}".lstrip("."))
    return found
