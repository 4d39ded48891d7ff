"""Loads the two plugins that put tests on real parts: the lab's VM and the real control plane."""

pytest_plugins: list[str] = []
