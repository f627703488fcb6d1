"""IVDW and VDW_*: which dispersion correction is added, and with which parameters (no torch here)."""

from collections.abc import Mapping, Sequence

from eigenwerk.dft.dispersion import libraries, pairwise
from eigenwerk.dft.dispersion.correction import D2, D3_BJ, D3_ZERO, D4, METHODS, DispersionCorrection
from eigenwerk.dft.dispersion.functionals import known_functionals, table_name
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.tags_in_force import Computed, of_species
from eigenwerk.functionals.functional import Functional
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.functionals.non_local import NonLocal, recipe_name
from eigenwerk.io.vasp.elements import SYMBOLS
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.io.vasp.problem import Problem
from eigenwerk.units import BOHR_ANGSTROM

BY_METHOD = {
    D2: {"VDW_S6": "s6", "VDW_SCALING": "s6", "VDW_SR": "sr", "VDW_D": "d"},
    D3_ZERO: {"VDW_S6": "s6", "VDW_S8": "s8", "VDW_S9": "s9", "VDW_SR": "rs6"},
    D3_BJ: {"VDW_S6": "s6", "VDW_S8": "s8", "VDW_S9": "s9", "VDW_A1": "a1", "VDW_A2": "a2"},
    D4: {"VDW_S6": "s6", "VDW_S8": "s8", "VDW_S9": "s9", "VDW_A1": "a1", "VDW_A2": "a2"},
}
"""Tags of a method's parameters, and the names of these."""

LISTS = ("VDW_C6", "VDW_R0")

RADII = {D2: (50.0, None), D3_ZERO: (50.2, 20.0), D3_BJ: (50.2, 20.0), D4: (31.75, 15.88)}
"""VDW_RADIUS and VDW_CNRADIUS by default, Å; those of D4 are the library's 60 and 30 bohr."""

OF_D2 = {"sr": 1.0, "d": 20.0}

ALL = (*dict.fromkeys(tag for tags in BY_METHOD.values() for tag in tags), *LISTS, "VDW_RADIUS", "VDW_CNRADIUS")

LENGTHS = ("a2",)
"""Parameters that are lengths, in bohr."""

SHOWN = 24
"""Functionals that an error names at most."""


def dispersion_correction(
    incar: Incar, poscar: Poscar, functional: Functional, hybrid: Hybrid | None, non_local: NonLocal | None,
    charge: float, findings: Findings,
) -> tuple[DispersionCorrection | None, dict[str, Computed]]:  # fmt: skip
    """The correction that is asked for, if there is one; charge: of the cell.  Problems go to the findings."""
    method = _method(incar, findings)
    _tell_idle(incar, method, findings)
    if method is None:
        return None, {tag: Computed(None) for tag in ALL}
    _doubts(incar, method, findings)
    if non_local is not None:
        what = recipe_name(functional.tag, hybrid, non_local) or functional.title
        message = f"dispersion is counted twice, by {method} and by the non-local correlation of {what} (LUSE_VDW)"
        findings.add(incar.problem(_switch(incar), message, "Keep one of them.", severity="warning"))
    if libraries.is_missing(method):
        package = libraries.PACKAGES[method]
        message = f"{method} is computed by the library {package}, which is not installed"
        findings.add(incar.problem(_switch(incar), message, f"Install it:  {libraries.INSTALL}"))
        return None, {}
    values, source = _parameters(incar, method, table_name(functional, hybrid), findings)
    coefficients = _coefficients(incar, poscar, findings) if method == D2 else {}
    if not _has_elements(incar, poscar, method, findings) or values is None or coefficients is None:
        return None, {}
    pairs, counted = RADII[method]
    reach, reach_counted = _length(incar, "VDW_RADIUS", pairs), _length(incar, "VDW_CNRADIUS", counted)
    if method == D4 and "VDW_RADIUS" not in incar.values:
        reach = None
    if method == D4 and "VDW_CNRADIUS" not in incar.values:
        reach_counted = None
    made = DispersionCorrection(
        method, source, values, reach, reach_counted, coefficients, charge if method == D4 else 0.0
    )
    return made, _in_force(incar, made, (pairs, counted))


