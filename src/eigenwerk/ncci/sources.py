"""Which interaction a case means, and its Hamiltonian as one two-body operator."""

from dataclasses import dataclass

from eigenwerk.errors import InputError
from eigenwerk.ncci.inputs import Case
from eigenwerk.ncci.interaction.centre_of_mass import centre_of_mass_quanta
from eigenwerk.ncci.interaction.coulomb import coulomb
from eigenwerk.ncci.interaction.coupling import couple
from eigenwerk.ncci.interaction.jisp16 import jisp16
from eigenwerk.ncci.interaction.kinetic import intrinsic_kinetic
from eigenwerk.ncci.interaction.minnesota import minnesota
from eigenwerk.ncci.interaction.relative import Relative
from eigenwerk.ncci.interaction.two_body import SPECIES, TwoBody
from eigenwerk.ncci.problem import Problem, no_core_problem

BUILT_IN = ("JISP16", "Minnesota")
"""Interactions that need no file."""


@dataclass(frozen=True, eq=False)
class NoCore:
    """A nucleon-nucleon interaction without a core, by name."""

    name: str

    def problem(self, case: Case) -> Problem:
        """The space of the case."""
        return no_core_problem(case)

    def hamiltonian(self, case: Case, problem: Problem) -> TwoBody:
        """T_int + V + Coulomb + Lawson's term."""
        assert case.hw is not None
        space = problem.pairs
        total = intrinsic_kinetic(space, case.hw, problem.nucleons) + self.potential(case, problem)
        if case.coulomb and problem.protons > 1:
            total = total + coulomb(space, case.hw)
        if case.lawson:
            total = total + case.lawson * centre_of_mass_quanta(space, problem.nucleons)
        return total

    def potential(self, case: Case, problem: Problem) -> TwoBody:
        """V in MeV."""
        assert case.hw is not None
        space = problem.pairs
        relative = self._relative(case.hw, max(space.highest_quanta(kind) for kind in SPECIES))
        return couple(space, dict.fromkeys(SPECIES, relative), case.hw)

    def _relative(self, hw: float, quanta: int) -> Relative:
        return jisp16() if self.name == "JISP16" else minnesota(hw, quanta)


Source = NoCore


def source_of(case: Case) -> Source:
    """The interaction of a case.  Raises InputError where there is none of that name."""
    for name in BUILT_IN:
        if case.interaction.lower() == name.lower():
            return NoCore(name)
    raise InputError(
        f"{case.path}: there is no interaction '{case.interaction}'. Built in are {', '.join(BUILT_IN)}; "
        "else name a file that exists, relative to the folder of the case file."
    )
