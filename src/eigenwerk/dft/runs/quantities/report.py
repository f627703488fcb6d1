"""The result of a run for people and programs: eV, Angstrom, Bohr magnetons (no torch here).

`RunResult` is what `eigenwerk.dft.runs.run.run_folder` returns, what the command line shows and, by `as_dict`, what
`--json` prints.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.dft.after.band_gap import BandGap
from eigenwerk.dft.after.band_structure import BandStructure
from eigenwerk.dft.settings.motion_kind import RELAXATION
from eigenwerk.io.quantity import Inside, Values, documents, numbers_of
from eigenwerk.io.run_stamp import RunStamp
from eigenwerk.io.vasp.elements import formula
from eigenwerk.io.vasp.output.record import IonicStep, ProjectionRecord, RunRecord, StepRecord, pressure

if TYPE_CHECKING:
    from eigenwerk.dft.after.levels import SphereCharges
    from eigenwerk.dft.calculation import GroundState

JSON_FORMAT = "eigenwerk-run"
JSON_VERSION = 1
"""Version of the document that `RunResult.as_dict` returns; raised whenever its fields change meaning."""


class RunInterrupted(KeyboardInterrupt):
    """A run was stopped by KeyboardInterrupt; `result` describes the last finished step, None if there was none.

    What was written is marked as interrupted, and a run with ISTART = 1 goes on from it.
    """

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted before the first step was finished" if result is None else result.status)
        self.result = result


@dataclass(frozen=True, eq=False)
class IonicHistory:
    """How atoms have moved.

    kind: relaxation, dynamics or vibrations; status: how it ended, one sentence; finished: whether it has reached what
    it was for; steps: all its ionic steps; more: results of its own kind, ready for JSON;
    text: the same for people.
    """

    kind: str
    status: str
    finished: bool
    steps: tuple[IonicStep, ...]
    more: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""

    def lowest(self, name: str) -> int | None:
        """Number, from 1, of the self-consistent ionic step whose value of that name is lowest; the last of equals."""
        values = [(getattr(step, name), -number) for number, step in enumerate(self.steps, start=1) if step.converged]
        found = min((pair for pair in values if pair[0] is not None), default=None)
        return None if found is None else -found[1]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        best = {} if self.kind != RELAXATION else {
            "lowest_energy_step": self.lowest("free_energy"), "smallest_force_step": self.lowest("largest_force"),
        }  # fmt: skip
        return {
            "kind": self.kind, "status": self.status, "finished": self.finished, **self.more, **best,
            "steps": [_ionic(number, step) for number, step in enumerate(self.steps, start=1)],
        }  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class RunSummary:
    """What is known of the way of a run, apart from its physics.

    converged: all that it was for was reached; interrupted: stopped by a signal.  notes: where the start came from,
    files that could not be written; warnings: about the result; advice: what to try next if not converged.  seconds:
    wall time; threads: of the processor; fft: whose FFTs made orbitals (FFTW or PyTorch); trace: `Trace.as_dict()`;
    files: by name, in folder.  fixed_density: the density was kept, so that energies mean something for a mesh at most,
    and forces and stress of a path are those of the run that made it; ionic_history: of atoms that move, or None.
    """

    converged: bool
    interrupted: bool
    seconds: float
    threads: int
    fft: str
    trace: Mapping[str, Any]
    files: Mapping[str, Path]
    unwritten: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    folder: Path = Path()
    fixed_density: bool = False
    ionic_history: IonicHistory | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RunResult(RunSummary):
    """One finished, unconverged or interrupted calculation.

    record: what its files were made of, but fields and orbitals; where atoms move, the last ionic step is meant by all
    that follows.  ground_state: the engine's own quantities in hartree and bohr, None after an interruption or with a
    fixed density.
    """

    record: RunRecord = field(repr=False)
    ground_state: "GroundState | None" = field(default=None, repr=False)

    @staticmethod
    def of(record: RunRecord, summary: RunSummary, ground_state: "GroundState | None" = None) -> "RunResult":
        """From the record of a run and its summary."""
        kept = replace(record, fields={}, orbitals=None)
        return RunResult(**vars(summary), record=kept, ground_state=ground_state)

    status = Inside[str]("record.final.status")
    """How it ended, one sentence."""
    symbols = Inside[tuple[str, ...]]("record.symbols")
    """Elements of the atoms."""
    stamp = Inside[RunStamp | None]("record.stamp")
    """The mark that its files have in common."""
    free_energy = Inside[float]("record.last.free_energy")
    """eV, relative to the atoms of the data sets, as the next two."""
    energy_zero = Inside[float]("record.last.energy_zero")
    """Extrapolated to zero smearing."""
    energy_without_entropy = Inside[float]("record.last.energy_without_entropy")
    """Without -TS."""
    absolute_energy = Inside[float]("record.last.absolute_energy")
    """Free energy with all electrons of frozen cores, eV."""
    dispersion = Inside[float | None]("record.last.dispersion")
    """What a dispersion correction gives to all of them; None without."""
    non_local = Inside[float | None]("record.last.non_local")
    """Non-local correlation of the smooth density, that of the atoms not taken off; None without."""
    fermi_level = Inside[float]("record.final.fermi_level")
    """eV, between filled and empty states of both spins; see `separate_levels`."""
    separate_levels = Inside[tuple[float, ...]]("record.final.separate_levels")
    """Fermi levels of both spins where NUPDOWN leaves none between (`fermi_level` is the higher), else empty."""
    kpoint_kc = Inside[np.ndarray]("record.kpoint_kc")
    """In reciprocal lattice vectors."""
    weight_k = Inside[np.ndarray]("record.weight_k")
    """With sum one."""
    eig_skn = Inside[np.ndarray]("record.final.eig_skn")
    """eV."""
    occ_skn = Inside[np.ndarray]("record.final.occ_skn")
    """0 to 1."""
    steps = Inside[tuple[StepRecord, ...]]("record.last.steps")
    """The way to self-consistency."""
    forces_av = Inside[np.ndarray | None]("record.last.forces_av")
    """(a, 3) eV/Angstrom, None if not computed; they mean little unless `reliable`."""
    force_error = Inside[float | None]("record.last.force_error")
    """Estimate of the largest error of forces from the density not being self-consistent."""

    @property
    def stress_vv(self) -> np.ndarray | None:
        """(3, 3) GPa, positive where the cell wants to shrink, None if not asked for."""
        stress_vv = self.record.last.stress_vv
        return None if stress_vv is None else -stress_vv / 10

    @property
    def pulay_pressure(self) -> float | None:
        """What waves beyond the cutoff would add to the pressure, with a minus sign, GPa, an estimate."""
        pulay = self.record.last.pulay
        return None if pulay is None else pulay / 10

    moment = Inside[float | None]("record.last.moment")
    """Total, Bohr magnetons; None without spin."""
    moment_a = Inside[np.ndarray | None]("record.last.moment_a")
    """Inside the augmentation spheres; None without spin."""
    values = Inside[Values]("record.final.values")
    """What analyses of the state have found (`after/analyses`), by names."""

    @property
    def formula(self) -> str:
        """Mg2O for Mg Mg O."""
        return formula(self.symbols)

    def __repr__(self) -> str:
        return f"<run of {self.formula}: {self.status}>"

    @property
    def gap(self) -> BandGap:
        """Between bands at the k-points of the run."""
        found: BandGap = self.values.get("gap")
        return found

    @property
    def charges(self) -> "SphereCharges | None":
        """Electrons of the atoms; None unless LORBIT asks for them, and on ranks of other k-groups than the first."""
        found: SphereCharges | None = self.values.get("spheres")
        return found

    @property
    def bands(self) -> BandStructure | None:
        """Along a path or at a second list of k-points, if asked for."""
        found: BandStructure | None = self.values.get("bands")
        return found

    @property
    def core_potentials_eV(self) -> np.ndarray | None:
        """Electrostatic potential at each atom, (a,), of electrons, as in OUTCAR."""
        core = self.values.get("core_potentials")
        return None if core is None else np.asarray(core.value_a)

    projections = Inside[ProjectionRecord | None]("record.final.projections")
    """Of the orbitals on atoms; None unless LORBIT asks for them."""

    @property
    def reliable(self) -> bool:
        """Whether energies, forces and stress mean something: the electrons converged, in the last ionic step."""
        return self.converged if self.ionic_history is None else self.record.last.converged

    @property
    def entropy_term(self) -> float:
        """-TS, eV."""
        return self.free_energy - self.energy_without_entropy

    @property
    def largest_force(self) -> float | None:
        """Largest norm of the forces on one atom, eV/Angstrom."""
        return self.record.last.force

    @property
    def pressure(self) -> float | None:
        """Of the cell on what surrounds it, GPa."""
        return None if self.stress_vv is None else pressure(self.stress_vv)

    @property
    def applications(self) -> int:
        """Applications of the Hamiltonian to single orbitals."""
        return sum(step.applications for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the orbitals, ready for JSON; docs/guides/run.md lists the fields."""
        last, found = self.record.last, documents(self.values.found, self.fermi_level)
        gap, spheres, bands = (found.pop(name) for name in ("gap_eV", "spheres", "bands"))
        of_last = documents({one: getattr(last, one.name) for one in numbers_of(IonicStep)}, self.fermi_level)
        return {
            "format": JSON_FORMAT,
            "version": JSON_VERSION,
            "run": None if self.stamp is None else {"id": self.stamp.run, "save": self.stamp.save},
            "converged": self.converged,
            "interrupted": self.interrupted,
            "status": self.status,
            "symbols": list(self.symbols),
            "energies_eV": {
                "free": self.free_energy,
                "zero_smearing": self.energy_zero,
                "without_entropy": self.energy_without_entropy,
                "entropy_term": self.entropy_term,
                "absolute_free": self.absolute_energy,
                "dispersion": self.dispersion,
                "non_local_correlation": self.non_local,
                "components": dict(self.record.last.components),
            },
            "fermi_level_eV": self.fermi_level,
            "fermi_levels_of_spins_eV": list(self.separate_levels) or None,
            "gap_eV": gap,
            **found,
            **(of_last | {"spheres": spheres}),
            "forces_reliable": self.reliable and self.forces_av is not None,
            "kpoints": {"reduced": _listed(self.kpoint_kc), "weights": _listed(self.weight_k)},
            "eigenvalues_eV": _listed(self.eig_skn),
            "occupations": _listed(self.occ_skn),
            "fixed_density": self.fixed_density,
            "bands": bands,
            "motion": None if self.ionic_history is None else self.ionic_history.as_dict(),
            "steps": [asdict(step) for step in self.steps],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "advice": list(self.advice),
            "seconds": self.seconds,
            "threads": self.threads,
            "fft": self.fft,
            "hamiltonian_applications": self.applications,
            "trace": dict(self.trace),
            "files": {name: str(path) for name, path in self.files.items()},
            "files_not_written": list(self.unwritten),
        }


def _ionic(number: int, step: IonicStep) -> dict[str, Any]:
    found = {
        "step": number, "free_energy_eV": step.free_energy, "converged": step.converged,
        "scf_steps": len(step.steps), "applications": sum(one.applications for one in step.steps),
        "largest_force_eV_per_A": step.force, "pressure_GPa": step.pressure,
        "volume_A3": abs(float(np.linalg.det(step.lattice_cv))), "seconds": step.seconds,
        "lattice_A": _listed(step.lattice_cv), "positions_scaled": _listed(step.scaled_ac),
        "forces_eV_per_A": _listed(step.forces_av), "moment_muB": step.moment,
    }  # fmt: skip
    if step.temperature is not None:
        found |= {"temperature_K": step.temperature, "kinetic_eV": step.kinetic, "conserved_eV": step.conserved}
    return found | ({"remarks": list(step.remarks)} if step.remarks else {})


def _listed(array: np.ndarray | None) -> list[Any] | None:
    return None if array is None else np.asarray(array).tolist()
