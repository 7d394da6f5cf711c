"""Program texts of the baselines: read as text, hashed into the run, executed in the sandbox, never imported here."""
