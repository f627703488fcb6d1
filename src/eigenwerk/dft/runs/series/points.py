"""One calculation of a series: from the state of its neighbour where that works, else from atoms."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk import __version__
from eigenwerk.dft.basis.grids import wave_excess
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.plan.useful import threads_of_run
from eigenwerk.dft.runs.quantities.report import RunResult
from eigenwerk.dft.runs.run import run_inputs
from eigenwerk.dft.scf.state import State
from eigenwerk.errors import EigenwerkError, InputError
from eigenwerk.io.bounded import read_json
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.units import EV_PER_ANGSTROM3_GPA


@dataclass(frozen=True, eq=False)
class SeriesPoint:
    """What a series keeps of one calculation; eV, Å, GPa, Bohr magnetons.

    status: how it ended; atoms; energy: free; energy_zero: extrapolated to no smearing; entropy_term: -TS; pressure at
    fixed plane waves, and pulay, what waves beyond the cutoff add to it, with a minus sign; wave_excess: ln(N / N̄), see
    `dft/basis/grids.py`; moment: total, None without spin.  kept: whether it began with the state of a neighbour;
    inputs: `mark_of` them.  All other None or empty if it failed.
    """

    converged: bool
    status: str
    volume: float
    atoms: int
    kpoints: int
    bands: int
    energy: float | None = None
    energy_zero: float | None = None
    entropy_term: float | None = None
    pressure: float | None = None
    pulay: float | None = None
    stress_vv: np.ndarray | None = field(default=None, repr=False)
    forces_av: np.ndarray | None = field(default=None, repr=False)
    moment: float | None = None
    moment_a: np.ndarray | None = field(default=None, repr=False)
    metal: bool | None = None
    steps: int = 0
    seconds: float = 0.0
    kept: bool = False
    warnings: tuple[str, ...] = ()
    inputs: str = ""
    wave_excess: float = 0.0

    @property
    def smooth_energy(self) -> float | None:
        """The free energy with the mean number of plane waves for this volume, F - Ω p_Pulay ln(N / N̄); without an
        estimate of the Pulay stress, the free energy.

        Source: G. P. Francis and M. C. Payne, J. Phys. Condens. Matter 2, 4395 (1990).
        """
        if self.energy is None or self.pulay is None:
            return self.energy
        return self.energy - self.volume * self.pulay / EV_PER_ANGSTROM3_GPA * self.wave_excess

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON, with units in the names."""
        listed = {name: _listed(value) for name, value in asdict(self).items()}
        return {UNITS.get(name, name): value for name, value in listed.items()}

    @staticmethod
    def of_dict(words: Mapping[str, Any]) -> "SeriesPoint":
        """Inverse of `as_dict`, whatever else is there; raises KeyError or TypeError for what is no point."""
        given = {entry.name: words[UNITS.get(entry.name, entry.name)] for entry in fields(SeriesPoint)}
        for name in ("stress_vv", "forces_av", "moment_a"):
            given[name] = None if given[name] is None else np.array(given[name], dtype=float)
        return SeriesPoint(**given | {"warnings": tuple(given["warnings"])})


UNITS = {
    "volume": "volume_A3", "energy": "free_energy_eV", "energy_zero": "energy_zero_smearing_eV",
    "entropy_term": "entropy_term_eV", "pressure": "pressure_GPa", "pulay": "pulay_pressure_GPa",
    "stress_vv": "stress_GPa", "forces_av": "forces_eV_per_A", "moment": "moment_muB",
    "moment_a": "moment_per_atom_muB", "kept": "from_neighbour",
}  # fmt: skip
"""Fields of a point in documents."""


def finished_points(path: Path) -> dict[str, SeriesPoint]:
    """Converged points, by their inputs, of a document that was written before its series was interrupted.

    None of a document of a whole series, and of what is no such document: a series then begins from its first point.
    """
    try:
        document = read_json(path)
        if not document["interrupted"]:
            return {}
        rows = document["points"] if "points" in document else [r for s in document["series"] for r in s["settings"]]
        points = [SeriesPoint.of_dict(row) for row in rows]
    except (InputError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    return {point.inputs: point for point in points if point.converged and point.inputs}


def mark_of(inputs: Inputs) -> str:
    """The same for calculations that are the same: texts of the folder, data sets, and version."""
    parts = [__version__, *(f"{name}\n{text}" for name, text in sorted(inputs.texts.text.items()))]
    parts += [data.header.md5 for _, data in sorted(inputs.data.items())]
    return sha256("\0".join(parts).encode()).hexdigest()[:20]


def compute(
    inputs: Inputs, runtime: Runtime, start: State | None, known: Mapping[str, SeriesPoint] | None = None
) -> tuple[SeriesPoint, State | None]:
    """One calculation, and its state for the next one if it has converged; or a known point of these inputs.

    What does not converge, or cannot begin, from the neighbour's state is begun again from atoms.  A calculation that
    fails is a point that says so: the others are still worth something.
    """
    if known and (found := known.get(mark_of(inputs))):
        return found, None
    point, state = _attempt(inputs, runtime, start)
    if start is not None and not point.converged:
        point, state = _attempt(inputs, runtime, None)
    return point, state


def _attempt(inputs: Inputs, runtime: Runtime, start: State | None) -> tuple[SeriesPoint, State | None]:
    threads = threads_of_run(inputs.size)
    about: dict[str, Any] = {
        "volume": inputs.poscar.volume, "atoms": len(inputs.poscar.symbols), "kpoints": inputs.size.kpoints,
        "bands": inputs.size.bands, "kept": start is not None, "inputs": mark_of(inputs),
        "wave_excess": wave_excess(
            inputs.structure, inputs.kpoints.point_kc, inputs.kpoints.weight_k, inputs.parameters.cutoff
        ),
    }  # fmt: skip
    try:
        result = run_inputs(inputs, in_memory=True, runtime=runtime, threads=threads, start=start)
    except EigenwerkError as error:
        return SeriesPoint(converged=False, status=f"failed: {error}", **about), None
    ground = result.ground_state
    return _of(result, about), ground.state if ground is not None and result.converged else None


def _of(result: RunResult, about: dict[str, Any]) -> SeriesPoint:
    return SeriesPoint(
        converged=result.converged, status=result.status, energy=result.free_energy, energy_zero=result.energy_zero,
        entropy_term=result.entropy_term, pressure=result.pressure, pulay=result.pulay_pressure,
        stress_vv=result.stress_vv, forces_av=result.forces_av, moment=result.moment, moment_a=result.moment_a,
        metal=result.gap.metal, steps=len(result.steps), seconds=result.seconds, warnings=result.warnings, **about,
    )  # fmt: skip


def _listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
