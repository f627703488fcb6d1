"""The cases of the oracle: small cells, chosen for what differs between elements (d, f and semicore states, magnets,
ionic and covalent bonds, displaced atoms), at cutoffs from 400 eV.  Structures are inputs for a comparison, not
claims about nature.  Lengths in angstrom.
"""

FERMI = {"name": "fermi-dirac", "width": 0.1}
COLD = {"name": "fermi-dirac", "width": 0.01}
ANGULAR = "0.6 meV of it is the reference's one-centre quadrature of 50 directions"

F_STATES = "the reference leaves L = 5, 6 out of the one-centre density of its exchange-correlation"

OCCUPIED = {"bands": "occupied"}
"""For cases in which the highest empty bands of the oracle do not settle."""

PAXTON = {"name": "methfessel-paxton", "width": 0.2, "order": 1}


def case(
    symbols, cell, positions, k, bands, *, ecut=500, xc="PBE", occupations=COLD, moments=None, wanted=None, **other
):  # fmt: skip
    """One case in the form of the reference files; bands: computed, wanted: converged (default: four fewer)."""
    settings = {
        "ecut_eV": ecut, "xc": xc, "kpts_size": list(k), "occupations": occupations, "nbands": bands,
        "bands_to_compare": wanted or bands - 4,
        "convergence": {"energy": 1e-8, "density": 1e-7, "eigenstates": 1e-10, "bands": wanted or bands - 4},
    }  # fmt: skip
    settings["convergence"].update(other.pop("convergence", {}))
    for name in ("setups", "fine_transform"):
        if name in other:
            settings[name] = other.pop(name)
    structure = {"symbols": symbols, "cell_A": cell, "scaled_positions": positions}
    if moments is not None:
        structure["initial_magmoms"] = moments
    return {"structure": structure, "settings": settings, **other}


def fcc(a):
    """Primitive fcc cell."""
    return [[0, a / 2, a / 2], [a / 2, 0, a / 2], [a / 2, a / 2, 0]]


def double_fcc(a):
    """Cell of two fcc layers along (111), for antiferromagnetic order of the second kind."""
    return [[a, a / 2, a / 2], [a / 2, a, a / 2], [a / 2, a / 2, a]]


def bcc(a):
    """Primitive bcc cell."""
    return [[-a / 2, a / 2, a / 2], [a / 2, -a / 2, a / 2], [a / 2, a / 2, -a / 2]]


def hexagonal(a, c):
    """Hexagonal cell."""
    return [[a, 0, 0], [-a / 2, a * 3**0.5 / 2, 0], [0, 0, c]]


def box(a, b, c):
    """Rectangular cell."""
    return [[a, 0, 0], [0, b, 0], [0, 0, c]]


def in_box(cell, positions_A):
    """Scaled positions in a rectangular cell."""
    return [[x / cell[c][c] for c, x in enumerate(p)] for p in positions_A]


ORIGIN = [[0.0, 0.0, 0.0]]
DIAMOND = [[0.0, 0.0, 0.0], [0.25, 0.25, 0.25]]
ROCKSALT = [[0.0, 0.0, 0.0], [0.5, 0.5, 0.5]]
HCP = [[1 / 3, 2 / 3, 0.25], [2 / 3, 1 / 3, 0.75]]
WURTZITE = [[1 / 3, 2 / 3, 0.0], [2 / 3, 1 / 3, 0.5], [1 / 3, 2 / 3, 0.382], [2 / 3, 1 / 3, 0.882]]
CORUNDUM = (
    [[2.378, 1.373, 4.330], [-2.378, 1.373, 4.330], [0.0, -2.746, 4.330]],
    [[x, x, x] for x in (0.352, 0.148, 0.648, 0.852)]
    + [[0.556, 0.944, 0.25], [0.944, 0.25, 0.556], [0.25, 0.556, 0.944],
       [0.444, 0.056, 0.75], [0.056, 0.75, 0.444], [0.75, 0.444, 0.056]],
)
SMALL_BOX = box(5.6, 5.9, 6.2)


def rutile(u):
    """Positions of the rutile structure."""
    return [[0, 0, 0], [0.5, 0.5, 0.5], [u, u, 0], [1 - u, 1 - u, 0], [0.5 + u, 0.5 - u, 0.5], [0.5 - u, 0.5 + u, 0.5]]


