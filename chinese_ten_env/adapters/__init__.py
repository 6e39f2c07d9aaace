"""Adapters: one file for each library that needs more than the standard environments.

Each needs its library, which the base installation does not bring; import the one you use.
"""
