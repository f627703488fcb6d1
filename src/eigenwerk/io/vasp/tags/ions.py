"""INCAR tags: motion of the ions, cell, molecular dynamics, symmetry."""

from eigenwerk.io.vasp.tags.base import Derived, Row, Tag, TagValue, group, switches

SECTION = "Ions and cell"
DYNAMICS = "Molecular dynamics"
SYMMETRY = "Symmetry"
SADDLE = "Saddle points"

_MOVING = "Acts where ions move (NSW above 0)."

RELAXATION = (
    Tag("NSW", "int", 0, "", SECTION, "honoured",
        "Number of ionic steps: most points of a relaxation, all points of a molecular dynamics. Finite differences "
        "(IBRION = 5, 6) take as many as they need; 0 is a ground state.", at_least=-1, at_most=10_000_000),
    Tag(
        "IBRION", "int", Derived("-1 if NSW is 0 or -1, else 0"), "", SECTION, "honoured",
        "How the ions move: -1 not at all, 0 molecular dynamics, 1 relaxation by DIIS, 2 quasi-Newton relaxation, "
        "3 damped relaxation, 5 and 6 finite differences for vibrations, 6 with symmetry, 44 a dimer that climbs to a "
        "saddle point. With IMAGES: 1 and 2 DIIS of the whole band, 3 damped motion (quick-min).",
        choices=(
            *(TagValue(number, "honoured") for number in (-1, 0, 1, 2, 3, 5, 6, 44)),
            *(TagValue(n, "refused", "linear response is not available",
                       "Set IBRION = 5 or 6 for vibrations by finite differences.") for n in (7, 8)),
            *(TagValue(number, "refused", "steering from outside is not available",
                       "Set IBRION = -1; ASE moves atoms by eigenwerk.ase.") for number in (11, 12)),
            TagValue(40, "refused", "reaction coordinates (IRC) are not followed",
                     "Set IMAGES for a path between two minima, or IBRION = 44 for a saddle point."),
        ),
    ),
    Tag(
        "ISIF", "int", Derived("0 for dynamics, else 2"), "", SECTION, "honoured",
        "What moves, and whether the stress is computed, which 0 does not. Ions move with 0 to 4, the shape of the "
        "cell with 3 to 6, its volume with 3, 6, 7 and 8 (8: with the ions).",
        choices=tuple(TagValue(number, "honoured") for number in range(9)),
    ),
    Tag("EDIFFG", "float", Derived("10 EDIFF"), "eV or eV/Å", SECTION, "honoured",
        "End of a relaxation: change of the free energy (> 0), largest force (< 0; stress of a cell: 0.5 kbar), or "
        f"NSW alone (0). {_MOVING}"),
    Tag("POTIM", "float", Derived("0.5, 0.015 with IBRION = 5, 6; none in dynamics"), "", SECTION, "honoured",
        f"Time step of dynamics (fs), which needs it; displacement of finite differences (Å); scale of the steps of "
        f"IBRION = 1 and 3. {_MOVING}"),
    Tag("NFREE", "int", Derived("from IBRION"), "", SECTION, "honoured",
        "Steps in the memory of IBRION = 1; displacements in each direction of finite differences: 1, 2 or 4. "
        f"{_MOVING}"),
    Tag("IWAVPR", "int", Derived("from IBRION"), "", SECTION, "honoured",
        "How orbitals and density are predicted for the next ionic step: 0 not, 1 densities with their atoms and the "
        "last orbitals, 2 a parabola, 3 as the atoms' places follow from earlier ones; dynamics by default nearly "
        "reversibly in time.",
        choices=(*(TagValue(number, "honoured") for number in (0, 1, 2, 3)),
                 *(TagValue(number, "honoured", f"read as {number - 10}: nothing is kept on the disk")
                   for number in (10, 11, 12, 13)))),
    Tag("LATTICE_CONSTRAINTS", "bools", None, "", SECTION, "honoured",
        f"Cartesian directions that strains of the cell may have to do with, three switches. {_MOVING}"),
    Tag("PSTRESS", "float", 0.0, "kbar", SECTION, "honoured",
        f"Pressure from outside on a cell that moves. {_MOVING}"),
    Tag("PULAY_CORRECTION", "bool", False, "", SECTION, "honoured",
        "Not in VASP. A cell that relaxes follows its stress less the Pulay stress, found from energies at two cutoffs "
        "about ENCUT, and ends where energies at constant ENCUT are lowest. `eigenwerk relax` sets it."),
    Tag("POMASS", "floats", Derived("standard weights"), "amu", SECTION, "honoured",
        "Masses of the atoms, one for each species, in dynamics and vibrations."),
    *switches(SECTION, "machine-learned force fields are not available",
              ("ML_LMLFF", "Switch of machine-learned force fields.")),
    Tag("ML_MODE", "word", "None", "", SECTION, "refused", "Mode of machine-learned force fields.",
        "machine-learned force fields are not available", "Remove the line.", off_values=("None",)),
)  # fmt: skip

