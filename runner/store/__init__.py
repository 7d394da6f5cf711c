"""The store: runs, their ledgers and artifacts (design: section 9). Start with :class:`runner.store.store.Store`."""
