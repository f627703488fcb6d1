"""Which PAW data set serves each element, and the cutoff that follows from the sets."""

from math import fsum

from eigenwerk.dft.settings.dataset import DataSet
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.non_local import functional_title
from eigenwerk.dft.settings.tags_in_force import Computed, line_of, number_or
from eigenwerk.errors import InputError
from eigenwerk.functionals.functional import Functional
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.functionals.non_local import NonLocal
from eigenwerk.functionals.table import (
    DEFAULT,
    FAMILIES,
    FUNCTIONALS,
    LIBXC_HYBRIDS,
    find_functional,
    libxc_functional,
    member_tag,
)
from eigenwerk.io.paw.formats import read_header
from eigenwerk.io.paw.paw_library import choose_dataset, list_datasets, recommended_cutoff
from eigenwerk.io.vasp.elements import without_isotope
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.io.vasp.problem import Problem
from eigenwerk.units import HARTREE_EV

PARAMETERS = ("PARAM1", "PARAM2")
"""Tags of the numbers of a family of functionals."""

LARGE_ERROR = 0.1
"""Expected error of energy differences, eV per atom, from which on a cutoff is a mistake rather than a choice."""


def choose_functional(incar: Incar, findings: Findings) -> tuple[Functional, dict[str, Computed]]:
    """The functional of GGA with PARAM1 and PARAM2, or of LIBXC1 and LIBXC2, and these numbers in force; that of an
    INCAR that names none where they cannot be used."""
    found = _functional_by_name(incar, findings)
    given = [tag for tag in PARAMETERS if tag in incar.values]
    family = FAMILIES.get(found.tag)
    if family is None:
        for tag in given:
            message = f"not used: {found.title} takes no numbers, GGA = {' and '.join(FAMILIES)} do"
            findings.add(incar.problem(tag, message, severity="warning"))
        return found, {tag: Computed(None) for tag in PARAMETERS}
    missing = [tag for tag in PARAMETERS if tag not in given and not incar.broken(tag)]
    values = [number_or(incar, tag, usual) for tag, usual in zip(PARAMETERS, family.usual, strict=True)]
    if family.tag == "BO" and missing:
        pairs = zip(PARAMETERS, values, strict=True)
        taken = ", ".join(f"{tag} = {value:.10g}" for tag, value in pairs if tag in missing)
        message = f"{taken} {'is' if len(missing) == 1 else 'are'} taken, as in {found.title}; in VASP write them"
        findings.add(incar.problem("GGA", message, severity="note"))
    origins = [line_of(incar, tag) if tag in given else f"GGA = {family.tag}" for tag in PARAMETERS]
    computed = {tag: Computed(*one) for tag, one in zip(PARAMETERS, zip(values, origins, strict=True), strict=True)}
    return find_functional(member_tag(family, *values)), computed


def _functional_by_name(incar: Incar, findings: Findings) -> Functional:
    """The functional without numbers of its own."""
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
    poscar: Poscar, incar: Incar, functional: Functional, hybrid: Hybrid | None, non_local: NonLocal | None,
    findings: Findings,
) -> dict[str, DataSet]:  # fmt: skip
    """Data sets of all elements that have one, in the order of the structure; what is missing becomes an error."""
    served = serving(functional, non_local)
    variants = _variants(poscar, incar, served, findings)
    found, asked = {}, set()
    for symbol in dict.fromkeys(poscar.symbols):
        try:
            variant, made_for = _split_variant(variants.get(symbol))
            asked |= {symbol} if made_for else set()
            path = choose_dataset(symbol, *(made_for or served), variant=variant)
            header = read_header(path)
        except InputError as error:
            by_tag = symbol in _wanted(incar)
            findings.add(
                incar.problem("SETUPS", str(error)) if by_tag else Problem("error", poscar.file, None, str(error))
            )
            continue
        found[symbol] = DataSet(symbol, path, header, recommended_cutoff(header))
    title = functional_title(functional.tag, None if non_local is None else hybrid, non_local)
    by_default = {symbol: data for symbol, data in found.items() if symbol not in asked}
    _note_other_functional(by_default, served, title, incar, findings)
    return found


def serving(functional: Functional, non_local: NonLocal | None) -> tuple[str, ...]:
    """Functionals whose data sets serve, best first: with non-local correlation those of PBE, as in VASP's recipes."""
    return functional.data if non_local is None else tuple(dict.fromkeys(("PBE", *functional.data)))


def _split_variant(word: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Variant, and the functional whose sets are asked for, of a word of SETUPS: revPBE, v3, v3.revPBE."""
    variant, _, last = (word or "").rpartition(".")
    for functional in FUNCTIONALS.values():
        if last.casefold() == functional.data[0].casefold():
            return variant or None, (functional.data[0],)
    return word, ()


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


def _variants(poscar: Poscar, incar: Incar, served: tuple[str, ...], findings: Findings) -> dict[str, str]:
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
            _take_suffix(symbol, variant, served, named, poscar, findings)
    return named | wanted


def _take_suffix(
    symbol: str, variant: str, served: tuple[str, ...], named: dict[str, str], poscar: Poscar, findings: Findings
) -> None:
    existing = {entry.variant for entry in list_datasets(served[0]) if entry.element == symbol}
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


def _note_other_functional(
    found: dict[str, DataSet], served: tuple[str, ...], title: str, incar: Incar, findings: Findings
) -> None:
    others = [data.header.name for data in found.values() if data.header.functional != served[0]]
    if others:
        message = (
            f"no data sets were made for {title}; {', '.join(others)} serve, with the frozen cores of "
            f"their functional; energies count from the densities of their atoms in {title}"
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
