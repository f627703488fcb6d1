"""Write vasprun.xml so that pymatgen, ASE, phonopy and BoltzTraP2 read a run of eigenwerk whole.

The elements and their order follow VASP's file; docs/formats/vasprun.md lists them and every place where the content
differs on purpose.  The generator block names eigenwerk.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.kept_text import KeptText
from eigenwerk.io.vasp.output.record import (
    BandsRecord,
    FinalRecord,
    IonicStep,
    KpointGeneration,
    RunRecord,
    RunReport,
    StepRecord,
    TetrahedraRecord,
)
from eigenwerk.io.vasp.output.xml.vasprun_parameters import parameters_in_force, separators
from eigenwerk.io.vasp.output.xml.vibrations import dynmat
from eigenwerk.io.vasp.output.xml.xml_text import ENERGY, GEOMETRY, block, item, number, quoted, table, text, varray

_KEPT = KeptText()


def write_vasprun(path: str | Path, record: RunRecord) -> None:
    """Write the vasprun.xml of a finished or unconverged run; the old file is replaced only by a whole one.

    Raises InputError if the file cannot be written.
    """
    with replacing(path) as new, open(new, "w", encoding="utf-8") as out:
        out.writelines(_pieces(record))


def _pieces(record: RunRecord) -> Iterator[str]:
    """The file, piece by piece, in VASP's order."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<modeling>\n'
    yield _generator(record)
    yield block("incar", "".join(item(tag, value, 2) for tag, value in record.incar.items()), 1)
    yield _points(record.generation, record.kpoint_kc, record.weight_k, record.tetrahedra)
    yield block("parameters", separators(parameters_in_force(record)), 1)
    yield _atominfo(record)
    yield _structure(record, record.ionic_steps[0], 'structure name="initialpos" ', 1, dynamics=True)
    for ionic in record.ionic_steps[:-1]:
        yield _KEPT.of(ionic, None, partial(_calculation, record, ionic))
    yield from _calculation(record, record.last)
    yield _structure(record, record.at_rest, 'structure name="finalpos" ', 1, dynamics=True)
    yield "</modeling>\n"


def _calculation(record: RunRecord, ionic: IonicStep) -> Iterator[str]:
    """One ionic step; the electrons of the last one alone, as in VASP's file.

    Nothing else of the run may enter what is said of those before it, which is kept from one writing to the next.
    """
    last = ionic is record.last
    yield " <calculation>\n"
    yield from (_scstep(ionic, step) for step in ionic.steps)
    yield _structure(record, ionic, "structure", 2, dynamics=False)
    yield _forces_and_energy(ionic)
    if last and record.vibrations is not None:
        yield from dynmat(record.vibrations)
    if last:
        yield from _eigenvalues(record.final.eig_skn, record.final.occ_skn)
        if record.second is not None:
            yield from _second_list(record.second)
    yield _own_results(ionic, record.final.status if last else None, record.run_report if last else None)
    if last:
        yield from _dos(record.final)
        yield from _projected(record.final)
        if record.second is not None:
            yield from _projected(record.second, 'projected_kpoints_opt comment="kpoints_opt"')
    yield " </calculation>\n"


def _generator(record: RunRecord) -> str:
    """Who wrote this, and when the run began."""
    entries = {"program": "eigenwerk", "version": record.version}
    entries |= {"date": f"{record.start:%Y %m %d}", "time": f"{record.start:%H:%M:%S}"}
    entries |= {"run": str(record.stamp)} if record.stamp else {}
    return block("generator", "".join(_string(name, value) for name, value in entries.items()), 1)


def _string(name: str, value: str) -> str:
    """An entry of the generator block, where VASP writes the name before the type: phonopy searches '"version"'."""
    return f'  <i name="{name}" type="string">{text(value)} </i>\n'


def _points(
    generation: KpointGeneration | None, kpoint_kc: np.ndarray, weight_k: np.ndarray,
    tetrahedra: TetrahedraRecord | None = None,
) -> str:  # fmt: skip
    """The mesh or path that was asked for, if there was one, and the k-points used, with tetrahedra between them."""
    body = "" if generation is None else _generation(generation)
    body += varray("kpointlist", kpoint_kc, GEOMETRY, 2)
    body += varray("weights", weight_k[:, None], GEOMETRY, 2)
    if tetrahedra is not None:
        line = f'   <v type="int" >{" %8d" * 5} </v>\n'
        rows = line * len(tetrahedra.rows_Tx) % tuple(tetrahedra.rows_Tx.ravel().tolist())
        body += f'  <varray name="tetrahedronlist"  type="int" >\n{rows}  </varray>\n'
        body += item("volumeweight", tetrahedra.volume, 2)
    return block("kpoints", body, 1)


