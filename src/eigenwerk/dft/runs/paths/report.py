"""What a path is found to be, for people and programs: eV and Å (no torch here)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk import __version__
from eigenwerk.io.vasp.input.images import image_folder
from eigenwerk.motion.saddle.barrier import PathEnergy

JSON_FORMAT, JSON_VERSION = "eigenwerk-neb", 1

DOCUMENT, STATE = "neb.json", "neb.h5"
"""Files of a path: what was found; where the band is, from which --restart goes on."""


@dataclass(frozen=True)
class BandStep:
    """One step of the whole band.

    highest: number of the highest image; barrier: eV, of the curve through the images, None where an image did not
    converge; largest_force: on an atom of any image, eV/Å; scf_steps: of all images; words: remarks.
    """

    number: int
    highest: int
    barrier: float | None
    largest_force: float | None
    climbing: bool
    scf_steps: int
    seconds: float
    words: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "step": self.number, "highest_image": self.highest, "barrier_eV": self.barrier,
            "largest_force_eV_per_A": self.largest_force, "climbing": self.climbing, "scf_steps": self.scf_steps,
            "seconds": self.seconds, "remarks": list(self.words),
        }  # fmt: skip

    @classmethod
    def of_dict(cls, row: Mapping[str, Any]) -> "BandStep":
        """Inverse of `as_dict`."""
        return cls(
            int(row["step"]), int(row["highest_image"]), row["barrier_eV"], row["largest_force_eV_per_A"],
            bool(row["climbing"]), int(row["scf_steps"]), float(row["seconds"]), tuple(row["remarks"]),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ImageResult:
    """An image where it is now; energies in eV, forces along the path and of the springs in eV/Å; largest_force: on an
    atom, of the forces on the band; converged: its electrons; scf_steps: of all its calculations."""

    number: int
    free_energy: float
    energy_zero: float
    distance: float
    tangent_force: float
    largest_force: float
    converged: bool
    scf_steps: int
    scaled_ac: np.ndarray

    def as_dict(self, zero: float) -> dict[str, Any]:
        """Ready for JSON; zero: the energy of the first end point."""
        return {
            "folder": image_folder(self.number), "free_energy_eV": self.free_energy,
            "relative_energy_eV": self.free_energy - zero, "energy_zero_smearing_eV": self.energy_zero,
            "distance_A": self.distance, "force_along_path_eV_per_A": self.tangent_force,
            "largest_force_eV_per_A": self.largest_force, "converged": self.converged, "scf_steps": self.scf_steps,
            "positions_scaled": self.scaled_ac.tolist(),
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class PathResult:
    """A path, finished or not.

    status: how it ended, one sentence; interrupted: by a signal, STOPCAR or the end of the time.  images: empty if not
    all of them were computed once; energies: the curve through them, None without.  highest, climbing: of the last
    step.  seconds: wall time of this run; files: by name, in folder; the images' own lie in folders 00, 01 ...
    """

    converged: bool
    interrupted: bool
    status: str
    symbols: tuple[str, ...]
    images: tuple[ImageResult, ...]
    energies: PathEnergy | None
    steps: tuple[BandStep, ...]
    seconds: float
    threads: int
    folder: Path
    files: Mapping[str, Path] = field(default_factory=dict)
    unwritten: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    run: str = ""

    @property
    def saddle(self) -> tuple[str, float] | None:
        """Folder of the highest image between the end points, and its energy over that of the first, eV."""
        inner = self.images[1:-1]
        if not inner:
            return None
        best = max(inner, key=lambda image: image.free_energy)
        return image_folder(best.number), best.free_energy - self.images[0].free_energy

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON; docs/guides/saddle_points.md lists the fields."""
        zero = self.images[0].free_energy if self.images else 0.0
        return {
            "format": JSON_FORMAT, "version": JSON_VERSION, "program_version": __version__, "run": self.run,
            "converged": self.converged, "interrupted": self.interrupted, "status": self.status,
            "symbols": list(self.symbols), **({} if self.energies is None else self.energies.as_dict()),
            "highest_image": None if self.saddle is None else self.saddle[0],
            "images": [image.as_dict(zero) for image in self.images],
            "steps": [step.as_dict() for step in self.steps], "warnings": list(self.warnings),
            "notes": list(self.notes), "advice": list(self.advice), "seconds": self.seconds, "threads": self.threads,
            "files": {name: str(path) for name, path in self.files.items()}, "files_not_written": list(self.unwritten),
        }  # fmt: skip
