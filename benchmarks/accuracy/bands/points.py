"""The crystals of benchmarks/accuracy whose bands are compared, and points on their paths (fractional)."""

FCC = [
    [0.5, 0.5, 0.5], [0.25, 0.25, 0.25], [0, 0, 0], [0.25, 0, 0.25], [0.5, 0, 0.5], [0.5625, 0.125, 0.5625],
    [0.375, 0.375, 0.75], [0.1875, 0.1875, 0.375], [0.5, 0.25, 0.75],
]  # fmt: skip
"""L, half way to G, G, half way to X, X, half way to U, K, half way to G, W."""

BCC = [
    [0, 0, 0], [0.25, -0.25, 0.25], [0.5, -0.5, 0.5], [0.375, -0.125, 0.375], [0.25, 0.25, 0.25], [0.125, 0.125, 0.375],
    [0, 0, 0.5], [0, 0, 0.25],
]  # fmt: skip
"""G, half way to H, H, half way to P, P, half way to N, N, half way to G."""

DOUBLE = [[0, 0, 0], [0.25, 0.25, 0.25], [0.5, 0.5, 0.5], [0.5, 0, 0], [0.5, 0.25, 0], [0.5, 0.5, 0], [0.25, 0.25, 0]]
"""G, half way to T, T, L, half way to F, F, half way to G."""

PATHS = {"si_400": FCC, "gaas_5.65": FCC, "fe_bcc": BCC, "nio_afm": DOUBLE, "nio_afm_u": DOUBLE}
"""By case of benchmarks/accuracy/oracle/cases.py."""

MORE = {"nio_afm": (30, 26), "nio_afm_u": (30, 26)}
"""Bands on the path where those of the case are all full: computed by the reference, compared."""


def compared(name, settings):
    """How many bands of a case are compared."""
    return MORE[name][1] if name in MORE else settings["bands_to_compare"]
