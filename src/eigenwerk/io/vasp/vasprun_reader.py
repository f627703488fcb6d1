"""Read vasprun.xml, written by eigenwerk or by VASP: what pictures and reports are made of.

The large blocks that they do not need (projections of single orbitals) are passed over.
Layout: docs/formats/vasprun.md.
"""

import xml.etree.ElementTree as ET
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.bounded import MEGABYTE, read_bounded
from eigenwerk.io.bounded_xml import xml_text, xml_tree
from eigenwerk.io.vasp.elements import ELEMENTS
from eigenwerk.io.vasp.output.record import DensityOfStates, IonicStep, RunReport, StepRecord

LARGEST = 2000 * MEGABYTE
"""Bytes of a file that are read."""

PROGRAM = "eigenwerk"
"""The word in the generator block of our own files."""

_PASSED_OVER = {"projected", "projected_kpoints_opt", "eigenvalues_kpoints_opt", "dielectricfunction", "dynmat"}


OWN = {
    "absolute_energy": "absolute_energy", "magnetization": "moment", "force_error": "force_error",
    "pulay_stress": "pulay", "temperature": "temperature", "largest_force": "largest_force",
    "largest_stress": "largest_stress",
}  # fmt: skip
"""Numbers of an ionic step that eigenwerk alone writes, and what they are called in a record."""

OF_DYNAMICS = {
    "kinetic": "kinetic", "lattice kinetic": "lattice_kinetic", "nosepot": "thermostat",
    "nosekinetic": "thermostat_kinetic", "total": "conserved",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class VasprunFile:
    """The file.

    generator: program, version, date, time, run; incar, parameters: tags as text; generation: words about the mesh;
    point_kc: reduced, weight_k: sum one; symbols: one per atom; titles: data set of each element; steps: ionic steps.
    fermi_level, eig_skn: eV; occ_skn: 0 to 1; dos: None where the file has
    none, as the others.  run_report: the run in words, status: how it
    ended, one sentence, of files of eigenwerk.
    """

    path: Path
    generator: Mapping[str, str]
    incar: Mapping[str, str]
    parameters: Mapping[str, str]
    generation: str
    point_kc: np.ndarray
    weight_k: np.ndarray
    symbols: tuple[str, ...]
    titles: Mapping[str, str]
    steps: tuple[IonicStep, ...]
    fermi_level: float | None
    eig_skn: np.ndarray | None
    occ_skn: np.ndarray | None
    dos: DensityOfStates | None
    run_report: RunReport | None
    status: str = ""

    @property
    def own(self) -> bool:
        """Whether eigenwerk wrote it."""
        return self.generator.get("program", "").lower() == PROGRAM

    @property
    def last(self) -> IonicStep:
        """The last ionic step."""
        return self.steps[-1]

    @property
    def converged(self) -> bool | None:
        """What a file of eigenwerk says of its last ionic step; None for other programs."""
        return self.last.converged if self.own else None

    @property
    def reached(self) -> bool | None:
        """Whether the run has reached all it was for: electrons, bands, atoms at rest; None if that is not told."""
        return self.converged if self.run_report is None else bool(self.converged) and self.run_report.reached


def read_vasprun(path: str | Path) -> VasprunFile:
    """Read a file, gzipped or not.

    Raises InputError, naming file and remedy, if it cannot be read, is cut off (a run that was killed, or is at work),
    is damaged, or has no ionic step.
    """
    path = Path(path)
    data = read_bounded(path, LARGEST)
    try:
        return _content(path, _parts(xml_text(data, LARGEST)))
    except (ET.ParseError, zlib.error, EOFError, OverflowError) as error:
        raise InputError(
            f"{path}: not a whole XML file ({error}). It was cut off, by a run that was killed or is still at work, or "
            "changed afterwards. Let the run end, take another copy, or run the calculation again."
        ) from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path}: XML, but not as VASP and eigenwerk write it ({type(error).__name__}: {error}). Is it damaged? "
            "Take another copy, or run the calculation again."
        ) from error


def _parts(text: bytes) -> ET.Element:
    """The tree without what is passed over."""
    root = xml_tree(text, _PASSED_OVER)
    if root.tag != "modeling":
        raise ValueError("the outermost element is not <modeling>")
    return root


