"""Ions in boxes: energies as they are and with the corrections of charged cells, beside GPAW's on the same data.

    OMP_NUM_THREADS=1 python benchmarks/accuracy/charged/compare.py run      # folders and runs, in build/charged
    GPAW_PYTHON benchmarks/accuracy/charged/compare.py gpaw                  # smallest box, and isolated in the largest
    python benchmarks/accuracy/charged/compare.py table                      # results.md

GPAW_PYTHON: of an environment with gpaw.  Isolated: GPAW's solver for charged molecules in a box that is not repeated.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[3]
BUILD = REPOSITORY / "build" / "charged"
BOXES = {"8": (8, 8, 8), "10": (10, 10, 10), "12": (12, 12, 12), "8 x 10 x 12": (8, 10, 12)}
CUTOFF = 500
IONS = {
    # name: (symbols, positions in Angstrom, charge, valence electrons of the data sets)
    "Na+": (("Na",), [(0, 0, 0)], 1, 7),
    "Cl-": (("Cl",), [(0, 0, 0)], -1, 7),
    "OH-": (("O", "H"), [(0, 0, 0), (0, 0, 0.97)], -1, 7),
    "H3O+": (
        ("O", "H", "H", "H"),
        [(0, 0, 0), (0.937, 0, 0.28), (-0.4685, 0.811466, 0.28), (-0.4685, -0.811466, 0.28)], 1, 9,
    ),
}  # fmt: skip


def placed(name: str, edges: tuple[int, ...]) -> np.ndarray:
    """Off the points of symmetry of the grid."""
    return np.array(IONS[name][1], dtype=float) + np.array(edges) / 2 + (0.11, 0.07, 0.05)


def run() -> None:
    for name, (symbols, _, charge, valence) in IONS.items():
        for box, edges in BOXES.items():
            folder = BUILD / name / box.replace(" ", "")
            folder.mkdir(parents=True, exist_ok=True)
            kinds = dict.fromkeys(symbols)
            poscar = f"{name}\n1\n{edges[0]} 0 0\n0 {edges[1]} 0\n0 0 {edges[2]}\n{' '.join(kinds)}\n"
            poscar += " ".join(str(symbols.count(kind)) for kind in kinds) + "\nCartesian\n"
            poscar += "".join("{:.8f} {:.8f} {:.8f}\n".format(*row) for row in placed(name, edges))
            (folder / "POSCAR").write_text(poscar)
            (folder / "KPOINTS").write_text("mesh\n0\nGamma\n1 1 1\n")
            (folder / "INCAR").write_text(
                f"ENCUT = {CUTOFF}\nPREC = Accurate\nEDIFF = 1E-6\nISIF = 0\nISMEAR = 0\nSIGMA = 0.01\n"
                f"NELECT = {valence - charge}\nLWAVE = F\nLCHARG = F\n"
            )
            command = [sys.executable, "-m", "eigenwerk.cli.main", "run", str(folder), "--no-plot", "--json"]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            (folder / "run.json").write_bytes(done.stdout)


def gpaw() -> None:
    from ase import Atoms
    from gpaw import GPAW, PW, FermiDirac

    for name, (symbols, _, charge, _) in IONS.items():
        found = {}
        (BUILD / name).mkdir(parents=True, exist_ok=True)
        for kind, box in (("periodic", "8"), ("isolated", "12")):
            atoms = Atoms(symbols, placed(name, BOXES[box]), cell=BOXES[box], pbc=kind == "periodic")
            atoms.calc = GPAW(
                mode=PW(CUTOFF), xc="PBE", charge=charge, occupations=FermiDirac(0.01), symmetry="off",
                txt=str(BUILD / name / f"gpaw_{kind}.txt"), convergence={"density": 1e-6},
            )  # fmt: skip
            found[kind] = atoms.get_potential_energy()
        (BUILD / name / "gpaw.json").write_text(json.dumps(found))


def table() -> None:
    rows, errors, others = [], {}, []
    for name in IONS:
        theirs = json.loads((BUILD / name / "gpaw.json").read_text())
        for box in BOXES:
            found = json.loads((BUILD / name / box.replace(" ", "") / "run.json").read_text())
            cell, energy = found["charged_cell"], found["energies_eV"]["free"]
            parts = cell["corrections_not_in_the_energies_eV"]
            first = energy + parts["monopole"]
            second = None if parts["quadrupole"] is None else first + parts["quadrupole"]
            aligned = first + parts["potential_alignment"]
            cells = [energy, first, second, aligned]
            errors.setdefault(box, []).append([np.nan if e is None else abs(e - theirs["isolated"]) for e in cells])
            shown = " | ".join("–" if e is None else f"{e:.4f}" for e in cells)
            rows.append(f"| {name} | {box} | {cell['madelung_constant']:.6f} | {shown} |")
            if box == "8":
                others.append(f"| {name} | {energy:.4f} | {theirs['periodic']:.4f} | {theirs['isolated']:.4f} |")
    summary = [
        f"| {box} | " + " | ".join("–" if np.isnan(e) else f"{e:.3f}" for e in np.max(found, axis=0)) + " |"
        for box, found in errors.items()
    ]
    text = f"""# Charged cells

PBE, gpaw-data, ENCUT = {CUTOFF} eV, PREC = Accurate, Γ; energies in eV, relative to the atoms of the data sets. None of
the corrections is in an energy that eigenwerk reports; here they are added. Second order and alignment stand for each
other.

| ion | box (Å) | Madelung constant | as reported | + first order | + second order | + first order and alignment |
|---|---|---|---|---|---|---|
{chr(10).join(rows)}

Largest distance of the four ions from GPAW's isolated energy (last column of the last table):

| box (Å) | as reported | + first order | + second order | + first order and alignment |
|---|---|---|---|---|
{chr(10).join(summary)}

The same by GPAW on the same data and its own grids: periodic in the box of 8 Å, and isolated (its solver for charged
molecules, box of 12 Å):

| ion | eigenwerk, 8 Å | GPAW, 8 Å | GPAW, isolated |
|---|---|---|---|
{chr(10).join(others)}
"""
    (Path(__file__).parent / "results.md").write_text(text)


if __name__ == "__main__":
    {"run": run, "gpaw": gpaw, "table": table}[sys.argv[1]]()
