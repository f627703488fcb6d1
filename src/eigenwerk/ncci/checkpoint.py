"""The way of a solver on the disk, so that a run killed at any time continues with the same bits.

A folder holds one file for every Lanczos vector, written once, and `state.h5` with everything small, written last: it
names the vectors it needs.  So a checkpoint costs only what is new.  Davidson's few blocks are in `state.h5` itself.
A vector's name has the checksum of its numbers.
"""

import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import torch

from eigenwerk import __version__
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.hdf5_state import read_state, write_state
from eigenwerk.io.tree_check import Array, Group, Maybe, Number, Plain, Texts, TreeProblem, check
from eigenwerk.linalg.davidson import DavidsonState
from eigenwerk.linalg.lanczos import LanczosState
from eigenwerk.linalg.operator import Operator
from eigenwerk.ncci.device_arrays import tensor

STATE = "state.h5"

_NAME = re.compile(r"vector-[0-9]{4,}-[0-9]{5,}-[0-9a-f]{8}\.npy")

_WHOLE = Number(int, 0)

LANCZOS = Group({
    "rows": Number(int, 1), "names": Texts("v"),
    "lanczos": Group({
        "projected_mm": Array("real", "r r"), "coupling_nm": Array("real", "p f"), "filled": _WHOLE, "pending": _WHOLE,
        "products": _WHOLE, "steps": _WHOLE, "restarts": _WHOLE, "eig_m": Array("real", "f"),
        "residual_m": Array("real", "f", gaps=True),
    }),
})  # fmt: skip


DAVIDSON = Group({
    "eig_kn": Array("real", "k n"), "residual_kn": Array("real", "k n", gaps=True), "missing_kn": Array("truth", "k n"),
    "applications": _WHOLE, "iterations": _WHOLE, "notes": Plain(), "ritz": Plain(arrays=True),
    "others": Plain(arrays=True), "h_kmm": Array("real", "k m m"), "s_kmm": Array("real", "k m m"),
    "ritz_drift_kn": Maybe(Array("real", "k n", gaps=True)), "space_drift_km": Maybe(Array("real", "k ...", gaps=True)),
})  # fmt: skip
"""What `state.h5` has to hold, by the method."""


