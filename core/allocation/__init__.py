"""Exact replication: tasks with places, assignments, leases. All work is assigned through it."""
