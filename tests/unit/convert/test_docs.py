"""docs/conversions.md says what the code says."""

from __future__ import annotations

from pathlib import Path

from headrace.convert import CODES
from headrace.convert.matrix import matrix

PAGE = (Path(__file__).parents[3] / "docs" / "conversions.md").read_text(encoding="utf-8")


def test_the_page_lists_every_code_with_its_severity() -> None:
    listed = [line for line in PAGE.partition("## Codes")[2].splitlines() if line.startswith("| `")]
    assert listed == [f"| `{code}` | {entry.severity} | {entry.text} |" for code, entry in CODES.items()]


def test_the_page_names_the_version_of_the_matrix() -> None:
    assert f'"matrix_version":"{matrix().version}"' in PAGE
