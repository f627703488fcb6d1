"""The document of `eigenwerk check` as text: sections of aligned lines, colours only where a terminal shows them."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.text import Text

from eigenwerk.dft.settings.parameters import filling_words
from eigenwerk.shown import counted, for_terminal

Document = dict[str, Any]
Line = tuple[str, str]
"""Text and style."""

WIDTH = 110
SHOWN_POINTS = 8
PLAIN, FAINT, HEAD = "", "dim", "bold"
STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def show(document: Document, console: Console) -> None:
    """Print the document."""
    show_lines(lines(document), console)


def show_lines(styled: Iterable[Line], console: Console) -> None:
    """Print lines with their styles, without anything that a terminal would take for a command."""
    for text, style in styled:
        console.print(Text(for_terminal(text), style=style), soft_wrap=True)


def lines(document: Document) -> Iterator[Line]:
    """All lines with their styles."""
    yield f"eigenwerk {document['eigenwerk']} check: {document['folder']}", HEAD
    yield f"{document['formula'] or 'no structure'}: {document['title']}", PLAIN
    sections = (
        ("Settings", _settings(document["settings"])),
        ("Structure", _structure(document["structure"])),
        ("Symmetry", _symmetry(document["symmetry"])),
        ("k-points", (*_kpoints(document["kpoints"]), *_bands_besides(document))),
        ("Motion", _motion(document["motion"], document["files"])),
        ("Electrons and bands", _electrons(document["electrons"], document["bands"])),
        ("Plane waves", _plane_waves(document["grids"], document["plane_waves"])),
        ("Data sets", _datasets(document["datasets"])),
        ("Memory (estimate for one process)", _memory(document["memory"])),
        ("Files (estimate)", _files(document["files"])),
        ("Problems", _problems(document["problems"])),
    )
    yield from under_titles(sections)
    yield _verdict(document)


def under_titles(sections: Iterable[tuple[str, Iterable[Line]]]) -> Iterator[Line]:
    """Sections with something in them, each under its title and with empty lines around."""
    for title, body in sections:
        rows = list(body)
        if rows:
            yield "", PLAIN
            yield title, HEAD
            yield from rows
    yield "", PLAIN


def _row(label: str, text: str, style: str = PLAIN) -> Line:
    return f"  {label:<18}{text}", style


def _settings(settings: list[Document]) -> Iterator[Line]:
    """Those the user wrote, those that follow from other input, and the defaults in a paragraph."""
    shown = {setting["tag"]: _value(setting) for setting in settings}
    first = [setting for setting in settings if setting["given"]]
    second = [setting for setting in settings if not setting["given"] and setting["origin"] != "default"]
    names = max([9, *(len(setting["tag"]) for setting in (*first, *second))]) + 1
    width = min(44, max((len(shown[setting["tag"]]) for setting in (*first, *second)), default=0)) + 2
    for setting in (*first, *second):
        yield f"  {setting['tag']:<{names}}{shown[setting['tag']]:<{width}}{setting['origin']}", PLAIN
    rest = ", ".join(f"{s['tag']} {shown[s['tag']]}" for s in settings if s["origin"] == "default")
    for number, text in enumerate(wrap(rest, WIDTH - 12, break_long_words=False)):
        yield f"  {'' if number else 'defaults':<10}{text}", FAINT


def _value(setting: Document) -> str:
    value = setting["value"]
    text = compact(value) if isinstance(value, tuple | list) else setting["text"]
    return f"{text} {setting['unit']}".strip()


def compact(values: tuple[Any, ...] | list[Any]) -> str:
    """Lists with repeated values as INCAR writes them: 4*1 -1; pairs as Element:variant."""
    if values and isinstance(values[0], tuple | list):
        return " ".join(":".join(pair) for pair in values)
    runs = [(value, len(list(run))) for value, run in groupby(values)]
    return " ".join(f"{count}*{value:g}" if count > 1 else f"{value:g}" for value, count in runs)


def _structure(structure: Document | None) -> Iterator[Line]:
    if structure is None:
        return
    species = ", ".join(f"{count} {symbol}" for symbol, count in structure["species"].items())
    yield _row("atoms", f"{structure['atoms']} ({species})")
    for name, vector in zip("abc", structure["lattice"], strict=True):
        yield _row(f"vector {name}", "".join(f"{x:12.6f}" for x in vector) + " Å")
    yield _row("lengths", ", ".join(f"{length:.4f}" for length in structure["lengths"]) + " Å")
    yield _row("angles", ", ".join(f"{angle:.2f}" for angle in structure["angles"]) + "°")
    yield _row("volume", f"{structure['volume']:.4f} Å³, {structure['volume'] / structure['atoms']:.4f} Å³ per atom")
    shortest = structure["shortest_distance"]
    if shortest is not None:
        i, j = shortest["atoms"]
        pair = f"atoms {i} ({structure['symbols'][i - 1]}) and {j} ({structure['symbols'][j - 1]})"
        image = ", an image of it" if i == j else ""
        yield _row("shortest distance", f"{shortest['distance']:.4f} Å, {pair}{image}")


def _symmetry(symmetry: Document | None) -> Iterator[Line]:
    if symmetry is None:
        return
    yield _row("space group", f"{symmetry['spacegroup']}, point group {symmetry['point_group']}")
    kept = symmetry["mesh_operations"]
    limited = f", {kept} of them of the mesh of k-points" if kept != symmetry["operations"] else ""
    flips = f", {symmetry['spin_flips']} exchange the spins" if symmetry["spin_flips"] else ""
    reversal = "k and -k are the same" if symmetry["time_reversal"] else "k and -k are not the same"
    yield _row("operations", f"{symmetry['operations']}{limited}{flips}; {reversal}")


def _kpoints(kpoints: Document | None) -> Iterator[Line]:
    if kpoints is None:
        return
    full = counted(kpoints["full"], "point")
    yield _row("points", f"{kpoints['source']}: {full}, {kpoints['irreducible']} irreducible")
    shown = list(zip(kpoints["points"], kpoints["weights"], strict=True))[:SHOWN_POINTS]
    for number, (point, weight) in enumerate(shown, 1):
        yield _row(f"  {number}", "".join(f"{x:11.6f}" for x in point) + f"   weight {weight:.6f}")
    if kpoints["irreducible"] > SHOWN_POINTS:
        yield _row("", f"… and {kpoints['irreducible'] - SHOWN_POINTS} more", FAINT)


def _bands_besides(document: Document) -> Iterator[Line]:
    """What is done in a potential that does not change."""
    if document["fixed_density"]:
        source = document["restart"]["file"] or "superposed atoms"
        yield _row("density", f"that of {source} is kept; only bands are computed")
    for one in document["band_lists"]:
        yield _row("bands besides", f"{one['source']}: {counted(one['points'], 'point')}, in the potential of the run")


def _motion(motion: Document | None, sizes: Document | None) -> Iterator[Line]:
    """What moves, and how long its files get."""
    if motion is None:
        return
    for number, words in enumerate(motion["words"]):
        for place, text in enumerate(wrap(words, WIDTH - 20)):
            yield _row("" if number or place else motion["kind"], text)
    names = [name for name in ("vasprun.xml", "OUTCAR", "trajectory.h5") if sizes and name in sizes]
    if sizes and names:
        most = "at most " if motion["kind"] == "relaxation" else ""
        files = ", ".join(f"{name} {size(sizes[name])}" for name in names)
        yield _row("ionic steps", f"{most}{motion['ionic_steps']}, after which {files}")


def _electrons(electrons: Document | None, bands: Document | None) -> Iterator[Line]:
    if electrons is None or bands is None:
        return
    charge = f", charge of the cell {electrons['charge']:+g}" if abs(electrons["charge"]) > 1e-8 else ""
    yield _row("electrons", f"{electrons['count']:g}{charge}")
    if electrons["spins"] == 2:
        fixed = electrons["fixed_moment"]
        moment = f"{electrons['starting_moment']:g} µB at the start" if fixed is None else f"{fixed:g} µB, fixed"
        yield _row("spin", f"two channels, moment {moment}")
    else:
        yield _row("spin", "none")
    yield _row("functional", electrons["functional"])
    for label, words in electrons["words"]:
        yield _row(label, words)
    yield _row("occupations", filling_words(electrons["smearing"], electrons["width"]))
    yield _row("bands", f"{bands['count']}, of which the electrons need {bands['needed']}")


def _plane_waves(grids: Document | None, waves: Document | None) -> Iterator[Line]:
    if grids is None or waves is None:
        return
    estimated = "" if waves["exact"] else ", in part from the volume of the sphere"
    yield _row("per k-point", f"{waves['fewest']} to {waves['most']}, {waves['total']} in all{estimated}")
    yield _row("orbital grid", " x ".join(map(str, grids["wave"])))
    yield _row("density grid", " x ".join(map(str, grids["density"])))


def _datasets(datasets: list[Document]) -> Iterator[Line]:
    for data in datasets:
        variant = f", variant {data['variant']}" if data["variant"] else ""
        yield _row(
            data["element"],
            f"{data['name']}{variant}: {data['valence']:g} electrons, {data['projectors']} projectors, "
            f"{data['functional']}",
        )
        if data["recommended_cutoff"] is not None:
            yield _row(
                "", f"cutoff {data['recommended_cutoff']:g} eV recommended, {data['minimum_cutoff']:g} eV at least"
            )  # fmt: skip
        yield _row("", f"md5 {data['md5']}", FAINT)
        yield _row("", data["file"], FAINT)


def _memory(memory: Document | None) -> Iterator[Line]:
    if memory is None:
        return
    machine = f"; this machine has {size(memory['machine'])}" if memory["machine"] else ""
    yield _row("total", f"{size(memory['total'])}{machine}")
    items = sorted(memory["items"].items(), key=lambda item: -item[1])
    for text in wrap(", ".join(f"{name} {size(count)}" for name, count in items), WIDTH - 20):
        yield _row("", text, FAINT)


def _files(sizes: Document | None) -> Iterator[Line]:
    if sizes is None:
        return
    yield _row("total", size(sum(sizes.values())))
    for text in wrap(", ".join(f"{name} {size(count)}" for name, count in sizes.items()), WIDTH - 20):
        yield _row("", text, FAINT)


def size(count: float) -> str:
    """Bytes in decimal units with about three digits: 396 MB, 2.3 GB."""
    units = ["B", "kB", "MB", "GB", "TB"]
    while count >= 999.5 and len(units) > 1:
        count /= 1000.0
        units.pop(0)
    return f"{count:.0f} {units[0]}" if count >= 99.95 else f"{count:.3g} {units[0]}"


def _problems(problems: list[Document]) -> Iterator[Line]:
    for problem in problems:
        for number, text in enumerate(wrap(problem["text"], WIDTH - 12, break_long_words=False)):
            yield f"  {'' if number else problem['severity']:<10}{text}", STYLES[problem["severity"]]


def _verdict(document: Document) -> Line:
    counts = {kind: sum(p["severity"] == kind for p in document["problems"]) for kind in STYLES}
    words = ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in counts.items() if count)
    if document["ok"]:
        return f"Ready to run{f' ({words})' if words else ''}.", "bold green"
    return f"Not ready to run: {words}.", STYLES["error"]
