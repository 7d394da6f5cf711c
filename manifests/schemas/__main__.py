"""``python -m manifests.schemas``: write the schema files anew."""

from manifests.schemas import FOLDER, texts

for name, text in texts().items():
    (FOLDER / name).write_text(text, encoding="utf-8")
