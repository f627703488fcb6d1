"""Which interaction a case means: its space, and its Hamiltonian as two-body operators."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.ncci.inputs.inputs import Case
from eigenwerk.ncci.interaction.centre_of_mass import centre_of_mass_quanta, intrinsic_kinetic
from eigenwerk.ncci.interaction.files import (
    BUILT_IN,
    h2_pairs,
    interaction,
    is_h2,
    refuse_evolution,
    refuse_other_hw,
    refuse_what_is_not_two_body,
    relative_from_file,
    valence_from_file,
)
from eigenwerk.ncci.interaction.relative_motion.coupling import couple
from eigenwerk.ncci.interaction.relative_motion.nnlo_opt import coulomb_left
from eigenwerk.ncci.interaction.relative_motion.potentials import coulomb
from eigenwerk.ncci.interaction.two_body import PairSpace, TwoBody, lacking
from eigenwerk.ncci.interaction.valence import ValenceInteraction
from eigenwerk.ncci.problem import CaseSpace, no_core_problem, valence_problem

VALENCE_SUFFIXES = (".snt", ".int")
"""Files of interactions outside a core."""


LAWSON = "Lawson"
"""Name of the term that is no energy of the nucleus."""


def total(parts: Mapping[str, TwoBody]) -> TwoBody:
    """The sum of all terms."""
    first, *others = parts.values()
    for other in others:
        first = first + other
    return first


class Source(Protocol):
    """An interaction with the kind of space that it belongs to."""

    def problem(self, case: Case) -> CaseSpace:
        """The space of the case."""
        ...

    def parts(self, case: Case, problem: CaseSpace) -> dict[str, TwoBody]:
        """The terms of the Hamiltonian by name, in MeV."""
        ...

    def coulomb_left(self, case: Case, problem: CaseSpace) -> TwoBody | None:
        """What the evolution by srg_lambda, had it been applied to it, would add to the Coulomb repulsion, MeV."""
        ...

    def energies(self) -> dict[str, np.ndarray]:
        """One-body energies (MeV) between the orbitals of protons "p" and neutrons "n", of a nucleon that is alone."""
        ...


@dataclass(frozen=True)
class NoCore:
    """A nucleon-nucleon interaction without a core: a built-in one, or a file's path."""

    name: str

    def problem(self, case: Case) -> CaseSpace:
        """All nucleons, truncated by oscillator quanta.  Raises InputError also for a file that does not suit it."""
        found = no_core_problem(case)
        if self.name.lower() in BUILT_IN:
            if case.file_hw is not None:
                raise InputError(f"{case.path}: file_hw belongs to files, but {self.name} is built in. Remove it.")
        else:
            refuse_unfit_file(case, Path(self.name), found)
        return found

    def parts(self, case: Case, problem: CaseSpace) -> dict[str, TwoBody]:
        """T_int, V_NN, V_C and Lawson's term."""
        assert case.hw is not None
        pairs, nucleons = problem.pairs, problem.space.nucleons
        parts = {
            "T_int": intrinsic_kinetic(pairs, case.hw, nucleons),
            "V_NN": interaction(self.name, pairs, case.hw, case.srg_lambda, case.file_hw),
        }
        if case.coulomb and problem.space.protons > 1:
            parts["V_C"] = coulomb(pairs, case.hw)
        if case.lawson:
            parts[LAWSON] = case.lawson * centre_of_mass_quanta(pairs, nucleons)
        return parts

    def coulomb_left(self, case: Case, problem: CaseSpace) -> TwoBody | None:
        """What the evolution to srg_lambda would add to the Coulomb repulsion, which is not evolved; None where there
        is none of both."""
        if case.srg_lambda is None or not case.coulomb or problem.space.protons < 2:
            return None
        assert case.hw is not None
        pairs = problem.pairs
        return couple(pairs, {"pp": coulomb_left(case.hw, pairs.highest_quanta("pp"), case.srg_lambda)}, case.hw)

    def energies(self) -> dict[str, np.ndarray]:
        """None: a nucleus has two nucleons or more."""
        return {}


