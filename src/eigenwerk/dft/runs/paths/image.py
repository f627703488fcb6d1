"""One image of a path: how it stands, what groups of ranks tell each other of it, how it goes on after a stop."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenwerk.dft.inputs.restart import STATE_FILE
from eigenwerk.dft.runs.runner import Runner
from eigenwerk.dft.runs.saving.motion_tree import read_resumption
from eigenwerk.dft.settings.motion_kind import PATH
from eigenwerk.motion.saddle.band import Band
from eigenwerk.motion.surface import Arrangement, SurfacePoint
from eigenwerk.units import HARTREE_EV

WIDTH = 6
"""Numbers of an image before its forces: free energy, energy without smearing, error of forces, whether it converged,
steps of self-consistency, seconds."""


@dataclass(frozen=True, eq=False)
class Image:
    """What its band has it do; number: of the folder."""

    number: int
    band: Band

    @property
    def _is_end(self) -> bool:
        return self.number in (0, self.band.last)

    @property
    def status(self) -> str:
        """That of the band; an end stays."""
        return "an end point of a path, which does not move" if self._is_end else self.band.status

    @property
    def finished(self) -> bool:
        """Whether it moves no more: an end from its first point on."""
        return self._is_end or self.band.finished

    def state(self) -> dict[str, Any]:
        """The rest is the band's."""
        return {"number": self.number}


def row_of(image: Runner, point: SurfacePoint) -> np.ndarray:
    """The numbers of its last point, for other groups; (WIDTH + 3 a)."""
    ground = image.ground
    assert ground is not None
    energies, steps = ground.state.energies, len(ground.state.history)
    head = [point.free_energy, energies.extrapolated * HARTREE_EV, point.force_error, float(point.converged), steps]
    return np.concatenate([[*head, ground.seconds], point.forces_av.ravel()])


def point_of(arrangement: Arrangement, row: np.ndarray) -> SurfacePoint:
    """Inverse of `row_of`."""
    return SurfacePoint(arrangement, float(row[0]), row[WIDTH:].reshape(-1, 3), None, float(row[2]), bool(row[3]))


def go_on(image: Runner, steps: int) -> None:
    """Go on with what the folder of an image holds of a run that was stopped; steps: of the band, that are over."""
    saver = image.active.saver
    path = saver.folder.path / STATE_FILE
    if not path.is_file():
        return
    found = read_resumption(path)
    if found is not None and found.kind == PATH:
        saver.earlier = found.steps[:steps]
    image.begun = path
