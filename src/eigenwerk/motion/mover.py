"""Who decides where the atoms go next, and what it says of itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from eigenwerk.motion.surface import Arrangement, Surface, SurfacePoint


@dataclass(frozen=True, eq=False)
class Report:
    """What a mover says after a point: numbers for tables and files; None where they have no meaning.

    kinetic, potential energies of the thermostat and the conserved quantity: eV; temperature: K; velocities_av: Å/fs;
    lattice_velocity_cv: of lattice vectors with a mass, Å/fs; largest_force, largest_stress: of what may move, eV/Å
    and kbar.  tangent_force, spring_force: along a path, of the surface and of springs, eV/Å; curvature: along a dimer,
    eV/Å², and direction_av: of it.  words: what happened, one remark each.
    """

    largest_force: float | None = None
    largest_stress: float | None = None
    kinetic: float | None = None
    thermostat: float | None = None
    thermostat_kinetic: float | None = None
    conserved: float | None = None
    temperature: float | None = None
    velocities_av: np.ndarray | None = None
    tangent_force: float | None = None
    spring_force: float | None = None
    curvature: float | None = None
    direction_av: np.ndarray | None = None
    lattice_velocity_cv: np.ndarray | None = None
    words: tuple[str, ...] = ()
    more: Mapping[str, float] = field(default_factory=dict)


class Standing(Protocol):
    """How whoever moves the atoms stands between two points."""

    @property
    def status(self) -> str:
        """One sentence; the end's where there is nothing more to ask for."""

    @property
    def finished(self) -> bool:
        """Whether it has reached what it was made for; False at the end if it is out of steps, or had to give up."""

    def state(self) -> dict[str, Any]:
        """All that it needs to go on: nested dicts of numpy arrays, numbers, texts, None and lists of texts."""


class Mover(Standing, Protocol):
    """Relaxation, dynamics or finite displacements: asks for points one by one, and can stop and go on between any two.

    A mover is deterministic: the same points lead to the same arrangements on every rank, and `restore(state())` of a
    mover made with the same settings goes on to the last bit.
    """

    def ask(self) -> Arrangement | None:
        """Where the next point is wanted; the same until it is told; None at the end."""

    def tell(self, point: SurfacePoint) -> Report:
        """Take the point that was asked for."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken."""


def drive(mover: Mover, surface: Surface, most: int = 100_000) -> list[tuple[SurfacePoint, Report]]:
    """Let a mover run on a surface to its end, or for so many points; what was found."""
    found: list[tuple[SurfacePoint, Report]] = []
    while len(found) < most and (arrangement := mover.ask()) is not None:
        point = surface(arrangement)
        found.append((point, mover.tell(point)))
    return found


