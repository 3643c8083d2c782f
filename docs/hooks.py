"""What the pages are before they become HTML.

Links that leave the documentation lead to the repository's own files, shown as text. Mathematics
between dollars becomes MathML, as in the lab book.
"""

import re

from minicosm.lab.mathematics import mathml

OUTSIDE = re.compile(
    r"\[([^\]]+)\]\(((?:\.\./)+)((?!docs/)(?:src|tests|benchmarks|examples|[A-Z])[^)#\s]*)\)"
)
CODE_OR_MATH = re.compile(
    r"(^```.*?^```|`[^`]+`)|(?<![\\\w])\$(?!\s)([^$\n]+?)(?<![\\\s])\$(?!\w)",
    re.DOTALL | re.MULTILINE,
)


def on_page_markdown(markdown: str, **_: object) -> str:
    return CODE_OR_MATH.sub(_typeset, OUTSIDE.sub(r"`\3`", markdown))


def _typeset(found: re.Match[str]) -> str:
    """Code as it is; a bar would end the cell of a table."""
    return found[1] or mathml(found[2]).replace("|", "&#124;")