_DYNAMICS_ROWS: tuple[Row, ...] = (
    ("SMASS", "float", -3.0, "",
     "With MDALGO = 0: -3 no thermostat, -2 constant velocities, -1 velocities scaled every NBLOCK steps, 0 and above "
     "the mass of Nosé's thermostat; 0 and above, and -3, with MDALGO = 2 too. With IBRION = 3: friction (0 to "
     "2); negative: motion that stops uphill (FIRE)."),
    ("MDALGO", "int", 0, "",
     "Thermostat: 0 by SMASS, 1 Andersen, 2 Nosé-Hoover, 3 Langevin, 4 chain of Nosé-Hoover, 5 velocity rescaling."),
    ("TEBEG", "float", 0.0, "K", "Temperature at the start, of the velocities too where POSCAR has none."),
    ("TEEND", "float", Derived("TEBEG"), "K", "Temperature at the end; linear in between."),
    ("ANDERSEN_PROB", "float", 0.0, "", "MDALGO = 1: chance of an atom to collide in a step."),
    ("LANGEVIN_GAMMA", "floats", Derived("0"), "1/ps", "MDALGO = 3: friction of the atoms, one for each species."),
    ("LANGEVIN_GAMMA_L", "float", 0.0, "1/ps", "MDALGO = 3 with ISIF = 3: friction of the lattice."),
    ("PMASS", "float", 1000.0, "amu", "MDALGO = 3 with ISIF = 3: mass of the lattice."),
    ("NHC_NCHAINS", "int", 0, "", "MDALGO = 4: thermostats in the chain."),
    ("NHC_PERIOD", "float", 40.0, "", "MDALGO = 4: period of the chain, in steps."),
    ("NHC_NRESPA", "int", 1, "", "MDALGO = 4: pieces of a step of the chain."),
    ("NHC_NS", "int", 1, "", "MDALGO = 4: pieces of each of these, 1, 3 or 7."),
    ("CSVR_PERIOD", "float", 0.0, "fs", "MDALGO = 5: time of velocity rescaling."),
    ("RANDOM_SEED", "ints", Derived("0"), "",
     "Seeds of the random numbers of dynamics, which do not depend on the ranks; the first: of a dimer's direction."),
    ("NBLOCK", "int", 1, "", "SMASS = -1: steps from one scaling of velocities to the next."),
    ("CELL_RESCALING", "word", "None", "",
     "eigenwerk's own tag: a cell that moves by stochastic rescaling, Isotropic or Full (ISIF = 3, MDALGO = 3 or 5)."),
    ("CELL_TIME", "float", 1000.0, "fs", "CELL_RESCALING: time in which the volume forgets."),
    ("BULK_MODULUS", "float", 50.0, "GPa", "CELL_RESCALING: an estimate, which decides how fast the volume follows."),
)

BAND_TAGS = (
    Tag("IMAGES", "int", 0, "", SADDLE, "honoured",
        "Images of a path between two end points, in folders 00 (the first end point), 01 ... each with its POSCAR: a "
        "nudged elastic band.", at_least=0, at_most=97),
    Tag("SPRING", "float", -5.0, "eV/Å²", SADDLE, "honoured",
        "IMAGES: minus the constant of the springs between images, along the band (nudged)."),
    Tag("LCLIMB", "bool", True, "", SADDLE, "honoured",
        "IMAGES: the highest image climbs to the saddle point, once forces are below 0.5 eV/Å."),
    Tag("MAXMOVE", "float", 0.2, "Å", SADDLE, "honoured", "IMAGES: the farthest that an atom goes in a step."),
    Tag("IOPT", "int", 0, "", SADDLE, "honoured",
        "IMAGES: optimiser of the VTST patches in place of IBRION; POTIM then means nothing. In place of 1, 2 and 4 "
        "(LBFGS, conjugate gradients, steepest descent) DIIS of the whole band serves, of 3 and 7 (quick-min, FIRE) "
        "quick-min. Without IMAGES it acts where IBRION = 3 has POTIM = 0: as a quasi-Newton relaxation, "
        "for 3 and 7 as FIRE.",
        choices=tuple(TagValue(number, "honoured") for number in (0, 1, 2, 3, 4, 7))),
    Tag("ICHAIN", "int", 0, "", SADDLE, "honoured", "Method of the VTST patches; 0: a nudged elastic band with IMAGES.",
        choices=(
            TagValue(0, "honoured"),
            TagValue(1, "refused", "dynamical matrices come by finite differences", "Set IBRION = 5."),
            TagValue(2, "refused", "the dimer of the VTST patches has tags of its own",
                     "Remove the line and set IBRION = 44."),
            TagValue(3, "refused", "Lanczos' method for saddle points is not available",
                     "Remove the line and set IBRION = 44, a dimer."),
        )),
)

