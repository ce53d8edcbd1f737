"""The A2A door against the official client."""