def whole_sphere():
    """Cases of the shared reference again, with FFT grids that hold the whole density sphere |g|²/2 <= 4 ecut."""
    found = {}
    for ecut in (400, 500, 700):
        found[f"mgo_{ecut}"] = case(["Mg", "O"], fcc(4.21), ROCKSALT, (4, 4, 4), 14, ecut=ecut, wanted=10,
                                    base="mgo_500" if ecut == 700 else None)  # fmt: skip
    for ecut in (400, 500, 600):
        found[f"si_{ecut}"] = case(["Si", "Si"], fcc(5.43), DIAMOND, (4, 4, 4), 12, ecut=ecut, wanted=8,
                                   base="si_500" if ecut == 600 else None)  # fmt: skip
    for symbol, a in (("Si", 5.43), ("C", 3.57)):
        for ecut in (400, 600):
            name = f"lda_{symbol.lower()}"
            found[f"{name}_{ecut}"] = case([symbol] * 2, fcc(a), DIAMOND, (4, 4, 4), 12, ecut=ecut, xc="LDA", wanted=8,
                                           base=f"{name}_400" if ecut == 600 else None)  # fmt: skip
    found["al_400"] = case(["Al"], fcc(4.05), ORIGIN, (8, 8, 8), 10, ecut=400, occupations=FERMI, wanted=6)
    return found


def magnets():
    """Ferromagnets, antiferromagnets, a molecule with a moment."""
    iron = {"occupations": FERMI, "moments": [2.3]}
    oxide = {"moments": [1.8, -1.8, 0.0, 0.0], "note": ANGULAR}
    antiferro = [[0, 0, 0], [0.5, 0.5, 0.5], [0.25, 0.25, 0.25], [0.75, 0.75, 0.75]]
    return {
        "fe_bcc": case(["Fe"], bcc(2.87), ORIGIN, (6, 6, 6), 12, **iron),
        "fe_bcc_small": case(["Fe"], bcc(2.80), ORIGIN, (6, 6, 6), 12, base="fe_bcc", **iron),
        "fe_bcc_displaced": case(["Fe", "Fe"], box(2.87, 2.87, 2.87), [[0, 0, 0], [0.52, 0.49, 0.51]], (3, 3, 3), 24,
                                 occupations=FERMI, moments=[2.3, 2.3], wanted=14, convergence=OCCUPIED),
        "fe_bcc_lda": case(["Fe"], bcc(2.87), ORIGIN, (6, 6, 6), 12, xc="LDA", **iron),
        "ni_fcc": case(["Ni"], fcc(3.52), ORIGIN, (6, 6, 6), 12, occupations=FERMI, moments=[0.7]),
        "co_fcc": case(["Co"], fcc(3.54), ORIGIN, (6, 6, 6), 12, occupations=FERMI, moments=[1.7]),
        "cr_bcc_afm": case(["Cr", "Cr"], box(2.88, 2.88, 2.88), ROCKSALT, (4, 4, 4), 20, occupations=FERMI,
                           moments=[1.2, -1.2]),
        "nio_afm": case(["Ni", "Ni", "O", "O"], double_fcc(4.17), antiferro, (3, 3, 3), 22, **oxide),
        "nio_afm_small": case(["Ni", "Ni", "O", "O"], double_fcc(4.09), antiferro, (3, 3, 3), 22, base="nio_afm",
                              **oxide),
        "nio_afm_displaced": case(["Ni", "Ni", "O", "O"], double_fcc(4.17),
                                  [[0, 0, 0], [0.5, 0.5, 0.5], [0.26, 0.25, 0.245], [0.745, 0.75, 0.75]], (2, 2, 2),
                                  22, **oxide),
        "gd_hcp_fine": case(["Gd", "Gd"], hexagonal(3.63, 5.78), HCP, (3, 3, 2), 34, occupations=FERMI,
                            moments=[7.5, 7.5], wanted=24, fine_transform=True, note=F_STATES),
        "ni_v3_fcc": case(["Ni"], fcc(3.52), ORIGIN, (6, 6, 6), 14, occupations=FERMI, moments=[0.7],
                          setups={"Ni": "v3"}),
        "mn_fcc_afm": case(["Mn", "Mn"], [[1.8, -1.8, 0], [1.8, 1.8, 0], [0, 0, 3.6]], ROCKSALT, (4, 4, 3), 20,
                           occupations=FERMI, moments=[2.0, -2.0], note=ANGULAR),
        "o2": case(["O", "O"], SMALL_BOX, in_box(SMALL_BOX, [[2.8, 2.9, 2.5], [2.8, 2.95, 3.72]]), (1, 1, 1), 9,
                   moments=[1.0, 1.0]),
    }  # fmt: skip