def _content(path: Path, root: ET.Element) -> VasprunFile:
    symbols, titles = _atoms(root)
    found = [element for element in root.findall("calculation") if element.find("structure") is not None]
    if not found:
        raise InputError(f"{path}: holds no ionic step: its run ended before the first one was done. Run it again.")
    steps = tuple(_step(element, len(symbols)) for element in found)
    eig_skn, occ_skn = _eigenvalues(found[-1].find("eigenvalues"))
    dos = _dos(found[-1].find("dos"), len(symbols))
    fermi = found[-1].find("dos/i[@name='efermi']")
    points = root.find("kpoints/varray[@name='kpointlist']")
    weights = root.find("kpoints/varray[@name='weights']")
    run_report = found[-1].find(f"separator[@name='{PROGRAM}']")
    fermi_level = None if fermi is None else float(_text(fermi))
    point_kc, weight_k = _rows(points, 3), _rows(weights, 1)[:, 0]
    _require_whole(point_kc, weight_k, eig_skn, fermi_level, dos)
    return VasprunFile(
        path, _tags(root.find("generator")), _tags(root.find("incar")), _tags(root.find("parameters")),
        _generation(root.find("kpoints/generation")),
        point_kc, weight_k, symbols, titles, steps,
        fermi_level, eig_skn, occ_skn, dos,
        None if run_report is None else _run_report(run_report), _own(found[-1]).get("status", ""),
    )  # fmt: skip


def _require_whole(
    point_kc: np.ndarray, weight_k: np.ndarray, eig_skn: np.ndarray | None, fermi_level: float | None,
    dos: DensityOfStates | None,
) -> None:
    """Raise ValueError unless k-points, weights and levels belong together and all numbers are finite."""
    if len(weight_k) != len(point_kc):
        raise ValueError(f"{len(weight_k)} weights for {len(point_kc)} k-points")
    if not np.isfinite(point_kc).all() or not np.isfinite(weight_k).all():
        raise ValueError("a k-point is not finite")
    if eig_skn is not None and (eig_skn.shape[1] != len(point_kc) or not 1 <= len(eig_skn) <= 2):
        raise ValueError(f"levels of {len(eig_skn)} spins at {eig_skn.shape[1]} of {len(point_kc)} k-points")
    levels = () if dos is None else (dos.energy_x, dos.total_sx, dos.partial_sxaL)
    for value in (eig_skn, fermi_level, *levels):
        if value is not None and not np.isfinite(value).all():
            raise ValueError("a level or density of states is not finite")


def _text(element: ET.Element | None) -> str:
    return "" if element is None else (element.text or "").strip()


def _tags(element: ET.Element | None) -> dict[str, str]:
    """All tags below an element, whatever their groups; the first of each name."""
    tags: dict[str, str] = {}
    for one in () if element is None else element.iter():
        if one.tag in ("i", "v") and "name" in one.attrib:
            tags.setdefault(one.attrib["name"], " ".join(_text(one).split()))
    return tags


def _atoms(root: ET.Element) -> tuple[tuple[str, ...], dict[str, str]]:
    symbols = tuple(_text(row.find("c")) for row in root.findall("atominfo/array[@name='atoms']/set/rc"))
    rows = [row.findall("c") for row in root.findall("atominfo/array[@name='atomtypes']/set/rc")]
    if not symbols:
        raise ValueError("there are no atoms")
    # VASP calls potentials such as r, X and Zr_sv by the first two letters
    names = tuple(symbol if symbol in ELEMENTS else symbol[:1] for symbol in symbols)
    return names, {_text(row[1]): _text(row[4]) for row in rows}


def _generation(element: ET.Element | None) -> str:
    """Gamma 4 x 4 x 4; empty for a list."""
    if element is None:
        return ""
    kind, divisions = element.attrib.get("param", ""), _text(element.find("*[@name='divisions']")).split()
    if kind == "listgenerated":
        return f"path, {' '.join(divisions)} points on each line"
    return f"{kind} {' x '.join(divisions)}"


def _rows(element: ET.Element | None, columns: int) -> np.ndarray:
    """The numbers of <v> or <r>, (x, columns)."""
    if element is None:
        raise ValueError("an array is missing")
    words = " ".join(row.text or "" for row in element if row.tag in ("v", "r")).split()
    return np.array([_number(word) for word in words] if "*" in "".join(words) else words, dtype=float).reshape(
        -1, columns
    )


def _number(word: str) -> float:
    """nan for a column that was too narrow and is full of stars."""
    return float("nan") if "*" in word else float(word)


def _energies(element: ET.Element | None) -> dict[str, float]:
    return {name: _number(value) for name, value in _tags(element).items()}


def _own(element: ET.Element) -> dict[str, str]:
    """What eigenwerk alone writes of an ionic step, as text."""
    entries = element.findall(f"separator[@name='{PROGRAM}']/*")
    return {one.attrib["name"]: _text(one) for one in entries if one.tag in ("i", "v")}


