"""The formats in which `scan` reports: text, JSON, SARIF and GitHub's annotations."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import compatgrad
from compatgrad.names.table import ORIGINALS
from compatgrad.tools._words import agreeing, count
from compatgrad.tools.scan import packages
from compatgrad.tools.scan.findings import CODES, ERROR, LEVELS, NOTE, STATUSES, WARNING, FileResult, Finding, Summary

SCHEMA = 1
SHOWN = {
    "problems": lambda f: f.level != NOTE,
    "unsupported": lambda f: f.status in ("missing", "partial"),
    "unknown": lambda f: f.status == "unknown",
    "all": lambda f: True,
}
_CASES = 3  # cases of a name that the text lists
_COLOURS = {ERROR: "31;1", WARNING: "33", NOTE: "36"}


def text(results: list[FileResult], findings: list[Finding], old: int, show: str, colour: bool) -> str:
    """One line a finding, then the differences by name, then the sums."""
    lines = []
    for finding in filter(SHOWN[show], findings):
        code = f"\033[{_COLOURS[finding.level]}m{finding.code}\033[0m" if colour else finding.code
        guess = " (guessed)" if finding.guessed else ""
        guard = " (the program expects that it may fail)" if finding.guarded else ""
        help_ = f" ({finding.help})" if finding.help else ""
        what = f"{finding.status}{guess}: {finding.name}" if finding.name else CODES[finding.code][0]
        lines.append(f"{finding.place()}: {code} {what}: {finding.message}{help_}{guard}")
    if show == "problems":
        lines += _by_name(findings)
    return "\n".join([*lines, *_summary(results, findings, old, show), ""])


def _by_name(findings: list[Finding]) -> list[str]:
    """The differences and the packages, some lines for each name: there may be thousands of uses."""
    lines = []
    differences = _grouped(findings, "CG201")
    if differences:
        lines += ["", "Differs in some cases (--show all lists each use):"]
    for name, all_of in differences:
        cases = list(dict.fromkeys(f.message for f in all_of))
        uses = count(len({f.place() for f in all_of}), "use")
        lines.append(f"  {name}: {uses}, first at {all_of[0].place()}")
        lines += [f"    {case}" for case in cases[:_CASES]]
        if len(cases) > _CASES:
            lines.append(f"    And {count(len(cases) - _CASES, 'more case')}; see {all_of[0].deviation}.")
    imported = _grouped(findings, packages.CODE)
    if imported:
        lines += ["", "Packages and modules that the program imports and that are not here:"]
    for name, all_of in imported:
        files = count(len(all_of), "file")
        optional = "" if any(not f.guarded for f in all_of) else "; the program expects that it may be missing"
        known = all_of[0].message.removeprefix("not installed").removeprefix("; ")
        what = "; ".join(filter(None, (all_of[0].help, known)))
        lines.append(f"  {name}: imported in {files}, first at {all_of[0].place()}: {what}{optional}")
    return lines


def _grouped(findings: list[Finding], code: str) -> list[tuple[str, list[Finding]]]:
    """The findings of a code by their names, the most frequent first."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.code == code:
            found.setdefault(finding.name, []).append(finding)
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))


def _summary(results: list[FileResult], findings: list[Finding], old: int, show: str) -> list[str]:
    sums = Summary.of(results)
    total = sum(sums.uses.values())
    names = sum(sums.names.values())
    words = {"differs": f"{agreeing(sums.uses['differs'], 'differs', 'differ')} in some cases"}
    parts = [f"{sums.uses[status]:,} {words.get(status, status)}" for status in STATUSES if sums.uses[status]]
    lines = [
        "",
        f"{count(total, 'use')} of {count(names, 'name')} in {sums.scanned:,} of {count(sums.files, 'file')} "
        f"({count(sums.lines, 'line')}): {', '.join(parts) or 'none'}.",
    ]
    of_uses, of_names = sums.coverage()
    if of_uses is not None and of_names is not None:
        lines.append(
            f"Coverage: compatgrad has {of_uses:.1%} of the uses, and {of_names:.1%} of the names, that the "
            "original has."
        )
    guessed = sum(sums.guessed.values())
    missing = sums.guessed.get("missing", 0)
    lines.append(
        f"Not counted in it: {count(guessed, 'use')} of methods whose object was guessed"
        f"{f' ({missing} missing)' if missing else ''}, {sums.uses['unknown']:,} unknown, "
        f"{sums.unresolved:,} unresolved, {sums.uses['outside']:,} outside."
    )
    levels = Counter(f.level for f in findings)
    counted = [count(levels[level], level) for level in reversed(LEVELS)]
    if levels[ERROR]:
        behind = sum(f.level == ERROR and f.status in ("missing", "partial") for f in findings)
        counted[0] += f" ({behind:,} where the original does more, {levels[ERROR] - behind:,} where it fails too)"
    lines.append(", ".join(counted) + ".")
    if old:
        lines.append(f"{count(old, 'finding')} of the baseline not shown.")
    if any(f.code == "CG320" for f in findings) and show != "all":
        uses = count(sum(f.code == "CG320" for f in findings), "use")
        lines.append(f"{uses} of names that `python -m compatgrad run` gives back (--show all).")
    return lines


