"""INCAR tags: start of the run, plane-wave basis, grids and precision."""

from eigenwerk.io.vasp.tags.base import Derived, Tag, TagValue, group

SECTION = "Start, basis, precision"

_PRECISION_REMEDY = "Set PREC = Normal or PREC = Accurate, and ENCUT by hand."
_OLD_PRECISION = (
    "the grids are those of PREC = {}; in VASP those of this setting follow ENAUG, which data sets lack; there "
    "the default of ENCUT depends on it, too, and here does not"
)

PRESENT = {"Low": "Normal", "Medium": "Normal", "High": "Accurate"}
"""Old settings of PREC, and whose grids serve for them."""

START = (
    Tag("SYSTEM", "str", "unknown system", "", SECTION, "honoured", "Title of the calculation, copied to the outputs."),
    Tag(
        "ISTART", "int", 0, "", SECTION, "honoured",
        "Starting orbitals: 0 from atoms, 1 (with the density) from eigenwerk.h5 of an earlier run, or, without one, "
        "from WAVECAR. These files are never read unasked.",
        choices=(
            TagValue(0),
            TagValue(1),
            TagValue(2, "refused", "continuing with the basis set of the old cell is not available", "Set ISTART = 1."),
            TagValue(3, "refused", "prediction files are not read", "Set ISTART = 1."),
        ),
    ),
    Tag(
        "ICHARG", "int", Derived("0 with ISTART = 1, else 2"), "", SECTION, "honoured",
        "Starting density: 0 from the orbitals, 1 from CHGCAR (or eigenwerk.h5 of the same run), 2 superposed atoms. "
        "With 10 more it is kept, and only bands are computed: 11 that of CHGCAR or eigenwerk.h5, 12 superposed atoms.",
        note="a density taken from another file is not available",
        remedy="Set ICHARG = 2 for a run from scratch, or ICHARG = 1 to continue from CHGCAR or eigenwerk.h5.",
        choices=(
            TagValue(0), TagValue(1), TagValue(2), TagValue(11), TagValue(12),
            TagValue(4, "refused", "reading a potential from a file is not available"),
            TagValue(5, "refused", "external corrections of the density are not available"),
            TagValue(10, "refused", "the density of saved orbitals is not made again", "Set ICHARG = 11."),
        ),
    ),
    Tag("INIWAV", "int", 1, "", SECTION, "inert", "Kind of random starting orbitals.",
        "orbitals start from atomic waves and fixed random numbers"),
)  # fmt: skip

BASIS = (
    Tag("ENCUT", "float", Derived("largest recommended cutoff of the data sets"), "eV", SECTION, "honoured",
        "Kinetic-energy cutoff of the plane waves G + k of the orbitals.", above=0.0, at_most=100_000),
    Tag("ENAUG", "float", None, "eV", SECTION, "inert", "Cutoff of the augmentation charges.",
        "it acts only with the deprecated PREC = Low, Medium, High", at_least=0.0),
    Tag(
        "PREC", "word", Derived("Normal; Accurate where an element needs it at this ENCUT"), "", SECTION, "honoured",
        "Grids. The orbital grid holds a sphere of 7/4 (Normal) or 2 (Accurate) times the cutoff radius of the "
        "orbitals, the density grid has twice as many points along each axis. The density of the orbitals reaches "
        "to 2 radii and has all waves that the orbital grid tells apart, those in its corners included. By "
        "default Accurate where Normal changes the energy of an atom by more than 1 meV: fluorine below 360 eV.",
        remedy=_PRECISION_REMEDY, first_letters="NASLMH",
        choices=(
            TagValue("Normal"),
            TagValue("Accurate"),
            TagValue("Single", "refused", "a density grid as coarse as the orbital grid has no test"),
            TagValue("SingleN", "refused", "a density grid as coarse as the orbital grid has no test"),
            *(TagValue(old, note=_OLD_PRECISION.format(new), severity="warning") for old, new in PRESENT.items()),
        ),
    ),
    *(Tag(f"NG{axis}", "int", Derived("from PREC and ENCUT"), "", SECTION, "honoured",
          f"Points of the orbital grid along lattice vector {number}.", at_least=1, at_most=10_000)
      for number, axis in enumerate("XYZ", start=1)),
    *(Tag(f"NG{axis}F", "int", Derived("from PREC"), "", SECTION, "honoured",
          f"Points of the density grid along lattice vector {number}.", at_least=1, at_most=20_000)
      for number, axis in enumerate("XYZ", start=1)),
    Tag(
        "LREAL", "bool|word", False, "", SECTION, "honoured",
        "Projectors on the wave grid, in a sphere around each atom (On, .TRUE.): faster for large cells on processors, "
        "less exact (ROPT). Auto stays with exact ones.",
        first_letters="AO",
        choices=(TagValue(False), TagValue("Auto"), TagValue(True), TagValue("On")),
    ),
    Tag("ROPT", "floats", Derived("2e-4 for each species"), "", SECTION, "honoured",
        "Largest error of the projectors in real space, relative to their largest Fourier component, for each species "
        "of POSCAR; it decides the radius of the spheres."),
    Tag("ADDGRID", "bool", False, "", SECTION, "inert", "Finer grid for the augmentation charges.",
        "compensation charges are built from their exact Fourier coefficients, without an extra grid",
        choices=(TagValue(False, "honoured"), TagValue(True))),
)  # fmt: skip

ONE_CENTRE = (
    Tag(
        "LASPH", "bool", True, "", SECTION, "honoured", "Non-spherical parts of the one-centre terms.",
        choices=(
            TagValue(True),
            TagValue(False, "inert", "the non-spherical one-centre terms are always included; energies differ slightly "
                   "from a calculation without them", severity="warning"),
        ),
    ),
    Tag("LMAXPAW", "int", Derived("2 l_max of the data set"), "", SECTION, "refused",
        "Largest l of the one-centre densities.", "the one-centre expansions are always complete", "Remove the line."),
    Tag("LMAXMIX", "int", Derived("twice the largest l of the data sets"), "", SECTION, "honoured",
        "Largest l of the one-centre occupancies in CHGCAR, 2 or more. The mixer, and eigenwerk.h5, always have all of "
        "them.", at_least=0, at_most=12),
    *group(
        SECTION, "inert", "it acts only with METAGGA",
        ("LMAXTAU", "int", 0, "", "Largest l of the one-centre kinetic-energy density."),
        ("LMIXTAU", "bool", False, "", "Mixing of the kinetic-energy density."),
    ),
    Tag("GGA_COMPAT", "bool", True, "", SECTION, "inert", "Symmetry of gradients on non-cubic cells.",
        "gradients are always taken with the full symmetry of the lattice, as with GGA_COMPAT = .FALSE."),
    Tag("NWRITE", "int", 2, "", SECTION, "inert", "Amount of output.", "the outputs do not depend on it"),
    Tag(
        "SETUPS", "variants", (), "", SECTION, "honoured",
        "eigenwerk's own tag: variants of the PAW data sets, as pairs Element:variant, "
        "for example SETUPS = Si:v3 Ni:10, or functionals that the sets were made for, C:revPBE, or both, "
        "Cr:14.revPBE. Elements that are not named get their default data set.",
    ),
)  # fmt: skip

TAGS: tuple[Tag, ...] = START + BASIS + ONE_CENTRE