def _generation(generation: KpointGeneration) -> str:
    """k = Σ_c (m_c + usershift_c + shift_c) genvec_c; even Monkhorst-Pack divisions are shifted by half a step.

    Of a path the points on a line and where lines begin or end.
    """
    if generation.end_kc is not None:
        ends = "".join(f"   <v>{''.join(f'{x:17.8f}' for x in end_c)} </v>\n" for end_c in generation.end_kc)
        return block(f'generation param="{text(generation.kind)}"', item("divisions", generation.per_line, 3) + ends, 2)
    mesh = np.array(generation.mesh)
    half = 0.5 * (mesh % 2 == 0) if generation.kind.upper().startswith("M") else np.zeros(3)
    body = item("divisions", mesh, 3) + item("usershift", [float(x) for x in generation.shift], 3)
    body += "".join(item(f"genvec{c + 1}", np.eye(3)[c] / mesh[c], 3) for c in range(3))
    return block(f'generation param="{text(generation.kind)}"', body + item("shift", half, 3), 2)


def _atominfo(record: RunRecord) -> str:
    """Atoms and species; pymatgen reads the first column of atoms and the fifth of atomtypes."""
    kinds = [kind for kind, species in enumerate(record.species, start=1) for _ in range(species.count)]
    atoms = "".join(_cells(f"{s:2s}", f"{t:4d}") for s, t in zip(record.symbols, kinds, strict=True))
    types = "".join(
        _cells(f"{s.count:4d}", f"{s.element:2s}", number(s.mass), number(s.valence), f" {text(s.title):40s}")
        for s in record.species
    )
    body = f"  <atoms> {len(record.symbols):7d} </atoms>\n  <types> {len(record.species):7d} </types>\n"
    body += _array("atoms", "ion", ['type="string">element', 'type="int">atomtype'], atoms)
    fields = ['type="int">atomspertype', 'type="string">element', ">mass", ">valence", 'type="string">pseudopotential']
    return block("atominfo", body + _array("atomtypes", "type", fields, types), 1)


def _cells(*entries: str) -> str:
    """One row of a table of mixed types."""
    return f"    <rc>{''.join(f'<c>{entry}</c>' for entry in entries)}</rc>\n"


def _array(name: str, dimension: str, fields: list[str], rows: str) -> str:
    """A table of mixed types with its column names."""
    head = f'   <dimension dim="1">{dimension}</dimension>\n'
    head += "".join(f"   <field{'' if field.startswith('>') else ' '}{field}</field>\n" for field in fields)
    return block(f'array name="{name}" ', head + block("set", rows, 3), 2)


def _structure(record: RunRecord, ionic: IonicStep, opening: str, depth: int, dynamics: bool) -> str:
    """Cell and positions; the first array inside must be the basis, the first after it the positions.

    dynamics: with selective flags and velocities, which VASP writes into the first and the last structure only.
    """
    lattice_cv, inner = ionic.lattice_cv, depth + 1
    crystal = varray("basis", lattice_cv, GEOMETRY, inner + 1)
    crystal += f'{" " * (inner + 1)}<i name="volume">{number(abs(np.linalg.det(lattice_cv)))} </i>\n'
    crystal += varray("rec_basis", np.linalg.inv(lattice_cv).T, GEOMETRY, inner + 1)
    body = block("crystal", crystal, inner) + varray("positions", ionic.scaled_ac, GEOMETRY, inner)
    if dynamics and record.selective_ac is not None:
        body += _selective(record.selective_ac, inner)
    if dynamics and ionic.velocities_av is not None:
        body += varray("velocities", ionic.velocities_av, GEOMETRY, inner)
    return block(opening, body, depth)


def _selective(selective_ac: np.ndarray, depth: int) -> str:
    """Which coordinates may move."""
    letters = np.where(selective_ac, "T", "F")
    line = f'{" " * (depth + 1)}<v type="logical" > %s %s %s </v>\n'
    rows = line * len(letters) % tuple(letters.ravel().tolist())
    return block('varray name="selective" type="logical" ', rows, depth)


def _scstep(ionic: IonicStep, step: StepRecord) -> str:
    """One step of self-consistency; the last one carries the components of the energy."""
    components = ionic.components if step is ionic.steps[-1] else {}
    body = _energy(components, step.free_energy, step.energy_zero, step.energy_without_entropy, 3)
    times = "".join(_time(name, step.seconds, 3) for name in (step.algorithm.lower(), "total"))
    return block("scstep", times + body, 2)


