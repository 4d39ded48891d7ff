"""A real Kubernetes for the tests: control plane on the host, node in the lab's machine.

Nothing here imitates an API server: what answers is Kubernetes itself, built from its own
Go packages.
"""
