"""One module per output format; each exports `parse`, a pure function from lines to a tally or None."""
