"""Projectors in real space (LREAL) beside those in reciprocal space: processor seconds of H and S on all bands.

    OMP_NUM_THREADS=1 python benchmarks/precision/real_space/compare.py [--cells 2 3] [--accuracy 5e-4 2e-4]
        [--bands 120]

Cells: N x N x N cubic cells of silicon with small random displacements, Gamma, 245 eV, PREC = Normal, in the potential
of superposed atoms.  Least processor time of three applications after one that warms up, the ways one after the other.
"""

import argparse
import time

import numpy as np
import torch

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.kpoints import mesh_kpoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.wavefunctions import random_orbitals
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.io.paw.paw_library import choose_dataset
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

CUBE = np.array([[0, 0, 0], [0, 2, 2], [2, 0, 2], [2, 2, 0], [1, 1, 1], [1, 3, 3], [3, 1, 3], [3, 3, 1]]) / 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--accuracy", type=float, nargs="+", default=[5e-4, 2e-4, 1e-4])
    parser.add_argument("--bands", type=int, default=120)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| atoms | ROPT | radius, bohr | points of spheres / grid | processor s | change of H x |")
    print("|---|---|---|---|---|---|")
    for cells in options.cells:
        compare(silicon(cells), options.accuracy, options.bands)


def compare(structure: Structure, accuracies: list[float], bands: int) -> None:
    """A row for each way."""
    hamiltonians = {accuracy: hamiltonian(structure, accuracy, bands) for accuracy in (0.0, *accuracies)}
    x_knG = random_orbitals(hamiltonians[0.0].atoms, bands)
    exact_knG = hamiltonians[0.0].apply(x_knG)[0]
    for accuracy, operator in hamiltonians.items():
        change = float((operator.apply(x_knG)[0] - exact_knG).norm() / exact_knG.norm())
        tables, radius, share = operator.atoms.real_space, 0.0, 0.0
        if tables is not None:
            radius = max(part.species.filtered.radius for part in tables.parts)
            share = len(tables.index_S) / operator.basis.wave_map.points
        seconds = min(processor_seconds(operator, x_knG) for _ in range(3))
        atoms = len(structure.symbols)
        print(f"| {atoms} | {accuracy:g} | {radius:.2f} | {share:.2f} | {seconds:.3f} | {change:.0e} |", flush=True)


def processor_seconds(operator: Hamiltonian, x_knG: torch.Tensor) -> float:
    """Of one application."""
    start = time.process_time()
    operator.apply(x_knG)
    return time.process_time() - start


def silicon(cells: int) -> Structure:
    """A disturbed supercell."""
    shift_xc = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    scaled_ac = ((CUBE + shift_xc) / cells).reshape(-1, 3)
    scaled_ac = scaled_ac + np.random.default_rng(0).normal(size=scaled_ac.shape) * 0.003
    return Structure(5.43 * cells * np.eye(3) / BOHR_ANGSTROM, ("Si",) * len(scaled_ac), scaled_ac, None)


def hamiltonian(structure: Structure, accuracy: float, bands: int) -> Hamiltonian:
    """H of superposed atoms; accuracy 0: in reciprocal space."""
    symmetry = find_symmetry(structure, 1e-5, -1)
    parameters = Parameters(
        cutoff=245.3 / HARTREE_EV, electrons=4.0 * len(structure.symbols), bands=bands,
        real_space={"Si": accuracy} if accuracy else {},
    )  # fmt: skip
    datasets = {"Si": read_paw_xml(choose_dataset("Si", "PBE"))}
    calculation = Calculation(structure, mesh_kpoints((1, 1, 1), (0, 0, 0), True, symmetry), parameters, datasets)
    return Hamiltonian.of(calculation.atoms, calculation.builder(calculation.starting_density())).block()


if __name__ == "__main__":
    main()
