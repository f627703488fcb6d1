"""Paths between images as `eigenwerk run` shows them: a row for each step of the band, and what was found."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eigenwerk.cli.moving.table import clock
from eigenwerk.dft.runs.paths.report import BandStep, PathResult
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.elements import formula
from eigenwerk.io.vasp.input.images import image_folder
from eigenwerk.io.vasp.output.record import StepRecord
from eigenwerk.perf.pictures import save_figure
from eigenwerk.shown import counted
from eigenwerk.view.path_plot import path_figure, path_title

PICTURE = "neb.png"

COLUMNS = (
    ("step", "", 5), ("highest", "image", 9), ("barrier", "eV", 12), ("force", "eV/Å", 11), ("SCF", "steps", 7),
    ("time", "s", 9), ("at most", "left", 10),
)  # fmt: skip


@dataclass
class PathTable:
    """images: between the end points; steps: of the band, at most."""

    images: int
    steps: int
    headed: bool = False
    number: int = 0
    seconds: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def heading(self) -> list[str]:
        """Two lines above the table."""
        return ["".join(f"{column[part]:>{column[2]}}" for column in COLUMNS).rstrip() for part in (0, 1)]

    def on_its_way(self, step: StepRecord, image: int = 0) -> str:
        """Words for a line that moves: the step of self-consistency that is being computed."""
        residual = "" if step.density_residual is None else f", {step.density_residual:.1e} electrons out of place"
        where = f"step {self.number + 1} of at most {max(self.steps, 1)}, image {image_folder(image)}"
        return f"{where}, SCF step {step.step + 1}{residual}"

    def lines(self, step: BandStep) -> list[str]:
        """A row, below a heading if it is the first, and remarks."""
        now = time.monotonic()
        seconds, self.began, self.number = now - self.began, now, step.number
        self.seconds.append(seconds)
        usual = self.seconds[1:] or self.seconds
        left = (self.steps - step.number) * sum(usual) / len(usual)
        highest = f"{image_folder(step.highest)}{'*' if step.climbing else ''}"
        barrier = "" if step.barrier is None else f"{step.barrier:.4f}"
        force = "" if step.largest_force is None else f"{step.largest_force:.4f}"
        cells = (str(step.number), highest, barrier, force, str(step.scf_steps), f"{seconds:.2f}", clock(left))
        row = "".join(f"{cell:>{column[2]}}" for cell, column in zip(cells, COLUMNS, strict=True))
        head, self.headed = ([] if self.headed else self.heading()), True
        return [*head, row, *(f"      {words}" for words in step.words)]


def path_summary(result: PathResult, files: Sequence[str]) -> list[str]:
    """Everything about a path that a person wants to see at its end; the status line comes apart from this."""
    lines: list[str] = []
    if result.images and result.energies is not None:
        found = result.energies
        folder, height = result.saddle or ("", 0.0)
        lines += [
            "Barrier (free energies, the curve through the images)",
            f"  {'from 00':<22}{found.forward:>12.4f} eV",
            f"  {'from ' + image_folder(len(result.images) - 1):<22}{found.backward:>12.4f} eV",
            f"  {'energy of reaction':<22}{found.reaction:>12.4f} eV",
            f"  {'highest image':<22}{height:>12.4f} eV  in {folder}",
            "", *_images(result), "",
        ]  # fmt: skip
    scf = sum(image.scf_steps for image in result.images)
    lines.append(
        f"Time: {result.seconds:.1f} s with {counted(result.threads, 'thread')}, "
        f"{counted(len(result.steps), 'step')} of the band, {scf} of self-consistency"
    )
    return [*lines, "", f"Files in {result.folder}, and of each image in its folder", f"  {'  '.join(files)}"]


def _images(result: PathResult) -> list[str]:
    rows = ["  image   distance        energy   force along path   largest force",
            "                 Å            eV               eV/Å            eV/Å"]  # fmt: skip
    zero = result.images[0].free_energy
    for image in result.images:
        end = image.number in (0, len(result.images) - 1)
        force = "end point" if end else f"{image.largest_force:.4f}"
        mark = "" if image.converged else "  electrons NOT CONVERGED"
        rows.append(
            f"  {image_folder(image.number):>5}{image.distance:>11.4f}{image.free_energy - zero:>14.5f}"
            f"{image.tangent_force:>19.4f}{force:>16}{mark}"
        )
    return rows


def path_picture(result: PathResult, say: Callable[[str], None]) -> dict[str, Path]:
    """The picture of a path, if it can be drawn; a run does not fail for want of one."""
    if not result.images:
        return {}
    document, path = result.as_dict(), result.folder / PICTURE
    try:
        save_figure(path_figure(document, f"{formula(result.symbols)}: {path_title(document)}"), path)
    except (ImportError, InputError) as error:
        say(f"No {PICTURE}: {error}")
        return {}
    return {PICTURE: path}
