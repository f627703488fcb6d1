"""LREAL and ROPT: projectors in real space, and how accurate (no torch here)."""

from eigenwerk.dft.crystal.inversion import inversion_of_orbitals
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.tags_in_force import DEFAULT, Computed, line_of, of_species
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.poscar import Poscar

DEFAULT_ACCURACY = 2e-4
"""ROPT: changes energies by 0.1 to 0.5 meV per atom in Si, Al and MgO, and by 3 in Fe and O2 at low cutoffs; 1e-4, with
0.4 at most, takes up to twice the points and is out of reach for some projectors (docs/equations/real_space.md)."""

LARGEST_ACCURACY = 0.1

AUTO = "projectors stay in reciprocal space, exact and in most cells as fast"


def projector_accuracy(
    incar: Incar, poscar: Poscar, kpoints: KPoints, findings: Findings
) -> tuple[dict[str, float], Computed]:
    """Element -> ROPT, and ROPT with its origin; nothing with LREAL = .FALSE. and Auto.

    Auto stands in many inputs without a thought, and means what serves best: up to some two hundred atoms, and on GPUs
    beyond, that was measured to be the exact projectors (benchmarks/precision/real_space).
    The list has one value for each species of POSCAR, in its order; as in VASP a sign says nothing about its size.
    """
    if incar.get("LREAL") in (False, "Auto"):
        if incar.get("LREAL") == "Auto":
            findings.add(incar.problem("LREAL", AUTO, "LREAL = On takes real space.", severity="note"))
        if "ROPT" in incar.values and not incar.broken("LREAL"):
            findings.add(incar.problem("ROPT", "it acts only with LREAL = On", severity="note"))
        return {}, Computed(None)
    if inversion_of_orbitals(kpoints) is not None:
        message = (
            "the projectors stay in reciprocal space: orbitals are real by inversion at these k-points, which saves "
            "more, and not on the grid"
        )
        findings.add(incar.problem("LREAL", message, severity="note"))
        return {}, Computed(None)
    runs = [symbol for symbol, _ in poscar.species_runs]
    given = of_species(incar, "ROPT", runs, DEFAULT_ACCURACY, findings)
    if given is None:
        return {}, Computed(None)
    values = [abs(value) for value in given]
    if not all(0 < value <= LARGEST_ACCURACY for value in values):
        message = f"an accuracy above 0 and up to {LARGEST_ACCURACY:g} is meant; numbers of points are not understood"
        findings.add(incar.problem("ROPT", message, f"Remove the line ({DEFAULT_ACCURACY:g}), or give accuracies."))
        return {}, Computed(None)
    accuracy: dict[str, float] = {}
    for symbol, value in zip(runs, values, strict=True):
        accuracy[symbol] = min(value, accuracy.get(symbol, value))
    return accuracy, Computed(tuple(values), line_of(incar, "ROPT") if "ROPT" in incar.values else DEFAULT)
