"""States that a solver has found and what was observed of them: a run that ends meanwhile has all of it still.

`found.h5` lies in the folder of a checkpoint, beside what the solver has saved on its way, and `observed.h5` with the
observables of these states as they come.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from eigenwerk import __version__
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import ensure_writable, refuse_leaving
from eigenwerk.io.hdf5.hdf5_state import read_state, write_state
from eigenwerk.io.tree_check import Array, Each, Flag, GroupRule, Number, Plain, Rule, Sizes, TreeProblem, check
from eigenwerk.linalg.operator import EigenResult
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.inputs.inputs import SolverSettings
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.ncci.solve.checkpoint import ANEW, FOUND, OBSERVED, Checkpoint
from eigenwerk.parallel.one_for_all import one_for_all

WHOLE = Number(int, 0)

RULE = GroupRule({
    "about": GroupRule({}),
    "asked": GroupRule({}),
    "found": GroupRule({
        "eig_n": Array("real", "n"), "residual_n": Array("real", "n", gaps=True), "converged_n": Array("truth", "n"),
        "vectors_nx": Array("real", "n x"), "applications": WHOLE, "iterations": WHOLE, "notes": Plain(),
    }, {"apart": Flag()}),
})  # fmt: skip
"""What `found.h5` has to hold.  apart: whether mixtures of several J have been taken apart."""

OBSERVED_RULE = GroupRule({"eig_n": Array("real", "n"), "parts": GroupRule({}, {
    name: Each(Array("real", shape, gaps=True)) for name, shape in (
        ("scalars", "n"), ("residuals", "n"), ("occupations", "n ..."), ("quanta", "n q"), ("densities", "n ..."),
        ("one_body", "n n"), ("raised", "n n"),
    )
})})  # fmt: skip
"""What `observed.h5` has to hold: the states by their energies, and the parts of `results.observation`."""

KEPT = "found before the run was stopped"
"""What is said of states that come from the file."""


def _asked(choice: SolverSettings) -> dict[str, Any]:
    """When the solver stops: states that were found otherwise are not those of this run."""
    return {"tolerance": float(choice.tolerance), "products": choice.products, "fixed": choice.fixed}


def save_found(
    checkpoint: Checkpoint, found: EigenResult, choice: SolverSettings, segments: Segments, apart: bool
) -> None:
    """Write the states, and forget what was observed of others; collective.  found: one problem, of vectors the
    components of this rank.  apart: whether mixtures have been taken apart."""
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
    if apart:
        tree["apart"] = True
    about = checkpoint.described | {"products": found.applications}
    (checkpoint.folder / OBSERVED).unlink(missing_ok=True)
    write_state(checkpoint.folder / FOUND, {"about": about, "asked": _asked(choice), "found": tree}, __version__)


def load_found(
    checkpoint: Checkpoint, choice: SolverSettings, segments: Segments, device: torch.device
) -> tuple[EigenResult, bool] | None:
    """The states that were written, the components of this rank, and whether mixtures were taken apart; None where
    there are none, or the solver was asked for something else; collective.

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
    found = EigenResult(
        eig_n, vectors_ns.unsqueeze(0), residual_n, told["applications"], told["iterations"], converged_n, notes
    )
    return found, told.get("apart", False)


def save_observed(checkpoint: Checkpoint, found: EigenResult, parts: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Write what has been observed of states so far; collective."""
    tree = {"eig_n": found.eig_kn[0].cpu().numpy(), "parts": {name: dict(arrays) for name, arrays in parts.items()}}
    one_for_all(checkpoint.comm, lambda: write_state(checkpoint.folder / OBSERVED, tree, __version__))


def load_observed(checkpoint: Checkpoint, found: EigenResult) -> dict[str, dict[str, np.ndarray]]:
    """What was observed of these states; empty where nothing was, or the file is of others; collective.

    Raises InputError where the file is damaged.
    """
    path, eig_n = checkpoint.folder / OBSERVED, found.eig_kn[0].cpu().numpy()

    def read() -> dict[str, dict[str, np.ndarray]]:
        if not path.exists():
            return {}
        saved = read_state(path, anew=ANEW)
        _checked(checkpoint, OBSERVED, saved, OBSERVED_RULE)
        return dict(saved["parts"]) if np.array_equal(saved["eig_n"], eig_n) else {}

    return one_for_all(checkpoint.comm, read)


def _read(
    checkpoint: Checkpoint, choice: SolverSettings, dimension: int, kept: dict[str, np.ndarray]
) -> dict[str, Any] | None:
    """What is saved, without the vectors, which go to `kept`."""
    path = checkpoint.folder / FOUND
    refuse_leaving(checkpoint.folder, checkpoint.folder.parent)
    if not path.exists():
        return None
    saved = read_state(path, anew=ANEW)
    sizes = _checked(checkpoint, FOUND, saved, RULE)
    if sizes["x"] != dimension:
        raise _damage(checkpoint, FOUND, f"/found/vectors_nx has {sizes['x']} components of {dimension}")
    notes = saved["found"]["notes"]
    if not isinstance(notes, list | tuple) or not all(isinstance(note, str) for note in notes):
        raise _damage(checkpoint, FOUND, "/found/notes is no list of words")
    checkpoint.refuse_other(saved["about"])
    if saved["asked"] != _asked(choice):
        return None
    found = dict(saved["found"])
    kept["vectors_nx"] = found.pop("vectors_nx")
    return found | {"dtype": kept["vectors_nx"].dtype.str}


def _checked(checkpoint: Checkpoint, name: str, saved: Any, rule: Rule) -> Sizes:
    """The lengths in a file that obeys its rule."""
    try:
        return check(saved, rule)
    except TreeProblem as problem:
        raise _damage(checkpoint, name, str(problem)) from problem


def _damage(checkpoint: Checkpoint, name: str, words: str) -> InputError:
    return InputError(
        f"{checkpoint.folder / name} is damaged: {words}. Remove the folder {checkpoint.folder}; the run then begins "
        "anew."
    )
