"""Densities and potentials as files hold them: fields on the density grid, and what is taken from them."""
