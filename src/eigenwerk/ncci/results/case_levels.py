"""From what was found and observed to the levels of a case."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from eigenwerk.linalg.operator import EigenResult
from eigenwerk.ncci.inputs.inputs import Case, block_size
from eigenwerk.ncci.problem import CaseSpace
from eigenwerk.ncci.results.levels import Levels, spin_of
from eigenwerk.ncci.results.observables import Factors, Observed, not_computed
from eigenwerk.units import NUCLEON_MASS_MEV


def case_about(case: Case, problem: CaseSpace) -> dict[str, Any]:
    """The case in plain values, as it is stored."""
    natural = problem.lowest % 2
    return {
        "title": case.title,
        "nucleus": case.nucleus.name,
        "Z": case.nucleus.protons,
        "N": case.nucleus.neutrons,
        "valence_Z": problem.space.protons,
        "valence_N": problem.space.neutrons,
        "interaction": case.interaction,
        "srg_lambda": case.srg_lambda,
        "hw": case.hw,
        "Nmax": case.max_excitation,
        "weights": list(case.weights),
        "least_excitation": int(problem.space.parity != natural) if case.max_excitation is not None else 0,
        "twice_M": case.twice_m,
        "parity": 1 - 2 * problem.space.parity,
        "coulomb": case.coulomb,
        "lawson": case.lawson,
        "nucleon_mass": NUCLEON_MASS_MEV,
        "states": case.states,
    }


def solver_about(case: Case) -> dict[str, Any]:
    """What is chosen of the solver, in plain values."""
    choice = case.solver
    return {
        "method": choice.method,
        "precision": choice.precision,
        "block": block_size(choice, case.states),
        "space": choice.space,
    }


def taken(found: EigenResult, observed: Observed, order_n: np.ndarray) -> tuple[EigenResult, Observed]:
    """States and what was observed of them in another order."""
    order = torch.from_numpy(order_n).to(found.eig_kn.device)
    found = replace(
        found, eig_kn=found.eig_kn[:, order], vectors_knx=found.vectors_knx[:, order],
        residual_kn=found.residual_kn[:, order], converged_kn=found.converged_kn[:, order],
    )  # fmt: skip
    values = {name: array[order_n] for name, array in observed.values.items()}
    return found, Observed(values, {name: m[np.ix_(order_n, order_n)] for name, m in observed.transitions.items()})


def levels_of(
    case: Case, problem: CaseSpace, factors: Factors, found: EigenResult, observed: Observed, energy_n: np.ndarray,
    sizes: tuple[int, int], solver: Mapping[str, Any], smaller: Mapping[str, Any],
) -> Levels:  # fmt: skip
    """Levels of states by their energies (n,), MeV.  sizes: dimension and nonzeros."""
    values = observed.values
    return Levels(
        about=case_about(case, problem) | {
            "observables": list(case.observables),
            "not_computed": list(not_computed(problem, case.observables if "observables" in case.given else ())),
            "core": None if problem.core is None else list(problem.core),
            "orbital_hw": problem.hw,
            "effective_charges": list(factors.charge),
            "g_orbital": list(factors.g_orbital),
            "g_spin": list(factors.g_spin),
        },
        dimension=sizes[0],
        nonzeros=sizes[1],
        energy_n=energy_n,
        residual_n=found.residual_kn[0].cpu().numpy(),
        converged=bool(found.converged_kn.all()),
        j_n=spin_of(values["J2"]),
        isospin_n=spin_of(values["T2"]) if "T2" in values else np.full(len(energy_n), np.nan),
        values=values,
        transitions=observed.transitions,
        orbitals={
            "p": np.array(problem.space.orbitals_p.labels, dtype=np.int64),
            "n": np.array(problem.space.orbitals_n.labels, dtype=np.int64),
        },
        solver=solver,
        smaller=smaller,
    )  # fmt: skip
