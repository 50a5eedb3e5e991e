"""Exact replication: things with places, who holds one, leases. The one door to work."""
