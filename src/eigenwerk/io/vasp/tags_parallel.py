"""INCAR tags: parallel layout, libraries, many-body methods."""

from eigenwerk.io.vasp.tags_base import Derived, Tag, group, switches

LAYOUT = "Parallel layout"
MANY_BODY = "Many-body methods"

PARALLEL = group(
    LAYOUT, "inert", "the layout is chosen by eigenwerk and results do not depend on it",
    ("KPAR", "int", 1, "", "Groups of k-points."),
    ("NCORE", "int", 1, "", "Ranks per band."),
    ("NPAR", "int", Derived("number of ranks"), "", "Groups of bands."),
    ("NSIM", "int", 4, "", "Bands optimised together."),
    ("LPLANE", "bool", True, "", "Distribution of grids by planes."),
    ("LUSENCCL", "bool", True, "", "Communication by NCCL."),
    ("LASYNC", "bool", False, "", "Overlap of communication."),
    ("LSCALAPACK", "bool", True, "", "Use of ScaLAPACK."),
    ("LSCALU", "bool", False, "", "Use of ScaLAPACK for LU factors."),
    ("NBLK", "int", Derived("from the machine"), "", "Block size of matrix operations."),
    ("MAXMEM", "int", Derived("from the machine"), "MB", "Memory per rank."),
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
