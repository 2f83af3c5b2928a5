"""The offline engine: answers every request by extraction, without a network and without a key."""
