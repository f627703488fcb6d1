"""The cases of run_gpaw.py: one structure with several functionals, so that their differences can be compared.

Small cells and few k-points: structures and settings are inputs for a comparison, not claims about nature.
"""

from cases import (
    COLD,
    DIAMOND,
    ORIGIN,
    ROCKSALT,
    SMALL_BOX,
    bcc,
    case,
    double_fcc,
    fcc,
    in_box,
)

WIDE = {"name": "fermi-dirac", "width": 0.2}
CONVERGED = {"energy": 2e-6, "density": 1e-5, "eigenstates": 1e-7}
"""GPAW's own hybrids tremble by some 1e-6 eV from step to step and reach no less."""
MOVED = [[0.0, 0.0, 0.0], [0.26, 0.245, 0.255]]
ANTIFERRO = [[0, 0, 0], [0.5, 0.5, 0.5], [0.25, 0.25, 0.25], [0.75, 0.75, 0.75]]
WATER = [[2.8, 2.9, 3.0], [2.8, 3.66, 3.59], [2.83, 2.14, 3.59]]


def several(name, functionals, *words, **more):
    """The same case with several functionals: name_hse06, name_pbe0, ...; whole: products of orbitals are not cut."""
    base, ecut, whole = more.pop("base", None), more.pop("ecut", 400), more.pop("whole", False)
    found = {}
    for xc in functionals:
        other = {"base": f"{base}_{xc.lower()}"} if base else {}
        made = case(*words, xc=xc, ecut=ecut, convergence=dict(CONVERGED), **more, **other)
        if whole:
            made["settings"]["whole_products"] = True
        found[f"{name}_{xc.lower()}"] = made
    return found


def solids():
    """Insulators and semiconductors."""
    si, mgo = (["Si", "Si"], fcc(5.43)), (["Mg", "O"], fcc(4.21))
    return {
        **several("si_2", ("HSE06", "PBE0", "PBE"), *si, DIAMOND, (2, 2, 2), 8, wanted=6, ecut=300),
        **several("si_2_moved", ("HSE06", "PBE0", "PBE"), *si, MOVED, (2, 2, 2), 8, wanted=6, ecut=300, base="si_2"),
        **several("si_gamma", ("HSE06", "PBE0", "PBE"), *si, DIAMOND, (1, 1, 1), 8, wanted=6, ecut=300),
        **several("si_3", ("HSE06", "PBE0"), *si, DIAMOND, (3, 3, 3), 8, wanted=6, ecut=300),
        **several("mgo_2", ("HSE06", "PBE0", "PBE"), *mgo, ROCKSALT, (2, 2, 2), 9, wanted=6),
        **several("mgo_2_wide", ("HSE06", "PBE"), ["Mg", "O"], fcc(4.30), ROCKSALT, (2, 2, 2), 9, wanted=6,
                  base="mgo_2"),
        **several("c_2", ("HSE06", "PBE0", "PBE"), ["C", "C"], fcc(3.57), DIAMOND, (2, 2, 2), 8, wanted=6),
        **several("gaas_2", ("HSE06", "PBE"), ["Ga", "As"], fcc(5.65), DIAMOND, (2, 2, 2), 14, wanted=11, ecut=300),
        **several("al_3", ("HSE06", "PBE"), ["Al"], fcc(4.05), ORIGIN, (3, 3, 3), 6, wanted=3, ecut=300,
                  occupations=WIDE),
    }  # fmt: skip


def molecules():
    """In boxes that are small, for they are compared with themselves."""
    n2, long = [[2.8, 2.9, 2.5], [2.82, 2.95, 3.62]], [[2.8, 2.9, 2.5], [2.82, 2.95, 3.72]]
    three, gamma = ("PBE0", "HSE06", "PBE"), (1, 1, 1)
    return {
        **several("n2", (*three, "EXX", "B3LYP"), ["N", "N"], SMALL_BOX, in_box(SMALL_BOX, n2), gamma, 9, wanted=5),
        **several("n2_long", ("PBE0", "EXX"), ["N", "N"], SMALL_BOX, in_box(SMALL_BOX, long), gamma, 9, wanted=5,
                  base="n2"),
        **several("h2", ("PBE0", "EXX"), ["H", "H"], SMALL_BOX,
                  in_box(SMALL_BOX, [[2.8, 2.9, 2.5], [2.82, 2.95, 3.24]]), gamma, 3, wanted=1),
        **several("h2o", (*three, "B3LYP"), ["O", "H", "H"], SMALL_BOX, in_box(SMALL_BOX, WATER), gamma, 7, wanted=4),
    }  # fmt: skip


def magnets():
    """With spin."""
    o2 = in_box(SMALL_BOX, [[2.8, 2.9, 2.5], [2.8, 2.95, 3.72]])
    return {
        **several("o2", ("PBE0", "HSE06", "PBE"), ["O", "O"], SMALL_BOX, o2, (1, 1, 1), 10, wanted=7,
                  moments=[1.0, 1.0]),
        **several("fe_2", ("HSE06", "PBE"), ["Fe"], bcc(2.87), ORIGIN, (2, 2, 2), 10, wanted=7, moments=[2.3],
                  occupations=WIDE),
        **several("nio_1", ("HSE06",), ["Ni", "Ni", "O", "O"], double_fcc(4.17), ANTIFERRO, (1, 1, 1), 20, wanted=17,
                  moments=[1.8, -1.8, 0.0, 0.0], occupations=COLD),
    }  # fmt: skip


def with_whole_products():
    """HSE06 with pair densities that are not cut; `base` of a molecule is its atom: energies per atom differ."""
    si, gaas = (["Si", "Si"], fcc(5.43)), (["Ga", "As"], fcc(5.65))
    mesh, gamma, more = (2, 2, 2), (1, 1, 1), {"whole": True}
    middle, n2 = [[2.8, 2.9, 2.5]], [[2.8, 2.9, 2.5], [2.82, 2.95, 3.62]]
    found = {}
    for name, *words, bands, wanted, others in (
        ("si_2_full", *si, DIAMOND, mesh, 8, 6, {"ecut": 300}),
        ("si_2_moved_full", *si, MOVED, mesh, 8, 6, {"ecut": 300, "base": "si_2_full"}),
        ("mgo_2_full", ["Mg", "O"], fcc(4.21), ROCKSALT, mesh, 13, 9, {}),
        ("mgo_2_wide_full", ["Mg", "O"], fcc(4.30), ROCKSALT, mesh, 13, 9, {"base": "mgo_2_full"}),
        ("gaas_2_full", *gaas, DIAMOND, mesh, 14, 11, {"ecut": 300}),
        ("gaas_2_wide_full", ["Ga", "As"], fcc(5.75), DIAMOND, mesh, 14, 11, {"ecut": 300, "base": "gaas_2_full"}),
        ("n_full", ["N"], SMALL_BOX, in_box(SMALL_BOX, middle), gamma, 7, 4, {"moments": [3.0]}),
        ("n2_full", ["N", "N"], SMALL_BOX, in_box(SMALL_BOX, n2), gamma, 9, 5, {"base": "n_full"}),
    ):
        found |= several(name, ("HSE06",), *words, bands, wanted=wanted, **others, **more)
    return found


CASES = {**solids(), **molecules(), **magnets(), **with_whole_products()}
