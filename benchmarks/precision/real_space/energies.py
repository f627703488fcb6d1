"""What projectors in real space (LREAL = On) change: free energy per atom and largest force, for values of ROPT.

    OMP_NUM_THREADS=1 python benchmarks/precision/real_space/energies.py [--cells MgO O2] [--accuracy 5e-4 2e-4 1e-4]

Small disturbed cells, PREC = Normal, converged to 1e-7 eV, beside the same with exact projectors.  Also points of all
spheres over points of the grid, which in large cells decide the time, and processor seconds of H and S on all bands
(least of three) over those with the first accuracy.
"""

import argparse
from dataclasses import dataclass

import numpy as np
import torch
from compare import processor_seconds

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.kpoints import mesh_kpoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.wavefunctions import random_orbitals
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.errors import InputError
from eigenwerk.io.paw.paw_library import choose_dataset
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

FCC = (1 - np.eye(3)) / 2
EV_PER_ANGSTROM = HARTREE_EV / BOHR_ANGSTROM


@dataclass(frozen=True)
class Case:
    """A cell: rows in angstrom, symbols, fractional positions, cutoff in eV, moments."""

    cell: np.ndarray
    symbols: tuple[str, ...]
    scaled: list[list[float]]
    cutoff: float
    moments: tuple[float, ...] | None = None


CASES = {
    "Si2": Case(5.43 * FCC, ("Si",) * 2, [[0, 0, 0], [0.26, 0.24, 0.25]], 250.0),
    "MgO": Case(4.21 * FCC, ("Mg", "O"), [[0, 0, 0], [0.51, 0.5, 0.49]], 400.0),
    "O2": Case(np.diag([4.0, 4.2, 5.0]), ("O", "O"), [[0, 0, 0], [0.02, 0.0, 0.245]], 400.0, (1.0, 1.0)),
    "Fe2": Case(2.83 * np.eye(3), ("Fe", "Fe"), [[0, 0, 0], [0.51, 0.49, 0.5]], 350.0, (2.5, 2.5)),
    "Al4": Case(4.05 * np.eye(3), ("Al",) * 4, [[0, 0, 0], [0, 0.5, 0.51], [0.49, 0, 0.5], [0.5, 0.5, 0]], 250.0),
    "GaAs": Case(5.65 * FCC, ("Ga", "As"), [[0, 0, 0], [0.26, 0.24, 0.25]], 300.0),
    "C2": Case(3.57 * FCC, ("C", "C"), [[0, 0, 0], [0.26, 0.24, 0.25]], 400.0),
    "H2O": Case(
        np.diag([4.5, 5.0, 4.6]), ("O", "H", "H"), [[0, 0, 0], [0, 0.153, 0.13], [0.01, -0.153, 0.13]], 400.0
    ),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--accuracy", type=float, nargs="+", default=[5e-4, 2e-4, 1e-4])
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| cell | ROPT | error reached | meV per atom | eV/Å | points of spheres / grid | time |")
    print("|---|---|---|---|---|---|---|")
    for name in options.cells:
        compare(name, options.accuracy)


def compare(name: str, accuracies: list[float]) -> None:
    """A row for each accuracy."""
    case, first = CASES[name], None
    exact = calculation(case, 0.0).run()
    for accuracy in accuracies:
        try:
            calc = calculation(case, accuracy)
        except InputError as error:
            print(f"| {name} | {accuracy:g} | {str(error).partition('. ')[0]} | | | | |", flush=True)
            continue
        found = calc.run()
        energy = (found.state.energies.free - exact.state.energies.free) / len(case.symbols) * HARTREE_EV * 1e3
        force = np.abs(found.forces_av - exact.forces_av).max() * EV_PER_ANGSTROM
        reached = max(filtered.error for filtered in calc.atoms.filtered.values())
        share = len(calc.atoms.real_space.index_S) / calc.basis.wave_map.points
        seconds = applying(calc)
        first = first or seconds
        print(f"| {name} | {accuracy:g} | {reached:.1e} | {energy:.2f} | {force:.0e} | {share:.2f} | "
              f"{seconds / first:.2f} |", flush=True)  # fmt: skip


def applying(calc: Calculation) -> float:
    """Processor seconds of H and S on all bands."""
    operator = Hamiltonian.of(calc.atoms, calc.builder(calc.starting_density())).block()
    x_knG = random_orbitals(calc.atoms, calc.parameters.bands)
    return min(processor_seconds(operator, x_knG) for _ in range(4))


def calculation(case: Case, accuracy: float) -> Calculation:
    """A cell at a 2 x 2 x 2 mesh, Gamma alone for those with room; accuracy 0: exact projectors."""
    moments = None if case.moments is None else np.array(case.moments)
    structure = Structure(case.cell / BOHR_ANGSTROM, case.symbols, np.array(case.scaled, float), moments)
    datasets = {symbol: read_paw_xml(choose_dataset(symbol, "PBE")) for symbol in structure.species}
    electrons = sum(datasets[symbol].valence for symbol in case.symbols)
    parameters = Parameters(
        cutoff=case.cutoff / HARTREE_EV, electrons=electrons, bands=int(0.6 * electrons) + 4, ismear=0,
        width=0.1 / HARTREE_EV, spins=1 if moments is None else 2, energy_tolerance=1e-7 / HARTREE_EV,
        real_space=dict.fromkeys(structure.species, accuracy) if accuracy else {},
    )  # fmt: skip
    mesh = (1, 1, 1) if structure.volume > 500 else (2, 2, 2)
    symmetry = find_symmetry(structure, 1e-5, -1)
    return Calculation(structure, mesh_kpoints(mesh, (0, 0, 0), True, symmetry), parameters, datasets)


if __name__ == "__main__":
    main()
