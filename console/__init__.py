"""The front desk: what people and operators see and say.

It knows Temporal's client and `workflows`, and nothing of `activities`: whatever it shows came from
the server, so it looks the same from any machine.
"""
