"""What a file has to hold so that a run can go on from it: one table for all of it, and what a table cannot say.

docs/formats/eigenwerk_h5.md describes the groups.  Numbers far from any that occur are refused: a step that began with
them would end in infinities, somewhere else.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.basis.wave_form import MOST_PLACES
from eigenwerk.dft.density.kinds.table import ALWAYS, KINDS, WAVES
from eigenwerk.dft.scf.start.earlier import Earlier
from eigenwerk.dft.scf.state import StartingPoint
from eigenwerk.dft.spin.form import OF_ISPIN, Spin
from eigenwerk.io.tree_check import (
    Array,
    Each,
    Flag,
    GroupRule,
    Maybe,
    Number,
    Numbers,
    Plain,
    Text,
    Texts,
    TreeProblem,
    check,
)
from eigenwerk.parallel.memory.block_sizes import EXCHANGE_OPERATORS

LARGEST_INDEX = 20_000
"""Of a plane wave along one axis."""

LARGEST_VALUE = 1e5
"""Of densities (electrons per bohr³), one-centre matrices and orbitals."""

SPINS: dict[int, Spin] = {spin.components: spin for spin in OF_ISPIN.values()}
"""What the number of components of a density in a file says of spin."""

_WAVES = Array("complex", "s g", 0.0, LARGEST_VALUE)
_MATRICES = Array("real", "s x", -LARGEST_VALUE, LARGEST_VALUE)



def _of_fields(rule: Array, some: Collection[str]) -> GroupRule:
    """Those of every density, and what some carry."""
    always, others = ({name: rule for name in some if (name in ALWAYS) is there} for there in (True, False))
    return GroupRule(always, others)


_FIELDS = GroupRule({
    "waves": _of_fields(_WAVES, WAVES), "matrices": _of_fields(_MATRICES, KINDS.keys() - WAVES.keys()),
})  # fmt: skip

_STEP = Array("real", "2 m y", -LARGEST_VALUE, LARGEST_VALUE)

_MIXER = GroupRule({
    "count": Number(int, 0), "turns": Number(int, 0), "bmix": Number(float, 0), "amix": Number(float, 0),
    "amix_mag": Number(float, 0), "told_amix_mag": Number(float, 0), "best_is_last": Flag(),
    "guard": GroupRule({
        "scale": Number(float, 0, 1), "lowest": Number(float, 0, infinite=True),
        "best": Number(float, 0, infinite=True), "since": Number(int, 0), "better": Number(int, 0),
    }),
    "history": Maybe(GroupRule({
        "places": Numbers("whole", "j", 0), "length_c": Array("real", "c", 0.0), "gram_xcc": Array("real", "u c c"),
        "fits_c": Array("real", "c 6", -np.inf, np.inf),
    })),
    "last_ixy": Maybe(_STEP), "best_ixy": Maybe(_STEP),
    "change_ixjy": Maybe(Array("real", "2 m j y", -LARGEST_VALUE, LARGEST_VALUE)),
})  # fmt: skip

_PROGRESS = GroupRule({
    "steps": Number(int, 0), "residual": Number(float, 0), "free": Number(float), "band": Number(float),
    "solver": GroupRule({}, {
        "residual": Number(float, 0, infinite=True), "without_progress": Number(int, 0), "taken_over": Flag(),
        "energy_left": Number(float, 0),
    }),
    "precision": GroupRule({}, {"wished": Flag(), "error": Maybe(Numbers("real", "2", 0.0))}),
    "mixer": Maybe(_MIXER),
})  # fmt: skip

_ROWS = GroupRule({"row_skmG": Array("complex", "s k n G", 0.0, LARGEST_VALUE)}, {
    "rounding_skmGx": Array("whole", "s k n G r", -MOST_PLACES, MOST_PLACES),
})  # fmt: skip

_EXCHANGE = GroupRule({
    "applications": Number(int, 0), "energy": Number(float), "excess": Array("real", "e"),
    "semilocal": Maybe(Number(float)), "shift": Maybe(Number(float)),
    "started_a": Maybe(Array("real", "a", -1e3, 1e3)), "field_a": Maybe(Array("real", "a", -1.0, 1.0)),
    "share_j": Maybe(Array("real", "v")), "input_jj": Array("real", "v v"), "known_j": Array("truth", "v"),
    "overlap_jj": Array("real", "v v"), "in_use": Maybe(_ROWS), "kept": Each(_ROWS),
}, {"doubled": Flag()})  # fmt: skip

_STATE = GroupRule({
    "structure": GroupRule({
        "lattice_cv": Array("real", "3 3", -1e6, 1e6), "symbols": Texts("a"),
        "scaled_ac": Array("real", "a 3", -1e4, 1e4),
        "magmom_a": Maybe(Array("real", "a", -1e3, 1e3)),
    }, {"kinds": Texts("a")}),
    "parameters": Plain(),
    "kpoints": GroupRule({"point_kc": Array("real", "k 3", -1e4, 1e4), "weight_k": Array("real", "k", 0.0, 1.0)}),
    "setups": Each(GroupRule({"name": Text(), "md5": Text()})),
    "density": GroupRule({
        "index_gc": Array("whole", "g 3", -LARGEST_INDEX, LARGEST_INDEX), **_FIELDS.parts,
    }, {"projectors_a": Array("whole", "a", 0, 1000)}),
    "next": _FIELDS,
    "bands": GroupRule({
        "eig_skn": Array("real", "s k n"), "occ_skn": Array("real", "s k n", -2.0, 3.0),
    }, {
        "fermi_level_s": Numbers("real", "f"), "fermi_level": Number(float), "count_k": Numbers("whole", "k", 1),
        "index_kGc": Array("whole", "k G 3", -LARGEST_INDEX, LARGEST_INDEX),
        "coeff_sknG": Array("complex", "s k n G", 0.0, LARGEST_VALUE),
        "rounding_sknGx": Array("whole", "s k n G r", -MOST_PLACES, MOST_PLACES),
    }),
    "status": GroupRule({"converged": Flag(), "words": Text()}),
    "progress": Maybe(_PROGRESS),
}, {"exchange": Maybe(_EXCHANGE)})  # fmt: skip

_VERSION_1 = GroupRule({
    "density": GroupRule({"index_gc": Array("whole", "g 3"), "density_sg": _WAVES}),
    "occupancy": GroupRule({"occupancy_sx": _MATRICES}, {"projectors_a": Array("whole", "a", 0, 1000)}),
}, {name: Plain(arrays=True) for name in _STATE.parts if name != "density"})  # fmt: skip


def check_version_1(tree: Mapping[str, Any]) -> None:
    """Raise TreeProblem unless a tree has what is made of one of the first version."""
    check(tree, _VERSION_1)


def check_state(tree: Mapping[str, Any]) -> None:
    """Raise TreeProblem unless a run can go on from a tree."""
    sizes = check(tree, _STATE)
    structure, bands = tree["structure"], tree["bands"]
    _require(sizes["s"] in SPINS, f"/density has {sizes['s']} components of spin")
    _require(min(sizes[letter] for letter in "akng") > 0, "there are no atoms, k-points, bands or plane waves")
    _require(abs(np.linalg.det(structure["lattice_cv"])) > 1e-3, "/structure/lattice_cv has no volume")
    _require(abs(tree["kpoints"]["weight_k"].sum() - 1) < 1e-6, "/kpoints/weight_k has not the sum one")
    _require_once("/density/index_gc", tree["density"]["index_gc"])
    _require(bool((bands["occ_skn"] > 1e-6).any()), "/bands/occ_skn holds no electrons")
    if "coeff_sknG" in bands:
        _check_orbitals(bands)
    if tree.get("exchange") is not None:
        _check_exchange(tree["exchange"])
    if tree["progress"] is not None and tree["progress"]["mixer"] is not None:
        _check_mixer(tree["progress"]["mixer"], sizes)


def check_lengths(earlier: Earlier, matrices: int) -> None:
    """Raise TreeProblem where one-centre matrices have not as many numbers as the atoms of a run."""
    for name, value_sx in earlier.density.value.items():
        _require(
            name in WAVES or value_sx.shape[1] == matrices,
            f"/next/matrices/{name} has {value_sx.shape[1]} numbers, and these atoms have {matrices}",
        )


def check_start(start: StartingPoint, longest: int) -> None:
    """Raise TreeProblem where a start cannot be used: no electrons, or a memory of something else.

    longest: changes that the mixer keeps.
    """
    finite = all(bool(torch.isfinite(value_sx).all()) for value_sx in start.density.value.values())
    _require(finite, "/next holds no electrons")
    memory = None if start.progress is None else start.progress.mixer()
    if memory is None:
        return
    size, channels = sum(size for _, size in start.density.parts), start.density.spin.components
    for name in ("last_ixy", "best_ixy", "change_ixjy"):
        if (found := memory[name]) is not None and found.size:
            fits = found.shape[1] == channels and found.shape[-1] == size
            _require(fits, f"/progress/mixer/{name} has the shape {found.shape} for {channels} x {size} numbers")
    if (history := memory["history"]) is not None:
        _require(len(history["length_c"]) == longest + 1, "/progress/mixer/history has another length than MAXMIX says")


def _check_orbitals(bands: Mapping[str, Any]) -> None:
    _require({"count_k", "index_kGc"} <= bands.keys(), "/bands has orbitals without their plane waves")
    coeff_sknG = bands["coeff_sknG"]
    for k, (count, index_Gc) in enumerate(zip(bands["count_k"], bands["index_kGc"], strict=True)):
        _require(count <= len(index_Gc), f"/bands/count_k says {count} plane waves, and there are {len(index_Gc)}")
        _require_once(f"/bands/index_kGc of k-point {k + 1}", index_Gc[:count])
        norm_sn = np.linalg.norm(coeff_sknG[:, k, :, :count], axis=-1)
        _require(bool((norm_sn > 1e-6).all()), f"/bands/coeff_sknG has an orbital at k-point {k + 1} that is zero")


def _check_exchange(exchange: Mapping[str, Any]) -> None:
    where, count = "/exchange", len(exchange["known_j"])
    names = set(exchange["kept"])
    _require(names == {str(j) for j in range(count)}, f"{where}/kept has {len(names)} operators, not {count}")
    _require(count <= EXCHANGE_OPERATORS, f"{where}/kept has {count} operators, {EXCHANGE_OPERATORS} at most are kept")
    there = bool(names) or exchange["in_use"] is not None
    _require(there == (exchange["applications"] > 0), f"{where} has applications without an operator")


def _check_mixer(mixer: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    where = "/progress/mixer"
    _require(sizes.get("m", sizes["s"]) in (1, sizes["s"]), f"{where} has {sizes.get('m')} channels")
    history = mixer["history"]
    if history is None:
        return
    # one channel until there is a change of two
    grams = len(history["gram_xcc"])
    enough = grams == sizes.get("m", grams) or (grams == 1 and not history["places"])
    _require(enough, f"{where}/history/gram_xcc has {grams} channels")
    places = list(history["places"])
    _require(
        len(set(places)) == len(places) and max(places, default=-1) < sizes["c"], f"{where}/history/places is wrong"
    )
    _require(mixer["change_ixjy"] is not None or not places, f"{where} has no changes")
    _require(bool((history["length_c"] > 0).all()), f"{where}/history/length_c has a length of zero")


def _require_once(where: str, index_xc: np.ndarray) -> None:
    """Each plane wave is there once."""
    size = 2 * LARGEST_INDEX + 1
    number_x = ((index_xc[:, 0].astype(np.int64) + LARGEST_INDEX) * size + index_xc[:, 1] + LARGEST_INDEX) * size
    number_x += index_xc[:, 2] + LARGEST_INDEX
    _require(len(np.unique(number_x)) == len(number_x), f"{where} names a plane wave twice")


def _require(fine: bool, words: str) -> None:
    if not fine:
        raise TreeProblem(words)
