"""The levels of 6Li from Python."""

from pathlib import Path

from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.run import run_case

case = read_cases(Path(__file__).with_name("case.toml"))[1]  # Nmax 2
levels = run_case(case).levels
for n, energy in enumerate(levels.energy_n):
    print(f"{levels.label(n)}  {energy:9.4f} MeV  r_p = {levels.values['r_p'][n]:.3f} fm")
