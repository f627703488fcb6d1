"""`eigenwerk plot`: pictures of what a folder holds, as PNG, SVG or PDF.

Exit codes: 0 done, 2 nothing to draw, or a file that is damaged.  PyTorch is not loaded.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenwerk.cli.saying import say
from eigenwerk.errors import InputError
from eigenwerk.perf.pictures import SUFFIXES, require_suffix, save_figure

if TYPE_CHECKING:
    from eigenwerk.view.choice import Options, Picture
    from eigenwerk.view.folder import RunFolder

PARTS = ("none", "element", "l", "atom", "lm")
"""As `perf.looking.dos_plot` has them, whose libraries `--help` does not wait for."""

Folder = Annotated[Path, typer.Argument(metavar="[DIR]", help="Folder with results, or one of its files.")]
What = Annotated[
    list[str] | None, typer.Argument(
        metavar="[WHAT]...",
        help="bands, dos, bands+dos, eos, converge, ionic, trajectory, scf, structure, fields, a file like CHGCAR; "
        "default: all.",
    )
]  # fmt: skip
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="File of one picture (.png, .svg, .pdf), or a folder for all."),
]
Format = Annotated[str, typer.Option("--format", metavar="KIND", help="png, svg or pdf, where -o names no file.")]
Window = Annotated[
    str | None, typer.Option("--energies", metavar="LOW:HIGH", help="Energies of bands and DOS from the zero, eV.")
]
Parts = Annotated[
    str, typer.Option("--parts", metavar="BY", help=f"Parts of the DOS by {', '.join(PARTS[1:])}, or none.")
]
Atoms = Annotated[
    str | None,
    typer.Option("--atoms", metavar="LIST", help="Atoms, like 1,3-5: parts of the DOS; three: the plane of a field."),
]
Broaden = Annotated[
    float | None,
    typer.Option("--broaden", metavar="WIDTH", min=0.0, help="Gaussian for the DOS, eV; 0: none; default: by SIGMA."),
]
Dos = Annotated[Path | None, typer.Option("--dos", metavar="DIR", help="Another folder for the density of states.")]
Axis = Annotated[
    int | None,
    typer.Option("--axis", metavar="1|2|3", min=1, max=3, help="Cut and average fields across this lattice axis."),
]
At = Annotated[float | None, typer.Option("--at", metavar="X", help="Where to cut them, fractional coordinate.")]


def plot(
    folder: Folder = Path("."),
    what: What = None,
    output: Output = None,
    kind: Format = "png",
    energies: Window = None,
    parts: Parts = "l",
    atoms: Atoms = None,
    broaden: Broaden = None,
    dos: Dos = None,
    axis: Axis = None,
    at: At = None,
) -> None:
    """Draw what a folder holds: bands, densities of states, series, ionic steps, convergence, structure, fields.

    Nothing is computed; vasprun.xml, bands.json, eos.json, converge.json, eigenwerk.h5 and files like CHGCAR are read,
    also those of VASP where they are alike. Pictures go into the folder.

    Exit codes: 0 done; 2 nothing to draw, or a file that is damaged.
    """
    folder, wanted = _place(folder, list(what or []))
    target = _target(output, kind)
    if parts not in PARTS:
        raise InputError(f"--parts {parts}: no such choice. Take one of {', '.join(PARTS)}.")
    from eigenwerk.view.choice import Options, left_out, named, pictures_of, why_missing
    from eigenwerk.view.dos_plot import parse_atoms
    from eigenwerk.view.folder import RunFolder

    run = RunFolder(folder)
    options = Options(
        None if energies is None else _window(energies), parts, None if atoms is None else tuple(parse_atoms(atoms)),
        axis, at, broaden, None if dos is None else RunFolder(dos),
    )  # fmt: skip
    if wanted:
        named_ones = [(words, picture) for words in wanted for picture in named(run, words)]
        pictures = [one for words, one in named_ones if words != "fields" or not why_missing(one, run, options)]
        for picture in pictures:
            if reason := why_missing(picture, run, options):
                raise InputError(f"{folder}: no picture of {picture.name}: {reason}.")
    else:
        pictures = pictures_of(run, options)
    if not wanted or "fields" in wanted:
        for words in left_out(run, options):
            say(words, err=True)
    if not pictures:
        raise InputError(
            f"{folder}: nothing to draw. Pictures are made of vasprun.xml, bands.json, eos.json, converge.json, CHGCAR "
            "and its like; give the folder into which `eigenwerk run`, `eos` or `converge` wrote them."
        )
    if target is not None and len(pictures) > 1:
        if wanted:
            raise InputError(f"--output {output}: {len(pictures)} pictures do not fit into one file. Name a folder.")
        pictures = pictures[:1]
    place = folder if output is None or target is not None else output
    _draw_all(run, options, pictures, [target or place / f"{picture.file}.{kind}" for picture in pictures])


def _draw_all(run: "RunFolder", options: "Options", pictures: list["Picture"], paths: list[Path]) -> None:
    """All that can be drawn; what cannot is told at the end."""
    failures: dict[str, list[str]] = {}
    for picture, path in zip(pictures, paths, strict=True):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            save_figure(picture.draw(run, options), path)
        except InputError as error:
            failures.setdefault(str(error), []).append(picture.name)
        except OSError as error:
            failures.setdefault(f"{path} cannot be written ({error.strerror})", []).append(picture.name)
        else:
            say(f"{path}: {picture.meaning}")
    told = [f"No picture of {', '.join(names)}: {words}" for words, names in failures.items()]
    if run.vasprun_damage and run.vasprun_damage not in failures:
        without = "Pictures of other files were drawn without what it says: how the run ended, the Fermi level."
        told.append(f"{run.vasprun_damage} {without}")
    if told:
        raise InputError("\n".join(told))


def _place(folder: Path, what: list[str]) -> tuple[Path, list[str]]:
    """`plot bands` in a folder, and `plot DIR/CHGCAR`, mean what they say."""
    if folder.is_file():
        kinds = {"bands.json": "bands", "eos.json": "eos", "converge.json": "converge"}
        if folder.name.startswith("vasprun.xml"):
            return folder.parent, what
        return folder.parent, [kinds.get(folder.name, folder.name), *what]
    if not folder.exists() and folder.parent == Path("."):
        _require_picture(str(folder))
        return Path("."), [str(folder), *what]
    return folder, what


def _require_picture(words: str) -> None:
    """Raise InputError for the first word where it is neither a path nor the name of a picture."""
    from eigenwerk.view.choice import is_picture, known_pictures

    if not is_picture(words):
        raise InputError(
            f"{words}: there is no such folder or file, and no picture of this name. Correct the path. "
            f"{known_pictures()}"
        )


def _target(output: Path | None, kind: str) -> Path | None:
    """The file of the one picture, or None for a folder."""
    if f".{kind}" not in SUFFIXES:
        raise InputError(f"--format {kind}: pictures are png, svg or pdf.")
    if output is None or output.is_dir() or not output.suffix:
        return None
    require_suffix(output, "--output")
    return output


def _window(words: str) -> tuple[float, float]:
    """LOW:HIGH.  Raises InputError for anything else."""
    found = re.fullmatch(r"\s*([-+]?[0-9.]{1,12})\s*:\s*([-+]?[0-9.]{1,12})\s*", words)
    try:
        low, high = (float(end) for end in found.groups()) if found else (0.0, 0.0)
    except ValueError:
        low = high = 0.0
    if not low < high:
        raise InputError(f"--energies {words[:60]}: not a range. Write LOW:HIGH in eV, like -10:5.")
    return low, high
