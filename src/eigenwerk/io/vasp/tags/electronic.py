"""INCAR tags: self-consistency, occupations, density mixing."""

from eigenwerk.eigensolvers import ALGOS, NUMBERS, SEQUENCES
from eigenwerk.io.vasp.tags.base import Derived, Tag, TagValue, group

SECTION = "Electronic loop"
OCCUPATIONS = "Occupations"
MIXING = "Density mixing"

_DAVIDSON = "blocked Davidson is used; the converged ground state is the same"
_NO_UPDATE = "runs that leave the orbitals alone are not available"
_MANY_BODY = "many-body methods are not available"
_LEVEL = "the level always follows from the occupations; in an insulator the middle of the gap is reported"
_SMEARING_REMEDY = "Set ISMEAR = 0 with SIGMA = 0.05."


def _many_body(*words: str) -> tuple[TagValue, ...]:
    return tuple(TagValue(word, "refused", _MANY_BODY) for word in words)


_REQUESTS = [(sequence.request, sequence.follows) for sequence in SEQUENCES.values() if sequence.request.words]
_BY_LETTER = [word for request, _ in _REQUESTS if request.by_letter for word in request.words]
_SPELLED = [word for word in ALGOS if word not in _BY_LETTER]
_MEANINGS = ", ".join(f"{' and '.join(sorted(one.words))} {one.meaning or solver.title}" for one, solver in _REQUESTS)
_FROZEN = "; ".join(f"-{solver.frozen_steps} for {one.word}" for one, solver in _REQUESTS
                    if solver.frozen_steps and one is solver.request)  # fmt: skip

