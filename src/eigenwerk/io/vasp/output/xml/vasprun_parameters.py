"""The `parameters` block of vasprun.xml: all tags in force, sorted into VASP's named groups.

Readers look for some tags at a fixed place (ISPIN as first child of 'electronic spin', NELECT and NBANDS in
'electronic'), for others anywhere; a tag that belongs to no group goes to the end, as in VASP's file.
"""

from collections.abc import Mapping
from typing import Any

from eigenwerk.io.vasp.output.record import RunRecord
from eigenwerk.io.vasp.output.xml.xml_text import block, item

_Group = tuple[str, tuple[Any, ...]]

_GROUPS: tuple[_Group, ...] = (
    ("general", ("SYSTEM",)),
    (
        "electronic",
        (
            *("PREC", "ENMAX", "ENAUG", "EDIFF", "ALGO", "IALGO", "IWAVPR", "NBANDS", "NELECT"),
            ("electronic smearing", ("ISMEAR", "SIGMA", "KSPACING", "KGAMMA")),
            ("electronic projectors", ("LREAL", "ROPT", "LMAXPAW", "LMAXMIX")),
            ("electronic startup", ("ISTART", "ICHARG", "INIWAV")),
            ("electronic spin", ("ISPIN", "LNONCOLLINEAR", "MAGMOM", "NUPDOWN", "LSORBIT", "SAXIS")),
            ("electronic exchange-correlation", ("LASPH", "LMETAGGA")),
            (
                "electronic convergence",
                (
                    *("NELM", "NELMDL", "NELMIN"),
                    (
                        "electronic convergence detail",
                        ("LDIAG", "LSUBROT", "WEIMIN", "EBREAK", "DEPER", "NRMM", "TIME"),
                    ),
                ),
            ),
            (
                "electronic mixer",
                (
                    *("AMIX", "BMIX", "AMIN", "AMIX_MAG", "BMIX_MAG"),
                    ("electronic mixer details", ("IMIX", "MAXMIX", "WC", "INIMIX", "MIXPRE")),
                ),
            ),
            ("electronic dipolcorrection", ("LDIPOL", "IDIPOL", "EPSILON", "DIPOL", "EFIELD")),
        ),
    ),
    ("grids", ("NGX", "NGY", "NGZ", "NGXF", "NGYF", "NGZF", "ADDGRID")),
    ("ionic", ("NSW", "IBRION", "MDALGO", "ISIF", "PSTRESS", "EDIFFG", "NFREE", "POTIM", "SMASS")),
    ("ionic md", ("TEBEG", "TEEND", "NBLOCK", "KBLOCK")),
    ("symmetry", ("ISYM", "SYMPREC")),
    ("dos", ("LORBIT", "RWIGS", "NEDOS", "EMIN", "EMAX", "EFERMI")),
    ("writing", ("NWRITE", "LWAVE", "LCHARG", "LPARD", "LVTOT", "LVHAR", "LELF", "LOPTICS")),
    ("performance", ("KPAR", "NPAR", "NCORE", "NSIM", "LPLANE", "LSCALAPACK", "LSCALU", "LASYNC")),
    ("miscellaneous", ("POMASS", "LCORR")),
)

_LAST_GROUPS: tuple[_Group, ...] = (
    (
        "electronic exchange-correlation",
        (
            *("GGA", "METAGGA", "VOSKOWN", "LHFCALC", "PRECFOCK", "LRHFCALC", "LTHOMAS", "LMODELHF"),
            *("AEXX", "ALDAX", "AGGAX", "ALDAC", "AGGAC", "NKREDX", "NKREDY", "NKREDZ", "LMAXFOCK", "HFSCREEN"),
        ),
    ),
    ("vdW DFT", ("LUSE_VDW", "IVDW", "ZAB_VDW", "PARAM1", "PARAM2")),
    ("linear response parameters", ("LEPSILON", "LRPA", "LNABLA", "CSHIFT")),
)

