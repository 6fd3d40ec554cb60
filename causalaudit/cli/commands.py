"""The commands. What is heavy is imported when a command needs it."""

import json
from pathlib import Path
from typing import Annotated

import typer

from causalaudit.cli.options import (
    ConfigurationArgument,
    DaskOption,
    DataOption,
    FailOption,
    JsonOption,
    OutOption,
    TracebackOption,
    WorkersOption,
)
from causalaudit.cli.talking import Exit, Talk

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Audit automated decisions for discrimination: one model file, one configuration, no other Python.

Exit codes: 0 nothing flagged (or not asked), 1 something flagged (only with --fail-on flagged), 2 bad input, 3 a fit
that cannot be trusted, 4 a fault of causalaudit itself.
""",
)


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(help="Made if it is needed.")],
    as_json: JsonOption = False,
    traceback: TracebackOption = False,
) -> None:
    """Write a starter: a commented configuration, a model and invented people; it runs as it is."""
    talk = Talk(as_json, traceback)
    with talk.command():
        from causalaudit.starter import write_starter

        paths = write_starter(folder)
        talk.result = {"files": [str(path) for path in paths]}
        talk.say(f"{folder} has {', '.join(path.name for path in paths)}. Next:")
        talk.say(f"  cd {folder}\n  causalaudit check audit.toml\n  causalaudit audit audit.toml")


@app.command()
def check(
    configuration: ConfigurationArgument,
    data: DataOption = None,
    quick: Annotated[bool, typer.Option("--quick", help="Do not estimate time and memory.")] = False,
    as_json: JsonOption = False,
    traceback: TracebackOption = False,
) -> None:
    """Validate everything, run the model's own checks, and estimate time and memory of the audit."""
    talk = Talk(as_json, traceback)
    with talk.command():
        from causalaudit.cli.checking import check_configuration

        check_configuration(talk, configuration, data, not quick)


@app.command()
def audit(
    configuration: ConfigurationArgument,
    data: DataOption = None,
    out: OutOption = None,
    workers: WorkersOption = None,
    dask: DaskOption = None,
    fail_on: FailOption = "nothing",
    as_json: JsonOption = False,
    traceback: TracebackOption = False,
) -> None:
    """Run the whole audit, worlds included, and write the report; what finished before is not computed again."""
    talk = Talk(as_json, traceback)
    with talk.command():
        from causalaudit.cli.auditing import run_audit
        from causalaudit.cli.workers import working

        with working(workers, dask):
            answers = run_audit(talk, configuration, data, out)
        if fail_on == "flagged" and any(answers.flagged.values()):
            raise typer.Exit(Exit.FLAGGED)


@app.command()
def worlds(
    configuration: ConfigurationArgument,
    data: DataOption = None,
    out: OutOption = None,
    workers: WorkersOption = None,
    dask: DaskOption = None,
    fail_on: FailOption = "nothing",
    as_json: JsonOption = False,
    traceback: TracebackOption = False,
) -> None:
    """Ask the audits that use the model in every world, and say what depends on the world."""
    talk = Talk(as_json, traceback)
    with talk.command():
        from causalaudit.cli.auditing import run_worlds
        from causalaudit.cli.workers import working

        with working(workers, dask):
            found = run_worlds(talk, configuration, data, out)
        if fail_on == "flagged" and any((one.table["worlds_flagged"] > 0).any() for one in found.values()):
            raise typer.Exit(Exit.FLAGGED)


@app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run that has finished.")],
    as_json: JsonOption = False,
    traceback: TracebackOption = False,
) -> None:
    """Write the report of a finished run again, with what the configuration says of it now."""
    talk = Talk(as_json, traceback)
    with talk.command():
        from causalaudit.cli.auditing import report_again

        report_again(talk, run)


@app.command()
def graph(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help='"model.py:program", a shipped model, or a configuration.')
    ],
    latent: Annotated[list[str] | None, typer.Option("--latent", help="A variable that has no column.")] = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Write the diagram as a picture to this file.")] = None,
    as_json: JsonOption = False,
    traceback: TracebackOption = False,
) -> None:
    """Show the causal diagram that is read off a model, and what is assumed of its noise."""
    talk = Talk(as_json, traceback)
    with talk.command():
        from causalaudit.cli.diagrams import show_graph

        show_graph(talk, model, latent or [], svg)


@app.command()
def schema() -> None:
    """Print the schema of configurations as JSON Schema."""
    from causalaudit.configuration import json_schema

    typer.echo(json.dumps(json_schema(), indent=1))


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", help="Where everything goes.")] = Path("out"),
    as_json: JsonOption = False,
    traceback: TracebackOption = False,
) -> None:
    """Write the starter and audit it: fit, counterfactuals, all audits, two worlds, and a report."""
    talk = Talk(as_json, traceback)
    with talk.command():
        from causalaudit.cli.auditing import run_audit
        from causalaudit.starter import FILES, write_starter

        if not all((out / name).exists() for name in FILES):
            write_starter(out)
        run_audit(talk, out / FILES[0], None, out)
