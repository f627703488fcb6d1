"""LDAU, LDAUTYPE, LDAUL, LDAUU, LDAUJ: which shells get a +U correction (no torch here)."""

from eigenwerk.dft.dataset import DataSet
from eigenwerk.dft.inputs.findings import Findings
from eigenwerk.dft.inputs.settings import Computed
from eigenwerk.io.vasp.incar import Incar
from eigenwerk.io.vasp.poscar import Poscar
from eigenwerk.units import HARTREE_EV

SHELLS = "spdf"
LISTS = ("LDAUL", "LDAUU", "LDAUJ")


def hubbard_shells(
    incar: Incar, poscar: Poscar, datasets: dict[str, DataSet], findings: Findings
) -> dict[str, tuple[int, float]]:
    """Element -> (l, U - J in hartree) of the shells with a correction that is not zero.

    The lists have one value for each species of POSCAR, in its order.  Problems go to the findings.
    """
    if not incar.get("LDAU"):
        return {}
    runs = [symbol for symbol, _ in poscar.species_runs]
    lists = {tag: _list(incar, tag, runs, findings) for tag in LISTS}
    if any(len(values) != len(runs) for values in lists.values()):
        return {}
    shells: dict[str, tuple[int, float]] = {}
    seen: dict[str, tuple[int, float]] = {}
    for symbol, l, u, j in zip(runs, *lists.values(), strict=True):
        wanted = (int(l), (u - j) / HARTREE_EV)
        if seen.setdefault(symbol, wanted) != wanted:
            message = f"{symbol} stands twice in POSCAR with different values; one element has one correction here"
            findings.add(incar.problem("LDAUL", message, f"Give both {symbol} the same LDAUL, LDAUU and LDAUJ."))
        elif wanted[0] >= 0 and wanted[1] != 0:
            _check_shell(incar, symbol, wanted[0], datasets, findings)
            shells[symbol] = wanted
    if not shells:
        findings.note(incar.file, "LDAU = .TRUE. corrects nothing: all LDAUL are -1, or all LDAUU equal LDAUJ")
    return shells


def idle_tags(incar: Incar, findings: Findings) -> dict[str, Computed]:
    """Without LDAU the other tags are not in force; those that are given get a word."""
    if incar.get("LDAU"):
        return {}
    for tag in ("LDAUTYPE", *LISTS):
        if tag in incar.values:
            findings.add(incar.problem(tag, "it acts only with LDAU = .TRUE.", severity="note"))
    return {tag: Computed(None) for tag in ("LDAUTYPE", *LISTS)}


def _list(incar: Incar, tag: str, runs: list[str], findings: Findings) -> list[float]:
    """The values of a tag, one for each species; the default for all if it is not given."""
    given = incar.values.get(tag)
    if given is None:
        return [2.0 if tag == "LDAUL" else 0.0] * len(runs)
    values = [float(value) for value in (given if isinstance(given, tuple | list) else (given,))]
    if len(values) != len(runs):
        message = f"{len(values)} values, but POSCAR has {len(runs)} species ({' '.join(runs)})"
        findings.add(incar.problem(tag, message, "Give one value for each species, in the order of POSCAR."))
    return values


def _check_shell(incar: Incar, symbol: str, l: int, datasets: dict[str, DataSet], findings: Findings) -> None:
    if l > 3:
        findings.add(incar.problem("LDAUL", f"l = {l} for {symbol} is no shell", "Use 0 to 3, or -1 for none."))
    elif symbol in datasets and l not in {state.l for state in datasets[symbol].header.states}:
        held = ", ".join(SHELLS[l] for l in sorted({state.l for state in datasets[symbol].header.states}))
        message = f"l = {l} for {symbol}, but its data set {datasets[symbol].header.name} has only {held} channels"
        findings.add(incar.problem("LDAUL", message, f"Change it, or set -1 for {symbol}."))
