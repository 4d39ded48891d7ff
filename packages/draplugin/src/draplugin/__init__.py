"""Write a Kubernetes Dynamic Resource Allocation (DRA) driver in Python."""

__version__ = "0.1.0"
