"""Reports of audits: one self-contained HTML file, with Markdown, JSON and tables as CSV beside it.

The way of a report: `stated` and `found` (what the user says, what results hold) → `blocks` (a document of plain
values) → `rendering` (the same document in three forms) → `write` (files, whole or not at all).
"""

from causalaudit.report.write import write_report

__all__ = ["write_report"]
