"""Tetrahedra beside ABINIT's, and beside Methfessel-Paxton smearing as the mesh becomes denser.

    python benchmarks/accuracy/tetrahedra/compare.py abinit  # Fermi level and density of states at it: Al, Cu, Fe
    python benchmarks/accuracy/tetrahedra/compare.py meshes                # energy of Al and Cu against the mesh
    python benchmarks/accuracy/tetrahedra/compare.py report  # results.md and convergence.png from results.json

`abinit` (a program on PATH) works on the same PAW-XML files (gpaw-data) and mesh, with pawxcdev 0, a density of the
same sphere of plane waves, and Fermi-Dirac occupations of 0.1 eV; its densities of states are those of prtdos 2, its
level is where their integral holds the electrons.  Ours are once from a run with the same occupations, so that
densities agree, and once from a run with ISMEAR = -5 throughout.  Levels are compared above the lowest level at Γ,
because the programs have their zeros of energy in different places.  Folders go to build/tetrahedra.
"""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.after.density_of_states import TetrahedronCounting, density_of_states
from eigenwerk.dft.crystal.tetrahedra import Tetrahedra, tetrahedra_of_mesh
from eigenwerk.dft.filling.occupations import make_smearing, occupations
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.run import run_folder
from eigenwerk.io.paw.paw_library import choose_dataset
from eigenwerk.perf.pictures import BLUE, LIGHT, RUST, plain_axes
from eigenwerk.units import HARTREE_EV

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[2] / "build" / "tetrahedra"
RESULTS = HERE / "results.json"

FCC = ((0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0))
BCC = ((-0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0.5, 0.5, -0.5))


@dataclass(frozen=True)
class Metal:
    """One atom: edge of the cube (Å), primitive vectors, cutoff (eV), meshes, bands, starting moment."""

    symbol: str
    charge: int
    edge: float
    vectors: tuple[tuple[float, ...], ...]
    cutoff: float
    meshes: tuple[int, ...]
    bands: int
    moment: float = 0.0

    def write(self, folder: Path, mesh: int, **tags: object) -> Path:
        """INCAR, POSCAR, KPOINTS."""
        folder.mkdir(parents=True, exist_ok=True)
        every = {"ENCUT": self.cutoff, "PREC": "Accurate", "EDIFF": 1e-8, "NBANDS": self.bands, "LWAVE": False} | tags
        if self.moment:
            every |= {"ISPIN": 2, "MAGMOM": self.moment}
        (folder / "INCAR").write_text("".join(f"{tag} = {_word(value)}\n" for tag, value in every.items()))
        (folder / "KPOINTS").write_text(f"mesh\n0\nGamma\n{mesh} {mesh} {mesh}\n")
        rows = "".join(" ".join(map(str, row)) + "\n" for row in self.vectors)
        (folder / "POSCAR").write_text(f"{self.symbol}\n{self.edge}\n{rows}{self.symbol}\n1\nDirect\n0 0 0\n")
        return folder


METALS = (
    Metal("Al", 13, 4.04, FCC, 300, (12, 24), 8),
    Metal("Cu", 29, 3.61, FCC, 500, (10, 20), 12),
    Metal("Fe", 26, 2.83, BCC, 500, (10,), 12, 2.3),
)
MESHES = (4, 6, 8, 10, 12, 16, 20)
DENSEST = {"Al": 32, "Cu": 24}
WAYS = {"-5": {"ISMEAR": -5}, "-4": {"ISMEAR": -4}, "1": {"ISMEAR": 1, "SIGMA": 0.2}}
LABELS = {"-5": "tetrahedra, Blöchl's correction", "-4": "tetrahedra", "1": "Methfessel-Paxton, 0.2 eV"}


def _word(value: object) -> object:
    return {True: ".TRUE.", False: ".FALSE."}.get(value, value) if isinstance(value, bool) else value


# -- beside ABINIT -----------------------------------------------------------------------------------------------------


def levels(eig_skn: np.ndarray, tetrahedra: Tetrahedra, electrons: float) -> dict[str, Any]:
    """Fermi level of tetrahedra above the lowest level at Γ (the first k-point), eV; density of states at it."""
    weight_k = torch.from_numpy(tetrahedra.weight_of_points(eig_skn.shape[1]))
    smearing = make_smearing(-5, None, tetrahedra)
    level = occupations(torch.from_numpy(eig_skn), weight_k, electrons, smearing, 0.0, 2.0 / len(eig_skn)).fermi_level
    near_x = np.array([level - 1e-3, level + 1e-3])
    density_sx, _ = density_of_states(TetrahedronCounting(tetrahedra), eig_skn, near_x)
    return {"level": level - float(eig_skn[:, 0].min()), "states": density_sx[:, 1].tolist()}


