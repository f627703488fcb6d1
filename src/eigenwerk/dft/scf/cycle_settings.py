"""How to reach self-consistency."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.filling.occupations import Smearing, make_smearing
from eigenwerk.dft.scf.mixing.mixing import MixSettings
from eigenwerk.dft.settings.mixing import Mixing, magnetic_fit_from, screens_locally, smallest_factor
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.eigensolvers import AUTOMATIC
from eigenwerk.io.paw.dataset import PawState

NEAR_SQUARE = 30.0
"""The mixer of atoms and molecules counts the end as near where the squared residual is so many times that of
convergence."""


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

    @staticmethod
    def of(
        given: Parameters, basis: PlaneWaveBasis, species: Sequence[Sequence[PawState]]
    ) -> "ScfSettings":
        """What the cycle needs of the parameters, for a structure, its k-points and the states of its species."""
        kpoints, wanted = basis.kpoints, given.mixing
        smallest = smallest_factor(wanted, basis.structure)
        screening = screens_locally(wanted, basis.structure, float(basis.norm2_g[1]) ** 0.5)
        isolated = smallest > wanted.amin
        near = (NEAR_SQUARE * given.energy_tolerance * given.electrons) ** 0.5 if isolated else 0.0
        mixing = MixSettings(**_of_same_name(MixSettings, wanted) | {
            # atoms and molecules answer like no dielectric: measured, a fitted factor serves as many as it harms
            "fit_charge": wanted.fit_charge and smallest == wanted.amin and not screening,
            "fit_mag_from": magnetic_fit_from(len(kpoints.point_kc), species),
            "amin_charge": smallest, "near": near,
        })  # fmt: skip
        smearing = make_smearing(given.ismear, given.fixed_occupations, kpoints.tetrahedra)
        own = {"smearing": smearing, "screening": screening, "mixing": mixing}
        return ScfSettings(**_of_same_name(ScfSettings, given) | own)


def _of_same_name(group: type[MixSettings] | type[ScfSettings], given: Mixing | Parameters) -> dict[str, Any]:
    """The fields of a group that are among those given."""
    return {one.name: getattr(given, one.name) for one in fields(group) if hasattr(given, one.name)}
