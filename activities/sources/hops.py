"""x"""

from .sentences import passage
from .documents import Hit
from .ranking import Chunk


def as_hit(chunk: Chunk) -> Hit:
    text = chunk.body.rstrip()
    return Hit(chunk.document, passage(chunk.document.id, text, chunk.start), chunk.score)


def follow(connection, ranking, query, hits, limit):
    return list(hits)[:limit]
