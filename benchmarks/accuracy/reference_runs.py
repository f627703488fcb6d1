"""The calculations to compare with: one value per run, whatever file it comes from."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
from entries import load  # noqa: E402

ORACLE = FOLDER / "oracle" / "results.json"
SHARED = FOLDER.parents[2] / "shared" / "reference" / "dft"

SHARED_FILES = (
    "si_diamond_pbe", "si_displaced_pbe", "al_fcc_pbe", "mgo_rocksalt_pbe", "h2o_box_pbe", "hfo2_monoclinic_pbe",
    "lda_si_c",
)  # fmt: skip
"""Files of the shared reference with semilocal functionals."""

LOWEST_CUTOFF_EV = 400.0

SERIES = {
    # name of a run: the run that its change of energy is counted from
    "si_diamond_pbe/ecut600": "si_diamond_pbe/ecut500",
    "si_displaced_pbe/si2_k4_ecut400": "si_diamond_pbe/ecut400",
    "al_fcc_pbe/mp1_0.2_k8_ecut400": "al_fcc_pbe/fd0.1_k8_ecut400",
    "mgo_rocksalt_pbe/k4_ecut700": "mgo_rocksalt_pbe/k4_ecut500",
    "h2o_box_pbe/ecut800": "h2o_box_pbe/ecut600",
    "lda_si_c/Si_ecut600": "lda_si_c/Si_ecut400",
    "lda_si_c/C_ecut600": "lda_si_c/C_ecut400",
}


@dataclass(frozen=True)
class ReferenceRun:
    """One calculation of the other program.

    name: file and label; source: "shared" or "oracle"; structure, settings, results: as in the files' README;
    base: name of the run that its change of energy is counted from, or None; note: what the table should say.
    """

    name: str
    source: str
    structure: dict[str, Any]
    settings: dict[str, Any]
    results: dict[str, Any]
    base: str | None = None
    note: str = ""

    @property
    def skip(self) -> str:
        """Why this run is left out, or nothing."""
        smearing = self.settings["occupations"]["name"]
        if smearing not in ("fermi-dirac", "methfessel-paxton"):
            return f"smearing {smearing} does not exist in eigenwerk (no ISMEAR value asks for it)"
        return ""


def all_runs() -> list[ReferenceRun]:
    """Shared runs (if the folder is there), then the ones of our own oracle."""
    return [*shared_runs(), *oracle_runs()]


def shared_runs() -> Iterator[ReferenceRun]:
    """The `full` runs of the shared reference from LOWEST_CUTOFF_EV on."""
    for name in SHARED_FILES:
        path = SHARED / f"{name}.json"
        for run in json.loads(path.read_text())["runs"] if path.exists() else ():
            label, _, kind = run["label"].partition("/")
            if kind != "full" or run["settings"]["ecut_eV"] < LOWEST_CUTOFF_EV:
                continue
            full = f"{name}/{label}"
            yield ReferenceRun(
                full, "shared", run["structure"], run["settings"], run["results"], SERIES.get(full), _clipped(run)
            )


def oracle_runs() -> Iterator[ReferenceRun]:
    """The runs stored in oracle/results.json."""
    for name, run in load(ORACLE).items():
        yield ReferenceRun(
            name, "oracle", run["structure"], run["settings"], run["results"], run.get("base"),
            run.get("note", ""),
        )


def _clipped(run: dict[str, Any]) -> str:
    """Says so where the reference's FFT grid does not hold its density sphere |g|²/2 <= 4 ecut (it was cut then)."""
    held = sphere_held(run["structure"]["cell_A"], run["settings"]["ecut_eV"], run["results"]["fft_grid_coarse"])
    return "" if held >= 1 else f"reference density cut at {4 * held:.2f} ecut by its FFT grid"


def sphere_held(cell_A: list[list[float]], ecut_eV: float, size_c: list[int]) -> float:
    """Energy of the largest sphere inside a grid's Nyquist planes, over 4 ecut: (π N / |a|)² / 2 / (4 ecut)."""
    length_c = np.linalg.norm(cell_A, axis=1) / BOHR_ANGSTROM
    return float((0.5 * (np.pi * np.array(size_c) / length_c) ** 2).min() / (4 * ecut_eV / HARTREE_EV))
