"""Which orbitals near the Fermi level hold the electrons of an atom: other choices than that of the state found.

A free atom with open d or f shells has a self-consistent state for almost every choice, up to 0.2 eV apart (Rh): the
way of mixing decides which is found.  Each choice is judged by the energy of orbitals that favour none, those of a
state whose electrons are spread evenly over the levels near the Fermi level,

    E = Σ f <ψ|H[n]|ψ> − double counting of n,    n = Σ f |ψ|²,

an upper bound of what it leads to; relaxation (0.05 to 0.1 eV) still mixes the order up, so the best few are tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import torch

from eigenwerk.dft.calculation import Calculation, Made
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.runs.open_shells.broken_symmetry import WHOLE
from eigenwerk.dft.scf.bands import density_of_bands
from eigenwerk.dft.scf.state import StartingPoint, State, wanted_bands
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.dft.terms.energies import harris_energies
from eigenwerk.io.paw.dataset import PawState
from eigenwerk.linalg.products import inner
from eigenwerk.units import HARTREE_EV

NEAR = 2.0 / HARTREE_EV
"""Orbitals so near the Fermi level (hartree) may change their electrons."""

MOST_JUDGED, MOST_TRIED = 60, 4
"""Choices whose energies are compared, those with the lowest sum of levels; those that are tried."""

COLD = 0.1
"""Share of the width of smearing with which a choice begins: whole electrons keep their orbitals."""

COLD_STEPS = 20
"""Steps of a choice before it is judged."""

EVEN, EVEN_STEPS = 0.5 / HARTREE_EV, 15
"""Width of smearing (hartree) and steps of the state with evenly spread electrons."""


@dataclass(frozen=True)
class Choice:
    """Occupations (s, k, n) of whole electrons, where to begin with them, and their energy in hartree."""

    occ_skn: torch.Tensor
    start: StartingPoint
    energy: float


def has_choices(states: Sequence[PawState]) -> bool:
    """Whether an atom has an open d or f shell."""
    return any(one.l >= 2 and 0 < one.f < 4 * one.l + 2 for one in states)


def in_part(occ_skn: torch.Tensor) -> bool:
    """Whether any orbital is filled in part."""
    return bool(((occ_skn > WHOLE) & (occ_skn < 1 - WHOLE)).any())


def begun_cold(calculation: Calculation) -> Calculation:
    """The same, with which a choice begins."""
    given = calculation.parameters
    return _brief(calculation, replace(given, width=COLD * given.width, max_steps=min(COLD_STEPS, given.max_steps)))


def evened_out(calculation: Calculation, moment: float) -> Calculation:
    """The same with the electrons of each spin spread evenly over the levels near its Fermi level."""
    given = calculation.parameters
    held = round(moment) if given.fixed_moment is None else given.fixed_moment
    steps = min(EVEN_STEPS, given.max_steps)
    return _brief(calculation, replace(given, width=max(EVEN, given.width), max_steps=steps, fixed_moment=held))


def _brief(calculation: Calculation, parameters: Parameters) -> Calculation:
    brief = replace(parameters, stress=False)
    return replace(calculation, parameters=brief, made=Made(calculation.atoms))


def other_choices(calculation: Calculation, state: State) -> list[Choice]:
    """The most promising choices of orbitals, the lowest energy first; state: that of `evened_out`.

    Each spin keeps its number of electrons.  For collinear spins and one k-point.
    """
    eig_sn, occ_sn = state.eig_skn[:, 0], state.occupations.occ_skn[:, 0]
    level_s = state.occupations.fermi_level_s
    ways_s = [ways_of(eig_n, occ_n, level) for eig_n, occ_n, level in zip(eig_sn, occ_sn, level_s, strict=True)]
    all_ways = [(sum(cost for cost, _ in both), [filled for _, filled in both]) for both in product(*ways_s)]
    sorted_ways = sorted(all_ways, key=lambda one: one[0])[:MOST_JUDGED]
    choices = [_choice(calculation, state, torch.stack(filled)[:, None]) for _, filled in sorted_ways]
    return sorted(choices, key=lambda one: one.energy)[:MOST_TRIED]


def ways_of(eig_n: torch.Tensor, occ_n: torch.Tensor, level: float) -> list[tuple[float, torch.Tensor]]:
    """Ways of one spin, the lowest first: by how much the sum of levels rises, and (n,) occupations."""
    near = torch.nonzero((eig_n - level).abs() < NEAR).flatten().tolist()
    electrons = round(float(occ_n.sum()))
    below = near[0] if near else electrons
    holding = electrons - below
    lowest_n = torch.zeros_like(occ_n)
    lowest_n[:electrons] = 1.0
    if not 0 < holding < len(near):
        return [(0.0, lowest_n)]
    ways = []
    for chosen in combinations(near, holding):
        filled_n = torch.zeros_like(occ_n)
        filled_n[:below] = 1.0
        filled_n[list(chosen)] = 1.0
        ways.append((float(((filled_n - lowest_n) * eig_n).sum()), filled_n))
    return sorted(ways, key=lambda one: one[0])[:MOST_JUDGED]


def _choice(calculation: Calculation, state: State, occ_skn: torch.Tensor) -> Choice:
    atoms, basis, coeff_sknG = calculation.atoms, calculation.basis, state.coeff_sknG
    filling_skn = basis.weight_k.cpu()[:, None] * occ_skn * basis.spin.degeneracy
    density = calculation.symmetrise(density_of_bands(atoms, coeff_sknG, filling_skn))
    potential = calculation.builder(density)
    hamiltonian, band = Hamiltonian.of(atoms, potential), 0.0
    for spin, (own_knG, filling_kn) in enumerate(zip(coeff_sknG, filling_skn, strict=True)):
        block = hamiltonian.block(spin)
        expected_kn = block.sum(torch.diagonal(inner(own_knG, block.apply(own_knG)[0]), dim1=1, dim2=2).real)
        band += float((expected_kn.cpu() * filling_kn).sum())
    energy = harris_energies(atoms, density, potential, band, 0.0, 0.0).free
    energy = float(calculation.runtime.world.broadcast(calculation.runtime.tensor(energy)))
    return Choice(occ_skn, StartingPoint(density, coeff_sknG, wanted_bands(occ_skn), occ_skn=occ_skn), energy)
