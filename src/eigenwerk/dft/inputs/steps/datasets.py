"""Which PAW data set serves each element, and the cutoff that follows from the sets."""

from math import fsum

from eigenwerk.dft.settings.dataset import DataSet
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.tags_in_force import Computed, line_of
from eigenwerk.errors import InputError
from eigenwerk.functionals.functional import Functional
from eigenwerk.functionals.table import DEFAULT, FUNCTIONALS, LIBXC_HYBRIDS, find_functional, libxc_functional
from eigenwerk.io.paw.formats import read_header
from eigenwerk.io.paw.paw_library import choose_dataset, list_datasets, recommended_cutoff
from eigenwerk.io.vasp.elements import without_isotope
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.io.vasp.problem import Problem
from eigenwerk.units import HARTREE_EV

LARGE_ERROR = 0.1
"""Expected error of energy differences, eV per atom, from which on a cutoff is a mistake rather than a choice."""


def choose_functional(incar: Incar, findings: Findings) -> Functional:
    """The functional of GGA, LIBXC1 and LIBXC2; that of an INCAR that names none where they cannot be used."""
    words = [tag for tag in ("LIBXC1", "LIBXC2") if tag in incar.values]
    if str(incar.get("GGA")) != "LIBXC":
        # beside METAGGA, which is refused, they are not worth words of their own
        unused = [] if "METAGGA" in incar.raw else words
        for tag in unused:
            findings.add(incar.problem(tag, "not used: it acts only with GGA = LIBXC", severity="note"))
        return find_functional(str(incar.get("GGA")))
    if not words and not incar.broken("LIBXC1"):
        findings.add(incar.problem("GGA", "neither LIBXC1 nor LIBXC2 is set", "Name exchange and correlation there."))
    functional, names = FUNCTIONALS[DEFAULT], []
    for tag in words:
        names.append(str(incar.values[tag]))
        hybrid = LIBXC_HYBRIDS.get(names[0].upper().removeprefix("XC_"))
        if hybrid is not None:
            functional = FUNCTIONALS[hybrid[0]]
            continue
        try:
            functional = libxc_functional(*names)
        except InputError as error:
            findings.add(incar.problem(tag, str(error).rstrip(".")))
            break
    return functional


def choose_datasets(
    poscar: Poscar, incar: Incar, functional: Functional, findings: Findings
) -> dict[str, DataSet]:
    """Data sets of all elements that have one, in the order of the structure; what is missing becomes an error."""
    variants = _variants(poscar, incar, functional, findings)
    found = {}
    for symbol in dict.fromkeys(poscar.symbols):
        try:
            path = choose_dataset(symbol, *functional.data, variant=variants.get(symbol))
            header = read_header(path)
        except InputError as error:
            asked = symbol in _wanted(incar)
            findings.add(
                incar.problem("SETUPS", str(error)) if asked else Problem("error", poscar.file, None, str(error))
            )
            continue
        found[symbol] = DataSet(symbol, path, header, recommended_cutoff(header))
    _note_other_functional(found, functional, incar, findings)
    return found


def mixed_momenta(incar: Incar, datasets: dict[str, DataSet]) -> dict[str, Computed]:
    """LMAXMIX: all that partial waves couple to."""
    if not datasets or "LMAXMIX" in incar.values:
        return {}
    highest = 2 * max(state.l for data in datasets.values() for state in data.header.states)
    return {"LMAXMIX": Computed(max(highest, 2), "from the data sets")}


def _wanted(incar: Incar) -> dict[str, str]:
    """Element -> variant of the tag SETUPS."""
    pairs = incar.get("SETUPS", ())
    return dict(pairs) if isinstance(pairs, tuple) else {}


def _variants(poscar: Poscar, incar: Incar, functional: Functional, findings: Findings) -> dict[str, str]:
    """Variants by element: those of SETUPS, then suffixes of species names for which a data set exists."""
    wanted = _wanted(incar)
    for symbol in wanted.keys() - set(poscar.symbols):
        message = f"the structure has no {symbol}, so its variant is not used"
        findings.add(incar.problem("SETUPS", message, severity="warning"))
    suffixes = poscar.suffixes or ("",) * len(poscar.species_runs)
    named: dict[str, str] = {}
    for (symbol, _), suffix in zip(poscar.species_runs, suffixes, strict=True):
        variant = without_isotope(suffix).strip("_./- ")
        if variant and symbol not in wanted:
            _take_suffix(symbol, variant, functional, named, poscar, findings)
    return named | wanted


