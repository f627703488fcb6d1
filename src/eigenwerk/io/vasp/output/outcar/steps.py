"""One step of self-consistency in OUTCAR."""

from eigenwerk.io.vasp.output.oszicar import fortran
from eigenwerk.io.vasp.output.outcar.text import RULE, banner
from eigenwerk.io.vasp.output.record import IonicStep, RunRecord, StepRecord

_LAST = (("eigenvalues    EBANDS", "band"), ("atomic energy  EATOM ", "atomic_reference"))
"""Parts of the energy that eigenwerk has in common with VASP; known of the last step only."""


def electronic_step(record: RunRecord, ionic: IonicStep, number: int, step: StepRecord) -> str:
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
