"""results.json as a page."""

from collections.abc import Mapping
from typing import Any

SAME_ERROR = 1e-4
"""eV per cell: the error of the free energy at which applications are compared."""

SAME_STATE = 0.05
"""eV per cell: free energies further apart than this belong to different states."""

MOST_STEPS = 60

Record = Mapping[str, Any]


def settled(record: Record, error: float = SAME_ERROR) -> int | None:
    """Number of the first step from which on the free energy stays within the error of the last one; None unless
    converged."""
    if not record.get("converged"):
        return None
    off = [step for step, energy in enumerate(record["energies"], 1) if abs(energy - record["energy"]) > error]
    return max(off, default=0) + 1


def applications(record: Record) -> int | None:
    """Applications of H to single orbitals up to that step."""
    step = settled(record)
    return None if step is None else record["applications"][step - 1]


def fewer(ours: Record, theirs: Record) -> bool:
    """Whether we need no more applications than the other code; one that does not converge needs more than any."""
    mine, other = applications(ours), applications(theirs)
    return mine is not None and (other is None or mine <= other)


def markdown(results: Mapping[str, Mapping[str, Record]]) -> str:
    """The page."""
    both = {name: entry for name, entry in sorted(results.items()) if {"eigenwerk", "gpaw"} <= set(entry)}
    ours = [entry["eigenwerk"] for entry in results.values() if "eigenwerk" in entry]
    good = sum(bool(record.get("converged")) and record["steps"] <= MOST_STEPS for record in ours)
    wins = sum(fewer(entry["eigenwerk"], entry["gpaw"]) for entry in both.values())
    lines = [
        "# Hard cases", "", *_about(results), "",
        f"{good} of {len(ours)} converge with default input in at most {MOST_STEPS} steps; {wins} of {len(both)} need no",
        f"more applications of H than GPAW. Of two numbers the first is eigenwerk's. Applications: until the free energy",
        f"stays within {SAME_ERROR:g} eV per cell of the final one (in brackets: until the run stopped). Differences of",
        "the free energy: eigenwerk minus GPAW, meV per cell; they hold cutoff errors of two grids, too, since the cutoffs",
        f"are low; above {1e3 * SAME_STATE:.0f} meV they mean another state, and negative ones that eigenwerk's is lower.", "",
        "| case | k | steps | applications of H | ratio | CPU, s | difference, meV | moments | |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_row(name, entry) for name, entry in sorted(results.items())), "",
        "## What was switched on the way", "",
        *(line for name, entry in sorted(results.items()) for line in _events(name, entry.get("eigenwerk", {}))), "",
    ]  # fmt: skip
    return "\n".join(lines)


def _about(results: Mapping[str, Mapping[str, Record]]) -> list[str]:
    newest = {code: record for entry in results.values() for code, record in entry.items() if "version" in record}
    return [
        f"{code} {record['version']}; " + ", ".join(f"{key} {value}" for key, value in record["machine"].items()) + "."
        for code, record in sorted(newest.items())
    ]


def _row(name: str, entry: Mapping[str, Record]) -> str:
    ours, theirs = entry.get("eigenwerk", {}), entry.get("gpaw", {})
    mine, other = applications(ours), applications(theirs)
    ratio = f"{mine / other:.2f}" if mine and other else ""
    off = ours["energy"] - theirs["energy"] if "energy" in ours and "energy" in theirs else None
    words = [record["status"] for record in (ours, theirs) if record and not record.get("converged")]
    if off is not None and abs(off) > SAME_STATE and not words:
        words.append("another state, " + ("lower" if off < 0 else "HIGHER"))
    cells = [
        name, _pair(ours, theirs, "kpoints"), _pair(ours, theirs, "steps"),
        f"{_count(ours, mine)} / {_count(theirs, other)}", ratio, _pair(ours, theirs, "cpu_seconds", ".0f"),
        "" if off is None else f"{1e3 * off:.1f}", _moments(ours, theirs), "; ".join(words),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _pair(ours: Record, theirs: Record, key: str, form: str = "") -> str:
    return " / ".join(format(record[key], form) if key in record else "" for record in (ours, theirs))


def _count(record: Record, settled_at: int | None) -> str:
    if "applications" not in record:
        return ""
    return f"{'' if settled_at is None else settled_at} ({record['applications'][-1]})"


def _moments(ours: Record, theirs: Record) -> str:
    if ours.get("moment") is None:
        return ""
    return " / ".join(f"{record['moment']:.2f}" if record.get("moment") is not None else "" for record in (ours, theirs))


def _events(name: str, record: Record) -> list[str]:
    return [f"- `{name}`: {event}" for event in record.get("events", [])]
