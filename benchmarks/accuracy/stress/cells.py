"""Cells for the comparison of stresses: those of benchmarks/accuracy, and general strains of some."""

import copy
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "accuracy" / "oracle"))
from cases import CASES

STRAIN_VV = np.array([[0.02, 0.01, -0.005], [0.01, -0.015, 0.008], [-0.005, 0.008, 0.01]])
"""A strain that leaves no angle right and no two lengths equal."""

PLAIN = ("si_500", "al_400", "fe_bcc", "nio_afm_small", "nio_afm_u")
STRAINED = ("mgo_500", "si_500", "fe_bcc_small")


def strained(name):
    """A case with the strain, and its first atom away from its place."""
    case = copy.deepcopy(CASES[name])
    structure = case["structure"]
    structure["cell_A"] = (np.array(structure["cell_A"]) @ (np.eye(3) + STRAIN_VV)).tolist()
    structure["scaled_positions"][0] = (np.array(structure["scaled_positions"][0]) + [0.013, -0.007, 0.01]).tolist()
    return case


CELLS = {name: CASES[name] for name in PLAIN} | {f"{name}_strained": strained(name) for name in STRAINED}
