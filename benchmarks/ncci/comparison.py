"""Numbers of two programs side by side, and the page that sums them up."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

LIMITS = {
    "count": 0.0,
    "energy": 1e-3,
    "radius": 1e-3,
    "moment": 1e-3,
    "J": 1e-3,
    "T": 1e-3,
    "angular momentum": 1e-3,
    "term of the energy": 1e-3,
    "quanta": 1e-4,
    "occupation": 1e-3,
    "one-body density": 1e-4,
    "B(M1), B(E2)": 2e-3,
    "reduced element": 1e-3,
    "N_cm": 1e-6,
}
"""Largest difference allowed, in MeV, fm, nuclear magnetons, fm^2; relative for numbers above 10."""


@dataclass
class Comparison:
    """All pairs of numbers, what disagrees, and what was not run."""

    rows: list[tuple[str, str, int, int, float]] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, words: str) -> None:
        """Something to know about the files."""
        self.notes.append(words)

    def add(self, source: str, kind: str, pairs: Iterable[tuple[str, float, float, float]]) -> None:
        """Pairs (what, theirs, ours, half a unit of their last printed digit) of one kind in one file."""
        count = agreed = 0
        worst = 0.0
        for what, theirs, ours, rounding in pairs:
            count += 1
            difference = abs(ours - theirs)
            limit = LIMITS[kind] * max(1.0, abs(theirs) / 10 if kind != "energy" else 1.0) + rounding
            worst = max(worst, max(0.0, difference - rounding))
            if difference <= limit:
                agreed += 1
            else:
                self.disagreements.append(f"{source}: {kind} {what}: theirs {theirs:.6g}, ours {ours:.6g}")
        if count:
            self.rows.append((source, kind, count, agreed, worst))

    def skip(self, source: str, what: str, reason: str) -> None:
        """Numbers that were not compared, and why."""
        self.left_out.append((source, what, reason))

    def join(self, other: "Comparison") -> None:
        """Take over what another one holds."""
        for name in ("rows", "disagreements", "left_out", "notes"):
            getattr(self, name).extend(getattr(other, name))

    def text(self) -> str:
        """The page."""
        compared, agreed = (sum(row[k] for row in self.rows) for k in (2, 3))
        lines = [
            "# Published and independent numbers beside ours",
            "",
            f"{compared} numbers compared, {agreed} agreed, {compared - agreed} did not. Made by",
            "`OMP_NUM_THREADS=1 python benchmarks/ncci/compare.py` on a processor, in double precision. Files are",
            "those of `shared/reference/ncci` beside the repository. `beyond rounding`: the largest difference, less",
            "half a unit of the last digit that the other program printed (MeV, fm, nuclear magnetons, fm^2).",
            "",
            "| file or table | quantity | compared | agreed | beyond rounding |",
            "|---|---|---|---|---|",
        ]
        lines += [f"| {source} | {kind} | {n} | {good} | {worst:.1e} |" for source, kind, n, good, worst in self.rows]
        lines += ["", "## Notes", "", *(f"- {words}" for words in self.notes)]
        lines += ["", "## Disagreements", "", *([f"- {line}" for line in self.disagreements] or ["None."])]
        lines += ["", "## Not compared", "", "| file or table | what | why |", "|---|---|---|"]
        lines += [f"| {source} | {what} | {reason} |" for source, what, reason in self.left_out]
        return "\n".join(lines) + "\n"


def rounding(text: str) -> float:
    """Half a unit of the last digit of a printed number, 1.2340E-02 or 0.123."""
    mantissa, _, exponent = text.upper().partition("E")
    digits = len(mantissa.partition(".")[2])
    return 0.5001 * 10.0 ** (-digits + int(exponent or 0))


def short(path: Path) -> str:
    """The name of a file without what is the same in all of them."""
    name = re.sub(r"-mfdn(15)?-|-lan\d+|-tol[\d.e-]+|\.res$", " ", path.name)
    return " ".join(re.sub(r"JISP16-coul1|Daejeon16-coul1", "", name).replace("-", " ").split())
