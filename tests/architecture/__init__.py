"""Rules about the project itself that no linter knows: sizes, layers, names, errors, statements, documents."""
