"""Which orbitals near the Fermi level hold the electrons of an atom: other choices than that of the state found.

A free atom with open d or f shells has a self-consistent state for almost every choice, up to 0.2 eV apart (Rh): the
way of mixing decides which is found.  Each choice is judged by the energy of its orbitals before they relax,

    E = Σ f <ψ|H[n]|ψ> − double counting of n,    n = Σ f |ψ|²,

an upper bound of what it leads to.  Relaxation mixes the order up: by 0.1 to 0.5 eV for orbitals of the state found,
which favour its own choice; less for those of a state whose electrons are spread evenly over the levels near the Fermi
level (Ta, Y: the best comes first), but these know less of electrons that s and d levels share (Ir, Fe).  So the best
few of both are tried.
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
from eigenwerk.linalg.products import inner
from eigenwerk.units import HARTREE_EV

NEAR = 2.0 / HARTREE_EV
"""Orbitals so near the Fermi level (hartree) may change their electrons."""

MOST_JUDGED, MOST_TRIED = 24, 5
"""Choices of orbitals of the state found whose energies are compared, those with the lowest sum of levels; those that
are tried."""

EVEN_JUDGED, EVEN_TRIED = 60, 3
"""The same for orbitals of the state with evenly spread electrons."""

COLD = 0.1
"""Share of the width of smearing with which a choice begins: whole electrons keep their orbitals."""

COLD_STEPS = 20
"""Steps of a choice before it is judged."""

ROUGH = 1e-3 / HARTREE_EV
"""What the energy of a choice is found to, hartree, unless less is asked for: the best one is solved to the end."""

EVEN, EVEN_STEPS = 0.5 / HARTREE_EV, 15
"""Width of smearing (hartree) and steps of the state with evenly spread electrons."""


@dataclass(frozen=True)
class Choice:
    """Occupations (s, k, n) of whole electrons, where to begin with them, and their energy in hartree."""

    occ_skn: torch.Tensor
    start: StartingPoint
    energy: float


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
    brief = replace(parameters, stress=False, energy_tolerance=max(parameters.energy_tolerance, ROUGH))
    return replace(calculation, parameters=brief, made=Made(calculation.atoms))


def other_choices(calculation: Calculation, found: State, evened: State) -> list[Choice]:
    """The most promising choices besides that of the state found, those of its orbitals first; evened: see
    `evened_out`.

    Each spin keeps its number of electrons.  For collinear spins and one k-point.
    """
    own, even = _ways(found)[1 : MOST_JUDGED + 1], _ways(evened)[:EVEN_JUDGED]
    return [*_best(calculation, found, own)[:MOST_TRIED], *_best(calculation, evened, even)[:EVEN_TRIED]]


def _best(calculation: Calculation, state: State, occ_xskn: Sequence[torch.Tensor]) -> list[Choice]:
    """Choices of the orbitals of a state, the lowest energy first."""
    choices = [_choice(calculation, state, occ_skn) for occ_skn in occ_xskn]
    return sorted(choices, key=lambda one: one.energy)


def _ways(state: State) -> list[torch.Tensor]:
    """Occupations (s, 1, n) of both spins, the lowest sum of levels first: at low temperature that of the state."""
    eig_sn, occ_sn = state.eig_skn[:, 0], state.occupations.occ_skn[:, 0]
    level_s = state.occupations.fermi_level_s
    ways_s = [ways_of(eig_n, occ_n, level) for eig_n, occ_n, level in zip(eig_sn, occ_sn, level_s, strict=True)]
    all_ways = [(sum(cost for cost, _ in both), [filled for _, filled in both]) for both in product(*ways_s)]
    return [torch.stack(filled)[:, None] for _, filled in sorted(all_ways, key=lambda one: one[0])]


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
    return sorted(ways, key=lambda one: one[0])[: EVEN_JUDGED + 1]


def _choice(calculation: Calculation, state: State, occ_skn: torch.Tensor) -> Choice:
    atoms, basis, coeff_sknG = calculation.atoms, calculation.basis, state.coeff_sknG
    filling_skn = basis.filling(occ_skn)
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
