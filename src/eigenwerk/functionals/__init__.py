"""Exchange-correlation functionals: what each is called and needs, and its energy density; no torch is loaded here."""