def _time(name: str, seconds: float, depth: int) -> str:
    """A time; VASP prints processor and wall time, here both are wall time."""
    return f'{" " * depth}<time name="{text(name)}"> {seconds:.2f} {seconds:.2f}</time>\n'


def _of_dynamics(ionic: IonicStep) -> dict[str, float]:
    """Kinetic energies, those of the thermostat, and what is conserved."""
    if ionic.kinetic is None:
        return {}
    return {
        "kinetic": ionic.kinetic, "lattice kinetic": ionic.lattice_kinetic or 0.0, "nosepot": ionic.thermostat or 0.0,
        "nosekinetic": ionic.thermostat_kinetic or 0.0, "total": ionic.total,
    }  # fmt: skip


def _energy(
    components: Any, free: float, zero: float, without: float, depth: int, further: Mapping[str, float] | None = None
) -> str:
    """An energy block, eV; further: what comes behind.

    Readers that know the program only by its version take versions below 6 for VASP 5, whose final block has the
    energy at zero smearing in second place (phonopy does).  With this order names and places are both right.
    """
    entries = dict(components) | {"e_fr_energy": free, "e_0_energy": zero, "e_wo_entrp": without} | dict(further or {})
    return block("energy", "".join(item(name, float(value), depth + 1) for name, value in entries.items()), depth)


def _forces_and_energy(ionic: IonicStep) -> str:
    """Forces and stress, where there are any (an absent array reads as 'not computed'), energy and total time."""
    body = "" if ionic.forces_av is None else varray("forces", ionic.forces_av, ENERGY, 2)
    body += "" if ionic.stress_vv is None else varray("stress", ionic.stress_vv, ENERGY, 2)
    body += _energy({}, ionic.free_energy, ionic.energy_zero, ionic.energy_without_entropy, 2, _of_dynamics(ionic))
    return body + _time("totalsc", sum(step.seconds for step in ionic.steps), 2)


def _second_list(second: BandsRecord) -> Iterator[str]:
    """Bands at a second list of k-points, which come with their points."""
    yield '  <eigenvalues_kpoints_opt comment="kpoints_opt">\n'
    yield _points(second.generation, second.kpoint_kc, second.weight_k)
    yield from _eigenvalues(second.eig_skn, second.occ_skn)
    yield "  </eigenvalues_kpoints_opt>\n"


def _eigenvalues(eig_skn: np.ndarray, occ_skn: np.ndarray, depth: int = 2) -> Iterator[str]:
    """Band energies in eV, and occupations with four decimals.

    Tails of smearing below 5e-5 must read as zero: pymatgen calls every band above 1e-8 occupied when it looks
    for the gap.
    """
    pad = " " * depth
    head = _array_head(("band", "kpoint", "spin"), ("eigene", "occ"), depth + 2)
    yield f"{pad}<eigenvalues>\n{pad} <array>\n{head}{pad}  <set>\n"
    for s, (eig_kn, occ_kn) in enumerate(zip(eig_skn, occ_skn, strict=True), start=1):
        pairs_knx = np.stack([eig_kn, occ_kn], axis=-1)
        sets = (
            block(f'set comment="kpoint {k}"', table("r", pairs_nx, [ENERGY, " %8.4f"], depth + 5), depth + 4)
            for k, pairs_nx in enumerate(pairs_knx, start=1)
        )
        yield block(f'set comment="spin {s}"', "".join(sets), depth + 3)
    yield f"{pad}  </set>\n{pad} </array>\n{pad}</eigenvalues>\n"


def _array_head(dimensions: tuple[str, ...], fields: tuple[str, ...], depth: int) -> str:
    """What an array of numbers counts, innermost first, and the names of its columns."""
    pad = " " * depth
    head = "".join(f'{pad}<dimension dim="{d}">{name}</dimension>\n' for d, name in enumerate(dimensions, start=1))
    return head + "".join(f"{pad}<field>{name}</field>\n" for name in fields)


