"""Which interaction a case means: its space, and its Hamiltonian as one two-body operator."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from eigenwerk.errors import InputError
from eigenwerk.ncci.inputs import Case
from eigenwerk.ncci.interaction.centre_of_mass import centre_of_mass_quanta
from eigenwerk.ncci.interaction.coulomb import coulomb
from eigenwerk.ncci.interaction.files import BUILT_IN, interaction, valence_from_file
from eigenwerk.ncci.interaction.kinetic import intrinsic_kinetic
from eigenwerk.ncci.interaction.two_body import TwoBody
from eigenwerk.ncci.interaction.valence import ValenceInteraction
from eigenwerk.ncci.problem import Problem, no_core_problem, valence_problem

VALENCE_SUFFIXES = (".snt", ".int")
"""Files of interactions outside a core."""


class Source(Protocol):
    """An interaction with the kind of space that it belongs to."""

    def problem(self, case: Case) -> Problem:
        """The space of the case."""
        ...

    def hamiltonian(self, case: Case, problem: Problem) -> TwoBody:
        """Everything that acts, in MeV."""
        ...


@dataclass(frozen=True)
class NoCore:
    """A nucleon-nucleon interaction without a core: a built-in one, or a file's path."""

    name: str

    def problem(self, case: Case) -> Problem:
        """All nucleons, truncated by oscillator quanta."""
        return no_core_problem(case)

    def hamiltonian(self, case: Case, problem: Problem) -> TwoBody:
        """T_int + V + Coulomb + Lawson's term."""
        assert case.hw is not None
        space = problem.pairs
        total = intrinsic_kinetic(space, case.hw, problem.nucleons) + interaction(self.name, space, case.hw)
        if case.coulomb and problem.protons > 1:
            total = total + coulomb(space, case.hw)
        if case.lawson:
            total = total + case.lawson * centre_of_mass_quanta(space, problem.nucleons)
        return total


@dataclass(frozen=True, eq=False)
class Valence:
    """An interaction outside an inert core."""

    interaction: ValenceInteraction
    core: tuple[int, int]

    def problem(self, case: Case) -> Problem:
        """All states of the nucleons outside the core."""
        return valence_problem(case, self.core, self.interaction.orbitals_p, self.interaction.orbitals_n)

    def hamiltonian(self, case: Case, problem: Problem) -> TwoBody:
        """Single-particle energies and matrix elements, scaled with the mass where the file says so."""
        return self.interaction.hamiltonian(problem.nucleons, case.nucleus.nucleons)


def source_of(case: Case) -> Source:
    """The interaction of a case.  Raises InputError where there is none of that name."""
    if case.interaction.lower() in BUILT_IN:
        return NoCore(case.interaction)
    path = case.path.parent / case.interaction
    if not path.is_file():
        raise InputError(
            f"{case.path}: interaction = '{case.interaction}' is neither built in ({', '.join(sorted(BUILT_IN))}) nor "
            f"a file: {path} does not exist. Correct the name, or the path relative to the case file."
        )
    return _valence(case, path) if path.suffix in VALENCE_SUFFIXES else NoCore(str(path))


def _valence(case: Case, path: Path) -> Valence:
    found = valence_from_file(path, case.orbitals, case.core, case.scaling)
    core = case.core or found.core
    if core is None:
        raise InputError(
            f"{path.name} does not name its core. Write core = [protons, neutrons] into {case.path}, as core = [8, 8] "
            "for the sd shell."
        )
    return Valence(found.with_core(core), core)
