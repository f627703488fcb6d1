"""Small runs that leave everything there is to look at."""

from eigenwerk.dft.runs.run import run_folder

FILES = {
    "POSCAR": "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .26\n",
    "KPOINTS": "mesh\n0\nGamma\n2 2 2\n",
    "KPOINTS_OPT": "path\n4\nLine\nReciprocal\n.5 .5 .5 L\n0 0 0 G\n\n0 0 0 G\n.5 0 .5 X\n",
    "INCAR": (
        "ENCUT = 100 ! low\nEDIFF = 1E-4\nISMEAR = 0\nSIGMA = 0.05\nNBANDS = 6\nISPIN = 2\nMAGMOM = 0.5 -0.5\n"
        "LORBIT = 11\nNEDOS = 101\nLVHAR = T\nLWAVE = F\n"
    ),
}


def make_seen(folder, **changes):
    """Run silicon with two spin channels in a folder; changes: files that have another text, or None for none."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {**FILES, **changes}.items():
        if text is not None:
            (folder / name).write_text(text)
    return run_folder(folder, folder / "out")
