"""Real input: suites of packages from the registries, and the pages of the manual as a reader types them."""
