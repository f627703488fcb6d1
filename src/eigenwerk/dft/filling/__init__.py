"""Occupations of levels: smearing, tetrahedra, given ones."""
