"""Documents and a question whose titles, sentences and file names hold scripts."""

from __future__ import annotations

from pathlib import Path

ATTACK = "<script>window.hacked = 1</script>"
QUESTION = f"What is known about the Saltmere lighthouse: its cost and its visitors? {ATTACK}"
DOCUMENTS = {
    "ledger <img src=x onerror=window.hacked=1>.md": f"""# The ledger {ATTACK}

The Saltmere lighthouse cost 4.2 million euros in 2024. The county paid 3 million euros of the cost
of the Saltmere lighthouse. {ATTACK} The repair of the Saltmere lighthouse began in May 2023.
""",
    'visitors "><svg onload=window.hacked=1>.md': """# Visitors <b onclick="hack()">2024</b>

The Saltmere lighthouse had 18,400 visitors in 2024. Visitors of the Saltmere lighthouse pay
6 euros. "><script>window.hacked = 1</script> Most visitors come in August.
""",
    "gazette.html": f"""<html><head><title>Gazette {ATTACK}</title></head><body>
<p>The Saltmere lighthouse cost 5.1 million euros in 2024, the Gazette reports.</p>
<p>The Saltmere lighthouse had 21,000 visitors in 2024 according to the harbour office.</p>
<script>window.hacked = 1</script></body></html>""",
}


def documents(folder: Path) -> Path:
    """Where a console that runs in `folder` has them."""
    return folder / "docs"


def write_documents(folder: Path) -> None:
    documents(folder).mkdir()
    for name, text in DOCUMENTS.items():
        (documents(folder) / name).write_text(text)
