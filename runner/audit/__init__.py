"""The audit of a run: chain, artifacts, rescore, eligibility, replay, rerun (design: section 10; docs/audit.md).

Start with :func:`runner.audit.audit.audit`. Nothing here changes the store.
"""
