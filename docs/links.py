"""Whether every link of the built site leads somewhere: ``python -m docs.links FOLDER``. Other sites are not asked."""

import argparse
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """What a page links to, and where one can land in it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {found[name] or "" for name in ("id", "name") if name in found}
        self.links += [found[name] or "" for name in ("href", "src") if name in found]


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken(site: Path) -> Iterator[str]:
    """Yield the links within the site that lead nowhere."""
    pages = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]  # those are templates
    for path in pages:
        for link in _read(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{path.relative_to(site)}: {link}"
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in _read(target).anchors:
                yield f"{path.relative_to(site)}: {link} (no such place in the page)"


def main() -> int:
    """Print the broken links; the exit status is 1 if there are any."""
    parser = argparse.ArgumentParser(description="Check the links within a built site.")
    parser.add_argument("site", type=Path)
    found = list(broken(parser.parse_args().site.resolve()))
    print(*found, f"{len(found)} broken links", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
