"""How well and how fast the corpus finds things: `python -m benchmarks.retrieval [--scale N]`.

HotpotQA and 2WikiMultihopQA come from `shared/data` beside the repository; without them their
part is skipped. Hits@k: any evidence among the first k. All@10: all of it. MAP@10 divides by the
number of evidence passages. `--scale 100000` also measures a synthetic corpus of that size.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from activities.sources import Corpus

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "retrieval"
SETS = ("hotpot", "2wiki")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=0, metavar="N", help="synthetic documents")
    scale: int = parser.parse_args().scale
    for name in SETS:
        path = DATA / f"{name}.json"
        if path.is_file():
            measure_quality(name, json.loads(path.read_text()))
        else:
            print(f"{name}: skipped, {path} is not there")
    if scale:
        measure_scale(scale)


def measure_quality(name: str, data: dict[str, list[dict[str, object]]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "documents")
        folder.mkdir()
        records = data["corpus"]
        lines = [json.dumps({"title": r["title"], "text": r["text"]}) for r in records]
        (folder / "corpus.jsonl").write_text("\n".join(lines))
        evidence = {f"corpus.jsonl#line-{n}": str(r["id"]) for n, r in enumerate(records, 1)}
        with Corpus.open(folder, Path(place, "index")) as corpus:
            corpus.refresh()
            print(f"{name}: {len(corpus)} documents, {len(data['queries'])} questions")
            for follows in (False, True):
                scores: list[tuple[float, ...]] = []
                seconds: list[float] = []
                for query in data["queries"]:
                    question, gold = str(query["q"]), query["gold"]
                    begun = time.perf_counter()
                    hits = corpus.search(question, limit=10)
                    if follows:
                        hits = corpus.follow(question, hits, 10)
                    seconds.append(time.perf_counter() - begun)
                    assert isinstance(gold, list)
                    found = [evidence[hit.document.uri] for hit in hits]
                    scores.append(score(found, {str(one) for one in gold}))
                _report("search + follow" if follows else "search", scores, seconds)


def score(found: Sequence[str], gold: set[str]) -> tuple[float, float, float, float]:
    """Hits@4, Hits@10, average precision and whether all evidence was found."""
    precision = right = 0.0
    for rank, one in enumerate(found[:10], 1):
        if one in gold:
            right += 1
            precision += right / rank
    return (
        float(not gold.isdisjoint(found[:4])),
        float(not gold.isdisjoint(found[:10])),
        precision / len(gold),
        float(gold.issubset(found[:10])),
    )


def _report(label: str, scores: Sequence[tuple[float, ...]], seconds: Sequence[float]) -> None:
    hits4, hits10, precision, everything = (
        sum(column) / len(scores) for column in zip(*scores, strict=True)
    )
    print(
        f"  {label:16} Hits@4 {hits4:.2f}  Hits@10 {hits10:.2f}  MAP@10 {precision:.3f}"
        f"  All@10 {everything:.2f}  {_times(seconds)}"
    )


def measure_scale(size: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "documents")
        words = _Words(random.Random(7))
        for number in range(size):
            part = folder / f"{number // 1000:04}"
            part.mkdir(parents=True, exist_ok=True)
            (part / f"{number}.md").write_text(f"# {words.title()}\n\n{words.text()}\n")
        with Corpus.open(folder, Path(place, "index")) as corpus:
            begun = time.perf_counter()
            report = corpus.refresh()
            indexed = time.perf_counter() - begun
            begun = time.perf_counter()
            corpus.refresh()
            again = time.perf_counter() - begun
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            stored = sum(file.stat().st_size for file in Path(place, "index").iterdir())
            print(
                f"{report.documents} documents: indexed in {indexed:.0f} s, again {again:.1f} s,"
                f" {stored >> 20} MB on disk, {memory} MB of memory"
            )
            queries = [" ".join(words.some(8)) for _ in range(100)]
            searches: list[float] = []
            hops: list[float] = []
            for query in queries:
                begun = time.perf_counter()
                hits = corpus.search(query)
                searches.append(time.perf_counter() - begun)
                corpus.follow(query, hits)
                hops.append(time.perf_counter() - begun)
            print(f"  search          {_times(searches)}\n  search + follow {_times(hops)}")


def _times(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    middle, high = ordered[len(ordered) // 2], ordered[int(0.95 * len(ordered))]
    return f"median {1000 * middle:.0f} ms, p95 {1000 * high:.0f} ms"


class _Words:
    """Text whose words are as unevenly frequent as those of a language."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._words = list(self._invented(40_000))
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(len(self._words))))

    def _invented(self, count: int) -> Iterator[str]:
        pick = self._chance.choice
        for _ in range(count):
            syllables = range(self._chance.randint(1, 4))
            stem = "".join(pick("bcdfghklmnprstvw") + pick("aeiou") for _ in syllables)
            yield stem + pick(["", "s", "ing", "er", "tion"])

    def some(self, count: int) -> list[str]:
        return self._chance.choices(self._words, cum_weights=self._weights, k=count)

    def title(self) -> str:
        return " ".join(self.some(3)).title()

    def text(self) -> str:
        sentences = (" ".join(self.some(self._chance.randint(8, 20))) for _ in range(7))
        return " ".join(sentence.capitalize() + "." for sentence in sentences)


if __name__ == "__main__":
    main()