def _projected(bands: FinalRecord | BandsRecord, opening: str = "projected") -> Iterator[str]:
    """Weights of the orbitals on the atoms, behind their energies once more, as in VASP's file."""
    projections = bands.projections
    if projections is None:
        return
    yield f"  <{opening}>\n"
    yield from _eigenvalues(bands.eig_skn, bands.occ_skn, 3)
    head = _array_head(("ion", "band", "kpoint", "spin"), projections.columns, 4)
    yield f"   <array>\n{head}    <set>\n"
    cells = [" %7.4f"] * len(projections.columns)
    for s, weight_knaL in enumerate(projections.weight_sknaL, start=1):
        yield f'     <set comment="spin{s}">\n'
        for k, weight_naL in enumerate(weight_knaL, start=1):
            sets = (
                block(f'set comment="band {n}"', table("r", weight_aL, cells, 8), 7)
                for n, weight_aL in enumerate(weight_naL, start=1)
            )
            yield block(f'set comment="kpoint {k}"', "".join(sets), 6)
        yield "     </set>\n"
    yield f"    </set>\n   </array>\n  </{opening.split()[0]}>\n"


def _own_results(ionic: IonicStep, status: str | None, run_report: RunReport | None) -> str:
    """What VASP's file has no place for, in a separator of our own that the readers pass over."""
    entries: dict[str, Any] = {"converged": ionic.converged, "status": status, "absolute_energy": ionic.absolute_energy}
    entries |= {"magnetization": ionic.moment, "magnetization_per_atom": ionic.moment_a}
    entries |= {"force_error": ionic.force_error, "pulay_stress": ionic.pulay}
    entries |= {"temperature": ionic.temperature, "largest_force": ionic.largest_force}
    entries |= {"largest_stress": ionic.largest_stress, "motion": "; ".join(ionic.remarks) or None}
    entries |= {"reached": None if run_report is None else run_report.reached}
    body = "".join(item(name, value, 3) for name, value in entries.items() if value is not None)
    return block('separator name="eigenwerk" ', body + ("" if run_report is None else _run_report(run_report)), 2)


def _run_report(run_report: RunReport) -> str:
    """The run in words; a setting has where its value comes from in the attribute `origin`.

    Not in an <i>, of which phonopy takes NELECT and others for numbers wherever they stand.
    """
    remarks = {"warning": run_report.warnings, "note": run_report.notes, "advice": run_report.advice}
    settings = "".join(
        f'    <setting name="{text(tag)}" origin={quoted(origin)}>{text(value)}</setting>\n'
        for tag, value, origin in run_report.settings
    )
    parts = {
        "described": "".join(item(*row, 4) for row in run_report.described), "settings": settings,
        "found": "".join(item(*row, 4) for row in run_report.found),
        "remarks": "".join(item(kind, words, 4) for kind, several in remarks.items() for words in several),
    }  # fmt: skip
    return "".join(block(f'separator name="{name}" ', body, 3) for name, body in parts.items() if body)


def _dos(final: FinalRecord) -> Iterator[str]:
    """Density of states, total and of the atoms; the Fermi level must be the first child."""
    dos = final.dos
    yield f'  <dos>\n   <i name="efermi">{number(final.fermi_level)} </i>\n'
    if final.separate_levels:
        yield "   <v name=\"efermi_of_spins\"> " + " ".join(map(number, final.separate_levels)) + "</v>\n"
    spins = ""
    for s, (total_x, integrated_x) in enumerate(zip(dos.total_sx, dos.integrated_sx, strict=True), start=1):
        rows = np.stack([dos.energy_x, total_x, integrated_x], axis=-1)
        spins += block(f'set comment="spin {s}"', table("r", rows, [" %12.6f"] * 3, 7), 6)
    head = _array_head(("gridpoints", "spin"), ("energy", "total", "integrated"), 5)
    yield block("total", block("array", head + block("set", spins, 5), 4), 3)
    if dos.partial_sxaL is not None and final.projections is not None:
        yield from _partial(dos.energy_x, dos.partial_sxaL, final.projections.columns)
    yield "  </dos>\n"


def _partial(energy_x: np.ndarray, partial_sxaL: np.ndarray, columns: tuple[str, ...]) -> Iterator[str]:
    """The parts of the atoms."""
    head = _array_head(("gridpoints", "spin", "ion"), ("energy", *columns), 5)
    yield f"   <partial>\n    <array>\n{head}     <set>\n"
    cells = [" %12.6f"] + [" %9.5f"] * len(columns)
    for a in range(partial_sxaL.shape[2]):
        sets = (
            block(f'set comment="spin {s}"', table("r", np.column_stack([energy_x, part_xL]), cells, 8), 7)
            for s, part_xL in enumerate(partial_sxaL[:, :, a], start=1)
        )
        yield block(f'set comment="ion {a + 1}"', "".join(sets), 6)
    yield "     </set>\n    </array>\n   </partial>\n"
