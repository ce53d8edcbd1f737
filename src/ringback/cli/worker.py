"""`worker`: hands its arguments to the worker itself, which reads them; this module only saves the import."""

import typer


def worker(context: typer.Context) -> None:
    """Run a worker that takes work from a server."""
    from ringback.worker.main import main

    main(list(context.args))