LOOP = (
    Tag("NELM", "int", Derived("120; 200 with LHFCALC; more for NELMIN, NELMDL"), "", SECTION, "honoured",
        "Largest number of self-consistency steps, those of all tries together (VASP: 60). Hybrids count the steps for "
        "all operators of exact exchange.", at_least=1),
    Tag("NELMIN", "int", 2, "", SECTION, "honoured",
        "Smallest number of self-consistency steps, those that an earlier run has done included.", at_least=0),
    Tag("NELMDL", "int", Derived(f"0; {_FROZEN}"), "", SECTION, "honoured",
        "Steps at the start during which the density is kept. 0 by default, because the start from atomic orbitals "
        "needs few (VASP: -5, -12 for VeryFast); the sign says for which ionic steps and does not matter for one."),
    Tag("EDIFF", "float", 1e-4, "eV", SECTION, "honoured",
        "Self-consistency ends when the free energy changes by less and the density residual allows no larger error "
        "of it; one more step follows where forces may be off by more than 1.5 meV/Å.", at_least=0.0, unsigned=True),
    Tag(
        "ALGO", "word", "Automatic", "", SECTION, "honoured",
        f"Solver of the electronic problem: {_MEANINGS}, Automatic by the size of the job. The first letter decides, "
        f"except for {', '.join(sorted(_SPELLED))}, Eigenval, None, Nothing and the many-body words, which are spelled "
        "out.",
        remedy="Set ALGO = Normal.", first_letters="".join(word[0] for word in _BY_LETTER) + "SO",
        choices=(
            *(TagValue(word) for word in (*_BY_LETTER, *_SPELLED)),
            TagValue("Old", "inert", _DAVIDSON),
            *(TagValue(word, "refused", _NO_UPDATE) for word in ("Subrot", "Eigenval", "None", "Nothing")),
            *_many_body("ACFDT", "ACFDTR", "RPA", "RPAR", "CHI", "TDHF", "BSE", "TIMEEV", "CRPA", "CRPAR", "2E4W",
                        "GW", "GW0", "G0W0", "EVGW", "EVGW0", "QPGW", "QPGW0", "scGW", "scGW0", "GWR", "GW0R", "G0W0R",
                        "EVGWR", "EVGW0R", "QPGWR", "QPGW0R", "scGWR", "scGW0R", "MP2", "CCSD", "FCIQMC",
                        "ACFDTRK", "RPARK", "GWRK", "2E4WA", "MP2KPAR", "MP2NO", "LTMP2", "CCSD(T)", "OEP"),
        ),
    ),
    Tag(
        "IALGO", "int", Derived("from ALGO"), "", SECTION, "honoured",
        f"Solver by number: {', '.join(f'{number} {word}' for number, word in NUMBERS.items())}; ALGO wins if both are "
        "given.",
        remedy="Set IALGO = 38 or remove the line.",
        choices=(
            *(TagValue(number) for number in sorted(NUMBERS)),
            *(TagValue(number, "inert", _DAVIDSON)
              for number in (5, 6, 7, 8, 15, 16, 17, 18, 28, 44, 45, 46, 47, 54, 55, 56, 57, 78, 88)),
            *(TagValue(number, "refused", _NO_UPDATE) for number in (-1, 2, 3, 4)),
        ),
    ),
    *group(
        SECTION, "inert", "the solvers have their own stopping rule",
        ("NRMM", "int", 4, "", "Inner steps of the residual minimisation."),
        ("EBREAK", "float", Derived("EDIFF / NBANDS / 4"), "eV", "Inner stopping rule, absolute."),
        ("DEPER", "float", 0.3, "", "Inner stopping rule, relative."),
        ("WEIMIN", "float", Derived("0.001, 0 for IBRION = -1"), "", "Occupation below which a band counts as empty."),
        ("ISEARCH", "int", 0, "", "Line search of ALGO = All."),
        ("LDIAG", "bool", True, "", "Rotation of the orbitals to eigenvectors of the subspace."),
        ("LSUBROT", "bool", False, "", "Rotation between occupied and empty orbitals for hybrids."),
        ("ENINI", "float", Derived("ENCUT"), "eV", "Cutoff during the first steps."),
    ),
    Tag("TIME", "float", 0.4, "1/hartree", SECTION, "honoured",
        "Longest step of damped motion (ALGO = Damped) along the preconditioned residual.", above=0.0, at_most=1000),
    Tag("PRECISION_START", "word", "Double", "", SECTION, "honoured",
        "Precision in which the first steps improve the orbitals (not in VASP): Double, or Single, which is faster. "
        "Densities, potentials and energies are in double precision always, the last steps wholly; the log names the "
        "step from which on, and the error of single precision in eV.",
        remedy="Set PRECISION_START = Single or remove the line.", choices=(TagValue("Double"), TagValue("Single"))),
    Tag("PRECISION_EXCHANGE", "word", "Single", "", SECTION, "honoured",
        "Precision of the pair densities of exact exchange and of their FFTs (not in VASP): Single until rounding is "
        "all that a new operator changes and EDIFF asks for more, or Double from the start, which takes twice as long. "
        "Orbitals, the operator, densities and energies are in double precision in any case.",
        remedy="Set PRECISION_EXCHANGE = Double or remove the line.",
        choices=(TagValue("Single"), TagValue("Double"))),
    Tag("LCORR", "bool", True, "", SECTION, "honoured",
        "Forces are corrected, to first order, for a density that is not quite self-consistent; .FALSE. leaves that "
        "out, and the step that may be added for forces."),
)  # fmt: skip

