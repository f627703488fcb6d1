"""INCAR tags: k-points, output files, properties after the ground state."""

from eigenwerk.io.vasp.tags.base import Derived, Tag, TagValue, group, switches

KPOINTS = "k-points"
FILES = "Output"
PROPERTIES = "Properties"

_NOT_WRITTEN = "this file is not written yet; energy, forces and moments do not depend on it"

MESH = (
    Tag("KSPACING", "float", 0.5, "1/Å", KPOINTS, "honoured",
        "Without KPOINTS file: N_i = max(1, ceil(|b_i| / KSPACING)) points, |b_i| with the factor 2π.",
        at_least=1e-6, at_most=1000),
    Tag("KGAMMA", "bool", True, "", KPOINTS, "honoured", "Whether the mesh of KSPACING contains Γ."),
    Tag("LKPOINTS_OPT", "bool", Derived(".TRUE. if there is a file KPOINTS_OPT, or KSPACING_OPT is given"), "", KPOINTS,
        "honoured", "Bands at a second list of k-points (mesh, list or path), in the converged potential of the run."),
    Tag("KSPACING_OPT", "float", 0.5, "1/Å", KPOINTS, "honoured",
        "Without KPOINTS_OPT file: the second list is a mesh, as KSPACING makes it.", at_least=1e-6, at_most=1000),
)  # fmt: skip


OUTPUT = (
    Tag("LWAVE", "bool", True, "", FILES, "honoured",
        "Keep the orbitals in eigenwerk.h5, and write WAVECAR (without this tag only up to 100 MB); without orbitals a "
        "later run can start from the density alone."),
    Tag("LH5", "bool", False, "", FILES, "honoured",
        "No WAVECAR: orbitals are in eigenwerk.h5 alone. vaspout.h5 is written anyway."),
    Tag("LCHARG", "bool", True, "", FILES, "honoured", "Write the valence density to CHGCAR and CHG at the end."),
    Tag("LCHARGH5", "bool", Derived("LH5"), "", FILES, "inert", "HDF5 instead of CHGCAR.",
        "LCHARG alone decides about CHGCAR; the State is always saved in eigenwerk.h5"),
    Tag("LORBIT", "int", 0, "", FILES, "honoured",
        "Projections of the orbitals on atoms, in PROCAR, vasprun.xml, DOSCAR, OUTCAR: by l (10), by l and m (11), and "
        "with phases (12); 0, 5, 1, 2 are the same on spheres of RWIGS (0 without RWIGS: none).",
        choices=(
            TagValue(0, aliases=(".FALSE.", "F", "False")), *map(TagValue, (1, 2)),
            TagValue(5, note="PROCAR is written by l as with LORBIT = 10; PROOUT is not"),
            *map(TagValue, (10, 11, 12)),
            TagValue(13, note="the same as LORBIT = 12"),
            TagValue(14, note="the same as LORBIT = 12: weights are charges in spheres, with nothing to optimise"),
        )),
    Tag("NEDOS", "int", 301, "", FILES, "honoured", "Energies of the density of states (vasprun.xml, DOSCAR).",
        at_least=2, at_most=1_000_000, remedy="Set NEDOS = 301, or remove the line."),
    Tag("EMIN", "float", Derived("below the lowest band by max(10 SIGMA, 5 % of the range)"), "eV", FILES, "honoured",
        "Lower end of the density of states; with EMIN above EMAX both ends are found from the bands.",
        at_least=-1e6, at_most=1e6),
    Tag("EMAX", "float", Derived("above the highest band by the same"), "eV", FILES, "honoured",
        "Upper end of the density of states.", at_least=-1e6, at_most=1e6),
    Tag("LVTOT", "bool", False, "", FILES, "honoured", "Write LOCPOT: local potential with exchange-correlation."),
    Tag("LVHAR", "bool", False, "", FILES, "honoured", "Write LOCPOT: ionic and Hartree potential, also with LVTOT."),
    Tag("LAECHG", "bool", False, "", FILES, "honoured", "Write AECCAR0, AECCAR1, AECCAR2: all-electron densities."),
    Tag("LELF", "bool", False, "", FILES, "honoured", "Write ELFCAR: electron localisation function."),
    Tag("LOCPROJ", "str", None, "", FILES, "inert", "Projection functions.", _NOT_WRITTEN),
    *group(
        FILES, "honoured", "",
        ("LPARD", "bool", False, "", "Write PARCHG: densities of chosen bands, at the end of the run."),
        ("NBMOD", "int", Derived("as IBAND or EINT say"), "",
         "With LPARD: -2 and -3 take the window EINT as it is and from the Fermi level, 0 all bands."),
        ("EINT", "floats", Derived("none"), "eV", "With LPARD: window of energies; one number: from there to E_F."),
        ("IBAND", "ints", Derived("none"), "", "With LPARD: list of bands."),
        ("KPUSE", "ints", Derived("all"), "", "With LPARD: list of irreducible k-points."),
        ("LSEPK", "bool", False, "", "With LPARD: one file per k-point."),
        ("LSEPB", "bool", False, "", "With LPARD: one file per band."),
    ),
    *switches(FILES, "the interface to Wannier90 is not available", ("LWANNIER90", "Interface to Wannier90.")),
)  # fmt: skip

