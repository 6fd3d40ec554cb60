"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

ConfigurationArgument = Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="The configuration.")]
DataOption = Annotated[
    Path | None, typer.Option("--data", help="A file of people in place of the configuration's; it may be anywhere.")
]
OutOption = Annotated[Path | None, typer.Option("--out", help="The folder of the run; by default the configuration's.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", help="Processes that share the work; -1: one for each core.")
]
DaskOption = Annotated[str | None, typer.Option("--dask", metavar="ADDRESS", help="The address of a dask scheduler.")]
FailOption = Annotated[
    Literal["nothing", "flagged"], typer.Option("--fail-on", help="flagged: end with 1 if an audit flags somebody.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="The result as one JSON object on standard output.")]
TracebackOption = Annotated[bool, typer.Option("--traceback", help="Show errors as Python does.")]
