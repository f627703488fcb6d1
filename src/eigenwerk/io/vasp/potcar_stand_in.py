"""Text in place of a POTCAR: the fields of its head, said of our own PAW data, and no potential.

Programs that write inputs of VASP read from POTCAR what an element weighs, how many electrons it brings and which
cutoff it wants.  They put the species in its order too, and that is all that eigenwerk reads of it again.
"""

from eigenwerk.io.paw.dataset import PawHeader
from eigenwerk.io.paw.paw_library import CutoffAdvice
from eigenwerk.io.vasp.elements import MASSES
from eigenwerk.io.vasp.output.record import dataset_title
from eigenwerk.units import HARTREE_EV

SUFFIXES = ("", "_sv", "_pv", "_d", "_s", "_h", "_2", "_3", "_GW", "_sv_GW", "_d_GW")
"""Of the names by which programs ask for an element; none chooses a data set, ZVAL says how many electrons count."""

LETTERS = "spdfg"


def stand_in(header: PawHeader, advice: CutoffAdvice | None, package: str, suffix: str = "") -> str:
    """The text for one data set under one name.

    TITEL is that of vasprun.xml with the name asked for.  Order and form of the lines are those that ASE (ZVAL four
    lines below TITEL) and pymatgen look for.  ENMAX, ENMIN: recommended and minimum cutoff in eV, 0 without advice;
    RCORE: largest matching radius, bohr; the configuration is that of the valence states of the reference atom.
    """
    gradient = header.xc_type.upper() != "LDA"
    title = dataset_title(gradient, header.symbol + suffix, package, header.name, f"md5:{header.md5}")
    bound = [state for state in header.states if state.n is not None and state.f > 0]
    valence = "".join(f"{LETTERS[state.l]}{state.f:g}" for state in bound)
    radius = max((state.rc or 0.0 for state in header.states), default=0.0)
    highest, lowest = (advice.recommended_eV, advice.minimum_eV) if advice else (0.0, 0.0)
    rows = [
        f"{state.n:6d}{state.l:5d}{state.l + 0.5:9.2f}{(state.e or 0.0) * HARTREE_EV:16.4f}{state.f:10.4f}"
        for state in bound
    ]
    return "\n".join([
        f"  {title}",
        f"  {header.valence:.14f}",
        " parameters from PSCTR are:",
        f"   VRHFIN ={header.symbol}: {valence}",
        f"   LEXCH  = {'PE' if gradient else 'CA'}",
        f"   TITEL  = {title}",
        "   LULTRA =        F    no ultrasoft pseudopotential",
        "   LPAW   =        T    PAW",
        f"   RCORE  = {radius:8.3f}    largest matching radius",
        f"   POMASS = {MASSES[header.symbol]:8.3f}; ZVAL   = {header.valence:8.3f}    mass and valence",
        f"   ENMAX  = {highest:8.3f}; ENMIN  = {lowest:8.3f} eV",
        "",
        "   Atomic configuration",
        f"   {len(rows):2d} entries",
        "     n  l   j            E        occ.",
        *rows,
        " END of PSCTR-controll parameters",
        " stand-in written by eigenwerk: no potential follows, VASP cannot use this file",
        f"  {header.valence:.8f}",  # pymatgen takes the mean of the numbers here
        " End of Dataset",
        "",
    ])  # fmt: skip
