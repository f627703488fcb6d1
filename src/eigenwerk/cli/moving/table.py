"""The table of ionic steps that `eigenwerk run` shows while atoms move: a row for each, when it is over."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from eigenwerk.dft.inputs.steps.motion import MotionRequest
from eigenwerk.dft.settings.motion_kind import DIMER, DYNAMICS, RELAXATION, VIBRATIONS
from eigenwerk.io.vasp.output.record import IonicStep, StepRecord
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings

LAST = 8
"""Ionic steps from whose mean the time to the end is guessed."""

Column = tuple[str, str, int]
"""Name, unit, width."""

RELAXATION_COLUMNS: tuple[Column, ...] = (
    ("step", "", 5), ("free energy", "eV", 18), ("change", "eV", 12), ("force", "eV/Å", 11), ("stress", "kbar", 10),
    ("SCF", "steps", 7), ("time", "s", 9),
)  # fmt: skip
DIMER_COLUMNS: tuple[Column, ...] = (
    ("point", "", 5), ("free energy", "eV", 18), ("force", "eV/Å", 11), ("curvature", "eV/Å²", 12), ("SCF", "steps", 7),
    ("time", "s", 9),
)  # fmt: skip
DYNAMICS_COLUMNS: tuple[Column, ...] = (
    ("step", "", 6), ("time", "fs", 10), ("temperature", "K", 13), ("potential", "eV", 17), ("kinetic", "eV", 11),
    ("conserved", "eV", 17), ("drift", "meV/atom", 10), ("SCF", "steps", 7), ("left", "", 10),
)  # fmt: skip
VIBRATION_COLUMNS: tuple[Column, ...] = (
    ("point", "", 9), ("force", "eV/Å", 11), ("SCF", "steps", 7), ("time", "s", 9), ("left", "", 10),
)  # fmt: skip


@dataclass
class IonicTable:
    """motion: what moves; points: ionic steps that there are, or may be; atoms: how many."""

    motion: MotionRequest
    points: int
    atoms: int
    before: float | None = None
    conserved: float | None = None
    headed: bool = False
    number: int = 0
    began: float = field(default_factory=time.monotonic)
    seconds: list[float] = field(default_factory=list)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Of this kind of motion."""
        if self.motion.kind == DYNAMICS:
            return DYNAMICS_COLUMNS
        if self.motion.kind == DIMER:
            return DIMER_COLUMNS
        if self.motion.kind == RELAXATION:
            return tuple(one for one in RELAXATION_COLUMNS if one[0] != "stress" or self.motion.moves_cell)
        return VIBRATION_COLUMNS

    def heading(self) -> list[str]:
        """Two lines above the table."""
        rows = ["".join(f"{entry[part]:>{entry[2]}}" for entry in self.columns).rstrip() for part in (0, 1)]
        return [rows[0], rows[1]] if self.motion.kind != VIBRATIONS else [f"{rows[0]}  displaced", rows[1]]

    def on_its_way(self, step: StepRecord) -> str:
        """Words for a line that moves: the step of self-consistency that is being computed."""
        residual = "" if step.density_residual is None else f", {step.density_residual:.1e} electrons out of place"
        left = f", {self.left(self.number)} left" if self.seconds and self.motion.kind != RELAXATION else ""
        return f"ionic step {self.number + 1} of {self.points}, SCF step {step.step + 1}{residual}{left}"

    def row(self, number: int, ionic: IonicStep, now: float) -> str:
        """One line; now: by `time.monotonic`, when it and the saving of files was over."""
        seconds, self.began, self.number = now - self.began, now, number
        self.seconds.append(seconds)
        cells = {"SCF": str(len(ionic.steps)), "left": self.left(number)}
        cells["time"] = f"{seconds:.2f}"
        if self.motion.kind == DYNAMICS:
            cells |= self._dynamics(number, ionic)
        else:
            cells |= self._relaxation(number, ionic)
        if self.motion.kind == DIMER:
            cells |= {"point": str(number), "curvature": "" if ionic.curvature is None else f"{ionic.curvature:.4f}"}
        line = "".join(f"{cells.get(name, ''):>{width}}" for name, _, width in self.columns)
        if self.motion.kind == DIMER:
            return f"{line}  {ionic.remarks[0] if ionic.remarks else ''}".rstrip()
        return line if self.motion.kind != VIBRATIONS else f"{line}  {_displaced(ionic)}"

    def _dynamics(self, number: int, ionic: IonicStep) -> dict[str, str]:
        settings = self.motion.settings
        assert isinstance(settings, DynamicsSettings)
        cells = {"step": str(number), "time": f"{(number - 1) * settings.time_step:.1f}"}
        cells["potential"] = f"{ionic.free_energy:.6f}"
        if ionic.temperature is not None and ionic.kinetic is not None:
            cells |= {"temperature": f"{ionic.temperature:.1f}", "kinetic": f"{ionic.kinetic:.4f}"}
        if ionic.conserved is not None:
            self.conserved = ionic.conserved if self.conserved is None else self.conserved
            drift = 1000 * (ionic.conserved - self.conserved) / self.atoms
            cells |= {"conserved": f"{ionic.conserved:.6f}", "drift": f"{drift + 0.0:.3f}"}
        return cells

    def _relaxation(self, number: int, ionic: IonicStep) -> dict[str, str]:
        cells = {"step": str(number), "point": f"{number} of {self.points}", "free energy": f"{ionic.free_energy:.6f}"}
        if self.before is not None:
            cells["change"] = f"{ionic.free_energy - self.before:.2e}"
        self.before = ionic.free_energy
        force, stress = largest_force(ionic), ionic.largest_stress
        if self.motion.kind == DIMER:  # forces beside the middle mean nothing for the end
            force = ionic.largest_force
        return cells | {
            "force": "" if force is None else f"{force:.4f}", "stress": "" if stress is None else f"{stress:.2f}",
        }  # fmt: skip

    def left(self, number: int) -> str:
        """The time to the end, h:mm:ss."""
        usual = self.seconds[1:] or self.seconds  # programs are loaded in the first ionic step, which begins from atoms
        return clock((self.points - number) * float(np.mean(usual[-LAST:])))


def largest_force(ionic: IonicStep) -> float | None:
    """On an atom that may move, as whoever moves it says; else on any, eV/Å."""
    if ionic.largest_force is not None or ionic.forces_av is None:
        return ionic.largest_force
    return float(np.linalg.norm(ionic.forces_av, axis=1).max())


def clock(seconds: float) -> str:
    """Hours, minutes and seconds: 1:02:03."""
    whole = round(max(seconds, 0.0))
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def remarks(motion: MotionRequest, ionic: IonicStep) -> Sequence[str]:
    """What is worth a line of its own; which displacement it was stands in its row."""
    return ionic.remarks[1:] if motion.kind in (VIBRATIONS, DIMER) else ionic.remarks


def _displaced(ionic: IonicStep) -> str:
    """`atom 1 x +1` of the words `point 3 of 7: atom 1 x +1`."""
    return ionic.remarks[0].partition(": ")[2] if ionic.remarks else ""
