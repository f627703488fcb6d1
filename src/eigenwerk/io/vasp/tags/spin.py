"""INCAR tags: spin, noncollinear magnetism, constraints, +U."""

from eigenwerk.io.vasp.tags.base import Derived, Tag, TagValue, group, switches

SECTION = "Spin"
PLUS_U = "DFT+U"

COLLINEAR = (
    Tag("ISPIN", "int", 1, "", SECTION, "honoured", "1 unpolarised, 2 collinear spin.",
        choices=(TagValue(1), TagValue(2))),
    Tag("MAGMOM", "floats", Derived("1 for each atom; NUPDOWN shared by the atoms"), "µ_B", SECTION, "honoured",
        "Starting moment of each atom (n*v repeats a value; numbers beyond the atoms are not used, with a warning); it "
        "also lowers the symmetry. Where all died, and open shells began with less than half of Hund's moment, that is "
        "tried as well; not given, so are opposite moments of neighbours in molecules.", at_least=-100, at_most=100),
    Tag("NUPDOWN", "float", None, "electrons", SECTION, "honoured",
        "Fixed difference between the numbers of up and down electrons; -1 leaves it free.",
        at_least=0.0, at_most=1_000_000, choices=(TagValue(-1.0),)),
)  # fmt: skip

NONCOLLINEAR = (
    *switches(
        SECTION, "noncollinear magnetism is not available",
        ("LNONCOLLINEAR", "Orbitals are two-component spinors."),
        remedy="Set LNONCOLLINEAR = .FALSE., and ISPIN = 2 for collinear magnetism.",
    ),
    *switches(SECTION, "spin-orbit coupling is not available", ("LSORBIT", "Spin-orbit coupling.")),
    *switches(SECTION, "spin spirals are not available", ("LSPIRAL", "Spin spirals.")),
    *group(
        SECTION, "inert", "it acts only with LNONCOLLINEAR or LSORBIT",
        ("SAXIS", "floats", (0.0, 0.0, 1.0), "", "Spin quantisation axis."),
        ("QSPIRAL", "floats", None, "", "Wave vector of a spin spiral."),
        ("LORBMOM", "bool", False, "", "Orbital moments."),
    ),
    Tag("I_CONSTRAINED_M", "int", 0, "", SECTION, "refused", "Penalty that holds local moments.",
        "constrained moments are not available", "Set I_CONSTRAINED_M = 0.", off_values=(0,)),
    *group(
        SECTION, "inert", "it acts only with I_CONSTRAINED_M",
        ("M_CONSTR", "floats", None, "µ_B", "Wanted local moments."),
        ("LAMBDA", "float", 0.0, "eV/µ_B²", "Strength of the penalty."),
    ),
    Tag("RWIGS", "floats", -1.0, "Å", SECTION, "honoured",
        "Radii of the spheres of projections (LORBIT), one for each species in the order of POSCAR. Without it spheres "
        "end where the partial waves of the data sets match their smooth twins."),
)  # fmt: skip

LDAU = (
    Tag("LDAU", "bool", False, "", PLUS_U, "honoured", "Switch of the +U correction."),
    Tag("LDAUTYPE", "int", 2, "", PLUS_U, "honoured",
        "Form of the correction: 2, that of Dudarev, in which U - J counts.",
        remedy="Set LDAUTYPE = 2, and LDAUU to U - J.",
        choices=(TagValue(2), *(TagValue(n, "refused", "this form of +U is not available") for n in (1, 3, 4)))),
    Tag("LDAUL", "ints", 2, "", PLUS_U, "honoured",
        "Quantum number l of the corrected shell, per species; -1 for none."),
    Tag("LDAUU", "floats", 0.0, "eV", PLUS_U, "honoured", "U, per species.", at_least=-100, at_most=100),
    Tag("LDAUJ", "floats", 0.0, "eV", PLUS_U, "honoured", "J, per species.", at_least=-100, at_most=100),
    *group(
        PLUS_U, "inert", "occupation matrices are not printed",
        ("LDAUPRINT", "int", 0, "", "Output of occupation matrices."),
    ),
)  # fmt: skip

TAGS: tuple[Tag, ...] = COLLINEAR + NONCOLLINEAR + LDAU
