"""INCAR tags that VASP itself does not know, or no longer knows, but that public files contain.

They are kept and judged like all others, so that a file of another tool gives a sentence that helps
instead of "unknown tag".
"""

from eigenwerk.io.vasp.tags.base import Tag, group, switches

VTST = "Tags of the VTST patches"
OTHER = "Other programs and older versions"

OPTIMISERS = group(
    VTST, "inert", "a tag of the VTST patches that acts only when ions move; it is kept and ignored",
    ("LTANGENTOLD", "bool", False, "", "Old definition of the tangent."),
    ("LDNEB", "bool", False, "", "Doubly nudged elastic band."),
    ("LNEBCELL", "bool", False, "", "Elastic band with changing cell."),
    ("TIMESTEP", "float", 0.1, "", "Time step of the optimiser."),
    ("ILBFGSMEM", "int", 20, "", "History of the LBFGS optimiser."),
    ("LGLOBAL", "bool", True, "", "Optimise the band as a whole."),
    ("LAUTOSCALE", "bool", True, "", "Automatic curvature."),
    ("INVCURV", "float", 0.01, "", "Starting inverse curvature."),
    ("LLINEOPT", "bool", False, "", "Line optimisation."),
    ("FDSTEP", "float", 0.005, "Å", "Finite-difference step."),
    ("SDALPHA", "float", 0.01, "", "Step of steepest descent."),
    ("FTIMEMAX", "float", 1.0, "", "Largest time step of FIRE."),
    ("FTIMEDEC", "float", 0.5, "", "Decrease of the time step of FIRE."),
    ("FTIMEINC", "float", 1.1, "", "Increase of the time step of FIRE."),
    ("FALPHA", "float", 0.1, "", "Velocity mixing of FIRE."),
    ("FALPHADEC", "float", 0.99, "", "Decrease of that mixing."),
    ("FNMIN", "int", 5, "", "Steps before FIRE accelerates."),
    ("DROTMAX", "int", 4, "", "Rotations of the dimer."),
    ("DFNMIN", "float", 0.01, "", "Smallest rotational force."),
    ("DFNMAX", "float", 1.0, "", "Largest rotational force."),
)  # fmt: skip

OLD = (
    Tag("EDIFF_PER_ATOM", "float", None, "eV", OTHER, "inert", "A setting of pymatgen, not a tag of VASP.",
        "VASP does not know it either, and only EDIFF counts"),
    *group(
        OTHER, "inert", "an obsolete tag without effect on the ground state; it is kept and ignored",
        ("ISPIND", "int", 1, "", "Spin of the density of states in old versions."),
        ("LPETIM", "bool", False, "", "Timing of old versions."),
        ("LCOMPAT", "bool", False, "", "Compatibility with old versions."),
        ("LRHFATM", "bool", False, "", "Relativistic atoms of Hartree and Fock inside VASP."),
        ("LNBO", "bool", False, "", "Natural bond orbitals of a patched version."),
        ("IDIOT", "int", 3, "", "How much is explained, in old versions."),
        ("LMUSIC", "bool", False, "", "A jest among the parameters that VASP 6 lists."),
    ),
    *switches(OTHER, "implicit solvents are not available", ("LSOL", "Implicit solvent of VASPsol.")),
)  # fmt: skip

TAGS: tuple[Tag, ...] = OPTIMISERS + OLD

FAMILIES: tuple[tuple[str, str], ...] = (
    ("ML_", "machine-learned force fields are not available"),
    ("PHON_", "phonons are not available"),
    ("BSE", "many-body methods are not available"),
    ("ELPH_", "electron-phonon coupling is not available"),
    ("KERNEL_TRUNCATION/", "truncated Coulomb interactions are not available"),
    ("PLUGINS/", "plugins are not available"),
    ("WANNIER90_", "the interface to Wannier90 is not available"),
    ("OFIELD_", "order-parameter fields are not available"),
)
"""Beginnings of names of whole families of tags: all refused with one sentence."""