def metals():
    """Transition and heavy metals, with and without semicore states."""
    return {
        "cu_fcc": case(["Cu"], fcc(3.61), ORIGIN, (6, 6, 6), 12, occupations=FERMI),
        "ag_fcc": case(["Ag"], fcc(4.16), ORIGIN, (6, 6, 6), 15, occupations=FERMI),
        "ti_hcp": case(["Ti", "Ti"], hexagonal(2.94, 4.64), HCP, (4, 4, 3), 20, occupations=PAXTON),
        "w_bcc": case(["W"], bcc(3.165), ORIGIN, (6, 6, 6), 14, occupations=PAXTON),
        "cr14_bcc": case(["Cr"], bcc(2.84), ORIGIN, (6, 6, 6), 14, occupations=FERMI, setups={"Cr": "14"}),
        "nb_bcc": case(["Nb"], bcc(3.30), ORIGIN, (6, 6, 6), 14, occupations=PAXTON),
        "au_fcc": case(["Au"], fcc(4.16), ORIGIN, (6, 6, 6), 12, occupations=FERMI),
        "pt_fcc": case(["Pt"], fcc(3.97), ORIGIN, (6, 6, 6), 14, occupations=FERMI),
        "pb_fcc": case(["Pb"], fcc(5.04), ORIGIN, (4, 4, 4), 14, occupations=FERMI),
        "bi": case(["Bi", "Bi"], [[2.27, 1.31, 3.95], [-2.27, 1.31, 3.95], [0.0, -2.62, 3.95]],
                   [[0.234, 0.234, 0.234], [0.766, 0.766, 0.766]], (4, 4, 4), 22, occupations=FERMI),
        "cr14_bcc_fine": case(["Cr"], bcc(2.84), ORIGIN, (6, 6, 6), 14, occupations=FERMI, setups={"Cr": "14"},
                              fine_transform=True),
        "ce_fcc": case(["Ce"], fcc(4.72), ORIGIN, (4, 4, 4), 16, occupations=FERMI, note=F_STATES),
        "ce_fcc_fine": case(["Ce"], fcc(4.72), ORIGIN, (4, 4, 4), 16, occupations=FERMI, fine_transform=True,
                            note=F_STATES),
        "cr_v3_bcc_fine": case(["Cr"], bcc(2.84), ORIGIN, (6, 6, 6), 14, occupations=FERMI, setups={"Cr": "v3"},
                               fine_transform=True),
        "mo_bcc": case(["Mo"], bcc(3.15), ORIGIN, (6, 6, 6), 14, occupations=PAXTON),
    }  # fmt: skip


