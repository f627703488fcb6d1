"""The report of a run: one HTML page made of vasprun.xml and of what lies beside it."""

from collections.abc import Iterator
from datetime import UTC, datetime

from eigenwerk import __version__
from eigenwerk.errors import InputError
from eigenwerk.io.hdf5.hdf5_state import read_state
from eigenwerk.io.run_stamp import stamp_of
from eigenwerk.io.trace_file import TRACE_FILE
from eigenwerk.io.vasp.output.record import RunReport
from eigenwerk.perf.profile import profile
from eigenwerk.perf.run_trace import RunTrace, load_run
from eigenwerk.shown import for_page
from eigenwerk.view.choice import PICTURES, Options
from eigenwerk.view.folder import BANDS, CONVERGE, EOS, NEB, STATE, RunFolder
from eigenwerk.view.report.page import cards, details, figure, page, remarks, section, table, text, verbatim
from eigenwerk.view.report.tables import (
    atom_table,
    band_rows,
    cell_rows,
    component_rows,
    energy_rows,
    ionic_table,
    kpoint_rows,
    phase_table,
    step_table,
    stress_rows,
)

MANY = 60
"""Tables with more rows are folded."""

UNRELIABLE = "The run has not converged: these numbers are not reliable."


def report(folder: RunFolder) -> str:
    """The page.

    Raises InputError if the folder holds no run of eigenwerk, or files that are damaged; ImportError if matplotlib is
    missing.
    """
    _require_own(folder)
    run_report = folder.vasprun.run_report or RunReport()
    trace = _trace(folder)
    parts = [
        _head(folder, run_report),
        section("structure", "Structure", _structure(folder)),
        section("settings", "Settings", *_settings(folder, run_report)),
        section("energies", "Energies and levels", *_energies(folder, run_report)),
        section("forces", "Forces, moments and stress", *_forces(folder)),
        section("ionic", "Ionic steps", *_ionic(folder)),
        section("convergence", "Self-consistency", *_convergence(folder)),
        section("bands", "Bands", *_bands(folder)),
        section("dos", "Density of states", _picture(folder, "dos", "Density of states")),
        section("time", "Time", *_time(trace)),
        section("origin", "Where it comes from", *_origin(folder, trace)),
    ]
    names = [("structure", "Structure"), ("settings", "Settings"), ("energies", "Energies"), ("forces", "Forces"),
             ("ionic", "Ionic steps"), ("convergence", "Self-consistency"), ("bands", "Bands"),
             ("dos", "Density of states"), ("time", "Time"), ("origin", "Origin")]  # fmt: skip
    links = [f'<a href="#{name}">{words}</a>' for name, words in names if any(f'id="{name}"' in part for part in parts)]
    parts.insert(1, f"<nav>{' '.join(links)}</nav>")
    return page(f"{folder.formula}: report of a run of eigenwerk", "\n".join(filter(None, parts)))


def _require_own(folder: RunFolder) -> None:
    path = folder.vasprun_path
    if path is None:
        raise InputError(f"{folder.path}: no vasprun.xml, so there is no run to report. {_instead(folder)}")
    if not folder.vasprun.own:
        program = " ".join(filter(None, (folder.vasprun.generator.get(name) for name in ("program", "version"))))
        raise InputError(
            f"{path}: of {program or 'another program'}. Reports are made of runs of eigenwerk; `eigenwerk plot` draws "
            "what the file holds, and `eigenwerk run` computes the folder."
        )


def _instead(folder: RunFolder) -> str:
    """What can be done with a folder without a run: reports of the images of a path, pictures of series."""
    words = "Give the output folder of a run."
    if images := folder.images:
        names = ", ".join(image.name for image in images)
        words = f"It is that of a path, whose images are runs of their own ({names}): give one, like {images[0]}."
    others = [name for name in (EOS, CONVERGE, NEB) if folder.has(name)]
    drawn = "them" if len(others) > 1 else "it"
    return words + (f" It has {' and '.join(others)}: `eigenwerk plot` draws {drawn}." if others else "")


# -- the head ----------------------------------------------------------------------------------------------------------


def _head(folder: RunFolder, run_report: RunReport) -> str:
    found = folder.vasprun
    status = found.status
    good = found.reached is True
    status = status.rstrip(".")
    words = status[:1].upper() + status[1:] if status else "Converged" if good else "NOT CONVERGED"
    if not good and not words.startswith("NOT CONVERGED"):
        words = f"{'NOT FINISHED' if found.converged else 'NOT CONVERGED'}: {status}"
    about = dict(reversed(run_report.described))  # the first row of each name
    return "\n".join([
        f"<header><h1>{for_page(folder.formula)}</h1>",
        text(found.generator.get("SYSTEM") or about.get("system", ""), "soft"),
        text(about.get("method", ""), "soft"), "</header>", f'<div class="status {"good" if good else "bad"}">',
        text(f"{words}."), "</div>", remarks(run_report.warnings, "doubt"), remarks(run_report.advice, "bad"),
        _glance(folder, run_report),
    ])  # fmt: skip


