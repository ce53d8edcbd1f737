"""Parcels: what it costs to send a parcel, and when it will arrive. Small enough to read, real enough to break."""

__version__ = "0.3.0"
