"""The ways to carry out an assignment; each module here holds one `Runtime` and nothing imports another."""
