"""Where exact exchange stands <-> eigenwerk.h5, so that a run that was stopped goes on with its operators.

Rows of operators are vectors like orbitals, and are kept as these are (layout: docs/formats/eigenwerk_h5.md).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.basis.gathering import whole_orbitals
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.exchange.memory import ExchangeMemory
from eigenwerk.dft.scf.start.carried import StoredOrbitals
from eigenwerk.dft.scf.start.earlier import StoredExchange
from eigenwerk.parallel.process_grid import ProcessGrid

OPERATOR_BYTES = 4e9
"""All operators are saved up to this size; beyond it the one in use alone, and the next ones begin anew."""


def exchange_tree(memory: ExchangeMemory, basis: PlaneWaveBasis, grid: ProcessGrid) -> dict[str, Any]:
    """For eigenwerk.h5; collective over `grid`, and of use on its first rank."""
    if memory.bytes * grid.world.size > OPERATOR_BYTES:
        memory = memory.of_one_operator()
    count = len(memory.kept)
    input_jj, known_j = np.zeros((count, count)), np.zeros(count, dtype=bool)
    for j, share_j in enumerate(memory.inputs):
        if share_j is not None:
            known_j[j], input_jj[j, : len(share_j)] = True, share_j
    own = None if memory.rows is None or memory.in_use_is_last else memory.rows
    return {
        "applications": memory.applications, "energy": memory.energy, "excess": np.array(memory.excess, dtype=float),
        "semilocal": memory.semilocal, "shift": memory.shift, "started_a": memory.started_a, "field_a": memory.field_a,
        "doubled": memory.doubled, "expected": memory.expected,
        "share_j": memory.share_j, "input_jj": input_jj, "known_j": known_j,
        "overlap_jj": np.zeros((0, 0)) if memory.overlap_jj is None else memory.overlap_jj,
        "in_use": None if own is None else _rows_tree(own.row_skmG, basis, grid),
        "kept": {str(j): _rows_tree(rows.row_skmG, basis, grid) for j, rows in enumerate(memory.kept)},
    }  # fmt: skip


def _rows_tree(row_skmG: torch.Tensor, basis: PlaneWaveBasis, grid: ProcessGrid) -> dict[str, Any]:
    row_skmG = row_skmG if grid is basis.runtime.grid else row_skmG.cpu()
    whole = whole_orbitals(grid, basis, row_skmG, exact=True)
    if whole is None:
        return {}
    tree = {"row_skmG": whole.coeff_sknG}
    return tree if whole.rounding_sknGx is None else {**tree, "rounding_skmGx": whole.rounding_sknGx}


def stored_exchange(
    tree: Mapping[str, Any], stored: Callable[[np.ndarray, np.ndarray | None], StoredOrbitals]
) -> StoredExchange:
    """Inverse of `exchange_tree`.

    stored: vectors on the plane waves of the orbitals of the file, of (s, k, m, G) and what rounding takes from them.
    """

    def rows(one: Mapping[str, Any]) -> StoredOrbitals:
        return stored(one["row_skmG"], one.get("rounding_skmGx"))

    count = len(tree["kept"])
    pairs = zip(tree["known_j"].tolist(), tree["input_jj"], strict=True)
    rest = ExchangeMemory(
        energy=tree["energy"], applications=tree["applications"], excess=tuple(tree["excess"].tolist()),
        inputs=tuple(share_j if known else None for known, share_j in pairs),
        overlap_jj=tree["overlap_jj"], share_j=tree["share_j"],
        semilocal=tree["semilocal"], shift=tree["shift"], started_a=tree["started_a"], field_a=tree["field_a"],
        doubled=tree.get("doubled", False), expected=tree.get("expected"),
    )
    own = None if tree["in_use"] is None else rows(tree["in_use"])
    return StoredExchange(rest, own, tuple(rows(tree["kept"][str(j)]) for j in range(count)))
