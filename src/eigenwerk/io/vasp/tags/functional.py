"""INCAR tags: exchange-correlation functional, exact exchange, van der Waals."""

from eigenwerk.functionals.table import DEFAULT, LIBXC_HYBRIDS, OFFERED, PARTS, listed
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
    *(TagValue(functional.tag, aliases=(*functional.aliases, *(("--",) if functional.tag == DEFAULT else ())))
      for functional in OFFERED),
    TagValue("LIBXC", aliases=("LI",)),
)
_KNOWN = {word for choice in _CHOICES for word in (choice.value, *choice.aliases)}
_MISSING = (
    TagValue(
        word, "refused", "BEEF-vdW is not available" if word == "BF" else "this functional is not available",
    )
    for word in _OF_VASP if word not in _KNOWN
)  # fmt: skip

_SHARE_X = "1 - AEXX with LHFCALC, else 1; with GGA = B3 and B5 those of B3LYP"
_SHARE_C = "1; 0 with LHFCALC and AEXX = 1; with GGA = B3 and B5 those of B3LYP"

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
        f"With GGA = LIBXC: exchange by libxc's name or number. The formulas are eigenwerk's own: {_PARTS}; with "
        f"LHFCALC also {', '.join(LIBXC_HYBRIDS)}."),
    Tag("LIBXC2", "word", None, "", SECTION, "honoured", "The same for correlation, which LIBXC1 may name too."),
    *(Tag(name, "float", Derived(default), "", SECTION, "honoured", text)
      for name, default, text in (
          ("AGGAX", _SHARE_X, "Fraction of the gradient correction to exchange; with HFSCREEN of its short range."),
          ("ALDAX", _SHARE_X, "Fraction of the local exchange; with HFSCREEN of its short range."),
          ("AGGAC", _SHARE_C, "Fraction of the gradient correction to correlation; of GGA = B3 and B5 that of LYP."),
          ("ALDAC", _SHARE_C, "Fraction of the local correlation."),
      )),
    Tag("VOSKOWN", "int", 0, "", SECTION, "inert", "Interpolation of the correlation energy between spin states.",
        "the functionals bring their own interpolation"),
    Tag("PARAM1", "float", Derived("GGA = MK: 0.1234; GGA = BO: 0.1833333333"), "", SECTION, "honoured",
        "First number of the exchange of GGA = MK (mu) and BO (beta).", above=0.0),
    Tag("PARAM2", "float", Derived("GGA = MK: 1; GGA = BO: 0.22"), "", SECTION, "honoured",
        "Second number of the exchange of GGA = MK (kappa) and BO (mu).", above=0.0),
    *group(
        SECTION, "inert", "it acts only with functionals that are not available",
        ("LMETAGGA", "bool", False, "", "Obsolete switch of meta-GGA functionals."),
        ("CMBJ", "floats", None, "", "Parameter of METAGGA = MBJ."),
    ),
)  # fmt: skip

