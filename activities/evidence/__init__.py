"""Claims and what they rest on: quotes, ledger, contradictions, the gate and the report."""
