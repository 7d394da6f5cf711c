"""The launcher's reference agent: cranks, draws, loads, aims on a ballistic proxy and corrects by what it sees."""
