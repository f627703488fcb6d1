"""Write vaspout.h5, so that py4vasp shows structure, energies, steps, bands, density of states, forces and stress.

docs/formats/vaspout_h5.md lists the datasets.  The version in the file is that of VASP whose layout it has, for which
py4vasp asks first; the attributes of the root say who wrote it.
"""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.hdf5.hdf5_state import LABEL, PatientFile
from eigenwerk.io.vasp.output.record import (
    BandsRecord,
    FinalRecord,
    IonicStep,
    KpointGeneration,
    ProjectionRecord,
    RunRecord,
    StepRecord,
)
from eigenwerk.io.vasp.output.xml.vasprun_parameters import parameters_in_force
from eigenwerk.io.vasp.output.xml.vibrations import linear_response

LAYOUT = (6, 5, 0)
"""The version of VASP whose layout the file has."""

_STEPS = ("N", "E", "dE", "deps", "ncg", "rms", "rms(c)")
_DYNAMICS = {
    "ion-electron   TOTEN": "free_energy", "kinetic energy EKIN": "kinetic",
    "kin. lattice   EKIN_LAT": "lattice_kinetic", "temperature    TEIN": "temperature",
    "nose potential ES": "thermostat", "nose kinetic   EPS": "thermostat_kinetic", "total energy   ETOTAL": "total",
}  # fmt: skip
_ENERGIES = {
    "free energy    TOTEN   ": "free_energy", "energy without entropy ": "energy_without_entropy",
    "energy(sigma->0)       ": "energy_zero",
}  # fmt: skip
_PARTS = {"dispersion     EDISP   ": "dispersion", "non-local corr. ECNL   ": "non_local"}
"""Energies by VASP's tags, and what they are called in an ionic step."""

_ARRAYS = {"forces": "forces_av", "stress": "stress_vv", "ion_velocities": "velocities_av"}
"""Datasets that are there where all ionic steps have them."""


def write_vaspout(path: str | Path, record: RunRecord) -> None:
    """Write the vaspout.h5 of a run; the mark of the run stands in front of the HDF5 data.

    Raises InputError if the file cannot be written.
    """
    with replacing(path) as new:
        with PatientFile(new) as raw:
            try:
                with h5py.File(raw, "w", userblock_size=LABEL) as file:
                    file.attrs.update({"program": "eigenwerk", "program_version": record.version})
                    for name, value in _datasets(record).items():
                        file[name] = _stored(value)
            finally:
                raw.raise_error()  # also in place of what HDF5 says when it misses what was not written
        with new.open("r+b") as first:
            first.write(f"eigenwerk {record.version}, layout of VASP's vaspout.h5\n{record.stamp or ''}\n".encode())


def _stored(value: Any) -> Any:
    """Words as VASP's strings of bytes, everything else as HDF5 takes it."""
    array = np.asarray(value)
    return np.char.encode(array, "utf-8") if array.dtype.kind == "U" else array


def _datasets(record: RunRecord) -> dict[str, Any]:
    """All datasets by their places."""
    groups: dict[str, dict[str, Any]] = {
        "version": dict(zip(("major", "minor", "patch"), LAYOUT, strict=True)),
        "input/incar": {**record.incar, "SYSTEM": str(parameters_in_force(record)["SYSTEM"])},
        "input/kpoints": _kpoints(record.generation, len(record.weight_k)),
        "intermediate/ion_dynamics": _trajectory(record),
        "results/positions": _positions(record),
        "results/electron_eigenvalues": _bands(record, record.final),
        "results/electron_dos": {
            "efermi": record.final.fermi_level, "energies": record.final.dos.energy_x,
            "dos": record.final.dos.total_sx, "dosi": record.final.dos.integrated_sx,
        },
        "results/projectors": _projections(record.final.projections),
        "results/linear_response": linear_response(record.vibrations),
    }  # fmt: skip
    if record.final.dos.partial_sxaL is not None:
        groups["results/electron_dos"]["dospar"] = record.final.dos.partial_sxaL.transpose(0, 2, 3, 1)
    if (second := record.second) is not None:
        groups |= {
            "input/kpoints_opt": _kpoints(second.generation, len(second.weight_k)),
            "results/electron_eigenvalues_kpoints_opt": _bands(second, second),
            "results/electron_dos_kpoints_opt": {"efermi": record.final.fermi_level},
            "results/projectors_kpoints_opt": _projections(second.projections),
        }
    return {f"{group}/{name}": value for group, found in groups.items() for name, value in found.items()}


