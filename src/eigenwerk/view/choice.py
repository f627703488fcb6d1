"""The one table of pictures: what each is called, what it is made of, and how it is drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eigenwerk.errors import InputError
from eigenwerk.view.bands_plot import bands_figure
from eigenwerk.view.convergence_plot import convergence_figure
from eigenwerk.view.dos_plot import DosCurves, broadened, dos_curves, dos_figure, own_broadening
from eigenwerk.view.field_plot import field_figure
from eigenwerk.view.fields import atom_plane, best_axis, is_field, lattice_plane, read_fields
from eigenwerk.view.folder import BANDS, CONVERGE, EOS, NEB, RunFolder
from eigenwerk.view.ionic_plot import ionic_figure
from eigenwerk.view.path_plot import path_figure, path_title
from eigenwerk.view.series_plot import converge_figure, eos_figure, eos_title
from eigenwerk.view.structure_plot import structure_figure
from eigenwerk.view.trajectory import read_trajectory
from eigenwerk.view.trajectory_plot import trajectory_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRAJECTORY_FILE = "trajectory.h5"


@dataclass(frozen=True)
class Options:
    """What can be chosen about pictures.

    window: energies from the zero, eV; parts, atoms: those of densities of states; three atoms span the plane of a
    field; axis: from 1, across which a field is cut and averaged; at: where, fractional; broaden: width of a Gaussian,
    eV, None: by the mesh; dos: another folder for densities of states.
    """

    window: tuple[float, float] | None = None
    parts: str = "l"
    atoms: tuple[int, ...] | None = None
    axis: int | None = None
    at: float | None = None
    broaden: float | None = None
    dos: RunFolder | None = None


@dataclass(frozen=True)
class Picture:
    """One kind.

    name: as people call it; file: without suffix; missing: why a folder cannot have it, or nothing; draw: raises
    InputError for files that are damaged, and for options that do not fit.
    """

    name: str
    file: str
    meaning: str
    missing: Callable[[RunFolder, Options], str]
    draw: Callable[[RunFolder, Options], "Figure"]


# -- what is missing ---------------------------------------------------------------------------------------------------


def _no_run(folder: RunFolder, options: Options) -> str:
    return "" if folder.vasprun_path else "there is no vasprun.xml"


def _no_bands(folder: RunFolder, options: Options) -> str:
    if not folder.has(BANDS):
        return "there is no bands.json; `eigenwerk run --bands auto` makes one"
    if folder.drawn(BANDS, lambda bands: bands["lines"]) is None:
        return "the k-points of bands.json are a list and no path"
    return ""


def _no_dos(folder: RunFolder, options: Options) -> str:
    folder = options.dos or folder
    if reason := _no_run(folder, options):
        return reason
    if folder.vasprun.dos is None:
        return "vasprun.xml holds no density of states"
    if folder.vasprun.generation.startswith("path"):
        return "the k-points of the run are a path, which says nothing about the density of states"
    return ""


def _no_scf(folder: RunFolder, options: Options) -> str:
    if reason := _no_run(folder, options):
        return reason
    return "the density of the run was kept (ICHARG)" if folder.fixed_density else ""


def _no_ionic(folder: RunFolder, options: Options) -> str:
    if reason := _no_run(folder, options):
        return reason
    return "" if len(folder.vasprun.steps) > 1 else "the run has one ionic step only"


def _no_trajectory(folder: RunFolder, options: Options) -> str:
    if not folder.has(TRAJECTORY_FILE):
        return f"there is no {TRAJECTORY_FILE}"
    if reason := _no_ionic(folder, options):
        return reason
    return "" if any(step.kinetic is not None for step in folder.vasprun.steps) else "the run is no dynamics"


def _no_path(folder: RunFolder, options: Options) -> str:
    if not folder.has(NEB):
        return "there is no neb.json; `eigenwerk run` makes one of a folder with IMAGES"
    return "" if folder.drawn(NEB, lambda found: found["images"]) else "its images were not all computed yet"


def _needs(name: str, command: str) -> Callable[[RunFolder, Options], str]:
    return lambda folder, options: "" if folder.has(name) else f"there is no {name}; `eigenwerk {command}` makes one"


# -- how it is drawn ---------------------------------------------------------------------------------------------------


def curves_of(folder: RunFolder, options: Options) -> tuple[DosCurves, str]:
    """Densities of states as they are to be drawn, and words about their broadening, or none."""
    found = folder.vasprun
    assert found.dos is not None
    width = own_broadening(found.parameters) if options.broaden is None else options.broaden
    curves = dos_curves(found.dos, found.symbols, options.parts, options.atoms, folder.moment_a)
    spread = broadened(curves, width)
    return spread, "" if spread is curves else f"Gaussian broadening {width:.2g} eV"


def _bands(folder: RunFolder, options: Options) -> "Figure":
    return folder.drawn(BANDS, lambda bands: bands_figure(bands, folder.formula, window=options.window))


def _dos(folder: RunFolder, options: Options) -> "Figure":
    folder = options.dos or folder
    (curves, words), (zero, name) = curves_of(folder, options), folder.zero
    return dos_figure(curves, zero, name, f"{folder.formula}{words and f' ({words})'}{folder.mark}", options.window)


def _bands_dos(folder: RunFolder, options: Options) -> "Figure":
    curves, words = curves_of(options.dos or folder, options)
    below = words.replace(" ", "\n", 2)
    return folder.drawn(BANDS, lambda bands: bands_figure(bands, folder.formula, curves, options.window, below))


def _scf(folder: RunFolder, options: Options) -> "Figure":
    steps = folder.steps
    ended = {True: "converged, ", False: "NOT CONVERGED, ", None: ""}[folder.vasprun.converged]
    title = f"{folder.formula}: {ended}{len(steps)} step{'s' * (len(steps) > 1)}"
    return convergence_figure(steps, title, folder.tolerance)


def _ionic(folder: RunFolder, options: Options) -> "Figure":
    found = folder.vasprun
    try:
        limit = -float(found.parameters.get("EDIFFG", "0"))
    except ValueError:
        limit = 0.0
    title = f"{folder.formula}: {len(found.steps)} ionic steps{folder.mark}"
    return ionic_figure(found.steps, title, limit if limit > 0 else None, 3 * len(found.symbols) - 3)


def _trajectory(folder: RunFolder, options: Options) -> "Figure":
    found = read_trajectory(folder.path / TRAJECTORY_FILE)
    return trajectory_figure(found, f"{folder.formula}: {len(found.time_t)} points of dynamics{folder.mark}")


def _structure(folder: RunFolder, options: Options) -> "Figure":
    last = folder.vasprun.last
    return structure_figure(last.lattice_cv, last.scaled_ac, folder.vasprun.symbols, folder.formula, folder.moment_a)


def _field(name: str) -> Callable[[RunFolder, Options], "Figure"]:
    def draw(folder: RunFolder, options: Options) -> "Figure":
        fields = read_fields(folder.path / name)
        poscar = fields[0].poscar
        axis = best_axis(poscar) if options.axis is None else options.axis - 1
        if options.atoms is None:
            plane = lattice_plane(poscar, axis, options.at)
        elif len(options.atoms) == 3:
            plane = atom_plane(poscar, (options.atoms[0], options.atoms[1], options.atoms[2]))
        else:
            raise InputError(f"--atoms: {len(options.atoms)} atoms, and a plane goes through three. Name three.")
        fermi = folder.fermi_level if fields[0].unit == "eV" else None
        return field_figure(fields, plane, axis, f"{folder.formula}: {name}{folder.mark}", fermi)

    return draw


PICTURES = (
    Picture("bands+dos", "bands_dos", "bands with the density of states beside them",
            lambda folder, options: _no_bands(folder, options) or _no_dos(folder, options), _bands_dos),
    Picture("bands", "bands", "bands along a path", _no_bands, _bands),
    Picture("dos", "dos", "density of states, total and of elements and orbitals", _no_dos, _dos),
    Picture("eos", "eos", "energy and pressure by volume", _needs(EOS, "eos"),
            lambda folder, options: folder.drawn(
                EOS, lambda found: eos_figure(found, f"{folder.formula}: {eos_title(found)}"))),
    Picture("converge", "converge", "errors by cutoff, k-points, smearing", _needs(CONVERGE, "converge"),
            lambda folder, options: folder.drawn(CONVERGE, lambda found: converge_figure(found, folder.formula))),
    Picture("neb", "neb", "energy along a path between two minima, with its images", _no_path,
            lambda folder, options: folder.drawn(
                NEB, lambda found: path_figure(found, f"{folder.formula}: {path_title(found)}"))),
    Picture("ionic", "ionic", "energy, forces, pressure or temperature of ionic steps", _no_ionic, _ionic),
    Picture("trajectory", "trajectory", "distances of pairs, mean square displacements, velocity autocorrelations",
            _no_trajectory, _trajectory),
    Picture("scf", "convergence", "the way to self-consistency", _no_scf, _scf),
    Picture("structure", "structure", "the atoms in their cell", _no_run, _structure),
)  # fmt: skip
"""In the order of what people want to see first; fields come besides, each by the name of its file."""


def field_picture(name: str) -> Picture:
    """The picture of a field."""

    def missing(folder: RunFolder, options: Options) -> str:
        if not folder.has(name):
            return f"there is no {name}"
        reason = folder.misfit(name)
        return f"{reason}: another run left it here. To draw it, put it into a folder of its own" if reason else ""

    return Picture(name, name, "a plane through a field, and averages over planes", missing, _field(name))


def pictures_of(folder: RunFolder, options: Options) -> list[Picture]:
    """All that a folder has what they need for, also where that turns out to be damaged."""
    # CHG is CHGCAR with few digits
    fields = [name for name in folder.fields if name != "CHG" or "CHGCAR" not in folder.fields]
    known = [*PICTURES, *map(field_picture, fields)]
    return [picture for picture in known if not why_missing(picture, folder, options)]


def left_out(folder: RunFolder, options: Options) -> list[str]:
    """Words about fields that are there and not drawn with the others, one for each reason."""
    names: dict[str, list[str]] = {}
    for name in folder.fields:
        if reason := why_missing(field_picture(name), folder, options):
            names.setdefault(reason, []).append(name)
    return [f"No picture of {', '.join(some)}: {reason}." for reason, some in names.items()]


def why_missing(picture: Picture, folder: RunFolder, options: Options) -> str:
    """Why a folder cannot have a picture; empty if it can, also where what it is made of turns out to be damaged."""
    try:
        return picture.missing(folder, options)
    except InputError:  # which drawing meets again
        return ""


def is_picture(words: str) -> bool:
    """Whether pictures are called so, in whatever folder."""
    return words == "fields" or any(picture.name == words for picture in PICTURES) or is_field(words)


def named(folder: RunFolder, words: str) -> list[Picture]:
    """The pictures of a name: of one kind, of one field, or `fields`.  Raises InputError for any other."""
    if words == "fields":
        if not folder.fields:
            raise InputError(f"{folder.path}: no fields: there is no CHGCAR, LOCPOT, ELFCAR, AECCAR or PARCHG.")
        return [field_picture(name) for name in folder.fields]
    found = [picture for picture in PICTURES if picture.name == words]
    if not found and (words in folder.fields or is_field(words)):
        found = [field_picture(words)]
    if not found:
        raise InputError(f"{words}: no such picture. {known_pictures()}")
    return found


def known_pictures() -> str:
    """A sentence with all names."""
    names = ", ".join(picture.name for picture in PICTURES)
    return f"There are {names}, fields, and each field by name, like CHGCAR."
