"""A result as a table for people."""

from itertools import groupby
from typing import Any

import numpy as np

from eigenwerk.motion.vibrations.elastic import Elastic
from eigenwerk.motion.vibrations.modes import Modes
from eigenwerk.motion.vibrations.vibrations import VibrationResult
from eigenwerk.units import THZ_PER_CM

MOST_ROWS = 40
"""Rows of a table of modes; what is between the highest and the lowest goes to OUTCAR."""


def summary(result: VibrationResult) -> str:
    """Modes, how far the sum rule was off, elastic constants, remarks."""
    lines = ["Modes at Gamma", *_modes(result.modes)]
    acoustic = result.modes.acoustic_thz_y * THZ_PER_CM
    if len(acoustic):
        words = ", ".join(f"{value:.2f}" for value in acoustic)
        lines.append(f"  acoustic before the sum rule: {words} cm-1 (negative: imaginary)")
    if result.elastic is not None:
        lines += ["", "Elastic constants, ions relaxed (GPa)", *_elastic(result.elastic)]
    return "\n".join(lines + [f"  {remark}" for remark in result.remarks]) + "\n"


def as_dict(result: VibrationResult) -> dict[str, Any]:
    """The same ready for JSON."""
    modes, tensor = result.modes, result.elastic
    found: dict[str, Any] = {
        "frequencies_THz": modes.thz_n.tolist(),
        "frequencies_per_cm": modes.per_cm_n.tolist(),
        "acoustic_before_sum_rule_per_cm": (modes.acoustic_thz_y * THZ_PER_CM).tolist(),
        "force_constant_asymmetry_eV_per_A2": result.constants.asymmetry,
        "sum_rule_violation_eV_per_A2": result.constants.sum_rule,
        "remarks": list(result.remarks),
    }
    if tensor is not None:
        found["elastic_GPa"] = tensor.total_jj.tolist()
        found["elastic_clamped_GPa"] = tensor.clamped_jj.tolist()
        if (moduli := tensor.moduli) is not None:
            found |= {"bulk_modulus_GPa": moduli.bulk, "shear_modulus_GPa": moduli.shear}
    return found


def _modes(modes: Modes) -> list[str]:
    """A row for each frequency to 0.01 cm-1, with the numbers of its modes."""
    numbers = zip(range(1, len(modes.thz_n) + 1), modes.thz_n.tolist(), modes.mev_n.tolist(), strict=True)
    rows = []
    for per_cm, group in groupby(numbers, key=lambda row: round(row[1] * THZ_PER_CM, 2)):
        same = list(group)
        first, (last, thz, mev) = same[0][0], same[-1]
        names = str(first) if first == last else f"{first}-{last}"
        rows.append(f"  {names:>9}{abs(thz):12.4f}{abs(per_cm):11.2f}{abs(mev):11.3f}{'  imaginary' * (per_cm < 0)}")
    if len(rows) > MOST_ROWS:
        half = MOST_ROWS // 2
        rows = [*rows[:half], f"  … {len(rows) - 2 * half} more are in OUTCAR", *rows[-half:]]
    return [f"  {'mode':>9}{'THz':>12}{'cm-1':>11}{'meV':>11}", *rows]


def _elastic(elastic: Elastic) -> list[str]:
    """The matrix and the moduli of a polycrystal."""
    names = ("xx", "yy", "zz", "yz", "zx", "xy")
    shown_jj = np.where(np.abs(elastic.total_jj) < 0.005, 0.0, elastic.total_jj)
    lines = ["      " + "".join(f"{name:>10}" for name in names)]
    lines += [f"  {name}  " + "".join(f"{x:10.2f}" for x in row_j) for name, row_j in zip(names, shown_jj, strict=True)]
    if (moduli := elastic.moduli) is not None:
        lines.append(f"  bulk modulus {moduli.bulk:.2f} (Voigt {moduli.bulk_voigt:.2f}, Reuss {moduli.bulk_reuss:.2f})")
        lines.append(
            f"  shear modulus {moduli.shear:.2f} (Voigt {moduli.shear_voigt:.2f}, Reuss {moduli.shear_reuss:.2f})"
        )
        lines.append(f"  Young's modulus {moduli.young:.2f}, Poisson's ratio {moduli.poisson:.3f}")
    return lines