@dataclass(frozen=True, eq=False)
class Valence:
    """An interaction outside an inert core."""

    interaction: ValenceInteraction
    core: tuple[int, int]

    def problem(self, case: Case) -> CaseSpace:
        """All states of the nucleons outside the core."""
        found = self.interaction
        return valence_problem(case, self.core, found.orbitals_p, found.orbitals_n, found.hw)

    def parts(self, case: Case, problem: CaseSpace) -> dict[str, TwoBody]:
        """Single-particle energies and matrix elements together, scaled with the mass where the file says so; of one
        nucleon alone, for which there are no pairs, see `energies`."""
        if problem.space.nucleons == 1:
            return {}
        return {"H": self.interaction.hamiltonian(problem.space.nucleons, case.nucleus.nucleons)}

    def coulomb_left(self, case: Case, problem: CaseSpace) -> None:
        """None: the interaction is all there is."""

    def energies(self) -> dict[str, np.ndarray]:
        """Those of the file, which do not scale with the mass."""
        return {"p": self.interaction.energy_aa_p, "n": self.interaction.energy_aa_n}


def source_of(case: Case) -> Source:
    """The interaction of a case.  Raises InputError where there is none of that name, or it cannot be evolved."""
    refuse_evolution(case.interaction, case.srg_lambda, f"{case.path}: ")
    if case.interaction.lower() in BUILT_IN:
        return NoCore(case.interaction)
    path = case.path.parent / case.interaction
    if not os.path.isfile(path):
        raise InputError(
            f"{case.path}: interaction = '{case.interaction}' is neither built in ({', '.join(sorted(BUILT_IN))}) nor "
            f"a file: {path} does not exist. Correct the name, or the path relative to the case file."
        )
    return _valence(case, path) if path.suffix in VALENCE_SUFFIXES else NoCore(str(path))


def _valence(case: Case, path: Path) -> Valence:
    found = valence_from_file(path, case.orbitals, None, case.scaling)
    if path.suffix == ".snt" and case.orbitals is not None:
        raise InputError(f"{case.path}: {path.name} names its orbitals. Remove the key orbitals.")
    own = found.reference_mass, found.exponent
    if case.scaling is not None and own != case.scaling:
        how = "does not scale with the mass" if own[0] is None else f"scales with [{own[0]:g}, {own[1]:g}]"
        raise InputError(f"{case.path}: {path.name} says that it {how}. Remove the key scaling.")
    if None not in (case.core, found.core) and case.core != found.core:
        raise InputError(f"{case.path}: core = {list(case.core or ())}, but {path.name} has {list(found.core or ())}.")
    core = case.core or found.core
    if core is None:
        raise InputError(
            f"{path.name} does not name its core. Write core = [protons, neutrons] into {case.path}, as core = [8, 8] "
            "for the sd shell."
        )
    return Valence(found.with_core(core), core)


def refuse_unfit_file(case: Case, path: Path, problem: CaseSpace) -> None:
    """Raises InputError for a file that holds no two-body interaction, is damaged, belongs to another hw or does not
    tell its hw, or lacks pairs of orbitals that the space of the case has."""
    where = f"{case.path}: "
    refuse_what_is_not_two_body(path, where)
    if not is_h2(path):
        relative_from_file(path, case.file_hw)
        return
    refuse_other_hw(path, problem.hw, case.file_hw, where)
    given = h2_pairs(path)
    if lack := lacking(given, problem.pairs):
        raise InputError(f"{where}{path.name} {lack}. Use an interaction that has them{_smaller(case, given)}.")


def _smaller(case: Case, given: PairSpace) -> str:
    """The largest space of the same parity for which the file is enough, as the end of a sentence."""
    if case.max_excitation is None:
        return ", or lower the limits of [basis]"
    for size in range(case.max_excitation - 2, -1, -2):
        if not lacking(given, no_core_problem(replace(case, max_excitation=size)).pairs):
            return f", or lower Nmax to {size}, the largest of this parity that the file allows"
    return "; there is no smaller Nmax of this parity for which the file is enough"