def _step(element: ET.Element, atoms: int) -> IonicStep:
    energy, own = _energies(element.find("energy")), _own(element)
    forces, stress = element.find("varray[@name='forces']"), element.find("varray[@name='stress']")
    structure = element.find("structure")
    assert structure is not None
    inner = [(_energies(step.find("energy")), _seconds(step)) for step in element.findall("scstep")] or [(energy, nan)]
    moment_a = np.array(own.get("magnetization_per_atom", "").split(), dtype=float)
    values: dict[str, Any] = {
        "lattice_cv": _rows(structure.find("crystal/varray[@name='basis']"), 3),
        "scaled_ac": _rows(structure.find("varray[@name='positions']"), 3),
        "forces_av": None if forces is None else _rows(forces, 3),
        "stress_vv": None if stress is None else _rows(stress, 3),
        "moment_a": moment_a if len(moment_a) == atoms else None,
        **{name: energy[word] for word, name in OF_DYNAMICS.items() if word in energy},
        **{name: _number(own[word]) for word, name in OWN.items() if word in own},
    }  # fmt: skip
    _require_step(values, atoms)
    return IonicStep(
        steps=tuple(_scf(inner)), free_energy=energy.get("e_fr_energy", nan),
        energy_without_entropy=energy.get("e_wo_entrp", nan), energy_zero=energy.get("e_0_energy", nan),
        converged=own.get("converged") != "F",
        components={name: value for name, value in inner[-1][0].items() if not name.startswith("e_")},
        remarks=tuple(filter(None, own.get("motion", "").split("; "))), **values,
    )  # fmt: skip


def _seconds(element: ET.Element) -> float:
    return _number((_text(element.find("time[@name='total']")).split() or ["nan"])[-1])


def _scf(inner: list[tuple[dict[str, float], float]]) -> Iterator[StepRecord]:
    before = 0.0
    for number, (energy, seconds) in enumerate(inner, start=1):
        free, without, zero = (energy.get(name, nan) for name in ("e_fr_energy", "e_wo_entrp", "e_0_energy"))
        yield StepRecord(number, "", free, without, zero, free - before, nan, 0, nan, seconds=seconds)
        before = free


def _require_step(values: Mapping[str, Any], atoms: int) -> None:
    """Raise ValueError for a cell without a volume, and for places or forces of other atoms."""
    lattice_cv = values["lattice_cv"]
    if lattice_cv.shape != (3, 3) or not np.isfinite(lattice_cv).all() or abs(np.linalg.det(lattice_cv)) < 1e-6:
        raise ValueError("a cell has no three independent vectors")
    for name, value in (("positions", values["scaled_ac"]), ("forces", values["forces_av"])):
        if value is not None and (len(value) != atoms or not np.isfinite(value).all()):
            raise ValueError(f"{len(value)} {name} for {atoms} atoms, or some that are not finite")
    stress_vv = values["stress_vv"]
    if stress_vv is not None and stress_vv.shape != (3, 3):
        raise ValueError(f"a stress of {stress_vv.size} numbers")


def _eigenvalues(element: ET.Element | None) -> tuple[np.ndarray | None, np.ndarray | None]:
    sets = [] if element is None else element.findall("array/set/set")
    if not sets:
        return None, None
    value_skny = np.array([[_rows(point, 2) for point in spin.findall("set")] for spin in sets])
    return value_skny[..., 0], value_skny[..., 1]


def _dos(element: ET.Element | None, atoms: int) -> DensityOfStates | None:
    sets = [] if element is None else element.findall("total/array/set/set")
    if element is None or not sets:
        return None
    value_sxy = np.array([_rows(spin, 3) for spin in sets])
    dos = DensityOfStates(value_sxy[0, :, 0], value_sxy[..., 1], value_sxy[..., 2])
    if len(dos.energy_x) < 2 or not (np.diff(dos.energy_x) > 0).all():
        raise ValueError("the energies of the density of states do not rise")
    fields = [_text(field) for field in element.findall("partial/array/field")]
    ions = element.findall("partial/array/set/set")
    if not ions:
        return dos
    part_asxL = np.array([[_rows(s, len(fields))[:, 1:] for s in ion.findall("set")[: len(sets)]] for ion in ions])
    if part_asxL.shape[:3] != (atoms, *dos.total_sx.shape):
        raise ValueError(f"parts of the density of states of shape {part_asxL.shape} for {atoms} atoms")
    return replace(dos, partial_sxaL=part_asxL.transpose(1, 2, 0, 3), columns=tuple(fields[1:]))


def _run_report(element: ET.Element) -> RunReport | None:
    def rows(name: str, tag: str = "i") -> list[ET.Element]:
        return element.findall(f"separator[@name='{name}']/{tag}")

    def pairs(name: str) -> tuple[tuple[str, str], ...]:
        return tuple((row.attrib["name"], _text(row)) for row in rows(name))

    def remarks(kind: str) -> tuple[str, ...]:
        return tuple(_text(row) for row in rows("remarks") if row.attrib["name"] == kind)

    settings = tuple((row.attrib["name"], _text(row), row.attrib["origin"]) for row in rows("settings", "setting"))
    if not settings:
        return None
    return RunReport(
        pairs("described"), settings, pairs("found"), remarks("warning"), remarks("note"), remarks("advice"),
        _text(element.find("i[@name='reached']")) != "F",
    )  # fmt: skip
