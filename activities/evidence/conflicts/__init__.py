"""Claims compared with each other: which differ about one thing, how, and which say the same.

`finder.candidates` is the entry. `statements` reads claims; `questions` and `answers` find typed
answers to a facet's question; `alignment` finds sentences that are alike but for one value;
`relations` names the difference; `agreement` joins claims that say the same; `explanations` guesses
why two sides differ.
"""
