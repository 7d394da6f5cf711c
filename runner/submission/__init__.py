"""Submission bundles: made, verified offline and imported by one and the same code (docs/submissions.md)."""