def _switch(incar: Incar) -> str:
    """The tag that asks for a correction."""
    return "IVDW" if incar.values.get("IVDW") else "LVDW"


def _method(incar: Incar, findings: Findings) -> str | None:
    number = incar.values.get("IVDW", 0)
    named = METHODS.get(number) if isinstance(number, int) else None
    if incar.get("LVDW") and "IVDW" in incar.values and named != D2:
        findings.add(incar.problem("LVDW", f"it asks for D2, and IVDW = {number} does not", "Keep one of them."))
        return None
    return D2 if incar.get("LVDW") else named


def _tell_idle(incar: Incar, method: str | None, findings: Findings) -> None:
    """A note about parameters that are given and take no part."""
    if method is None and (incar.broken("IVDW") or incar.broken("LVDW") or incar.values.get("IVDW")):
        return  # of an error
    mine = set() if method is None else set(BY_METHOD[method]) | {"VDW_RADIUS"}
    mine |= set(LISTS) if method == D2 else {"VDW_CNRADIUS"} if method else set()
    for tag in ALL:
        if tag in incar.values and tag not in mine:
            words = "not used without IVDW" if method is None else f"not used: it is no parameter of {method}"
            findings.add(incar.problem(tag, words, severity="note"))


def _doubts(incar: Incar, method: str, findings: Findings) -> None:
    if "VDW_SCALING" in incar.values and "VDW_S6" in incar.values and method == D2:
        findings.add(incar.problem("VDW_SCALING", "an old name of VDW_S6, which counts", severity="note"))
    if incar.values.get("VDW_S9") and method in (D3_ZERO, D3_BJ):
        message = "the three-body term is added; VASP takes no VDW_S9 with this IVDW (with 15 it does)"
        findings.add(incar.problem("VDW_S9", message, severity="note"))


def _parameters(
    incar: Incar, method: str, name: str, findings: Findings
) -> tuple[dict[str, float] | None, str]:
    """All parameters by name, and whose they are; tags first."""
    given = {key: float(value) for tag, key in reversed(BY_METHOD[method].items())
             if isinstance(value := incar.values.get(tag), int | float)}  # fmt: skip
    usual, needed = (OF_D2, ("s6",)) if method == D2 else (libraries.USUAL[method], libraries.NEEDED[method])
    known = known_functionals(method)
    if name in known:
        return {**usual, **known[name], **given}, name
    lacking = [key for key in needed if key not in given]
    if lacking:
        findings.add(_unknown(incar, method, name, lacking, known))
        return None, ""
    return {**usual, **given}, ""


def _unknown(
    incar: Incar, method: str, name: str, lacking: list[str], known: Mapping[str, Mapping[str, float]]
) -> Problem:
    tags = [tag for tag, key in BY_METHOD[method].items() if key in lacking and tag != "VDW_SCALING"]
    ours = [other for other in known if other in _OURS] or list(known)[:SHOWN]
    message = f"there are no parameters of {method} for this functional ({name}); of those that can be computed here "
    message += f"there are some for {', '.join(ours)}"
    remedy = f"Set {', '.join(tags)}, or take another functional or IVDW."
    return incar.problem(_switch(incar), message, remedy)


_OURS = frozenset({
    "pbe", "pbesol", "rpbe", "revpbe", "am05", "pw91", "blyp", "b3lyp", "pbe0", "hse03", "hse06", "hsesol", "hf",
})  # fmt: skip
"""Names of functionals that there are here."""


def _coefficients(incar: Incar, poscar: Poscar, findings: Findings) -> dict[str, tuple[float, float]] | None:
    """C6 and R0 of each element in hartree and bohr."""
    lists = [_list(incar, tag, poscar, findings) for tag in LISTS]
    found: dict[str, tuple[float, float]] = {}
    if any(values is None for values in lists):
        return None
    for number, (symbol, _) in enumerate(poscar.species_runs):
        table = pairwise.COEFFICIENTS.get(symbol)
        pair = [values[number] if values else table[place] if table else None for place, values in enumerate(lists)]
        c6, r0 = pair
        if c6 is None or r0 is None:
            tags = " and ".join(tag for tag, value in zip(LISTS, pair, strict=True) if value is None)
            message = f"the table of D2 ends at Xe, and has nothing of {symbol}"
            remedy = f"Give {tags}, one value for each species of POSCAR, or take IVDW = 12."
            findings.add(incar.problem(_switch(incar), message, remedy))
            return None
        made = c6 * pairwise.C6_UNIT, r0 / BOHR_ANGSTROM
        if found.setdefault(symbol, made) != made:
            message = f"two species of {symbol} have different values, and pairs go by the element"
            findings.add(incar.problem("VDW_C6" if lists[0] else "VDW_R0", message, "Give them the same ones."))
            return None
    return found