def _glance(folder: RunFolder, run_report: RunReport) -> str:
    last, found = folder.vasprun.last, dict(run_report.found)
    rows = []
    if not folder.fixed_density:
        free, atoms = last.free_energy, len(folder.vasprun.symbols)
        rows.append(("free energy", f"{free:.6f} eV", f"{free / atoms:.6f} eV per atom"))
    gap, _, kind = found.get("band gap", "").partition(", ")
    if gap:
        rows.append(("band gap", gap, kind))
    elif "Fermi levels" in found:
        rows.append(("Fermi levels", found["Fermi levels"], ""))
    elif folder.vasprun.fermi_level is not None:
        words = found.get("Fermi level", "").partition(", ")[2]
        rows.append(("Fermi level", f"{folder.vasprun.fermi_level:.4f} eV", words))
    if last.moment is not None:
        rows.append(("magnetic moment", f"{last.moment:.4f} μB", "of the cell"))
    doubt = "" if folder.vasprun.converged else "not reliable: not converged"
    if last.force is not None:
        rows.append(("largest force", f"{last.force:.4f} eV/Å", doubt))
    if last.pressure is not None:
        rows.append(("pressure", f"{last.pressure:.3f} GPa", doubt))
    for label, words in run_report.found:
        if label.startswith("level"):
            level, _, above = words.partition(", ")
            rows.append((f"vacuum {label}", level, above.partition(" (")[0]))
    return cards(rows)


# -- parts -------------------------------------------------------------------------------------------------------------


def _picture(folder: RunFolder, name: str, alternative: str, caption: str = "") -> str:
    """One of the table of pictures, if the folder has what it needs."""
    (picture,) = (one for one in PICTURES if one.name == name)
    if picture.missing(folder, Options()):
        return ""
    return figure(picture.draw(folder, Options()), alternative, caption)


def _structure(folder: RunFolder) -> str:
    found = folder.vasprun
    atoms = atom_table(found, folder.moment_a)
    many = len(found.symbols) > MANY
    return (
        f'<div class="two"><div>{_picture(folder, "structure", "The atoms in their cell")}</div><div>'
        f"{table(('', ''), cell_rows(found))}</div></div>"
        + (details(f"{len(found.symbols)} atoms", atoms) if many else f"<h3>Atoms</h3>{atoms}")
    )


def _settings(folder: RunFolder, run_report: RunReport) -> Iterator[str]:
    yield table(("", ""), run_report.described)
    settings = [(tag, value.replace("_B", "B"), origin) for tag, value, origin in run_report.settings]
    given = [row for row in settings if row[2].startswith(("INCAR", "in place"))]
    heads = ("tag", "value", "from")
    yield "<h3>Set in the input</h3>" if given else ""
    yield table(heads, given)
    rest = [row for row in settings if row not in given]
    yield details(f"{len(rest)} tags by default, or from other input", table(heads, rest))
    if not settings:  # written before files told where values come from
        yield table(("tag", "value"), sorted(folder.vasprun.incar.items()))
    points = kpoint_rows(folder.vasprun)
    words = f"k-points: {', '.join(filter(None, [str(len(points)), folder.vasprun.generation]))}"
    yield details(words, table(("", "k1", "k2", "k3", "weight"), points))
    for name, content in _input_texts(folder).items():
        yield details(name, verbatim(content))


def _input_texts(folder: RunFolder) -> dict[str, str]:
    """INCAR, POSCAR and KPOINTS as they were when the run read them."""
    path = folder.path / STATE
    if not path.is_file() or stamp_of(path) != folder.stamp:
        return {}
    texts = read_state(path, only=["input"]).get("input", {}).get("texts", {})
    return {name: content for name, content in texts.items() if isinstance(content, str) and content}


def _energies(folder: RunFolder, run_report: RunReport) -> Iterator[str]:
    if folder.fixed_density:
        yield text("The density was kept (ICHARG): the total energy means little, and there are no forces.", "soft")
    else:
        yield table(("", "eV", "eV per atom"), energy_rows(folder.vasprun))
        yield text("Relative to the atoms of the PAW data sets.", "soft")
    yield table(("", ""), [(label.replace("level", "vacuum level", label.startswith("level")), words)
                           for label, words in run_report.found])  # fmt: skip
    parts = () if folder.fixed_density else component_rows(folder.vasprun)
    yield details("Parts of the energy of all electrons", table(("", "eV"), parts))