def _bands(points: RunRecord | BandsRecord, bands: FinalRecord | BandsRecord) -> dict[str, Any]:
    """Energies and occupations at k-points."""
    return {
        "eigenvalues": bands.eig_skn, "fermiweights": bands.occ_skn, "kpoint_coords": points.kpoint_kc,
        "kpoints_symmetry_weight": points.weight_k,
    }  # fmt: skip


def _projections(found: ProjectionRecord | None) -> dict[str, Any]:
    """Weights of orbitals on atoms, by spin, atom, column, k-point, band."""
    if found is None:
        return {}
    return {"lchar": found.columns, "par": found.weight_sknaL.transpose(0, 3, 4, 1, 2)}


def _kpoints(generation: KpointGeneration | None, points: int) -> dict[str, Any]:
    """How the points were asked for: lists have their number, paths the points of a line, meshes their divisions."""
    if generation is None:
        return {"mode": "explicit", "number_kpoints": points}
    if generation.per_line:
        return {"mode": "line", "number_kpoints": generation.per_line}
    divisions = zip(("nkpx", "nkpy", "nkpz"), generation.mesh, strict=True)
    return {"mode": generation.kind[0].lower(), "number_kpoints": 0, **dict(divisions)}


def _trajectory(record: RunRecord) -> dict[str, Any]:
    """What every ionic step has; forces and stress if all of them have them."""
    steps = record.ionic_steps
    found: dict[str, Any] = {
        "scale": 1.0,
        "lattice_vectors": np.stack([ionic.lattice_cv for ionic in steps]),
        "position_ions": np.stack([ionic.scaled_ac for ionic in steps]),
        **_energies(steps),
        "oszicar_label": _STEPS,
        "oszicar": [_electronic(step) for ionic in steps for step in ionic.steps],
        "electronic_step_converged": [0 if ionic.converged else 1 for ionic in steps],
    }
    for dataset, name in _ARRAYS.items():
        found |= _of_all(steps, name, dataset)
    moments = _of_all(steps, "charge_xal", "magnetism/spin_moments/values")
    return found | {name: value[..., : record.angular_momenta] for name, value in moments.items()}


def _energies(steps: tuple[IonicStep, ...]) -> dict[str, Any]:
    """The energies that VASP gives of each step, others in dynamics, and the parts for van der Waals forces."""
    rows = dict(_ENERGIES if any(ionic.kinetic is None for ionic in steps) else _DYNAMICS)
    for tag, name in _PARTS.items():
        rows |= {tag: name} if all(getattr(ionic, name) is not None for ionic in steps) else {}
    values = [[getattr(ionic, name) or 0.0 for name in rows.values()] for ionic in steps]
    return {"energies_tags": tuple(rows), "energies": values}


def _of_all(steps: tuple[IonicStep, ...], name: str, dataset: str) -> dict[str, Any]:
    values = [getattr(ionic, name) for ionic in steps]
    return {} if any(value is None for value in values) else {dataset: np.stack(values)}


def _electronic(step: StepRecord) -> list[float]:
    """The columns of OSZICAR; nan where the density was frozen."""
    density = np.nan if step.density_residual is None else step.density_residual
    change, band = step.change, step.band_energy_change
    return [step.step, step.free_energy, change, band, step.applications, step.residual, density]


def _positions(record: RunRecord) -> dict[str, Any]:
    """The structure at the end; without a scale, a number with which py4vasp cannot print it."""
    last = record.at_rest
    found: dict[str, Any] = {
        "system": " ".join(record.title.split()), "lattice_vectors": last.lattice_cv,
        "position_ions": last.scaled_ac, "ion_types": [species.element for species in record.species],
        "number_ion_types": [species.count for species in record.species],
    }  # fmt: skip
    if record.selective_ac is not None:
        found["selective_dynamics_ions"] = record.selective_ac.astype(bool)
    if last.velocities_av is not None:
        found["ion_velocities"] = last.velocities_av
    if last.lattice_velocity_cv is not None:
        found["lattice_velocities"] = last.lattice_velocity_cv
    return found
