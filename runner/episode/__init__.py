"""Looking at an episode after the fact: its states as pictures or video, its transcript as text (docs/episodes.md)."""