def _list(incar: Incar, tag: str, poscar: Poscar, findings: Findings) -> Sequence[float] | None:
    """The values of a tag, one for each species; none of them without it, None where it is wrong."""
    if tag not in incar.values:
        return None if incar.broken(tag) else ()
    values = of_species(incar, tag, [symbol for symbol, _ in poscar.species_runs], 0.0, findings)
    if values is None:
        return None
    if min(values) < 0 or (tag == "VDW_R0" and min(values) == 0):
        findings.add(incar.problem(tag, "no value can be negative, and no radius zero", "Correct it."))
        return None
    return values


def _has_elements(incar: Incar, poscar: Poscar, method: str, findings: Findings) -> bool:
    if method == D2:
        return True  # of what its table lacks an error tells already
    heavy = [symbol for symbol in dict.fromkeys(poscar.symbols)
             if SYMBOLS.index(symbol) >= libraries.LAST]  # fmt: skip
    if heavy:
        message = f"{method} ends at {SYMBOLS[libraries.LAST - 1]}, and has nothing of {', '.join(heavy)}"
        findings.add(incar.problem(_switch(incar), message, "Remove the line."))
    return not heavy


def _length(incar: Incar, tag: str, usual: float | None) -> float | None:
    """A radius in bohr."""
    value = incar.values.get(tag, usual)
    return None if usual is None or not isinstance(value, int | float) else float(value) / BOHR_ANGSTROM


def _in_force(
    incar: Incar, made: DispersionCorrection, radii: tuple[float | None, float | None]
) -> dict[str, Computed]:
    """Tags with the values that count, and whence; others are not in force."""
    own = known_functionals(made.method).get(made.functional, {})
    names = BY_METHOD[made.method]
    values: dict[str, object] = {tag: made.parameters.get(key) for tag, key in names.items()}
    values |= dict(zip(("VDW_RADIUS", "VDW_CNRADIUS"), radii, strict=True)) | {"VDW_SCALING": None}
    origins = {tag: f"of {made.functional}" if names.get(tag) in own else "default" for tag in ALL}
    computed = {tag: Computed(values.get(tag), origins[tag]) for tag in ALL}
    return {tag: one for tag, one in computed.items() if tag not in incar.values or values.get(tag) is None}


def with_dispersion(title: str, correction: DispersionCorrection | None) -> str:
    """The name of a functional with that of the correction: PBE-D3(BJ), HSE06-D4: 25 % exact exchange."""
    if correction is None:
        return title
    name, colon, rest = title.partition(":")
    return f"{name}-{correction.method}{colon}{rest}"


def dispersion_words(correction: DispersionCorrection | None, _: object = None) -> list[str]:
    """What is added, with its parameters, line by line."""
    if correction is None:
        return []
    source = f" of {correction.functional}" if correction.functional else " as given"
    values = ", ".join(f"{name} {value:g}{' bohr' if name in LENGTHS else ''}"
                       for name, value in correction.parameters.items() if name != "s9")  # fmt: skip
    first = f"{correction.method}, parameters{source}: {values}{_three_bodies(correction)}"
    cuts = [("pairs", correction.radius), ("neighbours counted", correction.coordination_radius)]
    reaches = [f"{name} up to {length * BOHR_ANGSTROM:.5g} Å" for name, length in cuts if length is not None]
    charge = [f"charge of the cell {correction.charge:+g}"] if correction.method == D4 and correction.charge else []
    return [first, *filter(None, [", ".join(reaches + charge)])]


def _three_bodies(correction: DispersionCorrection) -> str:
    share = correction.parameters.get("s9")
    if share is None:
        return ""
    return f", three-body term times {share:g}" if share else ", no three-body term"
