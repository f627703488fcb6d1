"""Writes the coefficients in src/eigenwerk/functionals/wpbe_coefficients.py: python tools/fit_short_range.py

They stand for the one integral of the short-range PBE exchange that has no closed form,

    T(p, mu) = int_0^inf x exp(-p x²) erfc(mu x) / (1 + x²) dx,

with U = (p + mu²)^(1/2) and b = U + mu the same as int_0^inf exp(-t² - 2 U t) / (t + b) dt, which is taken by
double-exponential quadrature.  exp(-p) T has the logarithm of b in it, log(1 + 1/b²)/2; what is left times 1 + b² is
expanded in products of Chebyshev polynomials of

    x = (b - B0) / (b + B0)  and  y = 2 (p/b² + p/P0) / Y - 1,

b from 0 to infinity, p up to the largest of PBE's hole.  Coefficients below SMALLEST are left out.
"""

from pathlib import Path

import numpy as np

TARGET = Path(__file__).resolve().parents[1] / "src" / "eigenwerk" / "functionals" / "wpbe_coefficients.py"

B0, P0, LARGEST = 1.1, 1.0, 2.44
Y = 1.0 + LARGEST / P0
"""Where p = b² (mu = 0) and p = LARGEST meet, the largest p/b² + p/P0."""

SMALLEST = 1e-8
NODES = (64, 32)


def integral(u: np.ndarray, b: np.ndarray) -> np.ndarray:
    """int_0^inf exp(-t² - 2 u t) / (t + b) dt to rounding."""
    step_z = np.linspace(-5.2, 2.0, 1201)
    t_z = np.exp(0.5 * np.pi * np.sinh(step_z))
    weight_z = 0.5 * np.pi * t_z * np.cosh(step_z) * (step_z[1] - step_z[0])
    return (np.exp(-t_z * t_z - 2 * u[..., None] * t_z) / (t_z + b[..., None])) @ weight_z


def smooth_part(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(1 + b²) (exp(-p) T - log(1 + 1/b²)/2)."""
    b = B0 * (1 + x) / (1 - x)
    p = 0.5 * Y * (y + 1) / (1 / b**2 + 1 / P0)
    return (1 + b * b) * (np.exp(-p) * integral(0.5 * (b + p / b), b) - 0.5 * np.log1p(1 / b**2))


def coefficients() -> np.ndarray:
    """By degrees of x and y, from values at Chebyshev nodes."""
    angles = [np.pi * (np.arange(count) + 0.5) / count for count in NODES]
    values = smooth_part(*np.meshgrid(*(np.cos(angle) for angle in angles), indexing="ij"))
    for axis, angle in enumerate(angles):
        transform = 2 / len(angle) * np.cos(np.outer(np.arange(len(angle)), angle))
        transform[0] /= 2
        values = np.moveaxis(np.tensordot(transform, values, (1, axis)), 0, axis)
    return values


def main() -> None:
    """Writes the file."""
    found = coefficients()
    kept = np.where(np.abs(found) >= SMALLEST, found, 0.0)
    rows = []
    for column in kept.T:
        last = np.flatnonzero(column)
        if not len(last):
            break
        rows.append([float(f"{value:.12e}") for value in column[: last[-1] + 1]])
    numbers = "\n".join(f"    ({_lines(row)})," for row in rows)
    TARGET.write_text(
        '"""Coefficients of short-range PBE exchange, written by tools/fit_short_range.py, which says of what."""\n\n'
        f"B0, P0, Y = {B0!r}, {P0!r}, {Y!r}\n\n"
        f"COEFFICIENTS = (\n{numbers}\n)  # fmt: skip\n"
        '"""By the degree of y, then by that of x."""\n'
    )


def _lines(row: list[float]) -> str:
    words = [f"{value!r}," for value in row]
    lines = [" ".join(words[start : start + 5]) for start in range(0, len(words), 5)]
    return "\n     ".join(lines)


if __name__ == "__main__":
    main()
