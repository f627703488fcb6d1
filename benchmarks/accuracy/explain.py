"""Differences that come from the reference's one-centre quadrature, converged away.

The reference integrates one-centre exchange-correlation energies on 50 directions and drops L > 4 of the one-centre
density; eigenwerk takes up to 302 directions and all L.  This script runs cases with eigenwerk's choices and with the
reference's, and writes explained.md:

    python benchmarks/accuracy/explain.py [CASE ...]
"""

import sys

import our_run
from differences import Differences, differences
from reference_runs import FOLDER, ReferenceRun, all_runs

from eigenwerk.dft.paw import shells
from eigenwerk.dft.terms import one_centre

CASES = (
    "nio_afm", "nio_afm_small", "nio_afm_displaced", "cr_bcc_afm", "fe_bcc", "si_500", "ce_fcc_fine", "gd_hcp_fine",
)  # fmt: skip

THEIR_DEGREE, THEIR_LMAX = 11, 4


def main() -> None:
    """Run the cases both ways and write the table."""
    runs = {run.name: run for run in all_runs()}
    lines = [
        "| case | quadrature | energy (meV/atom) | bands (meV) | forces (meV/Å) | moment (μB) |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    own = compared_all(runs, "eigenwerk's: 302 directions, all L")
    as_theirs()
    theirs = compared_all(runs, "the reference's: 50 directions, L ≤ 4")
    lines += [line for pair in zip(own, theirs, strict=True) for line in pair]
    text = "# One-centre quadrature\n\nDifferences of eigenwerk from the reference.\n\n" + "\n".join(lines) + "\n"
    (FOLDER / "explained.md").write_text(text)
    print(text)


def compared_all(runs: dict[str, ReferenceRun], words: str) -> list[str]:
    """A row for each case."""
    return [row(name, words, solved(runs[name])) for name in sys.argv[1:] or CASES]


def solved(run: ReferenceRun) -> Differences:
    """Differences of a fresh calculation."""
    ours = our_run.run(run.structure, run.settings)
    return differences(ours, run.results, len(run.structure["symbols"]))


def row(name: str, words: str, d: Differences) -> str:
    """A row of the table."""
    moment = "" if d.moment is None else f"{d.moment:.4f}"
    return f"| `{name}` | {words} | {d.energy:.3f} | {d.bands:.2f} | {d.forces:.2f} | {moment} |"


def as_theirs() -> None:
    """Make eigenwerk integrate as the reference does (for this process)."""
    whole = shells.highest_harmonic
    shells.INNER_DEGREE = shells.OUTER_DEGREE = THEIR_DEGREE
    one_centre.highest_harmonic = shells.highest_harmonic = lambda setup: min(whole(setup), THEIR_LMAX)


if __name__ == "__main__":
    main()
