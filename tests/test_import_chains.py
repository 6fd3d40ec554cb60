"""The contract on import chains finds the longest one, and refuses circles."""

import pytest

grimp = pytest.importorskip("grimp", reason="import-linter is a tool of development")
chains = pytest.importorskip("tools.import_chains")


def graph_of(*imports):
    graph = grimp.ImportGraph()
    for importer, imported in imports:
        for module in (importer, imported):
            graph.add_module(module)
        graph.add_import(importer=importer, imported=imported)
    return graph


def test_the_longest_chain_is_found_inside_the_package():
    graph = graph_of(("p.a", "p.b"), ("p.b", "p.c"), ("p.a", "p.c"), ("p.c", "other.d"), ("other.d", "other.e"))
    assert chains.longest_chain(graph, "p") == ("p.a", "p.b", "p.c")


def test_names_that_begin_alike_are_other_packages():
    assert chains.longest_chain(graph_of(("p.a", "p.b"), ("p.b", "pq.c"), ("pq.c", "pq.d")), "p") == ("p.a", "p.b")


def test_a_circle_is_refused():
    with pytest.raises(ValueError, match=r"import one another: p\.a → p\.b → p\.a"):
        chains.longest_chain(graph_of(("p.a", "p.b"), ("p.b", "p.a")), "p")


@pytest.mark.parametrize(("longest", "kept"), [(1, False), (2, True)])
def test_a_contract_is_kept_up_to_its_length(longest, kept):
    options = {"name": "short", "package": "p", "longest": str(longest)}
    contract = chains.ShortChains(name="short", session_options={"root_packages": ["p"]}, contract_options=options)
    assert contract.check(graph_of(("p.a", "p.b")), verbose=False).kept is kept
