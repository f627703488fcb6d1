"""INCAR tags: parallel layout, libraries, many-body methods."""

from eigenwerk.io.vasp.tags.base import Derived, Tag, group, switches

LAYOUT = "Parallel layout"
MANY_BODY = "Many-body methods"

PLANES = "bands and plane waves of a group of k-points are both shared out over all its ranks"
DENSE = "small dense problems are solved by LAPACK or cuSOLVER, without ScaLAPACK"

PARALLEL = (
    Tag("KPAR", "int", Derived("planned from k-points and ranks"), "", LAYOUT, "honoured",
        "Groups of ranks that share out the k-points; it has to divide the number of ranks. Results do not depend on "
        "it.", at_least=1),
    Tag("LUSENCCL", "bool", True, "", LAYOUT, "honoured",
        "Communication by NCCL where every rank has a GPU of its own; .FALSE. takes MPI or Gloo. Results do not depend "
        "on it."),
    *group(
        LAYOUT, "inert", PLANES,
        ("NCORE", "int", 1, "", "Ranks per band."),
        ("NPAR", "int", Derived("number of ranks"), "", "Groups of bands."),
        ("LPLANE", "bool", True, "", "Distribution of grids by planes."),
    ),
    *group(
        LAYOUT, "inert", "blocks of bands are sized by eigenwerk from the free memory",
        ("NSIM", "int", 4, "", "Bands optimised together."),
        ("NBLK", "int", Derived("from the machine"), "", "Block size of matrix operations."),
        ("MAXMEM", "int", Derived("from the machine"), "MB", "Memory per rank."),
    ),
    *group(
        LAYOUT, "inert", DENSE,
        ("LSCALAPACK", "bool", True, "", "Use of ScaLAPACK."),
        ("LSCALU", "bool", False, "", "Use of ScaLAPACK for LU factors."),
    ),
    *group(
        LAYOUT, "inert", "communication goes on beside the computation wherever that is possible",
        ("LASYNC", "bool", False, "", "Overlap of communication."),
    ),
)  # fmt: skip

RPA = (
    *group(
        MANY_BODY, "inert", "it acts only with the many-body words of ALGO, which are refused",
        ("NOMEGA", "int", 100, "", "Frequency points."),
        ("NBANDSEXACT", "int", -1, "", "Bands after exact diagonalisation."),
        ("NTAUPAR", "int", Derived("from MAXMEM"), "", "Groups over imaginary times."),
        ("NOMEGAPAR", "int", Derived("from NOMEGA"), "", "Groups over frequencies."),
        ("ENCUTGW", "float", Derived("2/3 ENCUT"), "eV", "Cutoff of the response function."),
        ("ENCUTGWSOFT", "float", Derived("0.8 ENCUTGW"), "eV", "Soft onset of that cutoff."),
        ("NBANDSGW", "int", Derived("twice the occupied bands"), "", "Bands with quasiparticle energies."),
        ("NELMGW", "int", 1, "", "Iterations of GW."),
        ("LFINITE_TEMPERATURE", "bool", False, "", "Finite-temperature formalism."),
        ("LSPECTRAL", "bool", Derived("true for NOMEGA > 2"), "", "Spectral method."),
    ),
    *switches(MANY_BODY, "many-body methods are not available", ("LRPAFORCE", "Forces of the RPA.")),
)  # fmt: skip

TAGS: tuple[Tag, ...] = PARALLEL + RPA