RESPONSE = (
    *switches(
        PROPERTIES, "response properties are not available",
        ("LOPTICS", "Dielectric function of independent particles."),
        ("LEPSILON", "Static dielectric tensor by perturbation theory."),
        ("LCALCEPS", "Static dielectric tensor by finite fields."),
        ("LPEAD", "Derivatives of the orbitals along k."),
        ("LBERRY", "Berry phases."),
        ("LCALCPOL", "Polarisation."),
        ("LCHIMAG", "Chemical shifts."),
        ("LEFG", "Electric field gradients."),
        ("LHYPERFINE", "Hyperfine tensors."),
    ),
    *group(
        PROPERTIES, "inert", "it acts only on response properties, which do not exist yet",
        ("CSHIFT", "float", 0.1, "eV", "Broadening of the dielectric function."),
        ("LRPA", "bool", False, "", "Response without local exchange-correlation."),
        ("LNABLA", "bool", False, "", "Matrix elements of the gradient."),
        ("QUAD_EFG", "floats", None, "mbarn", "Nuclear quadrupole moments."),
    ),
    Tag("ICORELEVEL", "int", 0, "", PROPERTIES, "refused", "Core levels.", "core levels are not available",
        "Set ICORELEVEL = 0.", off_values=(0,)),
    Tag("IDIPOL", "int", 0, "", PROPERTIES, "honoured",
        "Dipole correction of the energy: axis 1 to 3 of a slab, 4 for a molecule in a cubic box, 0 for none.",
        choices=tuple(TagValue(axis) for axis in range(5))),
    Tag("LDIPOL", "bool", False, "", PROPERTIES, "honoured",
        "With IDIPOL: the potential is corrected as well, with step in the vacuum; forces then belong to it."),
    Tag("DIPOL", "floats", Derived("opposite to the middle of the vacuum"), "", PROPERTIES, "honoured",
        "Centre of the slab or molecule in direct coordinates; the potential has its step half a cell away."),
    Tag("EFIELD", "float", 0.0, "eV/Å", PROPERTIES, "honoured",
        "Force of an electric field on an electron along the axis of IDIPOL = 1 to 3, with LDIPOL = .TRUE."),
    *switches(PROPERTIES, "corrections of charged cells are reported, and never added to the energy",
              ("LMONO", "Monopole correction of the energy.")),
    Tag("EPSILON", "float", 1.0, "", PROPERTIES, "honoured",
        "Dielectric constant of what is in a charged cell, for the correction of its energy that is reported.",
        at_least=1.0),
)  # fmt: skip

TAGS: tuple[Tag, ...] = MESH + OUTPUT + RESPONSE
