"""Program texts that run in other processes: read as text, never imported here."""
