"""Files of nuclear structure codes: matrix elements in, results out; MeV as in the files, no physics."""
