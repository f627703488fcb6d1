"""Exchange and correlation: energy densities written once, derivatives by automatic differentiation."""
