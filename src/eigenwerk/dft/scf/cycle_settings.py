"""How to reach self-consistency."""

from dataclasses import dataclass, field

from eigenwerk.dft.filling.occupations import Smearing
from eigenwerk.dft.scf.mixing.mixing import MixSettings
from eigenwerk.eigensolvers import AUTOMATIC


@dataclass(frozen=True)
class ScfSettings:
    """Of a run; energies in hartree.

    energy_tolerance: largest change of the free energy in the last step, and largest squared residual per electron
    (EDIFF); max_steps, min_steps, frozen_steps: NELM, NELMIN, |NELMDL| (steps with the starting density); solver,
    motion_time: see `SolverJob`; start_single: whether the first steps are in single precision; screening: whether the
    local density of states takes the place of the Kerker factor, None where it never may.
    """

    bands: int
    electrons: float
    smearing: Smearing
    width: float
    fixed_moment: float | None = None
    energy_tolerance: float = 1e-4 / 27.2
    max_steps: int = 120
    min_steps: int = 2
    frozen_steps: int = 0
    solver: str = AUTOMATIC
    motion_time: float = 0.4
    start_single: bool = False
    screening: bool | None = None
    mixing: MixSettings = field(default_factory=MixSettings)
