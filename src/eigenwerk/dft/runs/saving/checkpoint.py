"""A State as a tree for eigenwerk.h5, and back as an earlier state to go on from.

What is saved does not depend on FFT grids, device or padding: density and orbitals are lists of plane waves with their
integer indices g and G.  Layout: docs/formats/eigenwerk_h5.md.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eigenwerk import __version__
from eigenwerk.dft.after.projections import OF_ORBITALS, Projections
from eigenwerk.dft.basis.gathering import WholeOrbitals
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.density.density import Density
from eigenwerk.dft.density.kinds.table import KINDS, WAVES
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.runs.quantities.given import incar_tags, tags_in_force
from eigenwerk.dft.runs.saving.exchange_tree import stored_exchange
from eigenwerk.dft.runs.saving.ionic_tree import ionic_steps_tree
from eigenwerk.dft.runs.saving.state_schema import SPINS, check_lengths, check_start, check_state, check_version_1
from eigenwerk.dft.scf.start.carried import Sphere, StoredOrbitals
from eigenwerk.dft.scf.start.earlier import Earlier, require_same_atoms, tree_of
from eigenwerk.dft.scf.state import Progress, ScfStep, StartingPoint, State, System
from eigenwerk.errors import InputError
from eigenwerk.functionals.functional import DENSITY
from eigenwerk.io.hdf5.hdf5_state import read_with_header, write_state
from eigenwerk.io.tree_check import TreeProblem
from eigenwerk.io.vasp.output.record import RunRecord

GROUPS = (
    "structure", "parameters", "kpoints", "setups", "density", "occupancy", "next", "bands", "status", "progress",
    "exchange",
)  # fmt: skip
"""What a start can use of a state; `next` and `progress` came with version 2, `occupancy` went."""

NEEDED = {"structure", "parameters", "kpoints", "setups", "density", "bands", "status"}
"""What every ground state has."""

MEMORY_BYTES = 5e8
"""Up to this size the whole memory of a mixer is saved on the way of atoms that move, and of hybrids, so that all is as
if they had not been stopped."""

_REMEDY = "Remove the file, or set ISTART = 0 and ICHARG = 2 to start from atoms."


# -- State -> tree -----------------------------------------------------------------------------------------------------


def state_tree(state: State, orbitals: WholeOrbitals | None, moving: bool = False) -> dict[str, Any]:
    """Everything a State consists of, as nested mappings of numpy arrays and plain values; hartree and bohr.

    orbitals: those of the state from all ranks; None (LWAVE = .FALSE.) leaves out by far the largest part, and the
    memory of the mixer, which is to take no more room than they do.  moving: atoms are on their way.
    """
    basis, occupations = state.system.basis, state.occupations
    bands: dict[str, Any] = {
        "eig_skn": _array(state.eig_skn), "occ_skn": _array(occupations.occ_skn),
        "fermi_level_s": occupations.fermi_level_s, "fermi_level": occupations.fermi_level,
    }  # fmt: skip
    if orbitals is not None:
        bands |= orbitals_tree(orbitals)
    return {
        **tree_of(state.system),
        "basis": {"cutoff": basis.cutoff, "wave_grid": basis.grids.wave, "fine_grid": basis.grids.fine},
        "density": {
            "index_gc": _array(basis.index_gc[: basis.density_count]).astype(np.int32), **fields_tree(state.density),
            "projectors_a": _projectors(state.system),
        },
        "next": fields_tree(state.following),
        "bands": bands,
        "energies": asdict(state.energies),
        "history": history_tree(state.history),
        "progress": _progress_tree(
            state, orbitals, (moving or state.exchange is not None) and not state.converged
        ),
        "status": {"converged": state.converged, "words": state.status, "events": state.events},
    }


def orbitals_tree(orbitals: WholeOrbitals) -> dict[str, Any]:
    """Orbitals by plane waves; with what real vectors lack if they are to come back to the last bit."""
    tree = {"count_k": orbitals.count_k, "index_kGc": orbitals.index_kGc, "coeff_sknG": orbitals.coeff_sknG}
    rounding_sknGx = orbitals.rounding_sknGx
    return tree if rounding_sknGx is None else {**tree, "rounding_sknGx": rounding_sknGx}


def _projectors(system: System) -> np.ndarray:
    """How many projectors each atom has, (a,)."""
    count = {s: sum(2 * wave.l + 1 for wave in data.states) for s, data in system.datasets.items()}
    return np.array([count[symbol] for symbol in system.structure.symbols])


def fields_tree(density: Density) -> dict[str, Any]:
    """Fields by name, those on plane waves apart from one-centre matrices."""
    return {
        group: {name: _array(value) for name, value in density.value.items() if (name in WAVES) is waves}
        for group, waves in (("waves", True), ("matrices", False))
    }


def _progress_tree(state: State, orbitals: WholeOrbitals | None, whole: bool) -> dict[str, Any]:
    """Where the loop stands; the memory of the mixer takes no more bytes than orbitals, unless it is to be whole."""
    progress = state.progress
    memory = None if orbitals is None else progress.mixer()
    if memory is not None and orbitals is not None and not (whole and _bytes(memory) < MEMORY_BYTES):
        memory = _fitting(memory, orbitals.coeff_sknG.nbytes)
    return {
        "steps": progress.steps, "residual": progress.residual, "free": progress.free, "band": progress.band,
        "solver": progress.solver, "precision": progress.precision,
        "mixer": memory,
    }  # fmt: skip


def _bytes(stored: Mapping[str, Any]) -> int:
    return sum(stored[name].nbytes for name in ("last_ixy", "best_ixy", "change_ixjy") if stored[name] is not None)


def _fitting(stored: Mapping[str, Any], size: int) -> Mapping[str, Any] | None:
    """The memory with the newest changes that fit into so many bytes, in single precision; None if not even the last
    step does.

    What a change is rounded by is far below what least squares leave of it.
    """
    room = size - sum(stored[name].nbytes for name in ("last_ixy", "best_ixy") if stored[name] is not None)
    history = stored["history"]
    if room < 0 or history is None:
        return None
    change_ixjy, count = stored["change_ixjy"].astype(np.float32), len(history["places"])
    kept = min(count, room // (change_ixjy.nbytes // count)) if count else 0
    newest = slice(count - kept, count)
    return {
        **stored, "history": {**history, "places": history["places"][newest]}, "change_ixjy": change_ixjy[:, :, newest],
    }  # fmt: skip


def write_run_state(
    path: Path, inputs: Inputs, record: RunRecord, state: State, orbitals: WholeOrbitals | None,
    projections: Projections | None, more: Mapping[str, Any],
) -> None:  # fmt: skip
    """Write a state and everything that tells where it comes from; more: what was found, and is needed to go on."""
    tree, stamp = state_tree(state, orbitals, inputs.motion is not None), record.stamp
    assert stamp is not None, "the record of a run has its mark"
    tree["status"] = {"converged": record.last.converged, "words": record.final.status, "events": state.events}
    tree["projections"] = projections_tree(projections)
    tree["ionic_steps"] = ionic_steps_tree(record.ionic_steps)
    tree["input"] = {
        "texts": dict(inputs.texts.text), "incar": incar_tags(inputs), "tags_in_force": tags_in_force(inputs),
    }  # fmt: skip
    tree["run"] = {"id": stamp.run, "save": stamp.save}
    write_state(path, {**tree, **more}, __version__, stamp=str(stamp))


def projections_tree(projections: Projections | None) -> dict[str, Any] | None:
    """Weights of the orbitals on atoms, with the radii in bohr; None without."""
    if projections is None:
        return None
    tree: dict[str, Any] = {"radius": dict(projections.radius), "occupied_saL": projections.occupied_saL.numpy()}
    return tree | {
        name: None if value is None else value.numpy()
        for name, value in ((name, getattr(projections, name)) for name in OF_ORBITALS)
    }


def history_tree(history: tuple[ScfStep, ...]) -> dict[str, Any]:
    """The steps as columns, one entry per step; energies in hartree; moment is None without spin."""
    names = ("step", "change", "band_change", "residual", "orbital_residual", "applications", "seconds")
    columns: dict[str, Any] = {name: np.array([getattr(step, name) for step in history]) for name in names}
    columns |= {
        name: np.array([getattr(step.energies, name) for step in history])
        for name in ("free", "internal", "extrapolated", "band", "entropy")
    }
    polarised = history[0].moment is not None
    columns["moment"] = np.array([step.moment for step in history]) if polarised else None
    columns["events"] = [f"step {step.step}: {event}" for step in history for event in step.events]
    return columns


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()


# -- tree -> Earlier ---------------------------------------------------------------------------------------------------


def load_start(path: str | Path, calculation: Calculation, orbitals: bool = True) -> StartingPoint:
    """Where a calculation begins that goes on from a file (`earlier.starting_point`).

    Raises InputError if the file is missing or damaged, or holds other atoms or other PAW data.
    """
    earlier = read_earlier(path)
    require_same_atoms(earlier, calculation.system)
    matching_lengths(path, earlier, calculation)
    start = calculation.start_from(earlier, orbitals)
    with _explained(path):
        check_start(start, calculation.parameters.mixing.history)
    return start


def matching_lengths(path: str | Path, earlier: Earlier, calculation: Calculation) -> None:
    """Raise InputError where matrices of a file have not as many numbers as the atoms of a calculation."""
    with _explained(path):
        check_lengths(earlier, int((_projectors(calculation.system) ** 2).sum()))


def read_earlier(path: str | Path) -> Earlier:
    """The state that a file holds, of any version of the format.

    Raises InputError if the file is missing or damaged, or something else.
    """
    header, tree = read_with_header(path, only=GROUPS)
    if NEEDED - set(tree):
        raise InputError(f"{path}: this state is no ground state of a crystal. {_REMEDY}")
    with _explained(path):
        if header.version == 1:
            check_version_1(tree)
            tree = _from_version_1(tree)
        check_state(tree)
    bands, status = tree["bands"], tree["status"]
    exchange = None
    if "coeff_sknG" in bands and tree.get("exchange") is not None:
        exchange = stored_exchange(tree["exchange"], partial(_stored, bands))
    return Earlier(
        str(path), tree, "" if status["converged"] else status["words"],
        torch.as_tensor(tree["density"]["index_gc"].astype(np.int64)), density_of(tree["next"]),
        torch.as_tensor(bands["occ_skn"].astype(float)), _progress(tree["progress"]),
        stored_orbitals(bands) if "coeff_sknG" in bands else None, _REMEDY, exchange,
    )  # fmt: skip


@contextmanager
def _explained(path: str | Path) -> Iterator[None]:
    """What is wrong inside a file as an InputError."""
    try:
        yield
    except TreeProblem as problem:
        raise InputError(f"{path}: not a state that a run can go on from: {problem}. {_REMEDY}") from problem


def _from_version_1(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Version 1 had one density, its two fields in groups of their own, and no progress."""
    density, occupancy = tree["density"], tree["occupancy"]
    fields = {"waves": {"density": density["density_sg"]}, "matrices": {"occupancy": occupancy["occupancy_sx"]}}
    changed = {"density": {"index_gc": density["index_gc"], **fields}, "next": fields, "progress": None}
    return {name: part for name, part in tree.items() if name != "occupancy"} | changed