FILLING = (
    Tag(
        "ISMEAR", "int", 1, "", OCCUPATIONS, "honoured",
        "Occupations: N > 0 Methfessel-Paxton of order N, 0 Gaussian, -1 Fermi-Dirac, -2 fixed (FERWE, FERDO); "
        "tetrahedra: -5 with Blöchl's correction, -4 without, -15 and -14 the same with a Fermi-Dirac step of width "
        "SIGMA.",
        remedy=_SMEARING_REMEDY, at_least=0,
        choices=(
            *(TagValue(number) for number in (-15, -14, -5, -4, -2, -1)),
            TagValue(-3, "refused", "a run over several smearings is not available", "Run once for each of them."),
        ),
    ),
    Tag("SIGMA", "float", 0.2, "eV", OCCUPATIONS, "honoured", "Width of the smearing; none with ISMEAR = -2, -4 and "
        "-5.", at_least=0.0, at_most=100),
    Tag("SMEARINGS", "floats", None, "", OCCUPATIONS, "inert", "List of smearings.", "it acts only with ISMEAR = -3"),
    Tag(
        "EFERMI", "float|word", "LEGACY", "eV", OCCUPATIONS, "refused", "How the Fermi level is found.",
        "a Fermi level set by hand is not available", "Remove the line.",
        choices=(
            TagValue("LEGACY", "inert", _LEVEL),
            TagValue("MIDGAP", "inert", _LEVEL),
        ),
    ),
    Tag("NBANDS", "int", Derived("from the electrons, atoms, moments and SIGMA"), "", OCCUPATIONS, "honoured",
        "Number of bands; never changed by the number of ranks.", at_least=1, at_most=1_000_000),
    Tag("NELECT", "float", Derived("sum of the valences"), "electrons", OCCUPATIONS, "honoured",
        "Number of valence electrons; a difference to the sum of valences is a uniform background charge.",
        at_least=0.001, at_most=1_000_000),
    Tag("FERWE", "floats", None, "", OCCUPATIONS, "honoured",
        "Occupations for ISMEAR = -2, bands of the first k-point first; first spin channel."),
    Tag("FERDO", "floats", None, "", OCCUPATIONS, "honoured", "The same for the second spin channel."),
)  # fmt: skip

_SAME_FIXED_POINT = "it changes the path to self-consistency only; Pulay mixing with a Kerker metric is used"

MIXER = (
    Tag(
        "IMIX", "int", 4, "", MIXING, "honoured", "Mixer: 4 Pulay with Kerker preconditioning, 1 Kerker alone.",
        choices=(
            TagValue(4), TagValue(1), TagValue(0, "inert", _SAME_FIXED_POINT), TagValue(2, "inert", _SAME_FIXED_POINT),
        ),
    ),
    Tag("AMIX", "float", 0.4, "", MIXING, "honoured",
        "Factor A of the preconditioner max(A G² / (G² + B²), AMIN) of the density; fitted between 0.4 and 1 if not "
        "given, and 0.5 in molecules. Without AMIX, BMIX, BMIX_MAG and AMIN long cells take the local density of "
        "states for the preconditioner, and molecules their size.", above=0.0, at_most=1000),
    Tag("BMIX", "float", 1.0, "1/Å", MIXING, "honoured", "Kerker wave vector B.", at_least=0.0, at_most=1000),
    Tag("AMIX_MAG", "float", 1.6, "", MIXING, "honoured",
        "A for the magnetisation density; fitted between AMIX and 1.6 if not given.", above=0.0, at_most=1000),
    Tag("BMIX_MAG", "float", 1.0, "1/Å", MIXING, "honoured", "B for the magnetisation density.", at_least=0.0,
        at_most=1000),
    Tag("AMIN", "float", Derived("min(0.1, AMIX, AMIX_MAG)"), "", MIXING, "honoured",
        "Smallest value of the preconditioner.", at_least=0.0, at_most=1000),
    Tag("MAXMIX", "int", -24, "", MIXING, "honoured",
        "Length of the history (VASP: -45); the sign says whether it survives an ionic step."),
    *group(
        MIXING, "inert", _SAME_FIXED_POINT,
        ("INIMIX", "int", 1, "", "First approximation of the dielectric matrix."),
        ("MIXPRE", "int", 1, "", "Preconditioning."),
        ("MIXFIRST", "bool", False, "", "Order of mixing and diagonalisation."),
        ("WC", "float", 1000.0, "", "Weights of the steps."),
    ),
)  # fmt: skip

TAGS: tuple[Tag, ...] = LOOP + FILLING + MIXER
