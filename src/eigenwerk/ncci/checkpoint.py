"""The way of a solver on the disk, so that a run killed at any time continues with the same bits.

A folder holds one file for every Lanczos vector, written once, and `state.h5` with everything small, written last: it
names the vectors it needs.  So a checkpoint costs only what is new.  Davidson's few blocks are in `state.h5` itself.
"""

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
from eigenwerk.linalg.davidson import DavidsonState
from eigenwerk.linalg.lanczos import LanczosState
from eigenwerk.linalg.operator import Operator
from eigenwerk.ncci.device_arrays import tensor

STATE = "state.h5"


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
        names = [f"vector-{state.restarts:04d}-{row:05d}.npy" for row in range(state.filled + state.pending)]
        for row, name in enumerate(names):
            if not (self.folder / name).exists():
                with replacing(self.folder / name) as new, new.open("wb") as file:
                    np.save(file, state.basis_mx[row].cpu().numpy())
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
        self._refuse_other(saved["about"])
        self._forget_vectors_except(saved.get("names", []))
        if "davidson" in saved:
            return DavidsonState.of(operator, _tensors(saved["davidson"], device))
        if "lanczos" not in saved:
            raise InputError(
                f"The checkpoint in {self.folder} was written by another version of eigenwerk. Remove the folder; the "
                "run then begins anew."
            )
        first = np.load(self.folder / saved["names"][0])
        basis_mx = torch.zeros((saved["rows"], len(first)), dtype=torch.from_numpy(first).dtype, device=device)
        for row, name in enumerate(saved["names"]):
            basis_mx[row] = tensor(np.load(self.folder / name), device)
        return LanczosState(basis_mx=basis_mx, **_tensors(saved["lanczos"], device))

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
