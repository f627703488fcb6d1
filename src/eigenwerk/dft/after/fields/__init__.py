"""Densities and potentials as files hold them."""
