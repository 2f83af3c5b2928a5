"""What workers share: fleet-wide limits, the slot supplier and heartbeats."""
