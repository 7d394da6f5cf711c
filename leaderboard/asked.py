"""Numbers out of an address, where a visitor may have typed anything."""

from __future__ import annotations

LARGEST = 2**63 - 1  # a database takes no larger one


def number(text: str | None) -> int | None:
    """A whole number from 1 to LARGEST in digits, or None."""
    if not text or len(text) > len(str(LARGEST)) or not (text.isascii() and text.isdigit()):
        return None
    return found if 1 <= (found := int(text)) <= LARGEST else None


def page_number(text: str | None, pages: int) -> int:
    """A page within what there is; the first one where the address has no number."""
    return min(number(text) or 1, max(pages, 1))
