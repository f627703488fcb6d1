"""LDAU, LDAUTYPE, LDAUL, LDAUU, LDAUJ: which shells get a +U correction (no torch here)."""

from collections.abc import Mapping

from eigenwerk.dft.settings.dataset import DataSet
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.tags_in_force import Computed, of_species
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.units import HARTREE_EV

SHELLS = "spdf"
"""Letters of angular momenta."""

LISTS = {"LDAUL": 2.0, "LDAUU": 0.0, "LDAUJ": 0.0}
"""Tags with a value for each species, and that of all if they are not given."""
NONE = (-1, 0.0)
"""No correction: LDAUL = -1, or LDAUU equal to LDAUJ."""


def hubbard_shells(
    incar: Incar, poscar: Poscar, datasets: dict[str, DataSet], findings: Findings
) -> tuple[dict[str, tuple[int, float]], tuple[str, ...], dict[str, Computed]]:
    """Kind of atom -> (l, U - J in hartree) of the shells with a correction that is not zero; the kind of each atom;
    tags that are not in force.

    The lists have one value for each species of POSCAR, in its order.  Species of one element with different values
    are kinds of their own, which symmetry does not exchange.  Problems go to the findings.
    """
    if not incar.get("LDAU"):
        return {}, poscar.symbols, _idle_tags(incar, findings)
    runs = [symbol for symbol, _ in poscar.species_runs]
    l_x, u_x, j_x = (of_species(incar, tag, runs, usual, findings) for tag, usual in LISTS.items())
    if l_x is None or u_x is None or j_x is None:
        return {}, poscar.symbols, {}
    wanted = [
        (int(l), (u - j) / HARTREE_EV) if l >= 0 and u != j else NONE for l, u, j in zip(l_x, u_x, j_x, strict=True)
    ]
    kind_of: dict[tuple[str, tuple[int, float]], str] = {}
    for symbol, shell in zip(runs, wanted, strict=True):
        same = [other for other, _ in kind_of if other == symbol]
        kind_of.setdefault((symbol, shell), f"{symbol} {len(same) + 1}" if same else symbol)
    shells = {kind: shell for (_, shell), kind in kind_of.items() if shell != NONE}
    for (symbol, (l, _)), kind in kind_of.items():
        if kind in shells:
            _check_shell(incar, symbol, l, datasets, findings)
    _check_order(incar, list(zip(runs, wanted, strict=True)), datasets, findings)
    if not shells:
        findings.note(incar.file, "LDAU = .TRUE. corrects nothing: all LDAUL are -1, or all LDAUU equal LDAUJ")
    counts = [count for _, count in poscar.species_runs]
    kinds = (kind_of[run] for run in zip(runs, wanted, strict=True))
    shells = {kind: shell for kind, shell in shells.items() if shell[0] < len(SHELLS)}  # of others an error tells
    return shells, tuple(kind for kind, count in zip(kinds, counts, strict=True) for _ in range(count)), {}


def _idle_tags(incar: Incar, findings: Findings) -> dict[str, Computed]:
    """Without LDAU the other tags are not in force; those that are given get a word."""
    for tag in ("LDAUTYPE", *LISTS):
        if tag in incar.values and not incar.broken("LDAU"):
            findings.add(incar.problem(tag, "it acts only with LDAU = .TRUE.", severity="note"))
    return {tag: Computed(None) for tag in ("LDAUTYPE", *LISTS)}


def _check_order(
    incar: Incar, wanted: list[tuple[str, tuple[int, float]]], datasets: dict[str, DataSet], findings: Findings
) -> None:
    """A word about a shell that the free atom does not fill: a warning where another species has electrons in it and
    gets no correction, because lists in the order of other species look like that."""
    for symbol, shell in wanted:
        l = shell[0]
        held = [state.f for state in datasets[symbol].header.states if state.l == l] if symbol in datasets else []
        if shell == NONE or not held or any(held):  # what is no shell of the data set is an error already
            continue
        left_out = dict.fromkeys(
            other for other, theirs in wanted
            if other in datasets and theirs[0] != l and _electrons(datasets[other], l) > 0 and (
                l > 1 or _electrons(datasets[other], l) < 4 * l + 2
            )
        )  # fmt: skip
        message = f"the free atom of {symbol} has no electrons in the {SHELLS[l]} shell that is corrected"
        if left_out:
            others = " and ".join(left_out)
            message += f", and {others}, which {'have' if len(left_out) > 1 else 'has'} some, gets no correction of it"
            order = " ".join(symbol for symbol, _ in wanted)
            remedy = f"The lists follow the species of POSCAR: {order}. Put them into that order."
            findings.add(incar.problem("LDAUL", message, remedy, severity="warning"))
        else:
            findings.add(incar.problem("LDAUL", message, severity="note"))


def _electrons(data: DataSet, l: int) -> float:
    """Of the free atom in shells of one l."""
    return sum(state.f for state in data.header.states if state.l == l)


def _check_shell(incar: Incar, symbol: str, l: int, datasets: dict[str, DataSet], findings: Findings) -> None:
    if l >= len(SHELLS):
        findings.add(incar.problem("LDAUL", f"l = {l} for {symbol} is no shell", "Use 0 to 3, or -1 for none."))
    elif symbol in datasets and l not in {state.l for state in datasets[symbol].header.states}:
        held = ", ".join(SHELLS[l] for l in sorted({state.l for state in datasets[symbol].header.states}))
        message = f"l = {l} for {symbol}, but its data set {datasets[symbol].header.name} has only {held} channels"
        findings.add(incar.problem("LDAUL", message, f"Change it, or set -1 for {symbol}."))


def hubbard_words(hubbard: Mapping[str, tuple[int, float]], _: object = None) -> list[str]:
    """One text for each corrected shell, 'Ni d: U - J = 6 eV (Dudarev)'; Ni 2 is a second species of nickel."""
    return [f"{kind} {SHELLS[l]}: U - J = {difference * HARTREE_EV:g} eV (Dudarev)"
            for kind, (l, difference) in hubbard.items()]  # fmt: skip