def density_of(tree: Mapping[str, Any]) -> Density:
    """Inverse of `fields_tree`."""
    found = tree["waves"] | tree["matrices"]
    value = {name: torch.as_tensor(found[name]) for name in KINDS if name in found}
    return Density(value, SPINS[len(value[DENSITY])])


def _progress(tree: Mapping[str, Any] | None) -> Progress | None:
    return None if tree is None else Progress(**{**tree, "mixer": lambda: tree["mixer"]})


def stored_orbitals(bands: Mapping[str, Any]) -> StoredOrbitals:
    """Orbitals as a file holds them; inverse of `orbitals_tree`."""
    return _stored(bands, bands["coeff_sknG"], bands.get("rounding_sknGx"))


def _stored(bands: Mapping[str, Any], coeff_sknG: np.ndarray, rounding_sknGx: np.ndarray | None) -> StoredOrbitals:
    """Vectors on the plane waves of orbitals."""

    def sphere(basis: PlaneWaveBasis, k: int) -> Sphere:
        point = basis.own_k.start + k
        count = bands["count_k"][point]
        return bands["index_kGc"][point, :count], coeff_sknG[:, point, :, :count]

    def rounding(basis: PlaneWaveBasis, k: int) -> np.ndarray | None:
        point = basis.own_k.start + k
        return None if rounding_sknGx is None else rounding_sknGx[:, point, :, : bands["count_k"][point]]

    return StoredOrbitals(coeff_sknG.shape[2], sphere, rounding=rounding)
