"""The REST API under `/api/v1` of `serve`: a thin layer over `console.client`."""
