"""What observables of states are: their operators, and radii, moments and transitions by the matrices of these."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from eigenwerk.ncci.basis.space import ManyBodySpace
from eigenwerk.ncci.inputs.inputs import Case
from eigenwerk.ncci.interaction.angular import intrinsic_spin, isospin, orbital_spin, total_spin
from eigenwerk.ncci.interaction.centre_of_mass import centre_of_mass_quanta
from eigenwerk.ncci.interaction.one_body import orbital_momentum, scalar_product, spin
from eigenwerk.ncci.interaction.radii import point_radii, squared_distances
from eigenwerk.ncci.interaction.two_body import TwoBody
from eigenwerk.ncci.problem import CaseSpace
from eigenwerk.ncci.results.levels import spin_of
from eigenwerk.ncci.results.tensors import reduced

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


def twice_j_of(space: ManyBodySpace, square_n: np.ndarray) -> list[int]:
    """2J of states by <J^2>."""
    odd = space.nucleons % 2
    return [2 * round((2 * float(j) - odd) / 2) + odd for j in spin_of(square_n)]


def radii_of(space: ManyBodySpace, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Point radii (n,) in fm by the sums of squared distances."""
    rows = np.array(
        [
            point_radii(space.protons, space.neutrons, *sums)
            for sums in zip(values["s_pp"], values["s_nn"], values["s_pn"], strict=True)
        ]
    )
    return dict(zip(("r_p", "r_n", "r_matter", "r_pp", "r_nn", "r_pn"), rows.T, strict=True))


def moments_of(
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


def transitions_of(
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
