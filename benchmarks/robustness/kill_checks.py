"""What must be true of the folder of a run that was disturbed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import h5py
import numpy as np
from ase.io import read
from tiny_runs import KINDS

from eigenwerk.io.hdf5.hdf5_state import read_state
from eigenwerk.io.vasp.input.poscar import read_poscar
from eigenwerk.io.vasp.vasprun_reader import read_vasprun

SAME = 1e-10
"""Å and eV: on the same ranks throughout."""

CLOSE = 1e-6
"""Å and eV: of dynamics and displacements, on other numbers of ranks."""


@dataclass(frozen=True)
class Position:
    """How far a folder has come: ionic steps that are over, steps of self-consistency of the present one."""

    ionic: int = 0
    steps: int = 0
    begun: bool = False
    moving: bool = False

    def lost(self, before: "Position", words: str) -> list[str]:
        """What is missing beside a run that began at `before` and printed these words."""
        rows = [int(line[:6]) for line in words.splitlines() if line[:6].strip().isdigit() and line[6:26].strip()]
        if self.moving or before.moving:
            found = (self.ionic, self.begun, self.steps) < (before.ionic, before.begun, before.steps)
            late = max(rows, default=0) > self.ionic
            return [f"{self} after {before}: {words}"] if found or late else []
        missing = before.steps + max(rows, default=0) - self.steps
        return [f"{missing} steps of self-consistency are lost: {before}, {self}, {words}"] if missing > 1 else []


def position(folder: Path) -> Position:
    """That of a folder; nothing done where there is no state."""
    path = folder / "eigenwerk.h5"
    if not path.exists():
        return Position()
    tree = read_state(path, only=["motion", "progress"])
    motion, steps = tree.get("motion"), int(tree["progress"]["steps"])
    if motion is None:
        return Position(0, steps)
    ionic = len(motion["steps"]["converged"]) if motion["steps"] else 0
    return Position(ionic, steps if motion["begun"] else 0, bool(motion["begun"]), True)


def _ionic_steps_over(folder: Path) -> int:
    tree = ElementTree.parse(folder / "vasprun.xml")
    return sum(one.find("varray[@name='forces']") is not None for one in tree.iter("calculation"))


def looked_at(folder: Path) -> list[str]:
    """Files that cannot be read, one after the other as a program would that looks at a run."""
    readers = {
        "eigenwerk.h5": lambda path: read_state(path, only=["motion", "status", "progress"]),
        "vasprun.xml": lambda path: (ElementTree.parse(path), read_vasprun(path)),
        "CONTCAR": read_poscar,
        "XDATCAR": lambda path: read(path, format="vasp-xdatcar", index=":"),
        "OUTCAR": lambda path: _ionic_steps_over(folder) and read(path, format="vasp-out", index=":"),
        "trajectory.h5": _read_trajectory,
    }  # fmt: skip
    found = []
    for name, reader in readers.items():
        path = folder / name
        try:
            if path.exists():
                reader(path)
        except FileNotFoundError:
            continue  # the folder was taken away just now
        except Exception as error:
            found.append(f"{name} cannot be read: {error!r}")
    return found


def _read_trajectory(path: Path) -> None:
    with h5py.File(path) as file:
        places = file["particles/atoms/position/value"][:]
        assert np.isfinite(places).all() and len(places) == len(file["particles/atoms/position/time"])


def end_of(folder: Path) -> dict[str, Any]:
    """Places in all ionic steps (Å), the last free energy (eV), whether it came where it should, largest force."""
    tree = read_state(folder / "eigenwerk.h5", only=["motion", "ionic_steps", "status", "results"])
    motion = tree["motion"]
    if motion is None:
        steps = tree["ionic_steps"]
        lattice_xcv, scaled_xac, free = steps["lattice_xcv"], steps["scaled_xac"], steps["free_x"][-1] * 27.211386245988
        return {"places": scaled_xac @ lattice_xcv, "energy": free, "finished": bool(tree["status"]["converged"]),
                "force": None}  # fmt: skip
    steps = motion["steps"]
    force = None if steps["largest_force"] is None else float(steps["largest_force"][-1])
    return {
        "places": steps["scaled_ac"] @ steps["lattice_cv"], "energy": float(steps["free_energy"][-1]),
        "finished": bool(motion["finished"]), "force": force,
    }  # fmt: skip


def unfit(folder: Path, whole: Path, kind: str, same: bool) -> tuple[dict[str, float], list[str]]:
    """Differences from the end of a run that nobody disturbed, and those that must not be.

    same: whether all runs had the same ranks.  Relaxations on other ranks may take another way to the same forces.
    """
    end, wanted, tags = end_of(folder), end_of(whole), KINDS[kind][1][1]
    faults = [] if end["finished"] else ["the end is not reached"]
    energy = abs(end["energy"] - wanted["energy"])
    if end["places"].shape != wanted["places"].shape:
        relaxation = tags.get("IBRION") == 2 and not same
        if not relaxation:
            faults.append(f"{len(end['places'])} ionic steps in place of {len(wanted['places'])}")
        places = float(np.abs(end["places"][-1] - wanted["places"][-1]).max())
    else:
        places = float(np.abs(end["places"] - wanted["places"]).max())
    # states of displacements with other operations are not kept, and begin from the density alone
    limit = SAME if same and tags.get("IBRION") not in (5, 6) else CLOSE
    if tags.get("IBRION") == 2 and not same:
        if not (end["force"] is not None and end["force"] <= -tags["EDIFFG"]):
            faults.append(f"the largest force is {end['force']}")
    elif places > limit or energy > limit:
        faults.append(f"places differ by {places:.1e} Å, free energy by {energy:.1e} eV")
    return {"places": places, "energy": energy}, faults
