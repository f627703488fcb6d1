"""A mover that tries small displacements, and strains, and ends with force constants, modes and elastic constants."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.motion.mover import Report
from eigenwerk.motion.surface import Arrangement, SurfacePoint
from eigenwerk.motion.vibrations.directions import FACTORS, SAME, Direction, derivative, independent
from eigenwerk.motion.vibrations.elastic import (
    Elastic,
    MeasuredStrain,
    elastic,
    six,
    strain_actions,
    strain_vv,
)
from eigenwerk.motion.vibrations.force_constants import ForceConstants, MeasuredRow, force_constants
from eigenwerk.motion.vibrations.modes import Modes, modes_of
from eigenwerk.motion.vibrations.operations import Operations
from eigenwerk.units import EV_PER_ANGSTROM3_GPA, THZ_PER_CM

USUAL_STEP, LARGEST_STEP = 0.015, 0.1
"""Displacement in Å where none is given, and the largest that makes sense; VASP replaces larger ones by the first."""

RELAXED_FORCE, RELAXED_STRESS = 0.05, 5.0
"""Forces (eV/Å) and stresses (kbar) of the start above which a remark is due."""

DOUBTFUL = 0.1
"""Error of force constants, eV/Å², that comes from forces and is worth a remark; bonds have 5 to 50."""

NOTED_ACOUSTIC = 3.0
"""cm-1 of a translation before the sum rule, from which on a remark is due."""

_AXES = ("x", "y", "z")
_STRAINS = ("xx", "yy", "zz", "yz", "zx", "xy")


@dataclass(frozen=True)
class VibrationSettings:
    """displacement: step of the atoms in Å, and of the strains (POTIM).  samples: 1, 2 or 4 in a direction (NFREE).

    symmetry: only inequivalent displacements (IBRION = 6), else every free coordinate (5).  strains: elastic constants
    too (ISIF >= 3).  error: of force constants that comes from forces, eV/Å²; what forces are asked for follows.
    Raises InputError.
    """

    displacement: float = USUAL_STEP
    samples: int = 2
    symmetry: bool = True
    strains: bool = False
    error: float = 0.005

    def __post_init__(self) -> None:
        if not 0 < self.displacement <= LARGEST_STEP:
            raise InputError(
                f"POTIM = {self.displacement:g}: displacements of atoms lie between 0 and {LARGEST_STEP} Å. "
                f"Set POTIM = {USUAL_STEP}."
            )
        if self.samples not in FACTORS:
            raise InputError(f"NFREE = {self.samples}: each direction is tried 1, 2 or 4 times. Set NFREE = 2.")


@dataclass(frozen=True, eq=False)
class VibrationResult:
    """What a run of finite displacements found; elastic without strains is None.

    unconverged: numbers of the points, from 0, whose electrons did not converge: nothing here is sure if there are any.
    largest_force: of the start, eV/Å, of the free coordinates.  remarks: what a user should know, one sentence each.
    """

    constants: ForceConstants
    modes: Modes
    elastic: Elastic | None
    unconverged: tuple[int, ...]
    largest_force: float
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class _Way:
    """What changes: an atom along an axis, or (atom None) a strain; reverse: an operation that turns it round."""

    atom: int | None
    axis: int
    reverse: int | None

    @property
    def name(self) -> str:
        return f"strain {_STRAINS[self.axis]}" if self.atom is None else f"atom {self.atom + 1} {_AXES[self.axis]}"


@dataclass(frozen=True)
class _Step:
    """So many steps of a way; the start if it is None."""

    way: _Way | None
    factor: int

    @property
    def name(self) -> str:
        return "start" if self.way is None else f"{self.way.name} {self.factor:+d}"


class Vibrations:
    """A `Mover`: the start, strains, displacements; then `result`."""

    def __init__(
        self,
        settings: VibrationSettings,
        start: Arrangement,
        masses_a: np.ndarray,
        free_av: np.ndarray,
        operations: Operations,
    ) -> None:
        self.settings, self.start = settings, start
        self.masses_a, self._free_av = np.asarray(masses_a, dtype=float), np.asarray(free_av, dtype=bool)
        self._all = operations
        atoms = len(start.scaled_ac)
        _check(atoms, self.masses_a, self._free_av, operations)
        used = operations if settings.symmetry else Operations.identity(atoms)
        self._used = used.keeping(self._free_av, start.lattice_cv)
        self._rotation_ovv = self._used.cartesian(start.lattice_cv)
        self._ways = [*(self._strains() if settings.strains else ()), *self._displacements()]
        self.steps = [_Step(None, 0)] + [
            _Step(way, factor) for way in self._ways for factor in Direction(0, way.reverse).factors(settings.samples)
        ]
        self._points: list[SurfacePoint] = []
        self._asked: Arrangement | None = None
        self.result: VibrationResult | None = None
        self.finished = False
        self.status = f"{len(self.steps)} points to do: the start, and {len(self._ways)} directions"

    def ask(self) -> Arrangement | None:
        """The next point, None at the end."""
        if len(self._points) == len(self.steps):
            return None
        if self._asked is None:
            self._asked = self._arrangement(self.steps[len(self._points)])
        return self._asked

    def tell(self, point: SurfacePoint) -> Report:
        """Take it; after the last one there is a result.  Raises InputError if a stress is needed and missing."""
        step = self.steps[len(self._points)]
        if self.settings.strains and point.stress_vv is None:
            raise InputError("Elastic constants need the stress, which was not computed. Set ISIF = 3.")
        self._points.append(point)
        self._asked = None
        words = [f"point {len(self._points)} of {len(self.steps)}: {step.name}"]
        if not point.converged:
            words.append("not converged: force constants from it mean little")
        self.status = words[0]
        if len(self._points) == len(self.steps):
            self._finish()
            assert self.result is not None
            words += self.result.remarks
        return Report(
            largest_force=float(np.abs(point.forces_av[self._free_av]).max()),
            largest_stress=None if point.stress_vv is None else _kilobar(point.stress_vv),
            words=tuple(words),
        )

    def state(self) -> dict[str, Any]:
        """The points so far, and which they were."""
        stresses = [point.stress_vv for point in self._points if point.stress_vv is not None]
        return {
            "steps": [step.name for step in self.steps],
            "displacement": self.settings.displacement,
            "energies": np.array([point.free_energy for point in self._points]),
            "forces": np.array([point.forces_av for point in self._points]).reshape(-1, len(self.masses_a), 3),
            "stresses": np.array(stresses) if len(stresses) == len(self._points) and stresses else None,
            "errors": np.array([point.force_error for point in self._points]),
            "converged": np.array([point.converged for point in self._points], dtype=bool),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on; raises InputError if the state is of other displacements."""
        names = [step.name for step in self.steps]
        if list(state["steps"]) != names or float(state["displacement"]) != self.settings.displacement:
            raise InputError(
                f"What is to be continued has {len(state['steps'])} points with steps of {state['displacement']:g} Å, "
                f"but {len(names)} with steps of {self.settings.displacement:g} Å are asked for now. "
                "Set IBRION, NFREE, POTIM, ISIF and the atoms as they were, or begin again."
            )
        self._points, self._asked, self.result, self.finished = [], None, None, False
        for x, forces_av in enumerate(state["forces"]):
            self._points.append(
                SurfacePoint(
                    self._arrangement(self.steps[x]),
                    float(state["energies"][x]),
                    forces_av,
                    None if state["stresses"] is None else state["stresses"][x],
                    float(state["errors"][x]),
                    bool(state["converged"][x]),
                )
            )
        self.status = f"{len(self._points)} of {len(self.steps)} points done"
        if len(self._points) == len(self.steps):
            self._finish()

    def _strains(self) -> list[_Way]:
        actions_ojj = strain_actions(self._rotation_ovv)
        candidates = six(np.array([strain_vv(number) for number in range(6)]))
        return [_Way(None, found.candidate, found.reverse) for found in independent(candidates, actions_ojj)]

    def _displacements(self) -> list[_Way]:
        """One atom of each orbit, along free axes."""
        ways = []
        for atom in np.unique(self._used.atom_map_oa.min(axis=0)):
            axes = np.flatnonzero(self._free_av[atom])
            site_o = np.flatnonzero(self._used.atom_map_oa[:, atom] == atom)
            for found in independent(np.eye(3)[axes], self._rotation_ovv[site_o]) if len(axes) else ():
                reverse = None if found.reverse is None else int(site_o[found.reverse])
                ways.append(_Way(int(atom), int(axes[found.candidate]), reverse))
        return ways

    def _arrangement(self, step: _Step) -> Arrangement:
        """Where the atoms are at a step, and which operations of the crystal it leaves."""
        lattice_cv, scaled_ac = self.start.lattice_cv, self.start.scaled_ac
        error, size = self.settings.error * self.settings.displacement, step.factor * self.settings.displacement
        if step.way is None:
            return Arrangement(lattice_cv, scaled_ac, error, self.start.operation_x)
        rotation_ovv = self._all.cartesian(lattice_cv)
        if step.way.atom is None:
            change_vv = strain_vv(step.way.axis)
            turned_ovv = rotation_ovv @ change_vv @ np.swapaxes(rotation_ovv, 1, 2)
            kept_o = np.abs(turned_ovv - change_vv).max(axis=(1, 2)) < SAME
            lattice_cv = lattice_cv @ (np.eye(3) + size * change_vv)
        else:
            change_v = np.eye(3)[step.way.axis]
            kept_o = np.linalg.norm(rotation_ovv @ change_v - change_v, axis=1) < SAME
            kept_o &= self._all.atom_map_oa[:, step.way.atom] == step.way.atom
            scaled_ac = scaled_ac.copy()
            scaled_ac[step.way.atom] += size * change_v @ np.linalg.inv(lattice_cv)
        return Arrangement(lattice_cv, scaled_ac, error, tuple(self._all.number_o[kept_o].tolist()))

    def _derivative(self, way: _Way) -> tuple[np.ndarray, np.ndarray | None]:
        """∂F/∂ε or ∂F/∂u, and ∂σ by the same, None if there are no stresses."""
        points = {0: self._points[0]} | {
            step.factor: point for step, point in zip(self.steps, self._points, strict=True) if step.way == way
        }
        forces = {x: point.forces_av for x, point in points.items()}
        stresses = {x: point.stress_vv for x, point in points.items() if point.stress_vv is not None}
        if way.reverse is not None:
            rotation_vv, map_a = self._rotation_ovv[way.reverse], self._used.atom_map_oa[way.reverse]
            for x in [x for x in points if x > 0]:
                forces[-x] = np.empty_like(forces[x])
                forces[-x][map_a] = forces[x] @ rotation_vv.T
                if x in stresses:
                    stresses[-x] = rotation_vv @ stresses[x] @ rotation_vv.T
        step, samples = self.settings.displacement, self.settings.samples
        return (
            derivative(samples, forces, step),
            derivative(samples, stresses, step) if len(stresses) == len(forces) else None,
        )

    def _finish(self) -> None:
        """From points to force constants, modes and elastic constants."""
        rows, strains = [], []
        for way in self._ways:
            forces_av, stress_vv = self._derivative(way)
            if way.atom is not None:
                rows.append(MeasuredRow(way.atom, way.axis, -forces_av))
            else:
                assert stress_vv is not None
                strains.append(MeasuredStrain(way.axis, stress_vv, forces_av))
        lattice_cv = self.start.lattice_cv
        constants = force_constants(rows, self._used, lattice_cv, self._free_av)
        tensor = elastic(strains, self._used, lattice_cv, constants) if strains else None
        modes = modes_of(constants, self.masses_a)
        missed = tuple(x for x, point in enumerate(self._points) if not point.converged)
        largest = float(np.abs(self._points[0].forces_av[self._free_av]).max())
        stress_vv = self._points[0].stress_vv if strains else None
        stress = 0.0 if stress_vv is None else _kilobar(stress_vv)
        doubt = max(point.force_error for point in self._points) / self.settings.displacement
        remarks = _remarks(modes, tensor, missed, doubt, largest, stress)
        self.result = VibrationResult(constants, modes, tensor, missed, largest, remarks)
        self.finished = not missed
        self.status = f"{len(modes.square_n)} modes from {len(self.steps)} points"
        self.status += f", {len(missed)} of them not converged" if missed else ""


