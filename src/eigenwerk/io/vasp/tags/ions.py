"""INCAR tags: motion of the ions, cell, molecular dynamics, symmetry."""

from eigenwerk.io.vasp.tags.base import Derived, Row, Tag, TagValue, group, switches

SECTION = "Ions and cell"
DYNAMICS = "Molecular dynamics"
SYMMETRY = "Symmetry"

_FIXED = "ions do not move in a ground-state run"

RELAXATION = (
    Tag("NSW", "int", 0, "", SECTION, "refused", "Number of ionic steps.",
        "relaxation and molecular dynamics are not available",
        "Set NSW = 0 for the ground state at the positions given.", off_values=(0, -1)),
    Tag(
        "IBRION", "int", Derived("-1 if NSW is 0 or -1, else 0"), "", SECTION, "inert", "How the ions move.", _FIXED,
        remedy="Set IBRION = -1 and NSW = 0.",
        choices=(
            TagValue(-1, "honoured"),
            *(TagValue(number) for number in (0, 1, 2, 3)),
            *(TagValue(n, "refused", "vibrations and linear response are not available") for n in (5, 6, 7, 8)),
            *(TagValue(number, "refused", "steering from outside is not available") for number in (11, 12)),
            *(TagValue(number, "refused", "reaction paths are not available") for number in (40, 44)),
        ),
    ),
    Tag(
        "ISIF", "int", Derived("0 for dynamics, else 2"), "", SECTION, "honoured",
        "What moves, and whether the stress is computed: not with 0. Ions and cell do not move in a ground-state run.",
        choices=tuple(TagValue(number, "honoured") for number in range(9)),
    ),
    *group(
        SECTION, "inert", _FIXED,
        ("EDIFFG", "float", Derived("10 EDIFF"), "eV or eV/Å", "End of a relaxation: energy (> 0) or force (< 0)."),
        ("POTIM", "float", 0.5, "", "Step of the ions."),
        ("NFREE", "int", Derived("from IBRION"), "", "History of the optimiser."),
        ("IWAVPR", "int", Derived("from IBRION"), "", "Extrapolation between ionic steps."),
        ("LATTICE_CONSTRAINTS", "bools", None, "", "Directions in which the cell may change."),
    ),
    Tag("PSTRESS", "float", 0.0, "kbar", SECTION, "refused", "External pressure.",
        "an external pressure is not available", "Remove the line, or set PSTRESS = 0.", off_values=(0.0,)),
    Tag("IMAGES", "int", 0, "", SECTION, "refused", "Images of a reaction path.",
        "reaction paths are not available", "Remove the line, or set IMAGES = 0.", off_values=(0,)),
    Tag("SPRING", "float", -5.0, "eV/Å²", SECTION, "inert", "Springs between images.", "it acts only with IMAGES"),
    Tag("POMASS", "floats", Derived("from the data sets"), "amu", SECTION, "inert", "Masses of the atoms.",
        "masses do not enter the ground state"),
    *switches(SECTION, "machine-learned force fields are not available",
              ("ML_LMLFF", "Switch of machine-learned force fields.")),
    Tag("ML_MODE", "word", "None", "", SECTION, "refused", "Mode of machine-learned force fields.",
        "machine-learned force fields are not available", "Remove the line.", off_values=("None",)),
)  # fmt: skip

_THERMOSTAT_ROWS: tuple[Row, ...] = (
    ("SMASS", "float", -3.0, "", "Ensemble and Nosé mass."),
    ("MDALGO", "int", 0, "", "Thermostat."),
    ("TEBEG", "float", 0.0, "K", "Temperature at the start."),
    ("TEEND", "float", Derived("TEBEG"), "K", "Temperature at the end."),
    ("ANDERSEN_PROB", "float", 0.0, "", "Collision probability."),
    ("LANGEVIN_GAMMA", "floats", 0.0, "1/ps", "Friction of the atoms, per species."),
    ("LANGEVIN_GAMMA_L", "float", 0.0, "1/ps", "Friction of the lattice."),
    ("PMASS", "float", 1000.0, "amu", "Mass of the lattice."),
    ("NHC_NCHAINS", "int", 0, "", "Length of the thermostat chain."),
    ("NHC_PERIOD", "int", 40, "", "Period of the chain, in steps."),
    ("NHC_NRESPA", "int", 1, "", "Sub-steps of the chain."),
    ("NHC_NS", "int", 1, "", "Order of the chain integrator."),
    ("CSVR_PERIOD", "int", 0, "", "Period of velocity rescaling, in steps."),
    ("RANDOM_SEED", "ints", Derived("fixed, printed"), "", "Seeds of the random numbers."),
    ("NBLOCK", "int", 1, "", "Stride of outputs."),
    ("KBLOCK", "int", Derived("NSW"), "", "Stride of averages."),
    ("NPACO", "int", 256, "", "Slots of the pair correlation."),
    ("APACO", "float", 16.0, "Å", "Range of the pair correlation."),
)

THERMOSTATS = group(DYNAMICS, "inert", f"it acts only in molecular dynamics; {_FIXED}", *_THERMOSTAT_ROWS)

SYMMETRIES = (
    Tag(
        "ISYM", "int", 2, "", SYMMETRY, "honoured",
        "-1 no symmetry, 0 only k = -k, 1 to 3 full symmetry (the three give the same result here).",
        choices=tuple(TagValue(number) for number in (-1, 0, 1, 2, 3)),
    ),
    Tag("SYMPREC", "float", 1e-5, "Å", SYMMETRY, "honoured", "Tolerance of the search for symmetry.", at_least=1e-9,
        at_most=1),
)  # fmt: skip

TAGS: tuple[Tag, ...] = RELAXATION + THERMOSTATS + SYMMETRIES
