"""What clients and workers share: connection, codec, external storage, telemetry, health."""