def compounds():
    """Oxides, ionic crystals, semiconductors."""
    found = {
        "tio2_rutile": case(["Ti"] * 2 + ["O"] * 4, box(4.594, 4.594, 2.959), rutile(0.300), (2, 2, 3), 34, wanted=28),
        "zno_wurtzite": case(["Zn"] * 2 + ["O"] * 2, hexagonal(3.25, 5.207), WURTZITE, (3, 3, 2), 24, wanted=20),
        "nacl_v3": case(["Na", "Cl"], fcc(5.64), ROCKSALT, (3, 3, 3), 14, wanted=10, setups={"Cl": "v3"}),
        "al2o3": case(["Al"] * 4 + ["O"] * 6, *CORUNDUM, (2, 2, 2), 30, wanted=26),
        "zro2_cubic": case(["Zr", "O", "O"], fcc(5.09), [[0, 0, 0], [0.25, 0.25, 0.25], [0.75, 0.75, 0.75]],
                           (3, 3, 3), 18, wanted=14),
        "srtio3": case(["Sr", "Ti", "O", "O", "O"], box(3.905, 3.905, 3.905),
                       [[0, 0, 0], [0.5, 0.5, 0.52], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]], (2, 2, 2), 26,
                       wanted=22),
        "caf2": case(["Ca", "F", "F"], fcc(5.46), [[0, 0, 0], [0.25, 0.25, 0.25], [0.74, 0.75, 0.755]], (2, 2, 2), 18,
                     wanted=14),
        "inp": case(["In", "P"], fcc(5.87), [[0, 0, 0], [0.255, 0.25, 0.25]], (3, 3, 3), 16, wanted=12),
        "kbr_v3": case(["K", "Br"], fcc(6.60), ROCKSALT, (3, 3, 3), 14, wanted=10, setups={"Br": "v3"}),
        "graphene": case(["C", "C"], hexagonal(2.46, 8.0), [[1 / 3, 2 / 3, 0.5], [2 / 3, 1 / 3, 0.52]], (5, 5, 1), 12,
                         occupations=FERMI, wanted=8),
        "nacl": case(["Na", "Cl"], fcc(5.64), ROCKSALT, (3, 3, 3), 14, wanted=10),
        "lif": case(["Li", "F"], fcc(4.03), ROCKSALT, (3, 3, 3), 10, wanted=7),
        "cscl": case(["Cs", "Cl"], box(4.12, 4.12, 4.12), ROCKSALT, (3, 3, 3), 15, wanted=11),
        "gaas_displaced": case(["Ga", "As"], fcc(5.65), [[0, 0, 0], [0.26, 0.245, 0.255]], (3, 3, 3), 16, wanted=13),
    }
    for a in (5.65, 5.55, 5.75):
        base = None if a == 5.65 else "gaas_5.65"
        found[f"gaas_{a}"] = case(["Ga", "As"], fcc(a), DIAMOND, (4, 4, 4), 16, wanted=13, base=base)
    return found  # fmt: skip


def molecules():
    """Molecules in a box, not at their equilibrium."""
    methane = [[2.8, 2.9, 3.1], [3.45, 3.55, 3.73], [2.15, 2.28, 3.72], [3.44, 2.25, 2.48], [2.18, 3.52, 2.45]]
    return {
        "n2": case(["N", "N"], SMALL_BOX, in_box(SMALL_BOX, [[2.8, 2.9, 2.5], [2.82, 2.95, 3.62]]), (1, 1, 1), 8),
        "co": case(["C", "O"], SMALL_BOX, in_box(SMALL_BOX, [[2.8, 2.9, 2.5], [2.84, 2.93, 3.66]]), (1, 1, 1), 8),
        "ch4": case(["C"] + ["H"] * 4, SMALL_BOX, in_box(SMALL_BOX, methane), (1, 1, 1), 7),
    }


def plus_u():
    """DFT+U in Dudarev's form; the last number of a setup leaves the overlaps of the partial waves as they are."""
    antiferro = [[0, 0, 0], [0.5, 0.5, 0.5], [0.25, 0.25, 0.25], [0.75, 0.75, 0.75]]
    moved = [[0, 0, 0], [0.5, 0.5, 0.5], [0.26, 0.25, 0.245], [0.745, 0.75, 0.75]]
    oxide = {"moments": [1.8, -1.8, 0.0, 0.0], "setups": {"Ni": ":d,4.6,0"}, "note": ANGULAR}
    return {
        "nio_afm_u": case(["Ni", "Ni", "O", "O"], double_fcc(4.17), antiferro, (3, 3, 3), 22, **oxide),
        "nio_afm_u_displaced": case(["Ni", "Ni", "O", "O"], double_fcc(4.17), moved, (2, 2, 2), 22, **oxide),
        "tio2_u": case(["Ti"] * 2 + ["O"] * 4, box(4.594, 4.594, 2.959), rutile(0.31), (2, 2, 3), 36, wanted=28,
                       setups={"Ti": ":d,4.2,0"}),
    }  # fmt: skip


CASES = {**whole_sphere(), **magnets(), **compounds(), **metals(), **molecules(), **plus_u()}
