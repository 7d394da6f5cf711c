"""Container images: what they hold, how they are built, which ones are up to date."""
