"""The typed contract of the system: requests, results, messages and activity payloads.

These modules import pydantic and each other, nothing else (`nexus` also needs `nexusrpc`), so that
other teams can install them without the rest of the system.
"""
