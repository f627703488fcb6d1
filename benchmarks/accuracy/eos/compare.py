"""Equations of state by `eigenwerk eos` beside published ones, all-electron and of GPAW with its data sets.

    OMP_NUM_THREADS=1 python benchmarks/accuracy/eos/compare.py Al Si MgO      # runs, results.json, results.md
    python benchmarks/accuracy/eos/compare.py                                  # results.md of what is there

Reference: the verification study (Bosoni et al., Nat. Rev. Phys. 6, 45 (2024)), read from ../shared/reference/eos/acwf.
Its smearing (Fermi-Dirac, 61.2 meV), seven volumes from 94 to 106 %; cutoffs and meshes here are more modest.
"""

import json
import subprocess
import sys
from pathlib import Path

from eigenwerk.units import EV_PER_ANGSTROM3_GPA

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parents[1]))
from entries import changing, load  # noqa: E402

REFERENCE = ROOT.parent / "shared/reference/eos/acwf/results"
INCAR = "GGA = PE\nENCUT = {encut}\nEDIFF = 1E-7\nISMEAR = -1\nSIGMA = 0.0612\n"
FCC = "0 .5 .5\n.5 0 .5\n.5 .5 0\n"
CASES = {
    # name: system of the study, file of it, lattice constant, atoms, divisions, ENCUT
    "Si": ("Si-X/Diamond", "unaries", 5.47, "Si\n2\nDirect\n0 0 0\n.25 .25 .25\n", 14, 600),
    "Al": ("Al-X/FCC", "unaries", 4.05, "Al\n1\nDirect\n0 0 0\n", 24, 600),
    "MgO": ("Mg-XO", "oxides", 4.25, "Mg O\n1 1\nDirect\n0 0 0\n.5 .5 .5\n", 8, 700),
}


def compute(name: str) -> None:
    """One case by the command, in build/eos/NAME."""
    _, _, constant, atoms, mesh, encut = CASES[name]
    folder = ROOT / "build/eos" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "INCAR").write_text(INCAR.format(encut=encut))
    (folder / "POSCAR").write_text(f"{name}\n{constant}\n{FCC}{atoms}")
    (folder / "KPOINTS").write_text(f"mesh\n0\nGamma\n{mesh} {mesh} {mesh}\n")
    subprocess.run([sys.executable, "-m", "eigenwerk.cli.main", "eos", str(folder)], check=True)
    found = json.loads((folder / "eos.json").read_text())
    gaps = [abs(p["pressure_GPa"] - p["pulay_pressure_GPa"] - p["curve_pressure_GPa"]) for p in found["points"]]
    fit, count = found["birch_murnaghan"], found["atoms"]
    with changing(HERE / "results.json") as entries:
        entries[name] = {
            "encut_eV": encut, "mesh": mesh, "V0_A3_per_atom": fit["volume_A3"] / count,
            "B0_GPa": fit["bulk_modulus_GPa"], "B1": fit["bulk_modulus_derivative"],
            "residual_meV_per_atom": 1000 * fit["residual_eV"] / count, "pressures_differ_GPa": max(gaps),
        }  # fmt: skip


def reference(name: str, code: str) -> tuple[float, float, float]:
    """V0 (Å³ per atom), B0 (GPa) and B1 of the study."""
    system, kind, *_ = CASES[name]
    document = json.loads((REFERENCE / f"results-{kind}-verification-PBE-v1-{code}.json").read_text())
    key = next(one for one in document["BM_fit_data"] if one == system)
    fit, count = document["BM_fit_data"][key], document["num_atoms_in_sim_cell"][key]
    return fit["min_volume"] / count, fit["bulk_modulus_ev_ang3"] * EV_PER_ANGSTROM3_GPA, fit["bulk_deriv"]


PAGE = """# Equations of state

Made by `benchmarks/accuracy/eos/compare.py`: PBE, `eigenwerk eos`, seven volumes from 94 to 106 %, Fermi-Dirac
smearing of
61.2 meV. Published: Bosoni et al., Nat. Rev. Phys. 6, 45 (2024), GPAW with its data sets, from which ours come too
(whether of the same version is not known), and the average of two all-electron codes, with 0.06/Å between k-points,
finer than here.

| | | ENCUT, mesh | V0 (Å³ per atom) | B0 (GPa) | B0' |
|---|---|---|---|---|---|
{rows}

Residual of the fit, and the largest difference between the pressure of the stress (Pulay estimate taken off) and that
of the curve:

| | residual (meV per atom) | pressures differ by (GPa) |
|---|---|---|
{scatter}
"""


def report() -> None:
    """The page."""
    rows, scatter = [], []
    for name, found in load(HERE / "results.json").items():
        values = found["V0_A3_per_atom"], found["B0_GPa"], found["B1"]
        rows.append(_row(name, "eigenwerk", f"{found['encut_eV']} eV, {found['mesh']}³", values))
        rows.append(_row("", "GPAW, published", "", reference(name, "gpaw")))
        rows.append(_row("", "all-electron", "", reference(name, "AE-average")))
        scatter.append(f"| {name} | {found['residual_meV_per_atom']:.4f} | {found['pressures_differ_GPa']:.3f} |")
    (HERE / "results.md").write_text(PAGE.format(rows="\n".join(rows), scatter="\n".join(scatter)))


def _row(name: str, code: str, settings: str, values: tuple[float, float, float]) -> str:
    return f"| {name} | {code} | {settings} | {values[0]:.4f} | {values[1]:.2f} | {values[2]:.3f} |"


if __name__ == "__main__":
    for word in sys.argv[1:]:
        compute(word)
    report()
