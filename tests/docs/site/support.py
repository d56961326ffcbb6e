"""The support tables: each public name of the originals, and whether compatgrad has it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from compatgrad.names import database, table
from tests.docs.site import markdown

# from a support page to the page of differences
_UP = "../../deviations.md"
# a module with fewer names is a section of its package's page
_FEW = 60
_COMMENT = re.compile(r"\s*<!--.*?-->")
SUPPORTED, DIFFERS, ABSENT = "supported", "differs", "absent"


class Name(NamedTuple):
    """A name of an original."""

    name: str
    status: str
    why: str = ""
    since: str = ""


def names(frontend: str) -> Iterator[Name]:
    """The public names of the frontend's original: those in modules, and members of classes that differ or are absent.

    Names that both have outside of the API (other libraries' modules, for example) are left out.
    """
    data = database.read(frontend)
    for module in sorted(data["modules"]):
        for name, entry in sorted(data["modules"][module].items()):
            if not name.startswith("_") and entry[0] in "acfvACFV":
                yield _stands(f"{module}.{name}", entry)
    for cls in sorted(data["members"]):
        if cls.rpartition(".")[2].startswith("_"):
            continue
        for name, entry in sorted(data["members"][cls].items()):
            found = _stands(f"{cls}.{name}", entry)
            if not name.startswith("_") and found.status is not SUPPORTED:
                yield found


def _stands(name: str, entry: list) -> Name:
    frontend = table.FRONTENDS[name.partition(".")[0]]
    data = database.read(frontend)
    if entry[0].isupper():
        row = table.row_of(name)
        if row is None:
            raise LookupError(f"{name} is absent without a reason in compatgrad/names")
        instead = f" Use instead: {row.instead}." if row.instead else ""
        return Name(name, ABSENT, f"{row.reason}.{instead}")
    # a function may hide the module of its name, so that nothing is found below it
    found = database.find(name) or database.Found(name, entry)
    reasons = []
    for place in dict.fromkeys([name, found.name]):
        for number, _ in data["differs"].get(place, ()):
            row = data["deviations"][number]
            what = _COMMENT.sub("", row["what"])
            reasons.append(f"{what}: {row['here']}; the original: {row['original']} ([row]({_UP}#{row['anchor']}))")
    call = found.entry[1] if found.entry[0] in "cf" and len(found.entry) > 1 else None
    # methods are called by place; their parameters' names are the class's own affair
    if call and len(call) > 3 and call[3] and name.rpartition(".")[0] in data["modules"]:
        refused = ", ".join(f"`{keyword}`" for keyword in call[3].split())
        reasons.append(f"not accepted as a keyword: {refused}")
    since = data["since"].get(name, database.FIRST)
    why = "; ".join(dict.fromkeys(reasons))
    return Name(name, DIFFERS if reasons else SUPPORTED, why, since)


_SOURCES = (
    "Each public name of an original has a row in one of these tables. They are generated from the names that were "
    "recorded from the original, from compatgrad's modules, and from `docs/deviations.md`. Methods and attributes of "
    "classes have a row if they differ or are absent."
)
_ABOUT = (
    "*supported*: compatgrad has the name and does what the original does. *differs*: compatgrad has the name, and "
    "does something else in the case that the table names. *absent*: compatgrad does not have the name. *since*: the "
    "first version of compatgrad that has the name."
)


def _page_of(name: str) -> str:
    two = ".".join(name.split(".")[:2])
    found = database.find(two)
    return two if found is not None and found.entry[0] in "mM" else name.partition(".")[0]


def grouped(frontend: str) -> dict[str, list[Name]]:
    """The names by the page that lists them: a package, or a module of it."""
    found: dict[str, list[Name]] = {}
    for name in names(frontend):
        found.setdefault(_page_of(name.name), []).append(name)
    for page in [page for page, members in found.items() if "." in page and len(members) < _FEW]:
        found.setdefault(page.partition(".")[0], []).extend(found.pop(page))
    return dict(sorted(found.items()))


def pages() -> dict[str, str]:
    """All support pages, by their path below the folder `support`, without the suffix."""
    found = {}
    for frontend, original in table.ORIGINALS.items():
        groups = grouped(frontend)
        for page, members in groups.items():
            found[f"{frontend}/{page}"] = _page(page, original, members)
        found[f"{frontend}/index"] = _index(original, groups)
    toc = markdown.fence("{toctree}", [":maxdepth: 1", "", *(f"{frontend}/index" for frontend in table.ORIGINALS)])
    found["index"] = f"# Support tables\n\n{_SOURCES}\n\n{_ABOUT}\n\n{toc}\n"
    return found


def _counts(members: list[Name]) -> Counter[str]:
    return Counter(name.status for name in members)


def _index(original: str, groups: dict[str, list[Name]]) -> str:
    rows = ["| module | supported | differs | absent |", "| --- | ---: | ---: | ---: |"]
    total: Counter[str] = Counter()
    for page, members in groups.items():
        counts = _counts(members)
        total += counts
        rows.append(f"| [{page}]({page}.md) | {counts[SUPPORTED]:,} | {counts[DIFFERS]:,} | {counts[ABSENT]:,} |")
    rows.append(f"| **all** | {total[SUPPORTED]:,} | {total[DIFFERS]:,} | {total[ABSENT]:,} |")
    toc = markdown.fence("{toctree}", [":hidden:", "", *(f"{page} <{page}>" for page in groups)])
    return "\n\n".join(
        [
            f"# Names of {original}",
            _SOURCES,
            _ABOUT,
            "\n".join(rows),
            toc,
        ]
    )


def _page(page: str, original: str, members: list[Name]) -> str:
    counts = _counts(members)
    said = ", ".join(f"{counts[status]:,} {status}" for status in (SUPPORTED, DIFFERS, ABSENT))
    parts = [f"# Support of {page}", f"{len(members):,} names of {original}: {said}.", _ABOUT]
    modules: dict[str, list[Name]] = {}
    for name in members:
        modules.setdefault(name.name.rpartition(".")[0], []).append(name)
    for module, inside in sorted(modules.items()):
        parts.append(f"## {markdown.escape(module)}")
        rows = ["| name | status | since | why |", "| --- | --- | --- | --- |"]
        rows += [f"| `{n.name}` | {n.status} | {n.since} | {n.why} |" for n in sorted(inside)]
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"