_REAL = frozenset(
    [
        *("ENMAX", "ENAUG", "EDIFF", "NELECT", "SIGMA", "KSPACING", "PSTRESS", "EDIFFG", "POTIM", "SMASS", "TEBEG"),
        *("TEEND", "SYMPREC", "AEXX", "ALDAX", "AGGAX", "ALDAC", "AGGAC", "HFSCREEN", "AMIX", "BMIX", "AMIN"),
        *("AMIX_MAG", "BMIX_MAG", "MAGMOM", "SAXIS", "NUPDOWN", "EMIN", "EMAX", "EFIELD", "POMASS", "ROPT", "TIME"),
    ]
)

_EXPECTED: dict[str, Any] = {
    # pymatgen takes a run without these tags for a hybrid, Hartree-Fock or +U calculation.
    "LHFCALC": False,
    "AEXX": 0.0,
    "HFSCREEN": 0.0,
    "LDAU": False,
    "LUSE_VDW": False,
    "IVDW": 0,
    # BoltzTraP2 and quality checks of databases stop without these.
    "LNONCOLLINEAR": False,
    "LSORBIT": False,
    "SAXIS": [0.0, 0.0, 1.0],
    "IBRION": -1,
    "NSW": 0,
    "PSTRESS": 0.0,
}


def parameters_in_force(record: RunRecord) -> dict[str, Any]:
    """The tags of a record, completed by what readers need, with ENCUT under VASP's old name ENMAX.

    Raises ValueError if NELM, ISPIN or NELECT is missing: no reader can do without them.
    """
    missing = {"NELM", "ISPIN", "NELECT"} - set(record.parameters)
    if missing:
        raise ValueError(f"parameters of a RunRecord lack {', '.join(sorted(missing))}")
    given = {("ENMAX" if tag == "ENCUT" else tag): value for tag, value in record.parameters.items()}
    tags = {"SYSTEM": record.title, "NBANDS": record.final.eig_skn.shape[2], "MAGMOM": [1.0] * len(record.symbols)}
    tags |= _EXPECTED | {tag: value for tag, value in given.items() if value is not None}
    tags |= {"NELM": _nelm(record), "NSW": _nsw(record, tags)}
    return {tag: _as_real(value) if tag in _REAL else value for tag, value in tags.items()}


def _nelm(record: RunRecord) -> int:
    """The limit of steps that acted.

    Readers call a run converged if it has fewer steps than NELM; one that gave up early, or was stopped, must not pass.
    """
    limit = int(record.parameters["NELM"])
    return limit if record.last.converged else min(limit, len(record.last.steps))


def _nsw(record: RunRecord, tags: Mapping[str, Any]) -> int:
    """The limit of ionic steps that acted.

    Readers call a relaxation converged if it has fewer steps than NSW; one that gave up or was stopped must not pass.
    """
    limit = int(tags["NSW"])
    relaxation = tags["IBRION"] in (1, 2, 3) and limit > 0 and tags.get("EDIFFG") != 0
    over = record.resources is not None and not record.relaxed
    return max(min(limit, len(record.ionic_steps)), 2) if relaxation and over else limit


def _as_real(value: Any) -> Any:
    """Numbers as floats: 400 and 400.0 are the same cutoff."""
    if isinstance(value, str | bool):
        return value
    return float(value) if not hasattr(value, "__len__") else [float(x) for x in value]


def separators(tags: Mapping[str, Any]) -> str:
    """The body of the block: groups, then single tags, then the groups that VASP writes last."""
    rest = dict(tags)
    first = "".join(_separator(group, rest, 2) for group in _GROUPS)
    last = "".join(_separator(group, rest, 2) for group in _LAST_GROUPS)
    return first + "".join(item(tag, value, 2) for tag, value in rest.items()) + last


def _separator(group: _Group, rest: dict[str, Any], depth: int) -> str:
    """A group with those of its tags that are there, taken out of `rest`; nothing if there are none."""
    name, members = group
    body = ""
    for member in members:
        if isinstance(member, tuple):
            body += _separator(member, rest, depth + 1)
        elif member in rest:
            body += item(member, rest.pop(member), depth + 1)
    return block(f'separator name="{name}" ', body, depth) if body else ""
