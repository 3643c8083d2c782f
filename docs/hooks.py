"""What the pages are before they become HTML.

Links that leave the documentation lead to the repository's own files, shown as text. Mathematics
between dollars becomes MathML, as in the lab book. What the tests of the pages read behind the name of
a language, a file's name or that it is a fragment, becomes the block's title or nothing.
"""

import re

from minicosm.lab.mathematics import mathml

OUTSIDE = re.compile(
    r"\[([^\]]+)\]\(((?:\.\./)+)((?!docs/)(?:src|tests|benchmarks|examples|[A-Z])[^)#\s]*)\)"
)
FILE = re.compile(r"^```python file=(\S+)$", re.MULTILINE)
FRAGMENT = re.compile(r"^```python fragment$", re.MULTILINE)
CODE_OR_MATH = re.compile(
    r"(^```.*?^```|`[^`]+`)|(?<![\\\w])\$(?!\s)([^$\n]+?)(?<![\\\s])\$(?!\w)",
    re.DOTALL | re.MULTILINE,
)


def on_page_markdown(markdown: str, **_: object) -> str:
    markdown = FRAGMENT.sub("```python", FILE.sub(r'```python title="\1"', markdown))
    return CODE_OR_MATH.sub(_typeset, OUTSIDE.sub(r"`\3`", markdown))


def _typeset(found: re.Match[str]) -> str:
    """Code as it is. A bar would end the cell of a table; a formula at the start of a line, were it
    not in a span, would end the paragraph."""
    return found[1] or f"<span>{mathml(found[2])}</span>".replace("|", "&#124;")
