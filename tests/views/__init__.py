"""Tests of what each surface shows."""
