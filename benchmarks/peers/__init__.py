"""What weft is measured against. The ``compile_*`` scripts run in any Python that has the peer."""
