"""The decisions: pure functions of the World, one module for each thing that is planned."""
