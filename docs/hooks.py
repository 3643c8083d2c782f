"""Links of pages that leave the documentation lead to the repository's own files, shown as text."""

import re

OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)((?!docs/)(?:src|tests|benchmarks|examples|[A-Z])[^)#\s]*)\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    return OUTSIDE.sub(r"`\3`", markdown)
