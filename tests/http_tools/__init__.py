"""Tools that call other people's job APIs."""