def as_json(results: list[FileResult], findings: list[Finding], old: int, command: list[str]) -> str:
    """Everything, as one JSON object."""
    sums = Summary.of(results)
    of_uses, of_names = sums.coverage()
    uses: dict[str, Counter[str]] = {}
    for result in results:
        for (name, status), number in result.uses.items():
            uses.setdefault(name, Counter())[status] += number
    report = {
        "schema": SCHEMA,
        "tool": {"name": "compatgrad scan", "version": compatgrad.__version__, "python": sys.version.split()[0]},
        "command": command,
        "originals": ORIGINALS,
        "summary": {
            "files": sums.files,
            "files_with_uses": sums.scanned,
            "lines": sums.lines,
            "uses": sums.uses,
            "names": sums.names,
            "coverage": {"uses": of_uses, "names": of_names},
            "guessed": sums.guessed,
            "unresolved": sums.unresolved,
            "findings": dict(Counter(f.level for f in findings)),
            "baseline": old,
        },
        "files": [
            {"file": r.file, "lines": r.lines, "frameworks": r.frameworks, "uses": sum(r.uses.values())}
            for r in results
        ],
        "findings": [finding.as_dict() for finding in findings],
        "names": {name: dict(sorted(counts.items())) for name, counts in sorted(uses.items())},
    }
    return json.dumps(report, indent=1, sort_keys=True) + "\n"


def sarif(findings: list[Finding]) -> str:
    """SARIF 2.1.0, for code scanning; at most 25,000 results, the worst first."""
    order = list(CODES)
    levels = {ERROR: "error", WARNING: "warning", NOTE: "note"}
    worst = sorted(findings, key=lambda f: -LEVELS.index(f.level))[:25_000]
    results: list[dict[str, Any]] = []
    for finding in worst:
        cell = "" if finding.cell is None else f" (line {finding.line} of cell {finding.cell})"
        line, end = (finding.line, finding.end_line) if finding.cell is None else (1, 1)
        region = {"startLine": line, "endLine": end}
        if finding.cell is None:
            region |= {"startColumn": finding.column, "endColumn": finding.end_column}
        results.append(
            {
                "ruleId": finding.code,
                "ruleIndex": order.index(finding.code),
                "level": levels[finding.level],
                "message": {"text": f"{_sentence(finding)}{cell}"},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": finding.file, "uriBaseId": "%SRCROOT%"},
                            "region": region,
                        }
                    }
                ],
                "partialFingerprints": {"compatgrad/v1": finding.fingerprint()},
            }
        )
    rules = [
        {
            "id": code,
            "name": name,
            "shortDescription": {"text": meaning},
            "defaultConfiguration": {"level": levels[level]},
        }
        for code, (name, level, meaning) in CODES.items()
    ]
    driver = {"name": "compatgrad scan", "version": compatgrad.__version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1) + "\n"


def github(findings: list[Finding]) -> str:
    """Annotations that GitHub's workflows show beside the lines of a change."""
    lines = []
    for finding in sorted(findings, key=lambda f: -LEVELS.index(f.level)):
        if finding.level == NOTE and finding.code in ("CG106", "CG201", "CG320", packages.CODE):
            continue  # GitHub shows ten annotations of a level
        level = "notice" if finding.level == NOTE else finding.level
        place = {"file": finding.file, "line": str(finding.line), "endLine": str(finding.end_line)}
        if finding.line == finding.end_line:
            place |= {"col": str(finding.column), "endColumn": str(finding.end_column)}
        if finding.cell is not None:
            place = {"file": finding.file}
        place["title"] = f"{finding.code} {CODES[finding.code][0]}"
        fields = ",".join(f"{key}={_escaped(value, True)}" for key, value in place.items())
        lines.append(f"::{level} {fields}::{_escaped(_sentence(finding))}\n")
    return "".join(lines)


def _sentence(finding: Finding) -> str:
    help_ = f" ({finding.help})" if finding.help else ""
    return f"{finding.status}: {finding.name}: {finding.message}{help_}" if finding.name else finding.message


def _escaped(value: str, in_field: bool = False) -> str:
    value = value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return value.replace(":", "%3A").replace(",", "%2C") if in_field else value