HYBRID = (
    Tag("LHFCALC", "bool", False, "", EXACT, "honoured",
        "Exact exchange: alone PBE0 (with GGA = PE), with HFSCREEN = 0.2 HSE06, with GGA = B3 B3LYP, with AEXX = 1 "
        "Hartree-Fock."),
    Tag("AEXX", "float", Derived("0.25 with LHFCALC (GGA = B3: 0.2), else 0"), "", EXACT, "honoured",
        "Fraction of exact exchange."),
    Tag("HFSCREEN", "float", Derived("0"), "1/Å", EXACT, "honoured",
        "Screening of the exact exchange, whose interaction is erfc(HFSCREEN r)/r: 0.2 HSE06, 0.3 HSE03, 0 none. With "
        "GGA = PE, PS and CA.", at_least=0.0),
    *(Tag(name, "int", default, "", EXACT, "honoured", text, at_least=1)
      for name, default, text in (
          ("NKRED", 1, "Exact exchange on a mesh of q-points with as many times fewer points along each axis."),
          ("NKREDX", Derived("NKRED"), "The same along the first axis."),
          ("NKREDY", Derived("NKRED"), "The same along the second axis."),
          ("NKREDZ", Derived("NKRED"), "The same along the third axis."),
      )),
    Tag("EVENONLY", "bool", False, "", EXACT, "honoured",
        "Exact exchange on q-points whose three numbers on the mesh have an even sum, half of them."),
    Tag("ODDONLY", "bool", False, "", EXACT, "honoured",
        "The same with an odd sum; with HFSCREEN only."),
    *switches(
        EXACT, "this interaction of exact exchange is not available",
        ("LMODELHF", "Dielectric-dependent hybrid."),
        ("LRHFCALC", "Long-range exact exchange."),
        ("LTHOMAS", "Thomas-Fermi screening of the exchange."),
        remedy="Remove the line; LHFCALC with HFSCREEN screens the exchange at long range.",
    ),
    Tag("CORE_EXCHANGE", "word", "Plain", "", EXACT, "honoured",
        "Interaction of the exact exchange of valence electrons with the cores (not in VASP): Plain, 1/r as the PAW "
        "data sets hold it, or Screened, that of HFSCREEN, with core orbitals that are recomputed.",
        remedy="Set CORE_EXCHANGE = Screened or remove the line.", choices=(TagValue("Plain"), TagValue("Screened"))),
    Tag("HFRCUT", "float", 0.0, "Å", EXACT, "refused", "Radius beyond which the interaction of exact exchange ends.",
        "a radius by hand is not available", "Remove the line, or set HFRCUT = 0.", off_values=(0.0,)),
    Tag("PRECFOCK", "word", "Normal", "", EXACT, "honoured",
        "Sphere of waves of pair densities, times that of the orbitals: 1 (Low), 1.25 (Fast), 1.5 (Normal), 2 "
        "(Accurate), on the smallest grid that holds it, whatever PREC.",
        remedy="Set PRECFOCK = Fast, Normal or Accurate, or remove the line.", first_letters="LFNAMS",
        choices=(TagValue("Low"), TagValue("Fast"), TagValue("Normal"), TagValue("Accurate"),
                 TagValue("Medium", note="an old setting of VASP: as Normal"),
                 TagValue("Single", note="a setting of VASP for grids like those of PREC = Single: as Normal"))),
    *group(
        EXACT, "inert", "products of orbitals have all the moments that the data sets give them",
        ("LMAXFOCK", "int", 4, "", "Largest l of the exchange augmentation."),
        ("LMAXFOCKAE", "int", -1, "", "Largest l restored to all-electron accuracy."),
        ("NMAXFOCKAE", "int", 1, "", "Radial functions of that restoration."),
    ),
    Tag("LFOCKACE", "bool", True, "", EXACT, "inert", "Compressed exchange operator.", "it always is compressed"),
    Tag("ENCUTFOCK", "float", None, "eV", EXACT, "inert", "Cutoff of the exact exchange.",
        "it is obsolete in VASP, too"),
    Tag("NBLOCK_FOCK", "int", 0, "", EXACT, "honoured",
        "Orbitals that exact exchange is applied to at a time: fewer take less memory; 0, the default, as many as 128 "
        "MB of grids hold (VASP: 64). Results do not depend on it.", at_least=0),
)  # fmt: skip

VDW = (
    Tag("LUSE_VDW", "bool", False, "", DISPERSION, "honoured",
        "Non-local correlation: of vdW-DF, vdW-DF2, optPBE, optB88, optB86b, rev-vdW-DF2 and vdW-DF-cx with AGGAC = 0, "
        "of rVV10 with IVDW_NL = 2. The kernel is made of its formula: no vdw_kernel.bindat is read."),
    Tag("ZAB_VDW", "float", -0.8491, "", DISPERSION, "honoured",
        "Coefficient of the gradient in Dion's kernel: -0.8491 of vdW-DF, -1.8867 of vdW-DF2 and rev-vdW-DF2.",
        at_most=0.0),
    Tag("IVDW_NL", "int", 1, "", DISPERSION, "honoured", "Kernel: 1 Dion's (vdW-DF), 2 that of rVV10.",
        remedy="Set IVDW_NL = 1 or 2.",
        choices=(TagValue(1), TagValue(2), TagValue(3, "refused", "vdW-DF3-opt1 is not available"),
                 TagValue(4, "refused", "vdW-DF3-opt2 is not available"))),
    Tag("BPARAM", "float", 6.3, "", DISPERSION, "honoured",
        "b of rVV10: 6.3 with GGA = ML, 10 with PBE (PBE + rVV10L).", above=0.0),
    Tag("CPARAM", "float", 0.0093, "", DISPERSION, "honoured", "C of rVV10.", at_least=0.0),
    Tag("LSPIN_VDW", "bool", False, "", DISPERSION, "honoured",
        "With ISPIN = 2: Dion's kernel of the spin densities in place of that of the total density."),
)  # fmt: skip

TAGS: tuple[Tag, ...] = SEMILOCAL + HYBRID + VDW
