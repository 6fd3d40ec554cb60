"""A contract for import-linter: the longest chain of imports inside a package has at most so many modules."""

from functools import cache

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class ShortChains(Contract):
    """Refuse a package in which a module imports one that imports one that imports ... too many of them.

    A chain is as long as its modules are many. Cycles are refused too: a chain that goes round has no end.
    """

    type_name = "short_chains"

    package = fields.StringField()
    longest = fields.IntegerField()

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Find the longest chain, and compare it."""
        chain = longest_chain(graph, self.package)
        return ContractCheck(kept=len(chain) <= self.longest, metadata={"chain": chain})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Show the longest chain."""
        chain = check.metadata["chain"]
        output.print_error(
            f"The longest import chain inside {self.package} has {len(chain)} modules, more than {self.longest}:"
        )
        for module in chain:
            output.print(f"  {module}")


def longest_chain(graph: ImportGraph, package: str) -> tuple[str, ...]:
    """Return the modules of the longest chain of imports inside a package, the importers first.

    Raises
    ------
    ValueError
        If modules import one another in a circle.
    """
    inside = {module for module in graph.modules if module == package or module.startswith(f"{package}.")}
    on_the_way: list[str] = []

    @cache
    def chain_from(module: str) -> tuple[str, ...]:
        if module in on_the_way:
            raise ValueError(f"Modules import one another: {' → '.join([*on_the_way, module])}.")
        on_the_way.append(module)
        imported = sorted(graph.find_modules_directly_imported_by(module) & inside)
        longest = max((chain_from(other) for other in imported), key=len, default=())
        on_the_way.pop()
        return (module, *longest)

    return max((chain_from(module) for module in sorted(inside)), key=len)
