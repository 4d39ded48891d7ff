"""The main job on real parts: from a pairing request to a button in a pod, and what may go wrong."""
