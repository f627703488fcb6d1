"""Atoms on their way as a tree for eigenwerk.h5, and back: so that a run goes on as if it had never stopped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.basis.gathering import whole_orbitals
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.runs.saving.checkpoint import density_of, fields_tree, orbitals_tree, stored_orbitals
from eigenwerk.dft.runs.saving.ionic_tree import exact_tree, ionic_steps_of
from eigenwerk.dft.scf.start.carried import Places, carried_orbitals
from eigenwerk.dft.scf.start.state_history import KeptState, StateHistory
from eigenwerk.dft.settings.motion_kind import VIBRATIONS
from eigenwerk.dft.settings.same import SAME_START, apart
from eigenwerk.errors import InputError
from eigenwerk.io.hdf5.hdf5_state import read_with_header
from eigenwerk.io.tree_check import TreeProblem
from eigenwerk.io.vasp.output.record import IonicStep
from eigenwerk.motion.surface import Operations
from eigenwerk.parallel.process_grid import ProcessGrid
from eigenwerk.units import BOHR_ANGSTROM

STATE_HISTORY_BYTES = 4e9
"""Orbitals of earlier ionic steps are saved up to this size; without them the next steps take a little longer."""


@dataclass(frozen=True)
class Snapshot:
    """Where atoms that move stand between two points.

    kind: of motion; mover: its state after the last point it was told; finished, status: how it stands;
    state_history: of the states so far, and the operations that they have.
    """

    kind: str
    mover: Mapping[str, Any]
    finished: bool
    status: str
    state_history: StateHistory | None
    operations: Operations


@dataclass(frozen=True)
class Resumption:
    """What a file knows of atoms on their way.

    steps: ionic steps that are over; begun: whether the state of the file is one of the next step, on its way to
    self-consistency; state_history: as it was written; status: how the run stood, words.
    """

    path: Path
    kind: str
    mover: Mapping[str, Any]
    steps: tuple[IonicStep, ...]
    begun: bool
    state_history: Mapping[str, Any] | None
    operations: Operations
    status: str


def motion_tree(
    snapshot: Snapshot, steps: Sequence[IonicStep], begun: bool, grid: ProcessGrid
) -> dict[str, Any]:
    """For eigenwerk.h5; collective.  steps: those that are over; begun: whether the next one is."""
    state_history, operations = snapshot.state_history, snapshot.operations
    return {
        "kind": snapshot.kind, "mover": dict(snapshot.mover), "steps": exact_tree(steps), "begun": begun,
        "operations": None if operations is None else np.array(operations),
        "finished": snapshot.finished, "status": snapshot.status,
        "trail": None if state_history is None or snapshot.finished else _state_history_tree(state_history, grid),
    }  # fmt: skip


def _state_history_tree(state_history: StateHistory, grid: ProcessGrid) -> dict[str, Any] | None:
    basis = state_history.basis
    size = sum(one.coeff_sknG.nbytes for one in state_history.kept) * grid.world.size
    if basis is None or not state_history.kept or size > STATE_HISTORY_BYTES:
        return None
    learned = state_history.learned
    return {
        "method": state_history.method, "occ_skn": None if state_history.occ_skn is None
        else state_history.occ_skn.cpu().numpy(),
        "learned": learned, "index_gc": basis.index_gc[: basis.density_count].cpu().numpy().astype(np.int32),
        "states": {str(place): _kept_state_tree(one, basis, grid) for place, one in enumerate(state_history.kept)},
    }  # fmt: skip


def _kept_state_tree(one: KeptState, basis: PlaneWaveBasis, grid: ProcessGrid) -> dict[str, Any]:
    coeff_sknG = one.coeff_sknG if grid is basis.runtime.grid else one.coeff_sknG.cpu()
    orbitals = whole_orbitals(grid, basis, coeff_sknG, exact=True)
    return {
        "lattice_cv": one.structure.lattice_cv, "scaled_ac": one.structure.scaled_ac, "moment_a": one.moment_a,
        "rest": fields_tree(one.rest),
        "orbitals": None if orbitals is None else orbitals_tree(orbitals),
    }  # fmt: skip


def read_resumption(path: Path) -> Resumption | None:
    """What a state file knows of atoms on their way; None if nothing has moved in its run.

    Raises InputError if it cannot be read.
    """
    _, tree = read_with_header(path, only=("motion",))
    found = tree.get("motion")
    if found is None:
        return None
    try:
        operations = found["operations"]
        return Resumption(
            path, str(found["kind"]), dict(found["mover"]), ionic_steps_of(found["steps"]), bool(found["begun"]),
            found["trail"], None if operations is None else tuple(int(o) for o in operations),
            str(found["status"]),
        )  # fmt: skip
    except (TreeProblem, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: this file does not hold atoms on their way ({error}). {REMEDY}") from error


def is_begun(path: Path, inputs: Inputs) -> bool:
    """Whether a state in which nothing has moved yet is one of the first ionic step of this run, on its way.

    It is unconverged then (what has converged is saved with its forces, as an ionic step), with the same atoms in the
    same places.  Raises InputError if the file cannot be read.
    """
    _, tree = read_with_header(path, only=("structure", "status"))
    here, there = inputs.structure, tree.get("structure")
    if not isinstance(there, dict) or tree["status"]["converged"] or tuple(there["symbols"]) != tuple(here.symbols):
        return False
    return max(apart(there, {"lattice_cv": here.lattice_cv, "scaled_ac": here.scaled_ac})) < SAME_START


REMEDY = "Leave --restart out to begin anew, from CONTCAR if it is there."


def state_history_of(found: Resumption, state_history: StateHistory, atoms: PawAtoms) -> bool:
    """Fill a trail with the states that a file has; False if it has none of this kind.  Raises InputError."""
    stored = found.state_history
    if stored is None or stored.get("method") != state_history.method:
        return False
    try:
        basis = atoms.basis
        same = np.array_equal(stored["index_gc"], basis.index_gc[: basis.density_count].cpu().numpy())
        kept = [_kept_state(stored["states"][str(place)], atoms) for place in range(len(stored["states"]))]
        if not same or any(one is None for one in kept):
            return False
        state_history.kept = [one for one in kept if one is not None]
        state_history.basis = basis
        state_history.occ_skn = torch.as_tensor(np.array(stored["occ_skn"], dtype=float))
        state_history.learned = stored["learned"]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(f"{found.path}: earlier states of these atoms cannot be used ({error}). {REMEDY}") from error
    return True


def _kept_state(tree: Mapping[str, Any], atoms: PawAtoms) -> KeptState | None:
    """One state; None if its orbitals do not fit."""
    here = atoms.basis.structure
    structure = Structure(tree["lattice_cv"], here.symbols, tree["scaled_ac"], here.magmom_a, here.kinds)
    stored = stored_orbitals(tree["orbitals"])
    places = Places({"lattice_cv": here.lattice_cv, "symbols": here.symbols, "scaled_ac": here.scaled_ac}, False)
    coeff_sknG = carried_orbitals(stored, places, atoms, stored.bands)
    if coeff_sknG is None:
        return None
    runtime = atoms.runtime
    rest = density_of(tree["rest"]).map(lambda value_sx: value_sx.to(runtime.device))
    moment_a = tree["moment_a"]
    return KeptState(structure, rest, None if moment_a is None else np.asarray(moment_a, dtype=float), coeff_sknG)


def require_same_run(found: Resumption, kind: str, inputs: Inputs) -> None:
    """Raise InputError unless a file is of the run that a folder describes: same motion, same atoms, same start."""
    if found.kind != kind:
        raise InputError(f"{found.path}: this was a run of {found.kind}, and INCAR asks for {kind}. {REMEDY}")
    first = found.steps[0] if found.steps else None
    if first is None:
        return
    here = inputs.structure
    if first.scaled_ac.shape != here.scaled_ac.shape:
        raise InputError(
            f"{found.path}: this run has {len(first.scaled_ac)} atoms, and POSCAR has {len(here.symbols)}. {REMEDY}"
        )
    begun = {"lattice_cv": first.lattice_cv / BOHR_ANGSTROM, "scaled_ac": first.scaled_ac}
    stretched, away = apart(begun, {"lattice_cv": here.lattice_cv, "scaled_ac": here.scaled_ac})
    if kind != VIBRATIONS and max(away, stretched) > SAME_START:
        stretched, away = stretched * BOHR_ANGSTROM, away * BOHR_ANGSTROM
        raise InputError(
            f"{found.path}: this run began elsewhere: its first atoms lie up to {away:.4f} Å from those of POSCAR, "
            f"its lattice vectors differ by up to {stretched:.4f} Å. Restore its POSCAR to go on with it. {REMEDY}"
        )
