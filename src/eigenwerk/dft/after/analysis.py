"""What an analysis of a finished state is: the quantities that it gives, and how it computes them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.scf.state import State
from eigenwerk.dft.terms.dipole import Dipole
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.io.quantity import Quantity


@dataclass(frozen=True)
class AfterScene:
    """What there is after a run: its last state, of a calculation with some inputs."""

    calculation: Calculation
    state: State
    inputs: Inputs

    @cached_property
    def potential(self) -> Potential:
        """That of the density of the state."""
        return self.calculation.builder(self.state.density)

    @property
    def dipole(self) -> Dipole | None:
        """The correction of dipoles in it, None without."""
        return self.calculation.builder.dipole


@dataclass(frozen=True)
class Analysis:
    """gives: in the order of the JSON document; compute: their values, in that order, None for what has no meaning
    here; all ranks call it together.  place: among the analyses in that document."""

    gives: tuple[Quantity, ...]
    compute: Callable[[AfterScene], tuple[Any, ...]]
    place: int = 9
