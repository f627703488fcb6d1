"""Write OUTCAR: the account of a run in the phrases by which pymatgen, ASE, custodian, emmet and scripts find numbers.

It holds nothing that was not computed: docs/formats/outcar.md lists the phrases, who looks for them, and what VASP's
file has beyond.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.kept_text import KeptText
from eigenwerk.io.vasp.output.oszicar import fortran
from eigenwerk.io.vasp.output.outcar.header import RULE, banner, cell, header
from eigenwerk.io.vasp.output.outcar.results import (
    charges,
    dispersion,
    dynamics,
    eigenvalues,
    energies,
    forces,
    non_local,
    path_forces,
    stress,
)
from eigenwerk.io.vasp.output.outcar.vibrations import vibrations
from eigenwerk.io.vasp.output.record import IonicStep, ResourceRecord, RunRecord, StepRecord

_KEPT = KeptText()
_AT_REST = " reached required accuracy - stopping structural energy minimisation\n"


def write_outcar(path: str | Path, record: RunRecord) -> None:
    """Write the OUTCAR of a run, also of one that is not over.  Raises InputError if the file cannot be written."""
    with replacing(path) as new, open(new, "w", encoding="utf-8") as out:
        out.writelines(_pieces(record))


def _pieces(record: RunRecord) -> Iterator[str]:
    """Header, ionic steps, and the accounts of a run that is over."""
    yield from header(record)
    said = tuple(record.parameters.get(tag) for tag in ("NELECT", "NELM", "ENCUT", "PSTRESS"))
    for number, ionic in enumerate(record.ionic_steps[:-1], start=1):
        yield _KEPT.of(ionic, (number, said), partial(_ionic_step, record, number, ionic))
    yield from _ionic_step(record, len(record.ionic_steps), record.last)
    if record.vibrations is not None:
        first = record.ionic_steps[0]
        yield from vibrations(record.vibrations, first.scaled_ac @ first.lattice_cv)
    if record.resources is not None:
        yield from charges(record.last, record.angular_momenta)
        yield _accounts(record.resources)


def _ionic_step(record: RunRecord, number: int, ionic: IonicStep) -> Iterator[str]:
    """One arrangement of the ions; readers take it for done when the free energies follow the forces.

    What is said of those before the last is kept from one writing to the next: of the run only numbers and tags enter.
    """
    for step in ionic.steps:
        yield _electronic_step(record, ionic, number, step)
    if ionic is record.last and record.resources is None and ionic.forces_av is None:
        return
    if ionic is record.last:
        yield from eigenvalues(record)
    yield f"\n\n{banner(_reason(record, ionic), 104, 24)}\n\n"
    yield from charges(ionic, record.angular_momenta)
    yield dispersion(ionic)
    yield non_local(ionic)
    if ionic.stress_vv is not None:
        yield stress(record, ionic)
    if ionic.forces_av is not None:
        yield f"\n\n VOLUME and BASIS-vectors are now :\n {'-' * 77}\n{cell(record, ionic.lattice_cv)}"
        yield forces(ionic.lattice_cv, ionic.scaled_ac, ionic.forces_av)
        yield path_forces(ionic)
        yield energies(ionic)
    if ionic.kinetic is not None:
        yield dynamics(ionic)
    if ionic is record.last and record.relaxed:
        yield _AT_REST
    if ionic.seconds is not None:
        yield f"{RULE}     LOOP+:  cpu time       n/a: real time{ionic.seconds:11.4f}\n\n"


def _reason(record: RunRecord, ionic: IonicStep) -> str:
    """Why self-consistency ended, in VASP's words."""
    if ionic.converged:
        return " aborting loop because EDIFF is reached "
    if len(ionic.steps) >= int(record.parameters["NELM"]):
        return " aborting loop EDIFF was not reached (unconverged) "
    return " aborting loop because hard stop was set "


def _accounts(used: ResourceRecord) -> str:
    """The last lines, by which scripts know that a run is over."""
    rows = [
        ("Total CPU time used (sec)", f"{used.user + used.system:13.3f}"),
        ("User time (sec)", f"{used.user:13.3f}"),
        ("System time (sec)", f"{used.system:13.3f}"),
        ("Elapsed time (sec)", f"{used.elapsed:13.3f}"),
        ("", ""),
        ("Maximum memory used (kb)", f"{used.max_memory:12.0f}."),
        ("Average memory used (kb)", f"{'N/A':>13}"),
        ("", ""),
        ("Minor page faults", f"{used.minor_faults:13d}"),
        ("Major page faults", f"{used.major_faults:13d}"),
        ("Voluntary context switches", f"{used.switches:13d}"),
    ]
    lines = [f"{name:>41}:{value}" if name else "  " for name, value in rows]
    return "\n".join(
        [
            "  ",
            "  ",
            " General timing and accounting informations for this job:",
            f" {'=' * 56}",
            "  ",
            *lines,
            "",
        ]
    )


_LAST = (("eigenvalues    EBANDS", "band"), ("atomic energy  EATOM ", "atomic_reference"))
"""Parts of the energy that eigenwerk has in common with VASP; known of the last step only."""


def _electronic_step(record: RunRecord, ionic: IonicStep, number: int, step: StepRecord) -> str:
    """One step; the last one of an ionic step has what is known of its energy's parts."""
    parts = [("entropy T*S    EENTRO", step.free_energy - step.energy_without_entropy)]
    if step is ionic.steps[-1]:
        parts += [(words, ionic.components[name]) for words, name in _LAST if name in ionic.components]
    rule = f"  {'-' * 51}\n"
    words = f" Iteration {number:4d}({step.step:4d})  "
    text = f"\n\n{banner(words, 104, 40)}\n\n\n"
    text += f"      LOOP:  cpu time       n/a: real time{step.seconds:11.4f}\n\n"
    text += f" eigenvalue-minimisations  :{step.applications:6d}\n"
    text += f" total energy-change (2. order) :{fortran(step.change, 7):>14}  ({fortran(step.band_energy_change, 7)})\n"
    text += f" number of electron {float(record.parameters['NELECT']):15.7f} magnetization"
    text += "\n" if step.moment is None else f" {step.moment:15.7f}\n"
    text += f"\n Free energy of the ion-electron system (eV)\n{rule}"
    text += "".join(f"  {name} = {value:18.8f}\n" for name, value in parts)
    text += f"{rule}  free energy    TOTEN  = {step.free_energy:18.8f} eV\n\n"
    text += f"  energy without entropy = {step.energy_without_entropy:18.8f}"
    return text + f"  energy(sigma->0) = {step.energy_zero:18.8f}\n{RULE}"
