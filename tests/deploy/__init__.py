"""Checks of deploy/: what a user applies is what the real API server accepts, and nothing more."""
