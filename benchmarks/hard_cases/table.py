"""results.json as a page."""

from collections.abc import Mapping
from typing import Any

SAME_ERROR = 1e-4
"""eV per cell: the error of the free energy at which applications are compared."""

SAME_MOMENT = 0.05
"""Bohr magnetons: total moments further apart than this belong to different states."""

MOST_STEPS = 60

NOTES = (
    "`ni3al` has two solutions at these settings: eigenwerk ends without a moment, at -27.0066 eV, 6.9 meV below the",
    "one with 0.78 Bohr magnetons that GPAW finds, and eigenwerk with a gentler start. `fe_moment_zero`: GPAW stays",
    "without a moment. `c_atom`, `fe_atom` and `ni_atom` have several minima of different orientation. `ni_atom` takes",
    "62 steps since two spins meet without a step in exchange-correlation (24 November; 43 in the table), 81 and",
    "47 from MAGMOM = 3 and 2.5 (-2.4893 eV, 1.4 meV above the minimum from 2): NELM is 120 by default since.",
)

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
    results = {name: entry for name, entry in results.items() if "eigenwerk" in entry}  # others: `strategies.py`
    both = {name: entry for name, entry in sorted(results.items()) if {"eigenwerk", "gpaw"} <= set(entry)}
    ours = [entry["eigenwerk"] for entry in results.values() if "eigenwerk" in entry]
    good = sum(bool(record.get("converged")) and record["steps"] <= MOST_STEPS for record in ours)
    wins = sum(fewer(entry["eigenwerk"], entry["gpaw"]) for entry in both.values())
    lines = [
        "# Hard cases", "", *_about(results), "",
        f"{good} of {len(ours)} converge with default input in at most {MOST_STEPS} steps;",
        f"{wins} of {len(both)} need no more applications of H than GPAW.", "",
        "Of two numbers the first is eigenwerk's. Applications: until the free energy stays within",
        f"{SAME_ERROR:g} eV per cell of the final one (in brackets: until the run stopped). Differences of the",
        "free energy are eigenwerk minus GPAW, meV per cell. The cutoffs are low and the two codes cut the",
        "density differently, which alone makes up to 0.3 eV for each O; another state shows in the moments,",
        "or where there is no O, C, N.", "", *NOTES, "",
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
    if _other_moment(ours, theirs) and off is not None:
        words.append("another state, " + ("lower" if off < 0 else "HIGHER"))
    cells = [
        name, _pair(ours, theirs, "kpoints"), _pair(ours, theirs, "steps"),
        f"{_count(ours, mine)} / {_count(theirs, other)}", ratio, _pair(ours, theirs, "cpu_seconds", ".0f"),
        "" if off is None else f"{1e3 * off:.1f}", _moments(ours, theirs), "; ".join(words),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _other_moment(ours: Record, theirs: Record) -> bool:
    pair = [record.get("moment") for record in (ours, theirs)]
    return None not in pair and abs(abs(pair[0]) - abs(pair[1])) > SAME_MOMENT


def _pair(ours: Record, theirs: Record, key: str, form: str = "") -> str:
    return " / ".join(format(record[key], form) if key in record else "" for record in (ours, theirs))


def _count(record: Record, settled_at: int | None) -> str:
    if "applications" not in record:
        return ""
    return f"{'' if settled_at is None else settled_at} ({record['applications'][-1]})"


def _moments(ours: Record, theirs: Record) -> str:
    if ours.get("moment") is None:
        return ""
    known = (record.get("moment") for record in (ours, theirs))
    return " / ".join("" if moment is None else f"{moment:.2f}" for moment in known)


def _events(name: str, record: Record) -> list[str]:
    """One line for each kind of event (told by its first words): the first of them, and how many there were."""
    kinds: dict[str, list[str]] = {}
    for event in record.get("events", []):
        kinds.setdefault(event.partition(": ")[2][:20], []).append(event)
    times = {kind: f" ({len(events)} times)" if len(events) > 1 else "" for kind, events in kinds.items()}
    return [f"- `{name}`: {events[0]}{times[kind]}" for kind, events in kinds.items()]
