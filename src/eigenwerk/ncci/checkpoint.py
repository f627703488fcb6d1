"""The way of a solver on the disk, so that a run killed at any time continues with the same bits.

A folder holds one file for every Lanczos vector, written once, and `state.h5` with everything small, written last: it
names the vectors it needs.  So a checkpoint costs only what is new.  LOBPCG keeps its few vectors in `state.h5` itself.
"""

from collections.abc import Iterable, Mapping
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
from eigenwerk.linalg.lanczos import LanczosState
from eigenwerk.linalg.lobpcg import LobpcgState
from eigenwerk.ncci.device_arrays import tensor

STATE = "state.h5"


@dataclass(frozen=True)
class Checkpoint:
    """The folder of one run.  about: what has to be the same for a checkpoint to fit."""

    folder: Path
    about: Mapping[str, Any]

    def save(self, state: LanczosState | LobpcgState) -> None:
        """Write what is new; the checkpoint before stays whole until this one is."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if isinstance(state, LobpcgState):
            write_state(self.folder / STATE, {"about": dict(self.about), "lobpcg": _plain(state)}, __version__)
            return
        names = [f"vector-{state.restarts:04d}-{row:05d}.npy" for row in range(state.filled + state.pending)]
        for row, name in enumerate(names):
            if not (self.folder / name).exists():
                with replacing(self.folder / name) as new, new.open("wb") as file:
                    np.save(file, state.basis_mx[row].cpu().numpy())
        small = _plain(state)
        rows = int(small.pop("basis_mx").shape[0])
        write_state(
            self.folder / STATE,
            {"about": dict(self.about), "rows": rows, "lanczos": small, "names": names},
            __version__,
        )
        self._forget_vectors_except(names)

    def load(self, device: torch.device) -> LanczosState | LobpcgState | None:
        """The state that was saved, or None where there is none; to be called before the first `save`.

        Raises InputError where it belongs to another case.
        """
        if not (self.folder / STATE).exists():
            self._forget_vectors_except([])
            return None
        saved = read_state(self.folder / STATE)
        self._refuse_other(saved["about"])
        self._forget_vectors_except(saved.get("names", []))
        if "lobpcg" in saved:
            return LobpcgState(**_tensors(saved["lobpcg"], device))
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


def _plain(state: LanczosState | LobpcgState) -> dict[str, Any]:
    values = {field.name: getattr(state, field.name) for field in fields(state)}
    return {
        name: value.cpu().numpy() if isinstance(value, torch.Tensor) and name != "basis_mx" else value
        for name, value in values.items()
    }


def _tensors(values: Mapping[str, Any], device: torch.device) -> dict[str, Any]:
    return {name: tensor(value, device) if isinstance(value, np.ndarray) else value for name, value in values.items()}