ABINITS_DIAGONAL = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0.1]])
"""Vectors for which that diagonal of the cell is the shortest that ABINIT takes in every lattice."""


def ours(metal: Metal, mesh: int, **tags: object) -> tuple[float, dict[str, Any], dict[str, Any]]:
    """A run: electrons, and the levels from its bands by our tetrahedra and by those that ABINIT makes."""
    folder = metal.write(BUILD / f"{metal.symbol}_{tags['ISMEAR']}", mesh, **tags)
    result, inputs = run_folder(folder, folder / "out"), read_inputs(folder)
    assert result.converged
    kpoints, electrons = inputs.kpoints, inputs.parameters.electrons
    own = kpoints.with_tetrahedra(inputs.structure).tetrahedra
    assert own is not None and kpoints.cells_cc is not None and kpoints.irreducible_of_full is not None
    theirs = tetrahedra_of_mesh(kpoints.cells_cc, ABINITS_DIAGONAL, kpoints.irreducible_of_full)
    return electrons, levels(result.eig_skn, own, electrons), levels(result.eig_skn, theirs, electrons)


def abinit(metal: Metal, mesh: int, electrons: float) -> dict[str, Any]:
    """The same by ABINIT."""
    folder = BUILD / f"{metal.symbol}_abinit"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "data.xml").write_bytes(gzip.decompress(choose_dataset(metal.symbol, "PBE").read_bytes()))
    spin = f"nsppol 2\nspinat 0 0 {metal.moment}\n" if metal.moment else ""
    rows = "\n".join(" ".join(map(str, row)) for row in metal.vectors)
    (folder / "x.abi").write_text(f"""
acell 3*{metal.edge} angstrom
rprim {rows}
ntypat 1 znucl {metal.charge} natom 1 typat 1 xred 0 0 0
pp_dirpath "." pseudos "data.xml"
ecut {metal.cutoff} eV pawecutdg {4 * metal.cutoff} eV pawxcdev 0
nband {metal.bands} occopt 3 tsmear 0.1 eV
ngkpt 3*{mesh} nshiftk 1 shiftk 0 0 0
tolvrs 1e-12 nstep 100 prtdos 2 dosdeltae 0.0002
prtwf 0 prtden 0 prtebands 0
{spin}""")
    with open(folder / "log", "w") as log:
        subprocess.run(["abinit", "x.abi"], cwd=folder, stdout=log, stderr=log, check=True)
    blocks: list[list[list[float]]] = []
    for line in (folder / "xo_DOS").read_text().splitlines():
        words = line.split()
        if line.startswith("#") or not words:
            if "energy(Ha)" in line:
                blocks.append([])
        else:
            blocks[-1].append([float(word) for word in words[:3]])
    table_sxy = np.array(blocks)
    integral_x = table_sxy[:, :, 2].sum(0)
    energy_x = table_sxy[0, :, 0]
    # the level lies in a metal, so the integral rises; it is printed with four digits
    level = float(np.interp(electrons, integral_x, energy_x))
    states = [float(np.interp(level, energy_x, block[:, 1])) / HARTREE_EV for block in table_sxy]
    lines = (folder / "xo_EIG").read_text().splitlines()
    bottom = min(float(after.split()[0]) for line, after in pairwise(lines) if "kpt#   1," in line)
    return {"level": (level - bottom) * HARTREE_EV, "states": states}


def beside_abinit() -> dict[str, Any]:
    """Both programs on all metals and their meshes."""
    entries: dict[str, Any] = {}
    for metal in METALS:
        for mesh in metal.meshes:
            electrons, shortest, same = ours(metal, mesh, ISMEAR=-1, SIGMA=0.1)
            _, throughout, _ = ours(metal, mesh, ISMEAR=-5)
            entry = {
                "abinit": abinit(metal, mesh, electrons), "same_tetrahedra": same, "shortest_diagonal": shortest,
                "throughout": throughout,
            }  # fmt: skip
            entries |= {f"{metal.symbol} {mesh}³": entry}
            print(metal.symbol, mesh, json.dumps(entry), flush=True)
    return entries


# -- meshes ------------------------------------------------------------------------------------------------------------


