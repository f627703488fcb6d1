"""Tags of dispersion corrections: IVDW and its parameters."""

from eigenwerk.io.vasp.tags.base import Derived, Tag, TagValue
from eigenwerk.io.vasp.tags.functional import DISPERSION

_REMEDY = "Set IVDW = 12 (D3 with the damping of Becke and Johnson) or 13 (D4), or remove the line."


def _other(value: int, name: str) -> TagValue:
    return TagValue(value, "refused", f"{name} is not available", _REMEDY)


_OTHERS = (
    _other(2, "the method of Tkatchenko and Scheffler"), _other(20, "the method of Tkatchenko and Scheffler"),
    _other(21, "the method of Tkatchenko and Scheffler with iterative Hirshfeld charges"),
    _other(202, "many-body dispersion (MBD@rsSCS)"),
    _other(263, "many-body dispersion with fractional ions (MBD@rSC/FI)"),
    _other(3, "DFT-ulg"), _other(4, "the density-dependent correction dDsC"),
    _other(14, "many-body dispersion by the library libMBD"),
    TagValue(15, "refused", "the tags of simple-DFT-D3 are not available",
             "Set IVDW = 11 or 12, which are the same library's D3, with VDW_S9 = 1 for a three-body term."),
)  # fmt: skip

_NUMBERS = (
    ("VDW_S6", "", "Scale of the r⁻⁶ term.", None), ("VDW_S8", "", "Scale of the r⁻⁸ term (IVDW = 11, 12, 13).", None),
    ("VDW_S9", "", "Scale of the three-body term: 0 with IVDW = 11, 12, where VASP takes no other, 1 with 13.", None),
    ("VDW_SR", "", "Scale of the radii of damping (IVDW = 1, 10, 11).", 0.0),
    ("VDW_A1", "", "Scale of the radii in the damping of Becke and Johnson (IVDW = 12, 13).", None),
    ("VDW_A2", "bohr", "Length that is added to them (IVDW = 12, 13).", None),
    ("VDW_D", "", "Steepness of the damping of D2.", 0.0),
    ("VDW_SCALING", "", "Old name of VDW_S6, of D2.", None),
)  # fmt: skip

TAGS: tuple[Tag, ...] = (
    Tag("IVDW", "int", 0, "", DISPERSION, "honoured", "Dispersion correction.", remedy=_REMEDY,
        choices=(TagValue(0), TagValue(1), TagValue(10), TagValue(11), TagValue(12), TagValue(13), *_OTHERS)),
    Tag("LVDW", "bool", False, "", DISPERSION, "honoured", "Obsolete switch of IVDW = 1."),
    *(Tag(name, "float", Derived("by the functional"), unit, DISPERSION, "honoured", text, above=above)
      for name, unit, text, above in _NUMBERS),
    Tag("VDW_C6", "floats", Derived("by the element, H to Xe"), "J nm⁶/mol", DISPERSION, "honoured",
        "Coefficient of each species of POSCAR (IVDW = 1, 10)."),
    Tag("VDW_R0", "floats", Derived("by the element, H to Xe"), "Å", DISPERSION, "honoured",
        "Radius of each species of POSCAR (IVDW = 1, 10)."),
    Tag("VDW_RADIUS", "float", Derived("50 (D2), 50.2 (D3), 31.75 (D4)"), "Å", DISPERSION, "honoured",
        "Where pairs of atoms end.", above=0.0),
    Tag("VDW_CNRADIUS", "float", Derived("20 (D3), 15.88 (D4)"), "Å", DISPERSION, "honoured",
        "Where the neighbours end that D3 and D4 count.", above=0.0),
    Tag("VDW_ALPHA", "floats", None, "", DISPERSION, "inert", "Parameter of the dispersion correction.",
        "it acts only with IVDW of Tkatchenko and Scheffler"),
)  # fmt: skip
