"""A path between two minima, from folders to files.

Groups of ranks compute images side by side; where the band goes next is decided on all ranks by the same numbers.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from eigenwerk import __version__
from eigenwerk.dft.inputs.inputs import Inputs, image_inputs
from eigenwerk.dft.plan.room import with_room
from eigenwerk.dft.runs.active_run import ActiveRun, Notes, OnNote, Protect
from eigenwerk.dft.runs.computing import calculation_of, computing, read_datasets
from eigenwerk.dft.runs.motion.movers import make_band
from eigenwerk.dft.runs.paths.groups import ImageGroups, image_groups
from eigenwerk.dft.runs.paths.image import WIDTH, Image, go_on, point_of, row_of
from eigenwerk.dft.runs.paths.report import DOCUMENT, STATE, BandStep, ImageResult, PathResult
from eigenwerk.dft.runs.quantities.report import RunInterrupted
from eigenwerk.dft.runs.runner import Runner
from eigenwerk.dft.runs.saving.output_folder import OutputFolder
from eigenwerk.dft.runs.saving.saving import SAVE_EVERY, Saver
from eigenwerk.dft.runs.stopping import Stopped, StopRules
from eigenwerk.dft.settings.motion_kind import PATH
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import write_text
from eigenwerk.io.hdf5.hdf5_state import read_with_header, write_state
from eigenwerk.io.run_stamp import new_run
from eigenwerk.io.vasp.input.images import image_folder
from eigenwerk.io.vasp.output.record import StepRecord
from eigenwerk.motion.mover import Report
from eigenwerk.motion.saddle.band import Band, BandReport
from eigenwerk.motion.surface import Arrangement, SurfacePoint
from eigenwerk.parallel.runtime import Runtime

GOES_ON, STOPS, BREAKS = 0, 1, 2
"""How a step of the band ended: whole, by a rule after a step of self-consistency, by a signal."""

REMEDY = "Leave --restart out to begin anew, from the CONTCARs if they are there."

OnPathStep = Callable[[StepRecord, int, Runtime], None]
OnBandStep = Callable[[BandStep], None]


@dataclass
class PathRun:
    """One path on its way."""

    inputs: Inputs
    band: Band
    folder: OutputFolder
    groups: ImageGroups
    images: dict[int, Runner]
    rules: StopRules
    protect: Protect | None
    on_band_step: OnBandStep | None
    on_note: OnNote | None
    began: float = field(default_factory=time.monotonic)
    steps: list[BandStep] = field(default_factory=list)
    last: BandReport | None = None
    unwritten: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.notes = Notes(self.on_note)
        count, atoms = self.band.image_xac.shape[:2]
        self.table = np.full((count, WIDTH + 3 * atoms), np.nan)
        self.scf_x = np.zeros(count, dtype=int)

    def note(self, *words: str) -> None:
        """Keep words for the result, and hand on those that are new."""
        self.notes.add(*words)

    def run(self) -> PathResult:
        """To the end, or until it is stopped."""
        while wanted := self.band.ask():
            began = time.monotonic()
            points, ended, reason = self._points(wanted)
            if self.groups.worst(ended) != GOES_ON:
                return self._stop(self.groups.worst(ended), reason)
            report = self._told(wanted, points, began)
            if self.band.ask() and (reason := self._reason_between()):
                return self._stop(STOPS, reason)
            self.last = report
        return self._finish()

    def _points(self, wanted: dict[int, Arrangement]) -> tuple[dict[int, SurfacePoint], int, str]:
        """Those of this group, one after the other."""
        points: dict[int, SurfacePoint] = {}
        for number, arrangement in wanted.items():
            if number not in self.images:
                continue
            image = self.images[number]
            image.active.protect = self.protect  # what is to be rescued is the image at work
            try:
                points[number] = image.solve(arrangement)
            except Stopped as stop:
                if image.active.saver.latest is not None:
                    image.active.stop(str(stop))
                return points, STOPS, str(stop)
            except KeyboardInterrupt:
                image.active.break_off()
                return points, BREAKS, ""
        return points, GOES_ON, ""

    def _told(self, wanted: dict[int, Arrangement], points: dict[int, SurfacePoint], began: float) -> BandReport:
        """Tell the band what all groups have found, and save it."""
        rows = {number: row_of(self.images[number], point) for number, point in points.items()}
        found = self.groups.gathered(rows, self.table.shape[1])
        asked = sorted(wanted)
        self.table[asked] = found[asked]
        self.scf_x[asked] += found[asked, 4].astype(int)
        report = self.band.tell({number: point_of(wanted[number], found[number]) for number in asked})
        self.last = report
        for number in sorted(points):
            self.images[number].tell(self._of_image(report, number))
            if number in (0, self.band.last):  # computed once
                self._take(number)
        step = BandStep(
            self.band.steps_done, report.highest, None if report.energies is None else report.energies.forward,
            report.largest, report.climbing, int(found[asked, 4].sum()), time.monotonic() - began, report.words,
        )  # fmt: skip
        self.steps.append(step)
        self._save(False)
        if self.on_band_step is not None:
            self.on_band_step(step)
        return report

    @staticmethod
    def _of_image(report: BandReport, number: int) -> Report:
        if report.forces is None:
            return Report(words=report.words)
        forces = report.forces
        return Report(
            largest_force=float(report.largest_x[number]), tangent_force=float(forces.tangent_x[number]),
            spring_force=float(forces.spring_x[number]),
        )  # fmt: skip

    def _reason_between(self) -> str:
        """Why there is to be no other step, by the word of the first rank."""
        runtime, reason = self.groups.whole, ""
        if runtime.writes:
            reason = self.rules.reason_between([step.seconds for step in self.steps], 0.0)
        return (reason or "stopped") if runtime.world.any(bool(reason)) else ""

    def _take(self, number: int) -> None:
        """The final files of an image that is not asked for again."""
        result = self.images[number].finish()
        self.unwritten += result.unwritten
        known = [str(problem) for problem in self.inputs.problems]
        doubts = (f"image {number:02d}: {words}" for words in result.warnings if words not in known)
        self.warnings += tuple(words for words in doubts if words not in self.warnings)

    # -- the end -----------------------------------------------------------------------------------------------------

    def _finish(self) -> PathResult:
        for number, image in sorted(self.images.items()):
            if image.ground is not None and 0 < number < self.band.last:
                self._take(number)
        return self._save(True)

    def _stop(self, ended: int, reason: str) -> PathResult:
        done = f"after {self.band.steps_done} steps of the band"
        words = f"stopped {done}{reason and ': '}{reason}" if ended == STOPS else f"interrupted {done}"
        result = self._save(True, words)
        if ended == BREAKS:
            raise RunInterrupted(result)
        return result

    def _save(self, over: bool, interrupted: str = "") -> PathResult:
        """The files of the path; what they hold."""
        failed = self.groups.worst(int(bool(self.unwritten))) if over else 0
        if failed and not self.unwritten:
            self.unwritten = ("files of images could not be written: see the folders of the images",)
        result = self._result(interrupted)
        if not self.groups.whole.writes:
            return result
        files = {
            DOCUMENT: lambda path: write_text(path, json.dumps(result.as_dict(), indent=1, allow_nan=False) + "\n"),
            STATE: self._write_state,
        }
        for name, write in files.items():
            try:
                write(self.folder.path / name)
            except InputError as error:
                self.unwritten = (*self.unwritten, *({str(error)} - set(self.unwritten)))
        return self._result(interrupted)

    def _write_state(self, path: Path) -> None:
        band = self.band
        motion = {"kind": PATH, "finished": band.finished, "status": band.status, "mover": band.state()}
        tree = {
            "motion": motion, "table": self.table, "scf_steps": self.scf_x,
            "steps": json.dumps([step.as_dict() for step in self.steps]),
        }  # fmt: skip
        write_state(path, tree, __version__, stamp=self.folder.run)

    def _result(self, interrupted: str) -> PathResult:
        band, last = self.band, self.last
        images: list[ImageResult] = []
        if last is not None and last.forces is not None and not np.isnan(self.table[:, 0]).any():
            for number, row in enumerate(self.table):
                images.append(ImageResult(
                    number, float(row[0]), float(row[1]), float(last.forces.distance_x[number]),
                    float(last.forces.tangent_x[number]), float(last.largest_x[number]), bool(row[3]),
                    int(self.scf_x[number]), self.band.computed_xac[number],
                ))  # fmt: skip
        problems = [str(problem) for problem in self.inputs.problems if problem.severity == "warning"]
        names = {name: self.folder.path / name for name in (DOCUMENT, STATE)}
        return PathResult(
            converged=band.finished and not interrupted, interrupted=bool(interrupted),
            status=interrupted or band.status, symbols=self.inputs.structure.symbols, images=tuple(images),
            energies=None if last is None or not images else last.energies, steps=tuple(self.steps),
            seconds=time.monotonic() - self.began, threads=torch.get_num_threads(), folder=self.folder.path,
            files={name: path for name, path in names.items() if path.is_file()}, unwritten=self.unwritten,
            warnings=(*problems, *self.warnings), notes=self.notes.words, advice=self._advice(bool(interrupted)),
            run=self.folder.run,
        )  # fmt: skip

    def _advice(self, interrupted: bool) -> tuple[str, ...]:
        if interrupted:
            return ("eigenwerk run --restart goes on from neb.h5",)
        if self.band.finished or not self.band.ended:
            return ()
        if self.band.status.startswith("given up"):
            return ("look at OUTCAR of the images that do not converge: AMIX, ISMEAR and SIGMA, or a better start",)
        return ("more steps: raise NSW, and eigenwerk run --restart goes on from neb.h5",)

    def resume(self) -> None:
        """Go on where a run was saved.  Raises InputError if that was another path."""
        path = self.folder.path / STATE
        if not path.is_file():
            self.note(f"no step of the band has been saved in {self.folder.path}: it begins at its start")
            for image in self.images.values():
                go_on(image, 0)
            return
        _, tree = read_with_header(path)
        try:
            mover = tree["motion"]["mover"]
            self.band.restore(mover)
            table = np.array(tree["table"])
            if table.shape != self.table.shape:
                raise ValueError("another number of atoms")
            self.table, self.scf_x = table, np.array(tree["scf_steps"], dtype=int)
            self.steps = [BandStep.of_dict(row) for row in json.loads(tree["steps"])]
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InputError(f"{path}: the path cannot go on from there ({error}). {REMEDY}") from error
        self.band.go_on()
        self.note(f"going on after {self.band.steps_done} steps of {path}")
        for number, image in self.images.items():
            go_on(image, 1 if number in (0, self.band.last) else self.band.steps_done)


def run_path(
    inputs: Inputs,
    output: str | Path | None = None,
    *,
    on_step: OnPathStep | None = None,
    on_note: OnNote | None = None,
    on_band_step: OnBandStep | None = None,
    threads: int | None = None,
    save_every: float = SAVE_EVERY,
    runtime: Runtime | None = None,
    protect: Protect | None = None,
    until: float | None = None,
    run: str = "",
    resume: bool = False,
) -> PathResult:
    """The path of a folder with IMAGES; arguments as of `run_inputs`.

    on_step is called after every step of self-consistency with its `StepRecord`, the number of the image and the
    runtime of the ranks that compute it; on_band_step after each step of the band.

    Raises InputError for bad input before anything is written; RunInterrupted after Ctrl-C.
    """
    inputs.raise_on_errors()
    motion = inputs.motion
    assert motion is not None and motion.kind == PATH, "a folder with IMAGES"
    band = make_band(inputs, motion)
    runtime = runtime or Runtime()
    folder = OutputFolder(inputs.folder if output is None else output, run or new_run())
    groups = image_groups(inputs, band.last - 1, runtime)
    own = with_room(inputs.size, groups.own)
    locked: list[OutputFolder] = []
    try:
        words = folder.take() if runtime.writes else ""
        locked.append(folder)
        rules = StopRules([folder.path, inputs.folder] if own.writes else [], until, True)
        with computing(runtime, inputs.parameters, threads):
            datasets = read_datasets(inputs, runtime)
            path = PathRun(inputs, band, folder, groups, {}, rules, protect, on_band_step, on_note)
            for number in groups.numbers():
                mine = image_inputs(inputs, number, folder.path)
                mine.raise_on_errors()
                place = OutputFolder(folder.path / image_folder(number), folder.run, within=folder.path)
                if own.writes:
                    place.take()
                    locked.append(place)
                calculation = calculation_of(mine, datasets, own)
                saver = Saver(mine, calculation, place, save_every)
                active = ActiveRun(mine, calculation, saver, rules, _of_image(on_step, number, own), path.note)
                path.images[number] = Runner(active, Image(number, band), f"image {number:02d}")
            path.note(*filter(None, [words, *rules.notes(), _shared_words(groups)]))
            if resume:
                path.resume()
            return path.run()
    finally:
        for place in locked:
            place.release()


def _of_image(on_step: OnPathStep | None, number: int, runtime: Runtime) -> Callable[[StepRecord], None] | None:
    if on_step is None:
        return None
    return lambda step: on_step(step, number, runtime)


def _shared_words(groups: ImageGroups) -> str:
    """How images are shared out, if there are several ranks."""
    ranks = groups.whole.world.size
    if ranks == 1:
        return ""
    if groups.count == 1:
        return f"all {ranks} ranks compute one image after the other: {groups.images} images cannot be shared evenly"
    each, members = groups.images // groups.count, ranks // groups.count
    return f"{groups.count} groups of {members} rank{'s' * (members > 1)} compute {each} image{'s' * (each > 1)} each"
