"""The texts of a folder, read once: an edit during a run is neither its input nor recorded as such."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.images import image_count, image_file
from eigenwerk.io.vasp.input.potcar import read_potcar_species
from eigenwerk.io.vasp.textfile import read_text

TEXTS = ("INCAR", "POSCAR", "KPOINTS", "KPOINTS_OPT", "ICONST")


@dataclass(frozen=True)
class InputTexts:
    """What was found when the files were read.

    text: of each that is there, those of images by the name 01/POSCAR; problem: why one could not be read, in words;
    species: their order in POTCAR, None without one; image: whether they are of one image of a path, by itself.
    """

    text: Mapping[str, str]
    problem: Mapping[str, str]
    species: tuple[str, ...] | None = None
    image: bool = False

    def __contains__(self, name: str) -> bool:
        """Whether there is such a file, readable or not."""
        return name in self.text or name in self.problem

    def of(self, name: str) -> str:
        """The text of a file that is there; InputError if it could not be read."""
        self.raise_problem(name)
        return self.text[name]

    def raise_problem(self, name: str) -> None:
        """InputError if a file could not be read."""
        if name in self.problem:
            raise InputError(self.problem[name])

    def as_dict(self) -> dict[str, Any]:
        """As it travels from process to process."""
        return {"text": dict(self.text), "problem": dict(self.problem), "species": self.species}

    @staticmethod
    def of_dict(words: Mapping[str, Any]) -> "InputTexts":
        """Inverse of `as_dict`."""
        species = words["species"]
        return InputTexts(words["text"], words["problem"], None if species is None else tuple(species))


def _is_there(path: Path) -> bool:
    """Whether there is such a file, or nobody may know: a folder that cannot be entered."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def read_texts(folder: str | Path) -> InputTexts:
    """Read the files of a folder; those that are missing or cannot be read are told by who asks for them."""
    folder, text, problem, species = Path(folder), {}, {}, None

    def read(name: str) -> None:
        if _is_there(folder / name):
            try:
                text[name] = read_text(folder / name)
            except InputError as error:
                problem[name] = str(error)

    for name in TEXTS:
        read(name)
    if images := image_count(text.get("INCAR", "")):
        for number in range(images + 2):
            read(image_file(number))
    if os.path.isfile(folder / "POTCAR") and not os.path.getsize(folder / "POTCAR"):
        text["POTCAR"] = ""
    elif _is_there(folder / "POTCAR"):
        try:
            species = read_potcar_species(folder / "POTCAR")
        except InputError as error:
            problem["POTCAR"] = str(error)
    return InputTexts(text, problem, species)
