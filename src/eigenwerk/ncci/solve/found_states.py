"""States that a solver has found, on the disk until their observables are: a run that ends meanwhile has them still.

`found.h5` lies in the folder of a checkpoint, beside what the solver has saved on its way.
"""

from functools import partial
from typing import Any

import numpy as np
import torch

from eigenwerk import __version__
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import ensure_writable, refuse_leaving
from eigenwerk.io.hdf5.hdf5_state import read_state, write_state
from eigenwerk.io.tree_check import Array, GroupRule, Number, Plain, TreeProblem, check
from eigenwerk.linalg.operator import EigenResult
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.inputs.inputs import SolverSettings
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.ncci.solve.checkpoint import ANEW, FOUND, Checkpoint
from eigenwerk.parallel.one_for_all import one_for_all

WHOLE = Number(int, 0)

RULE = GroupRule({
    "about": GroupRule({}),
    "asked": GroupRule({}),
    "found": GroupRule({
        "eig_n": Array("real", "n"), "residual_n": Array("real", "n", gaps=True), "converged_n": Array("truth", "n"),
        "vectors_nx": Array("real", "n x"), "applications": WHOLE, "iterations": WHOLE, "notes": Plain(),
    }),
})  # fmt: skip
"""What `found.h5` has to hold."""

KEPT = "found before the run was stopped"
"""What is said of states that come from the file."""


def _asked(choice: SolverSettings) -> dict[str, Any]:
    """When the solver stops: states that were found otherwise are not those of this run."""
    return {"tolerance": float(choice.tolerance), "products": choice.products, "fixed": choice.fixed}


def save_found(checkpoint: Checkpoint, found: EigenResult, choice: SolverSettings, segments: Segments) -> None:
    """Write the states; collective.  found: one problem, of vectors the components of this rank."""
    one_for_all(checkpoint.comm, partial(ensure_writable, checkpoint.folder, within=checkpoint.folder.parent))
    rows = [segments.on_first(x_s) for x_s in found.vectors_knx[0]]
    whole = [row for row in rows if row is not None]
    if checkpoint.comm.rank > 0:
        return
    tree = {
        "eig_n": found.eig_kn[0].cpu().numpy(),
        "residual_n": found.residual_kn[0].cpu().numpy(),
        "converged_n": found.converged_kn[0].cpu().numpy(),
        "vectors_nx": torch.stack(whole).cpu().numpy(),
        "applications": found.applications,
        "iterations": found.iterations,
        "notes": list(found.notes),
    }
    about = checkpoint.described | {"products": found.applications}
    write_state(checkpoint.folder / FOUND, {"about": about, "asked": _asked(choice), "found": tree}, __version__)


def load_found(
    checkpoint: Checkpoint, choice: SolverSettings, segments: Segments, device: torch.device
) -> EigenResult | None:
    """The states that were written, the components of this rank; None where there are none, or the solver was asked for
    something else; collective.

    Raises InputError where the file is damaged or belongs to another case.
    """
    kept: dict[str, np.ndarray] = {}  # what rank 0 alone has: whole vectors
    told = one_for_all(checkpoint.comm, lambda: _read(checkpoint, choice, segments.dimension, kept))
    if told is None:
        return None
    like = tensor(np.zeros(0, dtype=np.dtype(told["dtype"])), device)
    rows = torch.from_numpy(kept["vectors_nx"]) if kept else [None] * len(told["eig_n"])
    vectors_ns = torch.stack([segments.from_first(row, like) for row in rows])
    eig_n, residual_n, converged_n = (
        tensor(np.asarray(told[name]), device).unsqueeze(0) for name in ("eig_n", "residual_n", "converged_n")
    )
    notes = (*told["notes"], KEPT)
    return EigenResult(
        eig_n, vectors_ns.unsqueeze(0), residual_n, told["applications"], told["iterations"], converged_n, notes
    )


def _read(
    checkpoint: Checkpoint, choice: SolverSettings, dimension: int, kept: dict[str, np.ndarray]
) -> dict[str, Any] | None:
    """What is saved, without the vectors, which go to `kept`."""
    path = checkpoint.folder / FOUND
    refuse_leaving(checkpoint.folder, checkpoint.folder.parent)
    if not path.exists():
        return None
    saved = read_state(path, anew=ANEW)
    try:
        sizes = check(saved, RULE)
        if sizes["x"] != dimension:
            raise TreeProblem(f"/found/vectors_nx has {sizes['x']} components of {dimension}")
        notes = saved["found"]["notes"]
        if not isinstance(notes, list | tuple) or not all(isinstance(note, str) for note in notes):
            raise TreeProblem("/found/notes is no list of words")
    except TreeProblem as problem:
        raise InputError(
            f"{path} is damaged: {problem}. Remove the folder {checkpoint.folder}; the run then begins anew."
        ) from problem
    checkpoint.refuse_other(saved["about"])
    if saved["asked"] != _asked(choice):
        return None
    found = dict(saved["found"])
    kept["vectors_nx"] = found.pop("vectors_nx")
    return found | {"dtype": kept["vectors_nx"].dtype.str}