def _take_suffix(
    symbol: str, variant: str, functional: Functional, named: dict[str, str], poscar: Poscar, findings: Findings
) -> None:
    existing = {entry.variant for entry in list_datasets(functional.data[0]) if entry.element == symbol}
    if named.get(symbol, variant) != variant:
        findings.warn(
            poscar.file, f"{symbol} has two different suffixes; {symbol}_{named[symbol]} counts for all atoms"
        )
    elif variant in existing:
        named[symbol] = variant
    else:
        choices = ", ".join(sorted(filter(None, existing))) or "none"
        findings.note(
            poscar.file,
            f"there is no data set of {symbol} for the suffix in {symbol}_{variant}; the default set is used "
            f"(variants of {symbol}: {choices})",
        )


def _note_other_functional(found: dict[str, DataSet], functional: Functional, incar: Incar, findings: Findings) -> None:
    others = [data.header.name for data in found.values() if data.header.functional != functional.data[0]]
    if others:
        message = (
            f"no data sets were made for {functional.title}; {', '.join(others)} serve, with the frozen cores of "
            f"their functional; energies count from the densities of their atoms in {functional.title}"
        )
        findings.add(incar.problem("GGA", message, severity="note"))


def choose_cutoff(
    incar: Incar, poscar: Poscar, datasets: dict[str, DataSet], findings: Findings
) -> tuple[float | None, Computed]:
    """The cutoff in hartree, and ENCUT with its origin; the default is the largest recommended one of the data sets."""
    given = incar.values.get("ENCUT")
    if "ENCUT" not in incar.values and set(poscar.symbols) - datasets.keys():
        return None, Computed(None)
    if isinstance(given, float):
        _judge_cutoff(given, incar, poscar, datasets, findings)
        return given / HARTREE_EV, Computed(given, line_of(incar, "ENCUT"))
    silent = [data.header.name for data in datasets.values() if data.advice is None]
    if silent:
        findings.error(
            incar.file, f"ENCUT is not set, and there is no recommended cutoff for {', '.join(silent)}",
            "Set ENCUT by hand, and make sure that the result does not depend on it.",
        )  # fmt: skip
    advised = {data.advice.recommended_eV: data.header.name for data in datasets.values() if data.advice}
    if not advised or silent or "ENCUT" in incar.raw:
        return None, Computed(None)
    return max(advised) / HARTREE_EV, Computed(float(max(advised)), f"from data set {advised[max(advised)]}")


def _judge_cutoff(
    cutoff: float, incar: Incar, poscar: Poscar, datasets: dict[str, DataSet], findings: Findings
) -> None:
    """A word about the error to expect of a cutoff below the recommended one: the mean over all atoms."""
    known = {symbol: (data.header.name, data.advice) for symbol, data in datasets.items() if data.advice is not None}
    best = max((advice.recommended_eV for _, advice in known.values()), default=0.0)
    if cutoff >= best:
        return
    errors = [known[symbol][1].expected_error_eV(cutoff) for symbol in poscar.symbols if symbol in known]
    error = fsum(errors) / len(poscar.symbols)
    names = ", ".join(f"{name} {a.recommended_eV:g}" for name, a in known.values() if cutoff < a.recommended_eV)
    if error < LARGE_ERROR:
        message = (
            f"energy differences are expected to be converged to about {float(f'{1000 * error:.1g}'):g} meV per atom"
        )
        findings.add(incar.problem("ENCUT", f"{message}; recommended: {names} eV", severity="note"))
    else:
        message = (
            f"energy differences may be off by {1000 * LARGE_ERROR:g} meV per atom or more; recommended: {names} eV"
        )
        findings.add(incar.problem("ENCUT", message, f"Set ENCUT = {best:g}.", severity="warning"))
