"""Exact exchange: which, between which points, how exactly (LHFCALC, PRECFOCK, CORE_EXCHANGE and others).

Its hybrid and its points are understood with the functional and the k-points (`inputs/steps/exchange`).
"""

from dataclasses import dataclass

from eigenwerk.dft.basis.grids import PAIR_FACTOR
from eigenwerk.dft.crystal.downsampling import Downsampling
from eigenwerk.dft.settings.declared import Changes, is_single, setting
from eigenwerk.dft.settings.tags_in_force import whole
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.io.vasp.input.incar import Incar

PROBE_CHARGE, WIGNER_SEITZ = "probe charge", "Wigner-Seitz"


def exchange_range(requested: object | None, hybrid: Hybrid | None) -> str:
    """What becomes of exact exchange at long range (`UNSCREENED` of exchange/kernel.py); requested: bands besides.

    A probe charge says what stands for 1/r at zero wave vector and nothing of points beside the mesh, between which 1/r
    diverges; what ends at a cell does not.
    """
    asked = bool(requested) and hybrid is not None and bool(hybrid.fraction) and not hybrid.screening
    return WIGNER_SEITZ if asked else PROBE_CHARGE


def core_screened(incar: Incar, hybrid: Hybrid | None) -> bool:
    """Whether exchange with the cores is screened (CORE_EXCHANGE)."""
    return incar.get("CORE_EXCHANGE") == "Screened" and hybrid is not None and bool(hybrid.screening)


def exchange_block(incar: Incar) -> int:
    """Orbitals that exact exchange is applied to at a time, 0 as memory allows (NBLOCK_FOCK)."""
    return whole(incar, "NBLOCK_FOCK") if incar.get("LHFCALC") else 0


def pair_precision(word: str) -> str:
    """PRECFOCK, of `PAIR_FACTOR`."""
    return word if word in PAIR_FACTOR else "Normal"


def core_words(core_screened: bool, settings: "ExchangeSettings") -> list[str]:
    """What a screened hybrid does about the cores."""
    if settings.hybrid is None or not settings.hybrid.fraction or not settings.hybrid.screening:
        return []
    screened = "screened alike, with recomputed core orbitals (CORE_EXCHANGE = Screened)"
    plain = "not screened, as the PAW data have it (CORE_EXCHANGE = Plain)"
    return [f"exact exchange with them {screened if core_screened else plain}"]


@dataclass(frozen=True, kw_only=True)
class ExchangeSettings:
    """hybrid: exact exchange beside shares of the functional; downsampling: which pairs of k-points it counts, None for
    all; pair_precision: of their densities; core_screened: whether exchange with the cores is screened as that between
    orbitals is; exchange_single: whether pairs are in single precision."""

    hybrid: Hybrid | None = setting("LHFCALC, AEXX, HFSCREEN", default=None)
    exchange_range: str = setting("range of exact exchange", default=PROBE_CHARGE, made=exchange_range)
    downsampling: Downsampling | None = setting("NKRED, EVENONLY, ODDONLY", default=None)
    exchange_block: int = setting("NBLOCK_FOCK", Changes.NOTHING, default=0, made=exchange_block)
    pair_precision: str = setting("PRECFOCK", reads=pair_precision)
    core_screened: bool = setting("CORE_EXCHANGE", default=False, made=core_screened, words=("cores", core_words))
    exchange_single: bool = setting("PRECISION_EXCHANGE", Changes.NOTHING, default=False, reads=is_single)
