"""The Python file: classes, their layers and their `forward`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from compatgrad.interop.native._attention import join_attention
from compatgrad.interop.native._cells import join_cells
from compatgrad.interop.native._forward import Statement, module, rendered, statements, without_whole_slices
from compatgrad.interop.native._layers import Layer, put, taken
from compatgrad.interop.native._names import Places, class_name, identifier, shown
from compatgrad.interop.native._record import LAYER, Recorder, layers

__all__ = ["PartsShared", "Source"]

Path = tuple[str, ...]
# without these a layer of one mode is the same as that of the other
_OF_A_MODE = re.compile(r"momentum=|dropout=")


class PartsShared(NotImplementedError):
    """The error for a parameter of a recurrent layer that the network also uses in another way."""


def _names_of(layer: Layer) -> list[str]:
    return list(dict.fromkeys(name for _, gathered in layer.gathered for name in gathered.names))


@dataclass
class _Entry:
    """A layer or a parameter of the module. tied: the path of the layer that owns a parameter, by its name here."""

    path: Path
    layer: Layer | None
    name: str = ""  # legacy name of a parameter without a layer, or of a constant
    tied: dict[str, tuple[Path, str]] | None = None


class Source:
    """Source for the recordings of a network, one or one for each mode.

    name: the class. recorders: "train" and "eval", or one of the two. names: the original names of parameters. parts:
    those that stay calls of compatgrad (`_kept.Part`). joins: whether attention and cells that a network
    composes of several functions become torch's function and layer.
    """

    def __init__(
        self,
        name: str,
        recorders: Mapping[str, Recorder],
        names: Mapping[str, str],
        about: str,
        parts: Any = (),
        joins: bool = True,
    ) -> None:
        self.joined = 0  # how many there are
        self.name, self.recorders, self.names, self.about = class_name(name), recorders, names, about
        self.state: dict[str, torch.Tensor] = {}
        self.constants: dict[str, torch.Tensor] = {}
        traces: list[Any] = [recorder.assembly.traces[0] for recorder in recorders.values()]
        trained = {name for trace in traces for name in trace.trained}
        fixed = {name for trace in traces for name in trace.fixed} - trained
        for recorder in recorders.values():
            self.state.update(recorder.state)
        self._untrained = {name for name, t in self.state.items()
                           if isinstance(t, torch.nn.Parameter) and (not t.requires_grad or name in fixed)}  # fmt: skip
        parameters = {name for name, t in self.state.items() if isinstance(t, torch.nn.Parameter)}
        self.places = Places(self.state)
        self.entries: list[_Entry] = []
        self._of_key: dict[Any, _Entry] = {}
        self._home: dict[str, tuple[Path, str, str]] = {}  # legacy name -> path of its module, attribute, layout
        self._parts: dict[str, Layer] = {}  # legacy names of parameters that a layer has joined, cut or reordered
        for recorder in recorders.values():
            graph: Any = recorder.assembly.graph
            trace: Any = recorder.assembly.traces[0]
            graph.eliminate_dead_code()
            without_whole_slices(graph)
            if joins:
                self.joined += join_attention(graph, LAYER, recorder.assembly.constants, parameters)
                if recorder.whole:
                    self.joined += join_cells(graph, LAYER, trace.numbers, recorder.assembly.constants)
            for layer in layers(graph):
                if layer.kind:
                    self._register(layer)
        by_name = {part.name: part for part in parts}
        self.kept: dict[str, tuple[str, Any]] = {}  # path -> argument of __init__, part
        for entry in self.entries:
            if entry.layer is not None and entry.layer.kind == "kept":
                part = by_name[entry.layer.arguments[0]]
                argument = identifier("_".join(entry.path))
                self.kept[".".join(entry.path)] = (argument, part)
        self.inputs = next(iter(recorders.values())).names
        self.forwards = {mode: self._statements(mode, False) for mode in recorders}
        self.same = len(recorders) == 1 or (
            self._compared("train") == self._compared("eval")  # apart from dropout
        )
        self._classes: dict[str, str] = {}  # body -> name
        self._class_texts: list[str] = []
        self.text = self._write()

    # ---- places ------------------------------------------------------------------------------------------------------

    @staticmethod
    def _key(layer: Layer) -> Any:
        arguments = tuple(a for a in layer.arguments if not _OF_A_MODE.match(a))
        return layer.kind, arguments, layer.state, layer.extra, layer.gathered

    def _register(self, layer: Layer) -> None:
        key = self._key(layer)
        if key in self._of_key:
            entry = self._of_key[key]
            assert entry.layer is not None
            if len(layer.arguments) > len(entry.layer.arguments):
                entry.layer = replace(entry.layer, arguments=layer.arguments)
            return
        entry = _Entry(self.places.layer(layer), layer, tied={})
        for own, legacy, layout in layer.state:
            if legacy in self._parts:
                raise PartsShared(legacy)
            if legacy in self._home:
                path, attribute, other = self._home[legacy]
                if other != layout:
                    raise NotImplementedError(
                        f"parameter {legacy} is used by two layers of torch in different layouts ({other}, {layout})"
                    )
                assert entry.tied is not None
                entry.tied[own] = (path, attribute)
            else:
                self._home[legacy] = (entry.path, own, layout)
        for _, gathered in layer.gathered:
            if len({legacy in self._untrained for legacy in gathered.names}) > 1:
                raise PartsShared(gathered.names[0])
            for legacy in gathered.names:
                if legacy in self._home or self._parts.setdefault(legacy, layer) is not layer:
                    raise PartsShared(legacy)
        self._of_key[key] = entry
        self.entries.append(entry)

    def _module_of(self, layer: Layer) -> Path:
        return self._of_key[self._key(layer)].path

    def _state_text(self, mode: str, name: str) -> str:
        constants = self.recorders[mode].assembly.constants
        if name in constants and name not in self.state:
            return module(self._constant(constants[name]))
        if name in self._parts:
            raise PartsShared(name)
        if name not in self._home:
            entry = _Entry(self.places.parameter(name), None, name)
            self._home[name] = (entry.path[:-1], entry.path[-1], "same")
            self.entries.append(entry)
        path, attribute, layout = self._home[name]
        return taken(layout, module((*path, attribute)))

    def _constant(self, t: torch.Tensor) -> Path:
        for name, known in self.constants.items():
            if known.dtype == t.dtype and known.shape == t.shape and torch.equal(known, t):
                return self._home[name][0] + (self._home[name][1],)
        name = f"constant_{len(self.constants)}"
        self.constants[name] = t
        entry = _Entry(self.places.parameter(name), None, name)
        self._home[name] = (entry.path[:-1], entry.path[-1], "same")
        self.entries.append(entry)
        return entry.path

    def _statements(self, mode: str, without_dropout: bool) -> list[Statement]:
        graph = self.recorders[mode].assembly.graph
        return statements(graph, self._module_of, lambda name: self._state_text(mode, name), without_dropout)

    def _compared(self, mode: str) -> list[str]:
        lines = self._statements(mode, True)
        names = {t: f"v{k}" for k, t in enumerate(s.target for s in lines if s.target not in ("", "return"))}
        names.update({i: i for i in self._placeholders(mode)})
        return [f"{names.get(s.target, s.target)} = {rendered(s.text, names)}" for s in lines]

    def _placeholders(self, mode: str) -> list[str]:
        return [n.name for n in self.recorders[mode].assembly.graph.nodes if n.op == "placeholder"]

    # ---- text --------------------------------------------------------------------------------------------------------

    def _write(self) -> str:
        tree: dict[str, Any] = {}
        for entry in self.entries:
            place = tree
            for part in entry.path[:-1]:
                place = place.setdefault(part, {})
                if isinstance(place, _Entry):
                    raise NotImplementedError(f"{'.'.join(entry.path)}: a layer is inside another one")
            place[entry.path[-1]] = entry
        if self.same:
            mode = "train" if "train" in self.forwards else next(iter(self.forwards))
            body = self._class(tree, (), self.forwards[mode], self._placeholders(mode), self._input_names(), ["return"])
        else:
            body = self._two(tree)
        main = f"class {self.name}(nn.Module):\n{_indent(self._docstring())}\n\n{body}"
        text = "\n\n\n".join([*self._class_texts, main]) + "\n"
        imports = ["import math\n"] if re.search(r"\bmath\.", text) else []
        imports.append("import torch")
        imports += ["import torch.nn.functional as F"] if re.search(r"\bF\.", text) else []
        imports.append("from torch import nn")
        about = self.about
        if self.kept:
            imports.append("\nfrom compatgrad import interop")
            lines = [f"    {path}: {_comment_text(part.why)}" for path, (_, part) in self.kept.items()]
            about += "\n\nParts that are not torch's but call compatgrad, and why:\n\n" + "\n".join(lines) + "\n"
        return f'"""{about}"""\n\n' + "\n".join(imports) + "\n\n\n" + text

    def _docstring(self) -> str:
        floats = {t.dtype for t in self.state.values() if t.is_floating_point()}
        other = len(floats) == 1 and floats != {torch.float32}
        more = f" Its numbers are {str(*floats)}: `.to({str(*floats)})`." if other else ""
        if self.kept:
            which = ", ".join(f"`{argument}`" for argument, _ in self.kept.values())
            more += f" {which}: the original's parts that are called."
        return f'"""`load_state_dict` takes the tensors saved beside this file.{more}"""'

    def _input_names(self) -> dict[str, str]:
        names: dict[str, str] = {}
        for mode in self.forwards:
            for node, name in zip(self._placeholders(mode), self.inputs, strict=True):
                names[node] = name if name.isidentifier() and name.isascii() else identifier(name, "input")
        return names

    def _two(self, tree: dict[str, Any]) -> str:
        lines = self._init(tree, (), {})
        names = list(dict.fromkeys(self._input_names().values()))
        arguments = ", ".join(names)
        lines += ["", f"def forward(self, {arguments}):", "    if self.training:",
                  f"        return self._forward_train({arguments})",
                  f"    return self._forward_eval({arguments})"]  # fmt: skip
        for mode in ("train", "eval"):
            lines += ["", f"def _forward_{mode}(self, {arguments}):"]
            lines += _indent("\n".join(self._body(self.forwards[mode], self._input_names(), ()))).split("\n")
        return _indent("\n".join(lines))

    def _class(self, tree: dict[str, Any], prefix: Path, lines: list[Statement], inputs: Sequence[str],
               names: Mapping[str, str], outputs: Sequence[str]) -> str:  # fmt: skip
        """The body of the class for the module at `prefix`, whose forward consists of `lines`."""
        inner: dict[Path, str] = {}
        for part, place in tree.items():
            if isinstance(place, dict):
                lines = self._group(place, (*prefix, part), lines, inner)
        del outputs
        made = self._init(tree, prefix, inner)
        arguments = ", ".join(dict.fromkeys(names[i] for i in inputs))
        made += ["", f"def forward(self{', ' if arguments else ''}{arguments}):"]
        made += [f"    {line}" for line in self._body(lines, dict(names), prefix)]
        return _indent("\n".join(made))

    def _group(
        self, tree: dict[str, Any], path: Path, lines: list[Statement], inner: dict[Path, str]
    ) -> list[Statement]:
        """Moves the statements that use the layers below `path` into a class of their own, if they are contiguous, use
        no other layer, and have one result; otherwise the parts of `path` are tried."""
        found = self._grouped(tree, path, lines, inner)
        if found is not None:
            return found
        for part, place in tree.items():
            if isinstance(place, dict):
                lines = self._group(place, (*path, part), lines, inner)
        return lines

    def _grouped(
        self, tree: dict[str, Any], path: Path, lines: list[Statement], inner: dict[Path, str]
    ) -> list[Statement] | None:
        entries = list(_entries(tree))
        if len(entries) < 2 or any(e.layer is not None and e.layer.kind == "kept" for e in entries):
            return None
        own = [k for k, s in enumerate(lines) if any(m[: len(path)] == path for m in s.modules())]
        if not own:
            return None
        first, last = own[0], own[-1]
        made = {s.target for s in lines[first : last + 1]}
        while last + 1 < len(lines) - 1 and self._belongs(lines[last + 1], made):
            last += 1
            made.add(lines[last].target)
        final = lines[-1]
        if last == len(lines) - 2 and first == 0 and path[:-1] and set(final.variables()) <= made:
            last += 1  # the whole result is that of this part
        region = lines[first : last + 1]
        if any(m[: len(path)] != path for s in region for m in s.modules()) or any(s.target == "" for s in region):
            return None
        if any(e.tied for e in entries) or not all(self._inside(e, path) for e in entries):
            return None
        later = {v for s in lines[last + 1 :] for v in s.variables()}
        results = [s.target for s in region if s.target in later]
        inputs = list(dict.fromkeys(v for s in region for v in s.variables() if v not in made))
        result = region[-1]
        if result.target == "return":
            if results or len(region) != len(lines) - first:
                return None
        elif results != [result.target]:
            return None
        if not 1 <= len(inputs) <= 4:
            return None
        names = {v: "x" if len(inputs) == 1 else f"x{k + 1}" for k, v in enumerate(inputs)}
        body = self._class(tree, path, [*region[:-1], Statement("return", result.text)], inputs, names, [])
        if body not in self._classes:
            name = class_name(path[-1] if not re.fullmatch(r"[A-Za-z]", path[-1]) else "Block" + path[-1].upper())
            taken_names = {*self._classes.values(), self.name}
            base, k = name, 2
            while name in taken_names:
                name, k = f"{base}{k}", k + 1
            self._classes[body] = name
            self._class_texts.append(f"class {name}(nn.Module):\n{body}")
        inner[path] = self._classes[body]
        call = f"{module(path)}({', '.join(f'{chr(3)}{v}{chr(4)}' for v in inputs)})"
        return [*lines[:first], Statement(result.target, call), *lines[last + 1 :]]

    @staticmethod
    def _belongs(s: Statement, made: set[str]) -> bool:
        """Whether a statement only goes on with the results of a part."""
        variables = s.variables()
        return bool(s.target and variables) and not s.modules() and set(variables) <= made

    def _inside(self, entry: _Entry, path: Path) -> bool:
        """Whether nothing outside shares the entry's parameters."""
        return not any(
            home[: len(path)] == path for e in self.entries for home, _ in (e.tied or {}).values() if e is not entry
        )

    def _body(self, lines: Sequence[Statement], names: dict[str, str], prefix: Path) -> list[str]:
        names, used, made, k = dict(names), set(names.values()), [], 1
        for s in lines:
            text = rendered(s.text, names, prefix)
            if s.target == "return":
                made.append(f"return {text}")
            elif s.target:
                while f"h{k}" in used:
                    k += 1
                names[s.target] = f"h{k}"
                used.add(f"h{k}")
                made.append(f"h{k} = {text}")
            else:
                made.append(text)
        return made

    def _init(self, tree: dict[str, Any], prefix: Path, inner: Mapping[Path, str]) -> list[str]:
        arguments = "" if prefix else "".join(f", {argument}" for argument, _ in self.kept.values())
        lines = [f"def __init__(self{arguments}):", "    super().__init__()"]
        todo: list[tuple[str, Any]] = [(f"self.{part}", place) for part, place in tree.items()]
        later: list[str] = []
        while todo:
            text, place = todo.pop(0)
            if isinstance(place, dict):
                path = prefix + tuple(text.split(".")[1:])
                if path in inner:
                    lines.append(f"    {text} = {inner[path]}()")
                else:
                    lines.append(f"    {text} = nn.Module()")
                    todo = [(f"{text}.{part}", p) for part, p in place.items()] + todo
                continue
            made, after = self._entry_lines(text, place, prefix)
            lines += [f"    {line}" for line in made]
            later += [f"    {line}" for line in after]
        return lines + later

    def _entry_lines(self, text: str, entry: _Entry, prefix: Path) -> tuple[list[str], list[str]]:
        owner, _, own = text.rpartition(".")
        if entry.layer is None:
            t = self.constants.get(entry.name)
            shape = tuple(self._tensor(entry.name).shape)
            dtype = self._tensor(entry.name).dtype
            make = f"torch.zeros({shape if shape else '()'}{'' if dtype == torch.float32 else f', dtype={dtype}'})"
            if t is not None:
                return [f'{owner}.register_buffer("{own}", {make})'], []
            comment = self._comment([entry.name], prefix)
            tensor = self.state[entry.name]
            if not isinstance(tensor, torch.nn.Parameter):
                return [f'{owner}.register_buffer("{own}", {make}){comment}'], []
            grad = ", requires_grad=False" if entry.name in self._untrained else ""
            return [f"{text} = nn.Parameter({make}{grad}){comment}"], []
        layer = entry.layer
        if layer.kind == "kept":
            argument, _ = self.kept[".".join(entry.path)]
            return [f"{text} = interop.as_torch_module({argument}{self._frontend(layer)})"], []
        comment = self._comment([legacy for _, legacy, _ in layer.state] or _names_of(layer), prefix)
        lines, after = [f"{text} = {layer.kind}({', '.join(layer.arguments)}){comment}"], []
        untrained = list(layer.spare)
        for name, legacy, _ in layer.state:
            if entry.tied and name in entry.tied:
                path, attribute = entry.tied[name]
                after.append(f"{text}.{name} = {'.'.join(('self', *path[len(prefix) :], attribute))}")
            elif legacy in self._untrained and not name.startswith("running_"):
                untrained.append(name)
        untrained += [name for name, gathered in layer.gathered if gathered.names[0] in self._untrained]
        named: Any = (*layer.state, *layer.gathered, *layer.extra)
        if untrained and {*untrained} == {n for n, *_ in named if not n.startswith(("running_", "num_batches"))}:
            lines.append(f"{text}.requires_grad_(False)")
        else:
            lines += [f"{text}.{name}.requires_grad_(False)" for name in untrained]
        return lines, after

    def _comment(self, names: Sequence[str], prefix: Path) -> str:
        """The legacy names; inside a class, which several parts may share, without the names of the parts around."""
        texts = [self.names.get(name, name) for name in names]
        more = len(texts) > 8
        texts = [texts[0], texts[-1]] if more else texts
        owners = {re.match(r"(.*[./])?", t)[0] for t in texts}  # type: ignore[index]
        if prefix:
            texts = [re.split(r"[./]", t)[-1] for t in texts]
        elif len(owners) == 1 and len(texts) > 1 and (owner := owners.pop()):
            texts = [texts[0], *(t[len(owner) :] for t in texts[1:])]
        texts = [shown(t) for t in texts]
        return f"  # {', '.join([texts[0], '...', texts[-1]] if more else texts)}"

    def _frontend(self, layer: Layer) -> str:
        adapter = next(iter(self.recorders.values())).target.frontend
        return "" if layer.state or adapter is None else f", frontend={adapter.name!r}"

    def _tensor(self, name: str) -> torch.Tensor:
        return self.constants[name] if name in self.constants else self.state[name]

    # ---- values ------------------------------------------------------------------------------------------------------

    def values(self, state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The module's state dict from a legacy state."""
        found: dict[str, torch.Tensor] = {}
        for entry in self.entries:
            base = ".".join(entry.path)
            if entry.layer is None:
                t = self.constants[entry.name] if entry.name in self.constants else state[entry.name]
                found[base] = t.detach().clone()
                continue
            for own, legacy, layout in entry.layer.state:
                found[f"{base}.{own}"] = put(layout, state[legacy].detach()).clone().contiguous()
            for own, gathered in entry.layer.gathered:
                found[f"{base}.{own}"] = gathered.put(state).contiguous()
            for own, value, shape in entry.layer.extra:
                dtype = torch.int64 if own == "num_batches_tracked" else next(
                    (t.dtype for t in state.values() if t.is_floating_point()), torch.float32)  # fmt: skip
                found[f"{base}.{own}"] = torch.full(shape, value, dtype=dtype)
        return found

    def notes(self, given: Sequence[str]) -> list[str]:
        """The differences from torch that are given, and those of the layers."""
        own = [f"{'.'.join(e.path)}: {note}" for e in self.entries if e.layer is not None for note in e.layer.notes]
        return list(dict.fromkeys([*given, *own]))

    def back(self, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The legacy state from the module's state dict, under the original names."""
        found: dict[str, torch.Tensor] = {}
        for name, (legacy, how) in self.pairs().items():
            numbers, end = {}, 1
            for n in legacy:
                size = self.state[n].numel()
                numbers[n] = torch.arange(end, end + size).reshape(self.state[n].shape)
                end += size
            places = how(numbers)
            if name not in tensors:
                raise ValueError(f"{name} is missing: {', '.join(self.names.get(n, n) for n in legacy)} come from it")
            t = tensors[name].detach().cpu()
            if t.shape != places.shape:
                raise ValueError(f"{name}: expected shape {tuple(places.shape)}, found {tuple(t.shape)}")
            flat = t.new_zeros(end)
            flat[places.flatten()] = t.flatten()
            if bool((t[places == 0] != 0).any()):
                raise ValueError(f"{name}: expected zeros where the original's layer has no parameter")
            for n, place in numbers.items():
                if n in found:  # one torch parameter has a part of it, another one the rest
                    held = torch.isin(place, places)
                    found[n] = torch.where(held, flat[place], found[n])
                else:
                    found[n] = flat[place]
        for entry in self.entries:
            for own, value, shape in entry.layer.extra if entry.layer is not None else ():
                name = ".".join((*entry.path, own))
                if own != "num_batches_tracked" and name in tensors and bool((tensors[name] != value).any()):
                    raise ValueError(
                        f"{name}: expected {value:g} of shape {shape}: the original's layer has no such parameter"
                    )
        return {self.names.get(n, n): t for n, t in found.items()}

    def pairs(self) -> dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, torch.Tensor]], torch.Tensor]]]:
        """For each name in the module the legacy names, and how their tensors become torch's."""
        found: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, torch.Tensor]], torch.Tensor]]] = {
            ".".join((*path, attribute)): ((name,), partial(_put_one, name, layout))
            for name, (path, attribute, layout) in self._home.items()
            if name not in self.constants
        }
        for entry in self.entries:
            for own, gathered in entry.layer.gathered if entry.layer is not None else ():
                found[".".join((*entry.path, own))] = (gathered.names, gathered.put)
        return found


def _comment_text(text: str) -> str:
    """Text for a docstring."""
    plain = " ".join(text.split()).encode("ascii", "backslashreplace").decode()
    return plain.replace("\\", "/").replace('"""', '"')


def _put_one(name: str, layout: str, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return put(layout, tensors[name])


def _entries(tree: dict[str, Any]) -> Any:
    for place in tree.values():
        if isinstance(place, dict):
            yield from _entries(place)
        else:
            yield place


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in text.split("\n"))