@dataclass(frozen=True)
class Checkpoint:
    """The folder of one run.  about: what has to be the same for a checkpoint to fit."""

    folder: Path
    about: Mapping[str, Any]

    def save(self, state: LanczosState | DavidsonState) -> None:
        """Write what is new; the checkpoint before stays whole until this one is."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if isinstance(state, DavidsonState):
            write_state(self.folder / STATE, {"about": dict(self.about), "davidson": _plain(state.tree())}, __version__)
            return
        there = {path.name.rpartition("-")[0]: path.name for path in self.folder.glob("vector-*.npy")}
        names = []
        for row in range(state.filled + state.pending):
            place = f"vector-{state.restarts:04d}-{row:05d}"
            if place not in there:
                vector_x = state.basis_mx[row].cpu().numpy()
                there[place] = f"{place}-{_sum(vector_x)}.npy"
                with replacing(self.folder / there[place]) as new, new.open("wb") as file:
                    np.save(file, vector_x)
            names.append(there[place])
        small = {field.name: getattr(state, field.name) for field in fields(state) if field.name != "basis_mx"}
        write_state(
            self.folder / STATE,
            {"about": dict(self.about), "rows": len(state.basis_mx), "lanczos": _plain(small), "names": names},
            __version__,
        )
        self._forget_vectors_except(names)

    def load(self, operator: Operator, device: torch.device) -> LanczosState | DavidsonState | None:
        """The state that was saved, or None where there is none; to be called before the first `save`.

        Raises InputError where it belongs to another case, or to another version of eigenwerk.
        """
        if not (self.folder / STATE).exists():
            self._forget_vectors_except([])
            return None
        saved = read_state(self.folder / STATE)
        if not {"about", "names", "lanczos"} <= saved.keys() and not {"about", "davidson"} <= saved.keys():
            raise InputError(
                f"The checkpoint in {self.folder} was written by another version of eigenwerk. Remove the folder; the "
                "run then begins anew."
            )
        try:
            check(saved["about"], Group({}), "/about")
            self._refuse_other(saved["about"])
            if "davidson" in saved:
                _check_blocks(saved["davidson"], check(saved["davidson"], DAVIDSON, "/davidson"))
                return DavidsonState.of(operator, _tensors(saved["davidson"], device))
            return self._lanczos_state(saved, device)
        except TreeProblem as problem:
            raise InputError(
                f"The checkpoint in {self.folder} is damaged: {problem}. Remove the folder; the run then begins anew."
            ) from problem

    def _lanczos_state(self, saved: Mapping[str, Any], device: torch.device) -> LanczosState:
        sizes = check({name: part for name, part in saved.items() if name != "about"}, LANCZOS)
        small, names = saved["lanczos"], saved["names"]
        if small["filled"] + small["pending"] != len(names) or not 0 < len(names) <= saved["rows"] == sizes["r"]:
            raise TreeProblem(f"{len(names)} vectors for {small['filled']} and {small['pending']} of {saved['rows']}")
        if (sizes["p"], sizes["f"]) != (small["pending"], small["filled"]):
            raise TreeProblem("/lanczos/coupling_nm has another shape than there are vectors")
        self._forget_vectors_except(names)
        first = self._vector(names[0])
        basis_mx = torch.zeros((saved["rows"], len(first)), dtype=torch.from_numpy(first).dtype, device=device)
        for row, name in enumerate(names):
            vector_x = self._vector(name)
            if vector_x.shape != first.shape or vector_x.dtype != first.dtype:
                raise TreeProblem(f"{name} has {vector_x.shape} numbers of {vector_x.dtype}")
            basis_mx[row] = tensor(vector_x, device)
        return LanczosState(basis_mx=basis_mx, **_tensors(small, device))

    def _vector(self, name: str) -> np.ndarray:
        """A vector that fits its checksum."""
        if _NAME.fullmatch(name) is None:
            raise TreeProblem(f"{name[:80]} is the name of no vector of this version of eigenwerk")
        try:
            vector_x = np.load(self.folder / name)
        except (OSError, ValueError, EOFError) as error:
            raise TreeProblem(f"{name} cannot be read ({error})") from error
        if vector_x.dtype.kind != "f" or vector_x.ndim != 1 or f"-{_sum(vector_x)}." not in name:
            raise TreeProblem(f"{name} does not fit its checksum")
        return np.asarray(vector_x)

    def remove(self) -> None:
        """Forget the run; its results are elsewhere by now."""
        if self.folder.exists():
            rmtree(self.folder)

    def _forget_vectors_except(self, names: Iterable[str]) -> None:
        """Vectors that no state names are left from a run that ended while it wrote."""
        for old in set(self.folder.glob("vector-*.npy")) - {self.folder / name for name in names}:
            old.unlink()

    def _refuse_other(self, about: Mapping[str, Any]) -> None:
        for name, value in self.about.items():
            if about.get(name) != value:
                raise InputError(
                    f"The checkpoint in {self.folder} belongs to a run with {name} = {about.get(name)}; this one has "
                    f"{value}. Take the old settings, choose another --output, or remove the folder."
                )


def _check_blocks(davidson: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Raise TreeProblem unless vectors, their images and the rest of them fit each other and the projected matrices."""
    others = davidson["others"]
    if not isinstance(others, list | tuple):
        raise TreeProblem("/davidson/others is no list")
    vectors = 0
    for number, block in enumerate([davidson["ritz"], *others]):
        if not isinstance(block, list | tuple) or len(block) != 3:
            raise TreeProblem(f"/davidson has a block of vectors, number {number}, that has not three parts")
        rule = Group({"0": Array("real", "k n x"), "1": Array("real", "k n x"), "2": Array("real", "k n ...")})
        shape = check({str(part): array_knx for part, array_knx in enumerate(block)}, rule, f"/davidson block {number}")
        if shape["k"] != sizes["k"] or (number == 0 and shape["n"] != sizes["n"]):
            raise TreeProblem(f"/davidson has a block of vectors, number {number}, of another shape")
        vectors += shape["n"] if number else 0
    if sizes["m"] not in (vectors, vectors + sizes["n"]):
        raise TreeProblem(f"/davidson has {vectors} vectors for matrices of {sizes['m']} rows")


def _sum(vector_x: np.ndarray) -> str:
    """CRC-32 of the numbers, as hexadecimal digits."""
    return f"{zlib.crc32(np.ascontiguousarray(vector_x).view(np.uint8).data):08x}"


def _plain(value: Any) -> Any:
    """Tensors of a tree as arrays."""
    return _mapped(value, lambda leaf: leaf.cpu().numpy() if isinstance(leaf, torch.Tensor) else leaf)


def _tensors(value: Any, device: torch.device) -> Any:
    """Arrays of a tree as tensors."""
    return _mapped(value, lambda leaf: tensor(leaf, device) if isinstance(leaf, np.ndarray) else leaf)


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A tree of mappings, lists and tuples with other leaves."""
    if isinstance(value, Mapping):
        return {name: _mapped(entry, change) for name, entry in value.items()}
    return type(value)(_mapped(entry, change) for entry in value) if isinstance(value, list | tuple) else change(value)
