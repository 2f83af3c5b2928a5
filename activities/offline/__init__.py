"""The offline model: a real extractive engine behind the Messages API, at the wire.

It never sees an answer and knows no topic: it works on what the request holds, as any model would.
"""
