"""Observables of states: radii, angular momenta, moments, transitions, occupations, quanta, centre of mass."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.ncci.basis.basis_pairs import BasisPairs, basis_pairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.basis.space import ManyBodySpace
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.inputs.inputs import Case
from eigenwerk.ncci.interaction.angular import intrinsic_spin, isospin, orbital_spin, total_spin
from eigenwerk.ncci.interaction.centre_of_mass import centre_of_mass_quanta
from eigenwerk.ncci.interaction.one_body import orbital_momentum, scalar_product, spin
from eigenwerk.ncci.interaction.radii import point_radii, squared_distances
from eigenwerk.ncci.interaction.relative_motion.oscillator import length
from eigenwerk.ncci.interaction.two_body import TwoBody
from eigenwerk.ncci.problem import CaseSpace
from eigenwerk.ncci.results.levels import spin_of
from eigenwerk.ncci.results.one_body_sums import occupations, one_body_densities, one_body_matrices, quanta_shares
from eigenwerk.ncci.results.one_nucleon import one_nucleon_scalars
from eigenwerk.ncci.results.raising import raised, raised_basis
from eigenwerk.ncci.results.tensors import orbital_moment, quadrupole, reduced, spin_moment
from eigenwerk.ncci.results.two_body_density import expectations
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.serial import ALONE
from eigenwerk.units import NUCLEON_MASS_MEV

NO_CORE_CHARGES, VALENCE_CHARGES = (1.0, 0.0), (1.5, 0.5)
"""Charges of proton and neutron in electric quadrupole moments: bare ones; those that stand for the polarised core."""

M1_FACTOR = math.sqrt(3 / (4 * math.pi))
E2_FACTOR = math.sqrt(5 / (4 * math.pi))


@dataclass(frozen=True)
class Factors:
    """What protons and neutrons count in moments: effective charges (e), orbital and spin g factors."""

    charge: tuple[float, float]
    g_orbital: tuple[float, float]
    g_spin: tuple[float, float]


def factors_of(case: Case, problem: CaseSpace) -> Factors:
    """Those that the case gives, or the usual ones of its kind of space."""
    usual = NO_CORE_CHARGES if problem.core is None else VALENCE_CHARGES
    return Factors(case.effective_charges or usual, case.g_orbital, case.g_spin)


def not_computed(problem: CaseSpace, wanted: Iterable[str]) -> tuple[str, ...]:
    """Observables that are wanted but have no meaning in this kind of space."""
    absent = set() if problem.core is None else {"radii", "quanta", "center_of_mass"}
    return tuple(name for name in wanted if name in absent)


@dataclass(frozen=True, eq=False)
class Observed:
    """What was computed: values by name (n,) or (n, x); transitions by name (n, n)."""

    values: Mapping[str, np.ndarray]
    transitions: Mapping[str, np.ndarray]


def scalar_operators(problem: CaseSpace, wanted: Iterable[str]) -> dict[str, TwoBody]:
    """Two-body operators by name.  J2 and T2 are always among them, without a core also N_cm; T2 needs the same
    orbitals for both species."""
    pairs, nucleons = problem.pairs, problem.space.nucleons
    operators = {"J2": total_spin(pairs, nucleons)}
    if problem.space.orbitals_p == problem.space.orbitals_n:
        operators["T2"] = isospin(pairs, nucleons)
    if "spins" in wanted:
        operators["L2"] = orbital_spin(pairs, nucleons)
        operators["S2"] = intrinsic_spin(pairs, nucleons)
        products = 2.0 * scalar_product(pairs, spin)
        operators["Sp2"], operators["Sn2"] = products.only("pp"), products.only("nn")
        products = 2.0 * scalar_product(pairs, orbital_momentum)
        operators["Lp2"], operators["Ln2"] = products.only("pp"), products.only("nn")
    if problem.core is None and "radii" in wanted:
        distances = squared_distances(pairs, problem.hw)
        operators |= {f"s_{kind}": distances.only(kind) for kind in ("pp", "nn", "pn")}
    if problem.core is None:
        operators["N_cm"] = centre_of_mass_quanta(pairs, nucleons)
    return operators


def scalars(
    basis: ManyBodyBasis,
    operators: Mapping[str, TwoBody],
    vectors_nb: torch.Tensor,
    pairs: BasisPairs | None = None,
    comm: Communicator = ALONE,
) -> dict[str, np.ndarray]:
    """Expectation values (n,) of two-body operators in every state.  pairs: those of the basis where they are known."""
    pairs = pairs or basis_pairs(basis, next(iter(operators.values())))
    values = expectations(basis, pairs, operators, vectors_nb, comm)
    space = basis.space
    for species, orbitals, number in (("p", space.orbitals_p, space.protons), ("n", space.orbitals_n, space.neutrons)):
        if f"S{species}2" in values:  # so far the products of different nucleons; here the squares of single ones
            values[f"S{species}2"] = values[f"S{species}2"] + 0.75 * number
            squares = occupations(basis, species, vectors_nb, comm) @ (orbitals.l_a * (orbitals.l_a + 1.0))
            values[f"L{species}2"] = values[f"L{species}2"] + squares
    return values


def observe(
    problem: CaseSpace,
    basis: ManyBodyBasis,
    pairs: BasisPairs,
    vectors_nb: torch.Tensor,
    wanted: Iterable[str],
    factors: Factors,
    terms: Mapping[str, TwoBody] | None = None,
    comm: Communicator = ALONE,
) -> Observed:
    """Everything wanted of all states, and the expectation values of further operators `terms`.

    comm: the ranks that share the work; each has the whole vectors and gets all numbers, the same bits.
    """
    wanted = tuple(wanted)
    if basis.nucleons == 1:
        values = one_nucleon_scalars(basis, vectors_nb, "spins" in wanted, comm)
    else:
        operators = scalar_operators(problem, wanted) | dict(terms or {})
        values = scalars(basis, operators, vectors_nb, pairs, comm)
    if "s_pp" in values:
        values |= _radii(basis.space, values)
    if "occupations" in wanted:
        values |= {f"occupations_{species}": occupations(basis, species, vectors_nb, comm) for species in "pn"}
    if "quanta" in wanted and problem.core is None:
        values["quanta"] = quanta_shares(basis, _least_weight(basis.space), vectors_nb, comm)
    if "densities" in wanted:
        values |= {f"density_{species}": one_body_densities(basis, species, vectors_nb, comm=comm) for species in "pn"}
    transitions: dict[str, np.ndarray] = {}
    if "moments" in wanted or "transitions" in wanted:
        twice_j = _twice_j(basis.space, values["J2"])
        found, transitions = _tensors(basis, vectors_nb, twice_j, problem.hw, wanted, factors, comm)
        values |= found
    return Observed(values, transitions)


def _tensors(
    basis: ManyBodyBasis, vectors_nb: torch.Tensor, twice_j: list[int], hw: float, wanted: tuple[str, ...],
    factors: Factors, comm: Communicator,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:  # fmt: skip
    """Moments and transitions as they are wanted; what the M of the basis cannot tell is found at M + 1."""

    def at(twice_m: int, matrices: Mapping[str, np.ndarray], spins: list[int]) -> list[dict[str, np.ndarray]]:
        moments = _moments(twice_m, spins, matrices, factors) if "moments" in wanted else {}
        return [moments, _transitions(twice_m, spins, matrices, factors) if "transitions" in wanted else {}]

    twice_m = basis.space.twice_M
    found = at(twice_m, _one_body(basis, vectors_nb, hw, comm), twice_j)
    higher = np.flatnonzero(np.array(twice_j) > abs(twice_m))
    if any(np.isnan(array).any() for part in found for array in part.values()) and len(higher):
        above, rows = raised_basis(basis), tensor(higher, vectors_nb.device)
        raised_nb = raised(basis, above, vectors_nb[rows], comm)
        raised_nb /= torch.linalg.vector_norm(raised_nb, dim=1, keepdim=True)
        again = at(twice_m + 2, _one_body(above, raised_nb, hw, comm), [twice_j[n] for n in higher])
        for part, other in zip(found, again, strict=True):
            for name, array in part.items():
                place = np.ix_(*(higher,) * array.ndim)
                array[place] = np.where(np.isnan(array[place]), other[name], array[place])
    return found[0], found[1]


def _least_weight(space: ManyBodySpace) -> int:
    """The smallest weight with the parity of the states."""
    lowest = sum(space.lowest_weights())
    return lowest + (lowest + space.parity) % 2


def _twice_j(space: ManyBodySpace, square_n: np.ndarray) -> list[int]:
    odd = space.nucleons % 2
    return [2 * round((2 * float(j) - odd) / 2) + odd for j in spin_of(square_n)]


def _radii(space: ManyBodySpace, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    rows = np.array(
        [
            point_radii(space.protons, space.neutrons, *sums)
            for sums in zip(values["s_pp"], values["s_nn"], values["s_pn"], strict=True)
        ]
    )
    return dict(zip(("r_p", "r_n", "r_matter", "r_pp", "r_nn", "r_pn"), rows.T, strict=True))


def _one_body(
    basis: ManyBodyBasis, vectors_nb: torch.Tensor, hw: float, comm: Communicator
) -> dict[str, np.ndarray]:
    """<f|O|i> (n, n) of l_z, s_z and r^2 C_20 in fm^2, for protons and neutrons."""
    found = {}
    for species, orbitals in (("p", basis.space.orbitals_p), ("n", basis.space.orbitals_n)):
        operators = {"Dl": orbital_moment(orbitals), "Ds": spin_moment(orbitals)}
        operators["C2"] = length(hw, NUCLEON_MASS_MEV) ** 2 * quadrupole(orbitals)
        for name, matrix_nn in one_body_matrices(basis, species, operators, vectors_nb, comm).items():
            found[f"{name}_{species}"] = matrix_nn
    return found


def _moments(
    twice_M: int, twice_j: list[int], matrices: Mapping[str, np.ndarray], factors: Factors
) -> dict[str, np.ndarray]:
    """Moments in the states with M = J, by Wigner and Eckart from the M at hand; nan where that is not possible."""
    values = {}
    for name, matrix_nn in matrices.items():
        rank = 2 if name.startswith("C2") else 1
        stretched = [_stretched(float(matrix_nn[n, n]), twice, rank, twice_M) for n, twice in enumerate(twice_j)]
        if rank == 2:
            values[f"Q_{name[-1]}"] = 2.0 * np.array(stretched)
        else:
            values[name] = np.array(stretched)
    values["mu"] = _magnetic(values, factors)
    values["Q"] = factors.charge[0] * values["Q_p"] + factors.charge[1] * values["Q_n"]
    values["sum_J"] = values["Dl_p"] + values["Dl_n"] + values["Ds_p"] + values["Ds_n"]
    return values


def _magnetic(parts: Mapping[str, np.ndarray], factors: Factors) -> np.ndarray:
    """sum of g_l l + g_s s over protons and neutrons."""
    pairs = zip(factors.g_orbital, factors.g_spin, "pn", strict=True)
    one, other = (g_l * parts[f"Dl_{s}"] + g_s * parts[f"Ds_{s}"] for g_l, g_s, s in pairs)
    return one + other


def _stretched(value: float, twice_j: int, rank: int, twice_m: int) -> float:
    """<J J|T_k0|J J> from <J M|T_k0|J M>; 0 where k exceeds 2J, nan where the coupling vanishes at this M."""
    if rank > twice_j:
        return 0.0
    here = reduced(value, twice_j, rank, twice_j, twice_m)
    unit = reduced(1.0, twice_j, rank, twice_j, twice_j)
    return math.nan if here is None or unit is None else here / unit


def _transitions(
    twice_M: int, twice_j: list[int], matrices: Mapping[str, np.ndarray], factors: Factors
) -> dict[str, np.ndarray]:
    """<f||O||i>: the parts of M1 (with sqrt(3/4 pi)) and E2 (r^2 Y_2, fm^2), and with factors M1, E2."""
    found = {}
    for name, matrix_nn in matrices.items():
        rank, factor = (2, E2_FACTOR) if name.startswith("C2") else (1, M1_FACTOR)
        title = f"E2_{name[-1]}" if rank == 2 else name
        scaled_nn = (factor * matrix_nn).tolist()
        found[title] = np.array(
            [
                [
                    _reduced_or_nan(value, final, rank, initial, twice_M)
                    for value, initial in zip(row, twice_j, strict=True)
                ]
                for row, final in zip(scaled_nn, twice_j, strict=True)
            ]
        )
    found["M1"] = _magnetic(found, factors)
    found["E2"] = factors.charge[0] * found["E2_p"] + factors.charge[1] * found["E2_n"]
    return found


def _reduced_or_nan(value: float, twice_jf: int, rank: int, twice_ji: int, twice_m: int) -> float:
    if not abs(twice_jf - twice_ji) <= 2 * rank <= twice_jf + twice_ji:
        return 0.0
    here = reduced(value, twice_jf, rank, twice_ji, twice_m)
    return math.nan if here is None else here
