"""Observables of states, part by part as they are computed, so that a run that ends meanwhile keeps those it has."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.interaction.relative_motion.oscillator import length
from eigenwerk.ncci.interaction.two_body import TwoBody
from eigenwerk.ncci.problem import CaseSpace
from eigenwerk.ncci.results.observables import (
    Factors,
    Observed,
    moments_of,
    radii_of,
    scalar_operators,
    transitions_of,
    twice_j_of,
)  # fmt: skip
from eigenwerk.ncci.results.one_body_sums import occupations, one_body_densities, one_body_matrices, quanta_shares
from eigenwerk.ncci.results.one_nucleon import one_nucleon_scalars
from eigenwerk.ncci.results.raising import raised, raised_basis
from eigenwerk.ncci.results.tensors import orbital_moment, quadrupole, spin_moment
from eigenwerk.ncci.results.two_body_density import expectations
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.units import NUCLEON_MASS_MEV

Arrays = dict[str, np.ndarray]
"""(n, ...) by name, n: the state."""

SCALARS = "scalars"
"""The first part, with <J^2> of every state."""

ONE_BODY = ("Dl_p", "Ds_p", "C2_p", "Dl_n", "Ds_n", "C2_n")
"""Matrices (n, n) between states that moments and transitions are made of."""


class Observation:
    """Observables of one set of states: `ask` names the next part that is missing, `compute` makes it, `tell` takes it.

    `state` is what may be kept, `restore` takes it again: what is there is not asked for.  It depends on the states
    alone, not on the charges and factors.  pairs: those of the basis, of any operator.  terms: further operators whose
    expectation values are wanted.
    """

    def __init__(
        self, problem: CaseSpace, basis: ManyBodyBasis, pairs: BasisPairs, wanted: Iterable[str], factors: Factors,
        terms: Callable[[], Mapping[str, TwoBody]],
    ) -> None:  # fmt: skip
        self.problem, self.basis, self.pairs, self.wanted, self.factors = problem, basis, pairs, set(wanted), factors
        self.terms = terms
        self.parts: dict[str, Arrays] = {}

    @cached_property
    def operators(self) -> dict[str, TwoBody]:
        """All whose expectation values are wanted, made when the first one is."""
        return {} if self.basis.nucleons == 1 else scalar_operators(self.problem, self.wanted) | dict(self.terms())

    def ask(self) -> str | None:
        """The next part that is missing; None where all are there."""
        return next((name for name, part in PARTS.items() if self._lacks(name) and part.wanted(self)), None)

    def compute(self, name: str, vectors_nb: torch.Tensor, comm: Communicator) -> Arrays:
        """A part.  comm: the ranks that share the work; each has the whole vectors and gets the same bits."""
        return PARTS[name].compute(self, vectors_nb, comm)

    def tell(self, name: str, arrays: Arrays) -> None:
        """Takes a part."""
        self.parts[name] = self.parts.get(name, {}) | arrays

    def state(self) -> dict[str, Arrays]:
        """All that has been told."""
        return self.parts

    def restore(self, parts: Mapping[str, Arrays]) -> None:
        """Goes on from what was kept of the same states."""
        self.parts = dict(parts)

    def result(self) -> Observed:
        """Everything wanted, of all parts."""
        values, space = self._scalars(), self.basis.space
        if "s_pp" in values:
            values |= radii_of(space, values)
        for name in (one for one in PARTS if one in self.wanted and one in self.parts):
            values |= self.parts[name]
        moments, transitions = self._tensors() if "one_body" in self.parts else ({}, {})
        return Observed(values | moments, transitions)

    def missing_operators(self) -> dict[str, TwoBody]:
        """Those without expectation values so far."""
        return {name: one for name, one in self.operators.items() if name not in self.parts.get(SCALARS, {})}

    def _lacks(self, name: str) -> bool:
        return not set(PARTS[name].gives(self)) <= self.parts.get(name, {}).keys()

    def _scalars(self) -> Arrays:
        """Expectation values; those of spins with the squares of single nucleons, which no pair has."""
        found, space = self.parts[SCALARS], self.basis.space
        values = {name: found[name] for name in self.operators or found}
        sides = ("p", space.orbitals_p, space.protons), ("n", space.orbitals_n, space.neutrons)
        for species, orbitals, number in sides if self.operators and "S2" in values else ():
            values[f"S{species}2"] = values[f"S{species}2"] + 0.75 * number
            squares = self.parts["occupations"][f"occupations_{species}"] @ (orbitals.l_a * (orbitals.l_a + 1.0))
            values[f"L{species}2"] = values[f"L{species}2"] + squares
        return values

    @property
    def twice_j(self) -> list[int]:
        """2J of every state."""
        return twice_j_of(self.basis.space, self.parts[SCALARS]["J2"])

    @property
    def higher(self) -> np.ndarray:
        """The states that there are at M + 1."""
        return np.flatnonzero(np.array(self.twice_j) > abs(self.basis.space.twice_M))

    def tensors(self, twice_m: int, part: str, rows: np.ndarray) -> tuple[Arrays, Arrays]:
        """Moments and transitions of states `rows`, as they are wanted; nan where that M cannot tell."""
        matrices = {name: self.parts[part][name][np.ix_(rows, rows)] for name in ONE_BODY}
        spins = np.array(self.twice_j)[rows].tolist()
        moments = moments_of(twice_m, spins, matrices, self.factors) if "moments" in self.wanted else {}
        return moments, transitions_of(twice_m, spins, matrices, self.factors) if "transitions" in self.wanted else {}

    def _tensors(self) -> tuple[Arrays, Arrays]:
        """The same of all states; what the M of the basis cannot tell is that of M + 1."""
        twice_m, higher = self.basis.space.twice_M, self.higher
        found = self.tensors(twice_m, "one_body", np.arange(len(self.twice_j)))
        if "raised" in self.parts:
            for part, other in zip(found, self.tensors(twice_m + 2, "raised", higher), strict=True):
                for name, array in part.items():
                    place = np.ix_(*(higher,) * array.ndim)
                    array[place] = np.where(np.isnan(array[place]), other[name], array[place])
        return found


@dataclass(frozen=True)
class ObservedPart:
    """What one pass over the states gives, arrays of these names: when it is wanted, once the parts before are there,
    and how it is made."""

    gives: Callable[[Observation], Iterable[str]]
    wanted: Callable[[Observation], bool]
    compute: Callable[[Observation, torch.Tensor, Communicator], Arrays]


def _scalars(asked: Observation, vectors_nb: torch.Tensor, comm: Communicator) -> Arrays:
    """Expectation values of two-body operators."""
    if asked.basis.nucleons == 1:
        return one_nucleon_scalars(asked.basis, vectors_nb, "spins" in asked.wanted, comm)
    return expectations(asked.basis, asked.pairs, asked.missing_operators(), vectors_nb, comm)


def _occupations(asked: Observation, vectors_nb: torch.Tensor, comm: Communicator) -> Arrays:
    return {f"occupations_{species}": occupations(asked.basis, species, vectors_nb, comm) for species in "pn"}


def _quanta(asked: Observation, vectors_nb: torch.Tensor, comm: Communicator) -> Arrays:
    """Shares of the quanta above the least that states of this parity have."""
    lowest = sum(asked.basis.space.lowest_weights())
    least = lowest + (lowest + asked.basis.space.parity) % 2
    return {"quanta": quanta_shares(asked.basis, least, vectors_nb, comm)}


def _densities(asked: Observation, vectors_nb: torch.Tensor, comm: Communicator) -> Arrays:
    return {f"density_{species}": one_body_densities(asked.basis, species, vectors_nb, comm=comm) for species in "pn"}


def _one_body(asked: Observation, vectors_nb: torch.Tensor, comm: Communicator) -> Arrays:
    return _matrices(asked.basis, vectors_nb, asked.problem.hw, comm)


def _raised(asked: Observation, vectors_nb: torch.Tensor, comm: Communicator) -> Arrays:
    """The matrices at M + 1, nan for states that are not there."""
    above, higher = raised_basis(asked.basis), asked.higher
    raised_nb = raised(asked.basis, above, vectors_nb[tensor(higher, vectors_nb.device)], comm)
    raised_nb /= torch.linalg.vector_norm(raised_nb, dim=1, keepdim=True)
    found = {}
    for name, matrix_nn in _matrices(above, raised_nb, asked.problem.hw, comm).items():
        found[name] = np.full((len(vectors_nb), len(vectors_nb)), np.nan)
        found[name][np.ix_(higher, higher)] = matrix_nn
    return found


def _matrices(basis: ManyBodyBasis, vectors_nb: torch.Tensor, hw: float, comm: Communicator) -> Arrays:
    """<f|O|i> (n, n) of l_z, s_z and r^2 C_20 in fm^2, for protons and neutrons."""
    found = {}
    for species, orbitals in (("p", basis.space.orbitals_p), ("n", basis.space.orbitals_n)):
        operators = {"Dl": orbital_moment(orbitals), "Ds": spin_moment(orbitals)}
        operators["C2"] = length(hw, NUCLEON_MASS_MEV) ** 2 * quadrupole(orbitals)
        for name, matrix_nn in one_body_matrices(basis, species, operators, vectors_nb, comm).items():
            found[f"{name}_{species}"] = matrix_nn
    return found


def _needs_raised(asked: Observation) -> bool:
    """Whether M leaves gaps that M + 1 may fill."""
    if not _needs_matrices(asked) or not len(asked.higher):
        return False
    found = asked.tensors(asked.basis.space.twice_M, "one_body", np.arange(len(asked.twice_j)))
    return any(np.isnan(array).any() for part in found for array in part.values())


def _needs_matrices(asked: Observation) -> bool:
    return bool({"moments", "transitions"} & asked.wanted)


def _needs_quanta(asked: Observation) -> bool:
    return "quanta" in asked.wanted and asked.problem.core is None


def _needs_occupations(asked: Observation) -> bool:
    return "occupations" in asked.wanted or "S2" in asked.operators


def _of_species(name: str) -> Callable[[Observation], tuple[str, str]]:
    return lambda asked: (f"{name}_p", f"{name}_n")


PARTS = {
    SCALARS: ObservedPart(lambda asked: asked.operators or {"J2"}, lambda asked: True, _scalars),
    "occupations": ObservedPart(_of_species("occupations"), _needs_occupations, _occupations),
    "quanta": ObservedPart(lambda asked: {"quanta"}, _needs_quanta, _quanta),
    "densities": ObservedPart(_of_species("density"), lambda asked: "densities" in asked.wanted, _densities),
    "one_body": ObservedPart(lambda asked: ONE_BODY, _needs_matrices, _one_body),
    "raised": ObservedPart(lambda asked: ONE_BODY, _needs_raised, _raised),
}
"""In the order in which they are asked for."""
