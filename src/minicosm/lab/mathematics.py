"""Prose with mathematics, for pages and for the terminal.

Claims write LaTeX between dollars: `"$P[H_0 \\mid x]$ is a law"`. A page shows it as MathML, which
browsers typeset without any script; a terminal as Unicode, made from the same MathML. A dollar that
means a dollar is written `\\$`. Names with an index, such as `D_8`, need no dollars.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from markupsafe import Markup

_NAME = "{http://www.w3.org/1998/Math/MathML}"
_MATH = re.compile(r"(?<!\\)\$([^$]+?)(?<!\\)\$")
_INDEXED = re.compile(r"(?<![\w=`])([A-Z][a-z]*|[a-z])_(\d+(?:,\d+)?)(?:\^(\d+))?(?!\w)")
"""Names such as `D_8` and `C_2^3`, which need no dollars."""
_RAISED = dict(zip("0123456789+-=()nijkmtxyabcdefghloprsuvwzTABDEGHIJKLMNOPRUVW",
                   "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱʲᵏᵐᵗˣʸᵃᵇᶜᵈᵉᶠᵍʰˡᵒᵖʳˢᵘᵛʷᶻᵀᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵁⱽᵂ", strict=True))  # fmt: skip
_RAISED |= {"−": "⁻", "⊤": "ᵀ", "′": "′", "*": "*", "∗": "*", "⋆": "*", "†": "†"}
_LOWERED = dict(zip("0123456789+-=()aehijklmnoprstuvx",
                    "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True))  # fmt: skip
_LOWERED |= {"−": "₋", "β": "ᵦ", "γ": "ᵧ", "ρ": "ᵨ"}
_ACCENTS = {"^": "\u0302", "ˆ": "\u0302", "~": "\u0303", "˜": "\u0303", "¯": "\u0304",
            "_": "\u0304", "‾": "\u0304", "―": "\u0304", "˙": "\u0307", "→": "\u20d7"}  # fmt: skip
_DIGITS = {"double-struck": "𝟘", "bold": "𝟎"}  # browsers know no such variant of a number
_UPRIGHT = set("ΓΔΘΛΞΠΣΦΨΩ")
_CONSTANTS = set("∅∞⊤⊥⋆*∗∂∇∀∃")
_FUNCTION = re.compile("[A-Za-z]{2,}")
_SCRIPTED = {_NAME + kind for kind in ("msub", "msup", "msubsup", "munder", "mover", "munderover")}
_THIN = "0.167em"
_BREAKS = set("=<>≤≥∈∝⪯∼≈≠+⊙")
LONG = 24  # characters of a formula that may be broken at the end of a line


@cache
def mathml(tex: str) -> str:
    """LaTeX as a MathML element; `ValueError` if it is not understood."""
    from latex2mathml.converter import convert

    try:
        found: str = convert(tex.replace(r"\arg", r"\operatorname{arg}"))
    except Exception as error:  # the library's exceptions have no class in common
        raise ValueError(f"${tex}$ is not LaTeX that can be typeset ({error!r})") from None
    if unknown := re.search(r"<m[io]>(\\\w*|[{}])", found):
        raise ValueError(f"${tex}$ has {unknown[1]}, which is not known here")
    root = ElementTree.fromstring(found)
    if any(len(fraction) != 2 for fraction in root.iter(_NAME + "mfrac")):
        raise ValueError(f"${tex}$ has a fraction of one part")
    for node in root.iter():
        _set_kind(node)
    for node in root.iter():
        if node.tag not in _SCRIPTED:
            _set_spaces([part for part in node if part.tag != _NAME + "mspace"])
    return _serialised(root)


def _serialised(root: Any) -> str:
    return ElementTree.tostring(root, "unicode").replace("ns0:", "").replace("xmlns:ns0", "xmlns")


def _set_kind(node: Any) -> None:
    """Relations and separators are operators, which have space around them; constants are not."""
    if node.tag == _NAME + "mi" and node.text == "~":
        node.text = "∼"  # \sim
    if node.tag == _NAME + "mi" and node.text and node.text in _SPACED | {";"}:
        node.tag = _NAME + "mo"
    elif node.tag == _NAME + "mi" and node.text and node.text in _UPRIGHT:
        node.set("mathvariant", "normal")
    elif node.tag == _NAME + "mo" and node.text and node.text in _CONSTANTS:
        node.tag = _NAME + "mi"
    elif node.tag == _NAME + "mn" and (zero := _DIGITS.get(node.attrib.pop("mathvariant", ""))):
        node.text = "".join(chr(ord(zero) + int(digit)) for digit in node.text)


def _set_spaces(row: list[Any]) -> None:
    """Space by neighbours: thin around names of functions, but none before a bracket or after an operator.

    None to speak of around bars and strokes, nor after a sign, as in `(0, -2)`, which is no difference.
    """
    for before, node, after in zip([None, *row], row, [*row[1:], None], strict=False):
        core = node[0] if node.tag in _SCRIPTED else node
        if core.tag not in (_NAME + "mi", _NAME + "mo"):
            continue
        if core.text in ("|", "/"):
            core.attrib |= {"stretchy": "false", "lspace": "0.05em", "rspace": "0.05em"}
        elif core.text in ("−", "+") and before is not None and before.text in _BEFORE_SIGN:
            core.set("form", "prefix")
        elif core.text == "·" and before is not None and before.text in ("(", "[", "‖"):
            core.tag = _NAME + "mi"  # a place for an argument, not a product
        elif _FUNCTION.fullmatch(core.text or ""):
            core.tag = _NAME + "mo"
            left = before is not None and (before.tag != _NAME + "mo" or before.text in (")", "]"))
            right = after is not None and after.text not in ("(", "[", ")", "]", ",")
            core.attrib |= {"lspace": _THIN if left else "0", "rspace": _THIN if right else "0"}


@cache
def unicode(tex: str) -> str:
    """LaTeX as one line of Unicode: `x_{1:t}`, `W⁺`, `½`, `√(n + 1)`."""
    text = re.sub(r"\s+", " ", _text(ElementTree.fromstring(mathml(tex)))).strip()
    text = re.sub(r"([=<>≤≥∈(,;\[] ?)− ", r"\1−", text)  # a sign, not a difference
    text = re.sub(r"‖ ([·⋅]) ‖", r"‖\1‖", text)
    return re.sub(r" ([)\],])|([(\[]) ", r"\1\2", text)


def plain(text: str) -> str:
    """Prose with mathematics for a terminal."""
    pieces = _MATH.split(text)
    pieces[::2] = [_INDEXED.sub(_small, words).replace(r"\$", "$") for words in pieces[::2]]
    pieces[1::2] = map(unicode, pieces[1::2])
    return "".join(pieces)


def _small(found: re.Match[str]) -> str:
    name, index, power = found.groups(default="")
    lowered = "".join(_LOWERED.get(sign, sign) for sign in index)
    return name + lowered + "".join(_RAISED[sign] for sign in power)


def html(text: str) -> Markup:
    """Prose with mathematics, `code`, *emphasis*, **strong** and blank lines, as safe HTML."""
    from markupsafe import Markup

    paragraphs = re.split(r"\n\s*\n", text.strip())
    return Markup("").join(Markup(f"<p>{inline(p)}</p>") for p in paragraphs)


def inline(text: str) -> Markup:
    """One paragraph as safe HTML, without the element around it."""
    from markupsafe import Markup, escape

    pieces = re.split(r"(`[^`]+`)|([(\w-]*)(?<!\\)\$([^$]+?)(?<!\\)\$([\w.,;:!?)-]*)", text)
    made = []
    for words, code, before, tex, after in zip(
        pieces[::5], *([*pieces[i::5], None] for i in range(1, 5)), strict=True
    ):
        made.append(_indexed(_emphasised(str(escape(words)).replace(r"\$", "$"))))
        if code:
            made.append(f"<code>{escape(code[1:-1])}</code>")
        if tex:  # a line does not end between mathematics and what stands close to it
            parts = _breakable(tex)
            parts[0] = f"{escape(before)}{parts[0]}"
            parts[-1] += str(escape(after))
            made += [f'<span class="near">{part}</span>' for part in parts]
    return Markup("".join(made))


def _breakable(tex: str) -> list[str]:
    """A formula, a long one in parts that end with a relation or a sum outside of brackets: browsers
    break lines between elements, and never within one."""
    whole = mathml(tex)
    if len(unicode(tex)) <= LONG:
        return [whole]
    (row,) = ElementTree.fromstring(whole)
    parts: list[list[Any]] = [[]]
    depth = 0
    for node in row:
        if parts[-1] and parts[-1][-1].get("form") == "infix":
            parts.append([])
        core = node[0] if node.tag in _SCRIPTED else node
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(core.text or "", 0)
        if not depth and node.text and node.text in _BREAKS and node.get("form") is None:
            node.set("form", "infix")
        parts[-1].append(node)
    made = []
    for part in parts:
        root = ElementTree.Element(_NAME + "math", {"display": "inline"})
        ElementTree.SubElement(root, _NAME + "mrow").extend(part)
        made.append(_serialised(root))
    return made


def _indexed(escaped: str) -> str:
    def marked(found: re.Match[str]) -> str:
        name, index, power = found.groups(default="")
        return f"{name}<sub>{index}</sub>" + (f"<sup>{power}</sup>" if power else "")

    return _INDEXED.sub(marked, escaped)


def _emphasised(escaped: str) -> str:
    strong = re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"<strong>\1</strong>", escaped)
    return re.sub(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])", r"<em>\1</em>", strong)


# -- MathML as one line ------------------------------------------------------------------------

_SPACED = set("=<>≤≥∈∉⊂⊆∪∩→↦⇒⇔∼≈≠∣+−·×∝≡≪≫∧∨∥←≺⪯⊗⊕⋅≲≳⟹⟺⊙")
_BEFORE_SIGN = _SPACED | set("([{,;")


def _text(node: Any) -> str:
    kind = node.tag.rpartition("}")[2]
    parts = list(node)
    if kind == "mspace":
        return " "
    if kind == "mo":
        sign = node.text or ""
        return f" {sign} " if sign in _SPACED else f"{sign} " if sign in (",", ";") else sign
    if kind in ("mi", "mn", "mtext"):
        return node.text or ""
    if kind == "mfrac":
        return f"{_numerator(parts[0])}/{_grouped(parts[1])}"
    if kind == "msqrt":
        return f"√{_grouped(parts[0])}" if len(parts) == 1 else f"√({_row(parts)})"
    if kind in ("msub", "munder"):
        return _text(parts[0]) + _script(parts[1], _LOWERED, "_")
    if kind in ("msup", "mover"):
        accent = _text(parts[1]).strip()
        if kind == "mover" and accent in _ACCENTS:
            base = _text(parts[0])
            return base + _ACCENTS[accent] if len(base) == 1 else f"{accent}({base})"
        return _text(parts[0]) + _script(parts[1], _RAISED, "^")
    if kind in ("msubsup", "munderover"):
        lower, upper = _script(parts[1], _LOWERED, "_"), _script(parts[2], _RAISED, "^")
        return _text(parts[0]) + lower + upper
    if kind == "mtr":
        return ", ".join(map(_text, parts))
    if kind == "mtable":
        return "; ".join(map(_text, parts))
    return _row(parts)


def _row(parts: list[Any]) -> str:
    """Neighbours. A fraction between factors is bracketed; the name of a function is set apart, and
    so is what follows a sum, or an index that has neither small letters nor braces."""
    parts = [part[0] if part.tag == _NAME + "mstyle" and len(part) == 1 else part for part in parts]
    made = [_text(part) for part in parts]
    for i, after in enumerate(made[1:]):
        sum_of = len(parts[i]) and parts[i][0].text in ("∑", "∏") and re.match(r"[\w∑∏√]", after)
        if sum_of or (re.search(r"[_^][^\s{}]$", made[i]) and re.match(r"\w", after)):
            made[i] += " "
    for i, part in enumerate(parts):
        beside = [made[j] for j in (i - 1, i + 1) if 0 <= j < len(made)]
        if part.tag == _NAME + "mfrac" and part.get("linethickness") == "0":
            made[i] = " over ".join(_text(each) for each in part)
        elif part.tag == _NAME + "mfrac" and any(re.search(r"[^\W_]|√", text) for text in beside):
            made[i] = f"({made[i]})"
        base = part[0] if len(part) and part.tag != _NAME + "mrow" else part
        if base.tag in (_NAME + "mo", _NAME + "mi") and re.fullmatch(
            r"[A-Za-z]{2,}", base.text or ""
        ):
            after = made[i + 1] if i + 1 < len(made) else ""
            before = made[i - 1] if i else ""
            space = "" if not after or after[0] in " ([{," else " "
            made[i] = (" " if re.search(r"[\w)\]}∇]$", before) else "") + made[i] + space
    text = "".join(made)
    return text[1:].replace(" ", "", 1) if re.match(r" [+−] ", text) else text


def _numerator(node: Any) -> str:
    """Bracketed if it has a sign outside of brackets."""
    text = _text(node).strip()
    return f"({text})" if re.search(r" \S+ |/", re.sub(r"\([^()]*\)", "", text)) else text


def _grouped(node: Any) -> str:
    """Bracketed unless it is a name, a number, a norm, or a function of something."""
    text = _text(node).strip()
    whole = r".|[\w.]+|‖[^‖]*‖[₀-₉]?|\|[^|\s]+\||(Pr|[^\W\d]\W?)\([^()]*\)"
    return text if re.fullmatch(whole, text) else f"({text})"


def _script(node: Any, letters: dict[str, str], mark: str) -> str:
    text = _text(node).replace(" ", "")
    if text and all(letter in letters for letter in text):
        return "".join(letters[letter] for letter in text)
    return f"{mark}{text}" if len(text) == 1 else f"{mark}{{{text}}}"
