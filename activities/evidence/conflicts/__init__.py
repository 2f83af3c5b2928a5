"""Claims compared with each other: which differ about one thing, how, and which say the same.

`finder.candidates` is the entry. `statements` reads claims; `answers` finds typed answers to a
facet's question; `alignment` finds sentences that are alike but for one value; `relations` names
the difference and guesses why two sides differ; `agreement` joins claims that say the same.
"""
