"""HTML that notebooks and reports share: one style, and everything that is shown is escaped."""

from causalaudit.markup.cells import in_words, number_of, plain_text, readable
from causalaudit.markup.pieces import STYLE, bold, paragraph, piece, table

__all__ = ["STYLE", "bold", "in_words", "number_of", "paragraph", "piece", "plain_text", "readable", "table"]
