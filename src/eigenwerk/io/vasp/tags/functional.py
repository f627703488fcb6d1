"""INCAR tags: exchange-correlation functional, exact exchange, van der Waals."""

from eigenwerk.functionals.table import DEFAULT, OFFERED, PARTS, listed
from eigenwerk.io.vasp.tags.base import Derived, Tag, TagValue, group, switches

SECTION = "Functional"
EXACT = "Exact exchange"
DISPERSION = "Van der Waals"

_PARTS = ", ".join(f"{part.name} ({part.number})" for part in PARTS.values())
_FUNCTIONAL_REMEDY = f"Choose one of {listed()}."

_OF_VASP = (
    "AM", "91", "B3", "B5", "OR", "BO", "MK", "ML", "CX", "BF", "VW", "HL", "WI", "SL", "CA_C", "PZ_C",
    "PW92_C", "PBE_X", "PBE_C", "N",
)  # fmt: skip
"""Words of VASP; those that no functional has are refused by name."""

_CHOICES = (
    *(TagValue(functional.tag, aliases=functional.aliases) for functional in OFFERED),
    TagValue("LIBXC", aliases=("LI",)),
)
_KNOWN = {word for choice in _CHOICES for word in (choice.value, *choice.aliases)}
_MISSING = (TagValue(word, "refused", "this functional is not available") for word in _OF_VASP if word not in _KNOWN)


SEMILOCAL = (
    Tag(
        "GGA", "functional", DEFAULT, "", SECTION, "honoured",
        f"LDA or GGA functional: {listed()}; or LIBXC with LIBXC1 and LIBXC2. Not in VASP: libxc's names, such as "
        "GGA_X_PBE+GGA_C_PBE. It also chooses the PAW data sets.",
        remedy=_FUNCTIONAL_REMEDY,
        choices=(*_CHOICES, *_MISSING),
    ),
    Tag("METAGGA", "word", "None", "", SECTION, "refused", "Functional of the kinetic-energy density.",
        "meta-GGA functionals are not available", "Remove the line, or set METAGGA = None.", off_values=("None", "--")),
    Tag("XC", "words", None, "", SECTION, "refused", "Linear combination of functionals.",
        "combinations of functionals are not available", f"Remove the line. {_FUNCTIONAL_REMEDY} with the tag GGA."),
    Tag("LIBXC1", "word", None, "", SECTION, "honoured",
        f"With GGA = LIBXC: exchange by libxc's name or number. The formulas are eigenwerk's own: {_PARTS}."),
    Tag("LIBXC2", "word", None, "", SECTION, "honoured", "The same for correlation, which LIBXC1 may name too."),
    *(Tag(name, "float", 1.0, "", SECTION, "refused", text, "scaled parts of a functional are not available",
          f"Remove the line, or set {name} = 1.", off_values=(1.0,))
      for name, text in (
          ("AGGAX", "Fraction of the gradient correction to exchange."),
          ("ALDAX", "Fraction of the local exchange."),
          ("AGGAC", "Fraction of the gradient correction to correlation."),
          ("ALDAC", "Fraction of the local correlation."),
      )),
    Tag("VOSKOWN", "int", 0, "", SECTION, "inert", "Interpolation of the correlation energy between spin states.",
        "the functionals bring their own interpolation"),
    *group(
        SECTION, "inert", "it acts only with functionals that are not available",
        ("PARAM1", "float", 0.1234, "", "First parameter of GGA = MK or BO."),
        ("PARAM2", "float", 1.0, "", "Second parameter of GGA = MK or BO."),
        ("LMETAGGA", "bool", False, "", "Obsolete switch of meta-GGA functionals."),
        ("CMBJ", "floats", None, "", "Parameter of METAGGA = MBJ."),
    ),
)  # fmt: skip

HYBRID = (
    *switches(
        EXACT, "exact exchange is not available",
        ("LHFCALC", "Exact exchange (hybrid functionals, Hartree-Fock)."),
        ("LMODELHF", "Dielectric-dependent hybrid."),
        ("LRHFCALC", "Long-range exact exchange."),
        ("LTHOMAS", "Thomas-Fermi screening of the exchange."),
    ),
    *group(
        EXACT, "inert", "it acts only with LHFCALC = .TRUE.",
        ("AEXX", "float", Derived("0.25 with LHFCALC, else 0"), "", "Fraction of exact exchange."),
        ("HFSCREEN", "float", 0.0, "1/Å", "Range separation."),
        ("PRECFOCK", "word", "Normal", "", "Grid of the exact exchange."),
        ("ENCUTFOCK", "float", None, "eV", "Obsolete cutoff of the exact exchange."),
        ("NKRED", "int", 1, "", "Reduction of the q-points of the exchange."),
        ("NKREDX", "int", 1, "", "The same along the first axis."),
        ("NKREDY", "int", 1, "", "The same along the second axis."),
        ("NKREDZ", "int", 1, "", "The same along the third axis."),
        ("EVENONLY", "bool", False, "", "Exchange on even q-points only."),
        ("ODDONLY", "bool", False, "", "Exchange on odd q-points only."),
        ("LMAXFOCK", "int", 4, "", "Largest l of the exchange augmentation."),
        ("LMAXFOCKAE", "int", -1, "", "Largest l restored to all-electron accuracy."),
        ("NMAXFOCKAE", "int", 1, "", "Radial functions of that restoration."),
        ("LFOCKACE", "bool", True, "", "Compressed exchange operator."),
        ("HFRCUT", "float", 0.0, "Å", "Truncation of the Coulomb interaction."),
        ("NBLOCK_FOCK", "int", 64, "", "Bands handled together."),
    ),
)  # fmt: skip

VDW = (
    *switches(
        DISPERSION, "non-local correlation (vdW-DF, rVV10) is not available",
        ("LUSE_VDW", "Non-local correlation functional."),
    ),
    *group(
        DISPERSION, "inert", "it acts only with LUSE_VDW = .TRUE.",
        ("ZAB_VDW", "float", -0.8491, "", "Gradient coefficient of the kernel."),
        ("IVDW_NL", "int", 1, "", "Form of the kernel."),
        ("BPARAM", "float", 6.3, "", "Parameter b of rVV10."),
        ("CPARAM", "float", 0.0093, "", "Parameter C of rVV10."),
        ("LSPIN_VDW", "bool", False, "", "Spin-resolved kernel."),
    ),
    Tag("IVDW", "int", 0, "", DISPERSION, "refused", "Dispersion correction.",
        "dispersion corrections are not available", "Remove the line, or set IVDW = 0.", off_values=(0,)),
    *switches(DISPERSION, "dispersion corrections are not available", ("LVDW", "Obsolete switch of IVDW = 1.")),
    *group(
        DISPERSION, "inert", "it acts only with IVDW",
        *((f"VDW_{name}", "floats", None, "", "Parameter of the dispersion correction.")
          for name in ("S6", "S8", "A1", "A2", "SR", "D", "C6", "R0", "ALPHA", "RADIUS", "CNRADIUS")),
    ),
)  # fmt: skip

TAGS: tuple[Tag, ...] = SEMILOCAL + HYBRID + VDW
