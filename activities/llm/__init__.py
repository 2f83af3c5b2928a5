"""The client of the Messages API: providers, streaming, prompt cache, batches, errors."""