DIMER_TAGS = (
    Tag("DIMER_DIST", "float", 0.01, "Å", SADDLE, "honoured", "IBRION = 44: from the middle of the dimer to an end.",
        above=0, at_most=0.5),
    Tag("FINDIFF", "int", 1, "", SADDLE, "honoured",
        "IBRION = 44: forces of one end of the dimer (1), or of both (2).", choices=(TagValue(1), TagValue(2))),
    Tag("MINROT", "int", 1, "", SADDLE, "honoured", "IBRION = 44: rotations of the dimer in each step, at most.",
        at_least=1, at_most=100),
    Tag("STEP_SIZE", "float", 0.01, "Å", SADDLE, "honoured", "IBRION = 44: trial step of the dimer.", above=0),
    Tag("STEP_MAX", "float", 0.1, "Å", SADDLE, "honoured", "IBRION = 44: longest step of the dimer.", above=0),
)

DYNAMICS_TAGS = (
    *group(DYNAMICS, "honoured", "", *_DYNAMICS_ROWS),
    *group(
        DYNAMICS, "inert", "it decides what VASP writes, not what is computed",
        ("KBLOCK", "int", Derived("NSW"), "", "Stride of averages."),
        ("NPACO", "int", 256, "", "Slots of the pair correlation."),
        ("APACO", "float", 16.0, "Å", "Range of the pair correlation."),
    ),
)

OF_THERMOSTATS = {
    "ANDERSEN_PROB": (1,), "LANGEVIN_GAMMA": (3,), "LANGEVIN_GAMMA_L": (3,), "PMASS": (3,), "CSVR_PERIOD": (5,),
    "NHC_NCHAINS": (4,), "NHC_PERIOD": (4,), "NHC_NRESPA": (4,), "NHC_NS": (4,), "SMASS": (0, 2),
}  # fmt: skip
"""Tags of dynamics, and the values of MDALGO with which they act."""

BATHS = {
    1: ("ANDERSEN_PROB", "ANDERSEN_PROB = 0.05"), 2: ("SMASS", "SMASS = 0"),
    3: ("LANGEVIN_GAMMA", "LANGEVIN_GAMMA = 10 for each species"),
    4: ("NHC_NCHAINS", "NHC_NCHAINS = 3"), 5: ("CSVR_PERIOD", "CSVR_PERIOD = 100 (fs)"),
}  # fmt: skip
"""The tag without which a bath of MDALGO does nothing, and a value that is usual."""

STEERING_TAGS = (
    Tag("SCALEE", "float", 1.0, "", DYNAMICS, "refused",
        "Share of the forces of the functional in thermodynamic integration. Refused in dynamics only.",
        "energies and forces that are scaled (thermodynamic integration) are not available",
        "Remove the line or set SCALEE = 1.", off_values=(1.0,)),
    Tag("INCREM", "floats", None, "", DYNAMICS, "refused",
        "Change of each constraint of ICONST per step. Refused in dynamics only.",
        "constraints that change during molecular dynamics (slow growth) are not available", "Remove the line.",
        off_values=tuple((0.0,) * count for count in range(1, 10))),
    *switches(DYNAMICS, "averages over constrained dynamics (blue moon) are not available",
              ("LBLUEOUT", "Forces on the constraints of ICONST, written out. Refused in dynamics only.")),
)
"""Tags that act in dynamics (IBRION = 0) alone, and ask there for what does not exist; elsewhere they mean nothing."""

SYMMETRIES = (
    Tag(
        "ISYM", "int", 2, "", SYMMETRY, "honoured",
        "-1 no symmetry, 0 only k = -k, 1 to 3 full symmetry (the three give the same result here). Dynamics has none. "
        "Not given, molecules with partly filled degenerate levels and atoms with open d or f shells are tried with "
        "less.",
        choices=tuple(TagValue(number) for number in (-1, 0, 1, 2, 3)),
    ),
    Tag("SYMPREC", "float", 1e-5, "Å", SYMMETRY, "honoured", "Tolerance of the search for symmetry; below 1E-10, "
        "where digits end, it acts as 1E-10.", above=0, at_most=1),
)  # fmt: skip

TAGS: tuple[Tag, ...] = RELAXATION + BAND_TAGS + DIMER_TAGS + DYNAMICS_TAGS + STEERING_TAGS + SYMMETRIES