def _forces(folder: RunFolder) -> Iterator[str]:
    last = folder.vasprun.last
    if not folder.vasprun.converged and (last.forces_av is not None or last.stress_vv is not None):
        yield text(UNRELIABLE, "bad")
    if last.forces_av is None and not folder.fixed_density:
        yield text("Forces were not computed.", "soft")
    if last.forces_av is not None:
        yield text(f"The largest force is {last.force:.5f} eV/Å. All stand in the table of atoms.")
        if last.force_error:
            words = "Estimated error, from a density that is not quite self-consistent"
            yield text(f"{words}: {last.force_error:.1e} eV/Å.")
    if last.moment is not None:
        yield text(f"The moment of the cell is {last.moment:.4f} μB.")
    if last.stress_vv is not None:
        yield table(("kB", "x", "y", "z"), stress_rows(last))
        more = f" {last.pulay / 10:.3g} GPa of it come from the limited basis (Pulay)." if last.pulay else ""
        whole = f"pressure {last.pressure:.4f} GPa.{more}"
        yield text(f"Stress in kB, positive where the cell wants to expand; {whole}")


def _ionic(folder: RunFolder) -> Iterator[str]:
    steps = folder.vasprun.steps
    if len(steps) < 2:
        return
    yield _picture(folder, "ionic", "Energy and forces of the ionic steps")
    found = ionic_table(steps)
    yield details(f"{len(steps)} ionic steps", found) if len(steps) > MANY else found


def _convergence(folder: RunFolder) -> Iterator[str]:
    if folder.fixed_density:
        return
    several = len(folder.vasprun.steps) > 1
    yield text("Of the last ionic step.", "soft") if several else ""
    yield _picture(folder, "scf", "Changes of the energy and density residual by step")
    steps = folder.steps
    found = step_table(steps)
    yield details(f"{len(steps)} steps", found) if len(steps) > MANY else found
    yield remarks((f"step {step.step}: {event}" for step in steps for event in step.events), "soft")


def _bands(folder: RunFolder) -> Iterator[str]:
    if not folder.has(BANDS):
        return
    other = stamp_of(folder.path / BANDS)
    if other is not None and other != folder.stamp:
        yield text(f"bands.json is of another run ({other}) and left out.", "soft")
        return
    together = _picture(folder, "bands+dos", "Bands with the density of states")
    yield together or _picture(folder, "bands", "Bands along a path")
    rows, masses = folder.drawn(BANDS, band_rows)
    yield table(("", ""), rows)
    yield table(("effective mass", "towards", "bands", "electron masses"), masses)


def _trace(folder: RunFolder) -> RunTrace | None:
    """The record of times, if it is of this run."""
    if not folder.has(TRACE_FILE):
        return None
    trace = load_run(folder.path / TRACE_FILE)
    stamp = folder.stamp
    return trace if stamp is None or trace.about.get("run") == stamp.run else None


def _time(trace: RunTrace | None) -> Iterator[str]:
    if trace is None:
        yield text("There is no record of times: it is written at the end of a run.", "soft")
        return
    devices = ", ".join(sorted({rank.device for rank in trace.ranks}))
    ranks = f"{len(trace.ranks)} rank{'s' if len(trace.ranks) > 1 else ''}"
    count = trace.ranks[0].threads
    threads = f", {count} thread{'s' if count > 1 else ''} each" if "cpu" in devices else ""
    yield text(f"{trace.elapsed:.1f} s on {ranks} ({devices}{threads}), {trace.about.get('transport', '')}.")
    yield phase_table(profile(trace))


# -- the end -----------------------------------------------------------------------------------------------------------

CITE = (
    "Please cite eigenwerk (CITATION.cff); the data sets: gpaw-data with its version, J. J. Mortensen et al., J. Chem. "
    "Phys. 160, 092503 (2024); the method: P. E. Blöchl, Phys. Rev. B 50, 17953 (1994); and the functional."
)


def _origin(folder: RunFolder, trace: RunTrace | None) -> Iterator[str]:
    found = folder.vasprun
    run_report = found.run_report or RunReport()
    generator = found.generator
    began = f"{generator.get('date', '').replace(' ', '-')} {generator.get('time', '')}".strip()
    rows = [
        ("program", f"eigenwerk {generator.get('version', '')}"), ("began", began), ("mark", generator.get("run", "")),
        *(("PAW data", f"{symbol}: {title}") for symbol, title in found.titles.items()),
    ]  # fmt: skip
    if trace is not None:
        rows.append(("host", ", ".join(sorted({rank.host for rank in trace.ranks}))))
    yield table(("", ""), [(name, words) for name, words in rows if words])
    yield remarks(run_report.notes, "soft")
    yield text(CITE)
    yield details("Files", table(("file", "bytes", "of this save"), _files(folder)))
    yield text(f"Report made by eigenwerk {__version__} at {datetime.now(UTC):%Y-%m-%d %H:%M} UTC.", "soft")


def _files(folder: RunFolder) -> Iterator[tuple[str, str, str]]:
    """What lies in the folder, and whether it carries the mark of the run."""
    for entry in sorted(folder.path.iterdir()):
        if entry.is_file():
            stamp = stamp_of(entry)
            same = "" if stamp is None else "yes" if stamp == folder.stamp else f"no: {stamp}"
            yield entry.name, str(entry.stat().st_size), same