def _remarks(
    modes: Modes, tensor: Elastic | None, missed: tuple[int, ...], doubt: float, force: float, stress: float
) -> tuple[str, ...]:
    """What a user should know of a result; doubt: error of force constants, force, stress: of the start."""
    remarks = []
    if missed:
        names = ", ".join(str(x + 1) for x in missed)
        remarks.append(f"The electrons of points {names} did not converge: frequencies mean little. Raise NELM.")
    if doubt > DOUBTFUL:
        remarks.append(f"Force constants are uncertain by up to {doubt:.2f} eV/Å², by their forces. Lower EDIFF.")
    if force > RELAXED_FORCE:
        remarks.append(
            f"Atoms of the start feel up to {force:.3f} eV/Å: frequencies have a meaning at rest. Relax first."
        )
    if stress > RELAXED_STRESS:
        remarks.append(
            f"The start is under a stress of {stress:.1f} kbar, which elastic constants contain. "
            "Relax first, or raise ENCUT."
        )
    remarks += _egg_box(modes)
    unstable = int((modes.thz_n < -1e-3).sum())
    if unstable:
        remarks.append(f"{unstable} modes are unstable (imaginary frequencies).")
    if tensor is not None and tensor.lowest <= 0:
        remarks.append(f"The crystal is elastically unstable: lowest eigenvalue {tensor.lowest:.2f} GPa.")
    return tuple(remarks)