def energies_of_meshes() -> dict[str, Any]:
    """Energy at zero width (eV) and Fermi level of Al and Cu on every mesh, by every way."""
    entries: dict[str, Any] = {}
    for metal in METALS[:2]:
        entries[metal.symbol] = {}
        for way, tags in WAYS.items():
            found = entries[metal.symbol][way] = {}
            for mesh in (*MESHES, DENSEST[metal.symbol]):
                folder = metal.write(BUILD / f"{metal.symbol}_mesh", mesh, EDIFF=1e-7, ISIF=0, **tags)
                result = run_folder(folder, folder / "out")
                assert result.converged
                found[mesh] = {"energy": result.energy_zero, "level": result.fermi_level}
                print(metal.symbol, way, mesh, found[mesh], flush=True)
    return entries


# -- report ------------------------------------------------------------------------------------------------------------


KINDS = {
    "abinit": "ABINIT", "same_tetrahedra": "eigenwerk, ABINIT's tetrahedra", "shortest_diagonal": "eigenwerk",
    "throughout": "eigenwerk, ISMEAR = -5 throughout",
}  # fmt: skip


def report(entries: dict[str, Any]) -> None:
    """results.md and convergence.png."""
    lines = [
        "# Tetrahedra", "", f"Made by `compare.py` ({entries['date']}), which says how.", "", "## Beside ABINIT", "",
        "Fermi level above the lowest level at Γ (eV) and density of states at it (states per eV and cell, for each "
        "spin where there are two). ABINIT cuts every cell along the same diagonal, eigenwerk along the shortest, "
        "in fcc crystals another one: the first two rows of a case have the same tetrahedra, the last two ours.",
        "", "| case | | level | difference, meV | states | difference, % |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name, entry in entries["abinit"].items():
        theirs = entry["abinit"]
        for kind, words in KINDS.items():
            found = entry[kind]
            shares = [100 * (a / b - 1) for a, b in zip(found["states"], theirs["states"], strict=True)]
            differences = "", ""
            if kind != "abinit":
                differences = f"{1e3 * (found['level'] - theirs['level']):+.1f}", _listed(shares, "+.2f")
            states = _listed(found["states"], ".4f")
            lines.append(
                f"| {name} | {words} | {found['level']:.4f} | {differences[0]} | {states} | {differences[1]} |"
            )
    lines += [
        "", "## Meshes", "",
        "Energy at zero width minus that of the densest mesh with ISMEAR = -5, meV per atom.", "",
    ]  # fmt: skip
    for symbol, ways in entries["meshes"].items():
        dense = ways["-5"][str(DENSEST[symbol])]["energy"]
        lines += [f"| {symbol} | " + " | ".join(LABELS.values()) + " |", "|" + "---|" * (len(ways) + 1)]
        for mesh in map(str, (*MESHES, DENSEST[symbol])):
            cells = " | ".join(f"{1e3 * (ways[way][mesh]['energy'] - dense):+.2f}" for way in ways)
            lines.append(f"| {mesh}³ | {cells} |")
        lines.append("")
    (HERE / "results.md").write_text("\n".join([*lines, "![convergence](convergence.png)", ""]))
    _plot(entries["meshes"])


def _listed(values: list[float], digits: str) -> str:
    return ", ".join(format(value, digits) for value in values)


def _plot(meshes: dict[str, Any]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(meshes), figsize=(9, 3.6), layout="constrained")
    for axes, (symbol, ways) in zip(panels, meshes.items(), strict=True):
        dense = ways["-5"][str(DENSEST[symbol])]["energy"]
        for (way, found), colour in zip(ways.items(), (BLUE, LIGHT, RUST), strict=True):
            error_x = [1e3 * abs(found[str(mesh)]["energy"] - dense) for mesh in MESHES]
            axes.loglog(MESHES, error_x, "o-", color=colour, label=LABELS[way], markersize=4)
        plain_axes(axes, f"{symbol}: error of the energy (meV per atom)", "y")
        axes.set_xticks(MESHES, labels=list(map(str, MESHES)))
        axes.minorticks_off()
        axes.set_xlabel("points along each axis", fontsize=8)
    panels[0].legend(frameon=False, fontsize=8)
    figure.savefig(HERE / "convergence.png", dpi=130)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=["abinit", "meshes", "report"])
    wanted = parser.parse_args().what
    entries = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name, work in {"abinit": beside_abinit, "meshes": energies_of_meshes}.items():
        if name in wanted:
            entries |= {name: work(), "date": date.today().isoformat()}
            RESULTS.write_text(json.dumps(entries, indent=1) + "\n")
            entries = json.loads(RESULTS.read_text())
    if "report" in wanted:
        report(entries)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
