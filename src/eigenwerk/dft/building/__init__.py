"""New structures from a POSCAR: larger cells, vacancies, substitutions, slabs."""
