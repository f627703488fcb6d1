"""One simple crystal or molecule for each element: what a user would try first.

Lattice constants are the experimental ones of ASE (`ase.data.reference_states`).  Molecular gases are dimers in
a box; elements whose ground state is a large cell (B, P, S, Ga, Mn) are fcc at the experimental volume per atom.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.data import atomic_numbers, reference_states

from eigenwerk.dft.crystal.kpoints import KPoints, mesh_kpoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.io.paw.paw_library import choose_dataset, recommended_cutoff
from eigenwerk.io.paw.paw_xml import read_paw_header
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

DIMERS = {"H": 0.74, "N": 1.10, "O": 1.21, "F": 1.42, "Cl": 1.99, "Br": 2.28, "I": 2.67}
"""Bond lengths of the molecular elements, angstrom."""

BOX = 6.0
"""Edge of the box around a dimer beyond its bond, angstrom."""

VOLUMES = {"B": 7.31, "P": 19.0, "S": 25.7, "Ga": 19.6, "Mn": 12.2}
"""Experimental volumes per atom of elements that are run as fcc, cubic angstrom."""

CHAINS = {"Se": 0.225, "Te": 0.267}
"""Position parameter of the trigonal chains."""

MOMENTS = {"O": 1.0, "Cr": 1.5, "Mn": 3.0, "Fe": 3.0, "Co": 2.0, "Ni": 1.0}
"""Starting moments per atom of the magnetic elements, Bohr magneton; f elements follow Hund's rule."""

LONGEST_CUTOFF = 500.0
"""eV."""

SPACING = 0.5
"""Longest step of the k-mesh, 1/angstrom; at least 4 points along short axes."""


@dataclass(frozen=True)
class Case:
    """One run: name, what it is in words, and the inputs of the engine."""

    name: str
    kind: str
    structure: Structure
    kpoints: KPoints
    parameters: Parameters


def crystal(symbol: str) -> tuple[Atoms, str]:
    """Atoms and a word for the structure."""
    if symbol in DIMERS:
        edge = BOX + DIMERS[symbol]
        return Atoms(symbol + "2", [[0, 0, 0], [0, 0, DIMERS[symbol]]], cell=[BOX, BOX, edge], pbc=True), "dimer"
    if symbol in VOLUMES:
        return bulk(symbol, "fcc", a=(4 * VOLUMES[symbol]) ** (1 / 3)), "fcc"
    if symbol in CHAINS:
        return _chain(symbol), "trigonal"
    if symbol == "Pm":
        return bulk("Pm", "hcp", a=3.65, c=3.65 * 1.6), "hcp"
    if symbol == "Rn":
        return bulk("Rn", "fcc", a=6.6), "fcc"
    if symbol == "He":
        return bulk("He", "fcc", a=4.24), "fcc"
    if symbol == "Cr":
        return bulk("Cr", "bcc", a=2.88, cubic=True), "bcc, antiferromagnetic"
    return bulk(symbol), str(reference_states[atomic_numbers[symbol]]["symmetry"])


def _chain(symbol: str) -> Atoms:
    state, u = reference_states[atomic_numbers[symbol]], CHAINS[symbol]
    a, c = state["a"], state["a"] * state["c/a"]
    cell = [[a, 0, 0], [-a / 2, a * np.sqrt(3) / 2, 0], [0, 0, c]]
    return Atoms(symbol + "3", scaled_positions=[[u, 0, 0], [0, u, 1 / 3], [-u, -u, 2 / 3]], cell=cell, pbc=True)


def moments(symbol: str, atoms: int, data: PawDataset) -> np.ndarray | None:
    """Starting moments (a,), or None for an element that is run without spin."""
    f_electrons = sum(state.f for state in data.states if state.l == 3 and state.f > 0)
    moment = MOMENTS.get(symbol, min(f_electrons, 14 - f_electrons))
    if moment <= 0:
        return None
    return moment * np.array([1.0, -1.0]) if symbol == "Cr" else np.full(atoms, moment)


def mesh(structure: Structure, kind: str) -> tuple[int, int, int]:
    """About 4 x 4 x 4 points for one atom, fewer along long axes, one for a molecule."""
    if kind == "dimer":
        return (1, 1, 1)
    length_c = np.linalg.norm(structure.reciprocal_cv, axis=1) / BOHR_ANGSTROM
    n = [min(4, max(2, ceil(length / SPACING))) for length in length_c]
    return n[0], n[1], n[2]


def bands(electrons: float, atoms: int, moment: float) -> int:
    """VASP's rule without spin; with spin the magnetic electrons are added."""
    filled = (electrons + moment) / 2
    return max(ceil(filled + 1) + max(ceil(atoms / 2), 3), ceil(0.6 * (electrons + moment)))


def element_case(symbol: str, data: PawDataset, energy_tolerance_eV: float = 1e-4) -> Case:
    """The run of one element with its plain PBE data set."""
    atoms, kind = crystal(symbol)
    moment_a = moments(symbol, len(atoms), data)
    symbols = tuple(atoms.get_chemical_symbols())
    structure = Structure(np.asarray(atoms.cell) / BOHR_ANGSTROM, symbols, atoms.get_scaled_positions(), moment_a)
    tolerance = Parameters(1.0, 1.0, 1).symmetry_tolerance
    kpoints = mesh_kpoints(mesh(structure, kind), (0.0, 0.0, 0.0), True, find_symmetry(structure, tolerance, 2))
    advice = recommended_cutoff(read_paw_header(choose_dataset(symbol)))
    cutoff = min(LONGEST_CUTOFF, advice.minimum_eV if advice else LONGEST_CUTOFF)
    electrons = len(atoms) * data.valence
    molecule = kind == "dimer"
    parameters = Parameters(
        cutoff=cutoff / HARTREE_EV, electrons=float(electrons), spins=1 if moment_a is None else 2,
        bands=bands(electrons, len(atoms), 0.0 if moment_a is None else float(np.abs(moment_a).sum())),
        ismear=0 if molecule else 1, width=(0.05 if molecule else 0.2) / HARTREE_EV,
        energy_tolerance=energy_tolerance_eV / HARTREE_EV, title=symbol,
    )  # fmt: skip
    return Case(symbol, kind, structure, kpoints, parameters)
