"""Where the files of a run go: a folder that is its own while it runs, or another one when that has vanished."""

import json
import tempfile
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from eigenwerk.dft.inputs.restart import STATE_FILE
from eigenwerk.dft.inputs.steps.bands import PATH_FILE
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import ensure_writable, make_empty, refuse_occupied
from eigenwerk.io.folder_lock import FolderLock, lock_folder
from eigenwerk.io.run_stamp import new_run, others_of_set, stamp_of
from eigenwerk.io.vasp.output.files import OUTPUT_FILES
from eigenwerk.io.vasp.output.record import RunRecord

BANDS_FILE = "bands.json"
"""Bands along a path, or at a second list of k-points, with gap and masses."""

STARTS = ("CHGCAR", "CHG", "WAVECAR")
"""What a run may begin from; it may be told not to write its own."""


ALWAYS = (STATE_FILE, "vasprun.xml", "OUTCAR", "OSZICAR", "CONTCAR")
"""Files of every run: without one of them there is no use in beginning."""


class OutputFolder:
    """The folder of one run.

    path: where files go now; run: its identifier; writes: whether there are any; within: the folder that it is a part
    of, and must lie in.
    """

    def __init__(self, path: str | Path, run: str = "", writes: bool = True, within: Path | None = None):
        # other folders may be the current one when it is needed
        self.path, self.run, self.writes = Path(path), run or new_run(), writes
        self._within = within
        self._absolute = self.path.absolute()
        self._locks: list[FolderLock] = []

    def take(self) -> str:
        """Make the folder if need be, and lock it; words about a lock that a dead run has left, or none.

        Raises InputError if it cannot be written, or if another run writes there.
        """
        if not self.writes:
            return ""
        ensure_writable(self.path, within=self._within)
        refuse_occupied(self.path, ALWAYS)
        self._locks.append(lock_folder(self.path, self.run))
        return self._locks[-1].note

    def leave_empty_wavecar(self) -> None:
        """An empty file where there is none, as VASP's LWAVE = .FALSE. leaves one: flows copy it, or stop without."""
        with suppress(OSError):
            make_empty(self.path / "WAVECAR")

    def release(self) -> None:
        """Let other runs write there."""
        for lock in self._locks:
            lock.release()

    def move_if_vanished(self) -> str:
        """Another folder if this one is there no more: made anew, else in the current one, at home, in that for
        temporary files.  Words about it; empty if all is well, or if there is no place at all."""
        if self._absolute.is_dir():
            return ""
        gone = self.path
        for place in (self._anew, self._here, self._at_home, self._temporary):
            with suppress(OSError, InputError, RuntimeError):
                self.path = place()
                self._absolute, self._within = self.path.absolute(), None
                self.take()
                where = "made anew" if self._absolute == gone.absolute() else f"{self.path} takes its place"
                return f"the output folder {gone} has vanished during the run; {where}"
        self.path = gone
        return ""

    def _anew(self) -> Path:
        self._absolute.mkdir(parents=True)
        return self._absolute

    def _here(self) -> Path:
        return self._named(Path.cwd())

    def _at_home(self) -> Path:
        return self._named(Path.home())

    def _named(self, folder: Path) -> Path:
        new = folder / f"eigenwerk-{self.run}"
        new.mkdir()
        return new

    def _temporary(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="eigenwerk-"))


def earlier_words(folder: Path, written: Collection[str], goes_on: bool) -> str:
    """Words about files in a folder that look like those of its run and are not: earlier ones left them.

    written: names of what the run has written; goes_on: whether it began from an earlier one, whose density and
    orbitals then belong there.  Empty if all is well.
    """
    names = {file.name for file in OUTPUT_FILES} | {BANDS_FILE}
    names -= {*written, *(STARTS if goes_on else ())}
    try:
        found = sorted(entry.name for entry in folder.iterdir() if entry.is_file() and entry.stat().st_size)
    except OSError:
        return ""
    left = [name for name in found if name in names or (name.startswith("PARCHG") and name not in written)]
    if not left:
        return ""
    verb, them, stay = ("are", "them", "they stay") if len(left) > 1 else ("is", "it", "it stays")
    return f"{', '.join(left)} in {folder} {verb} of an earlier run: this one does not write {them}, and {stay} there"


def set_words(path: Path) -> list[str]:
    """Words about files beside a state that are of another save: a run may have been killed between two of them."""
    others = others_of_set(path, [file.name for file in OUTPUT_FILES])
    if not others:
        return []
    names = ", ".join(f"{name} ({stamp})" for name, stamp in others.items())
    return [f"{names} and {path.name} ({stamp_of(path)}) are not of one save; {path.name} counts"]


def band_texts(record: RunRecord, path_text: str) -> dict[str, str]:
    """bands.json, and the path where no file holds it."""
    found = record.final.values.get("bands")
    if found is None:
        return {}
    words = json.dumps({"mark": str(record.stamp)} | found.as_dict())
    return {BANDS_FILE: words} | ({PATH_FILE: path_text} if path_text else {})
