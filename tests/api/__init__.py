"""Tests of the HTTP door, over the loopback and over a real ledger."""
