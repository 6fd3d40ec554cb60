"""Plots as SVG that can be embedded: the same bytes each time, names of their own, text that is only text."""

import re
import warnings
from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from causalaudit.errors import CausalAuditError
from causalaudit.markup import readable
from causalaudit.report.blocks import Block, Picture, Sentence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_LONGEST, _LINES = 64, 4  # letters and lines of a name in a plot
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # names of people and groups stay text, in whatever script
    "svg.hashsalt": "causalaudit",
    "text.parse_math": False,  # a dollar in the name of a level is a dollar
    "font.family": ["DejaVu Sans"],
}


class Pictures:
    """Draws plots one after the other; each gets identifiers of its own."""

    def __init__(self) -> None:
        self._count = 0

    def draw(self, plot: "Callable[[], Axes]", caption: str, description: str) -> Block:
        """Return what a function draws; a plot that has nothing to show says why."""
        import matplotlib.pyplot as plt  # heavy: only those who draw pay for it

        with plt.rc_context(_STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # the reader's fonts have it
            try:
                figure: Any = plot().figure
            except CausalAuditError as error:
                return Sentence(f"{caption}: no picture. {error}")
            text = StringIO()
            _shorten_names(figure)
            try:
                figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
            finally:
                plt.close(figure)
        return self.embedded(text.getvalue(), caption, description)

    def embedded(self, svg: str, caption: str, description: str) -> Picture:
        """Return a picture that is SVG already."""
        self._count += 1
        return Picture(own_names(svg, f"p{self._count}-", caption, description), caption, description)


def _shorten_names(figure: Any) -> None:
    """Cut names that are so long that nothing would be left of the plot; tables have the whole."""
    from matplotlib.text import Text

    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            labels = [label.get_text() for label in axis.get_ticklabels()]
            if labels != [_short(label) for label in labels]:
                axis.set_ticks(axis.get_ticklocs(), [_short(label) for label in labels])
    for text in figure.findobj(Text):
        text.set_text(_short(text.get_text()))


def _short(name: str) -> str:
    lines = [line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…" for line in str(name).split("\n")]
    return "\n".join(lines[:_LINES])


def own_names(svg: str, prefix: str, title: str, description: str) -> str:
    """Return SVG whose identifiers begin with a prefix, with title and description and without style sheets.

    Examples
    --------
    >>> picture = own_names('<svg xmlns="http://www.w3.org/2000/svg"><g id="a"/></svg>', "p1-", "A & B", "Two")
    >>> '<title id="p1-title">A &amp; B</title>' in picture, '<g id="p1-a" />' in picture
    (True, True)
    """
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK)
    root = ElementTree.fromstring(readable(svg))
    for parent in list(root.iter()):
        for child in [one for one in parent if one.tag in (f"{{{_SVG}}}style", f"{{{_SVG}}}metadata")]:
            parent.remove(child)  # a style sheet inside of a picture would hold for the whole page
    for element in root.iter():
        for name, value in element.attrib.items():
            element.set(name, _renamed(name, value, prefix))
    root.attrib |= {"role": "img", "aria-labelledby": f"{prefix}title {prefix}description"}
    root.attrib |= {"stroke-linejoin": "round", "stroke-linecap": "butt"}
    for place, (tag, text) in enumerate((("title", title), ("desc", description))):
        child = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": f"{prefix}{'title' if place == 0 else 'description'}"})
        child.text = readable(text)
        root.insert(place, child)
    return ElementTree.tostring(root, encoding="unicode")


def _renamed(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return prefix + value
    if name in ("href", f"{{{_LINK}}}href") and value.startswith("#"):
        return f"#{prefix}{value[1:]}"
    return _REFERENCE.sub(rf"url(#{prefix}\1)", value)
