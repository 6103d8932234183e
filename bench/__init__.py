"""Benchmarks: each command compares Headrace with its peers in one run and checks that both built the same content."""