def _egg_box(modes: Modes) -> list[str]:
    """What translations that cost energy say of the grid: a force constant that is off by M ω_ac² moves a mode of ω by
    some ω_ac²/2ω."""
    acoustic = float(np.abs(modes.acoustic_thz_y).max(initial=0.0)) * THZ_PER_CM
    above_n = modes.per_cm_n[modes.per_cm_n > 2 * acoustic]
    if acoustic < NOTED_ACOUSTIC or not len(above_n):
        return []
    lowest = float(above_n.min())
    return [
        f"Translations have up to {acoustic:.1f} cm-1 before the sum rule, in place of zero: energies depend a little "
        "on where atoms are between grid points. Modes are uncertain by that squared over twice their own, the one at "
        f"{lowest:.1f} cm-1 by some {acoustic**2 / (2 * lowest):.1g}. A larger ENCUT, and PREC = Accurate, cure it."
    ]


def _kilobar(stress_vv: np.ndarray) -> float:
    """The largest component."""
    return float(np.abs(stress_vv).max() * EV_PER_ANGSTROM3_GPA * 10)


def _check(atoms: int, masses_a: np.ndarray, free_av: np.ndarray, operations: Operations) -> None:
    """Raises InputError if nothing can move, ValueError if arrays do not fit together: a mistake of the caller."""
    if masses_a.shape != (atoms,) or free_av.shape != (atoms, 3) or operations.atom_map_oa.shape[1:] != (atoms,):
        raise ValueError(f"{atoms} atoms, but masses {masses_a.shape}, free {free_av.shape}, maps of other atoms")
    if not (masses_a > 0).all():
        raise InputError(f"POMASS: masses must be positive, the smallest is {masses_a.min():g} amu. Correct POMASS.")
    if not free_av.any():
        raise InputError("Selective dynamics: no coordinate may move, so nothing vibrates. Set a T in POSCAR.")


def vibrations(
    settings: VibrationSettings,
    start: Arrangement,
    masses_a: np.ndarray,
    free_av: np.ndarray | None,
    operations: Operations | None,
) -> Vibrations:
    """The mover for IBRION = 5 and 6.

    masses_a: amu.  free_av: (a, 3) of bool, which Cartesian components move (as VASP takes selective dynamics here),
    None for all.  operations: the symmetry of the start, None for none; with IBRION = 5 they say what symmetry
    displaced atoms leave, no more.
    """
    atoms = len(start.scaled_ac)
    return Vibrations(
        settings,
        start,
        masses_a,
        np.ones((atoms, 3), dtype=bool) if free_av is None else free_av,
        Operations.identity(atoms) if operations is None else operations,
    )
