"""Mathematics in prose: MathML for pages, Unicode for terminals, a sentence for what is no LaTeX."""

from xml.etree import ElementTree

import pytest

from minicosm.lab.mathematics import html, mathml, plain, unicode

LINES = {
    r"P[H_0 = h \mid x_{1:t}]": "P[H₀ = h ∣ x_{1:t}]",
    r"\|W^\top \mu\|_\infty \le \frac{1}{2}\sqrt{n+1}": "‖Wᵀμ‖_∞ ≤ (1/2)√(n + 1)",
    r"\hat p_i \in \mathcal{V}^{t+1}": "p̂ᵢ ∈ 𝒱ᵗ⁺¹",
    r"\sum_{k=1}^{D} \binom{n}{k}": "∑ₖ₌₁ᴰ(n over k)",
    r"\mu^\top \Pr[H_0 \mid X_{1:t}=x] \ge 0": "μᵀ Pr[H₀ ∣ X_{1:t} = x] ≥ 0",
    r"\operatorname{KL}(p \,\|\, q)": "KL(p ‖ q)",
    r"\frac{a+b}{2c} = -1": "(a + b)/2c = −1",
    r"\max_{x} f(x)\log n": "maxₓ f(x) log n",
    r"\arg\max_i x_i": "arg maxᵢ xᵢ",
    r"O(\log T)": "O(log T)",
    r"\mathrm{TV}(P,Q) \le 10^{-9}": "TV(P, Q) ≤ 10⁻⁹",
    r"u(a; b) = P_\perp W_V e": "u(a; b) = P_⟂ W_V e",
    r"[W; -W]": "[W; −W]",
    r"M \sum_{k<y} \sum_i a_i + \|\cdot\|": "M∑_{k<y} ∑ᵢ aᵢ + ‖·‖",
    r"\tfrac12 P_y(A)": "(1/2)P_y(A)",
    r"\frac{q(y)}{\pi^*(y)} \ge \frac{(2j-1)\pi}{2(H-h)}": "q(y)/π*(y) ≥ (2j − 1)π/(2(H − h))",
    r"\frac{a(b+c) - 1}{\|a\|}": "(a(b + c) − 1)/‖a‖",
    r"\begin{pmatrix} a & b \\ c & d\end{pmatrix}": "(a, b; c, d)",
}


@pytest.mark.parametrize("tex", LINES)
def test_mathematics_in_a_terminal(tex):
    assert unicode(tex) == LINES[tex]


@pytest.mark.parametrize("tex", LINES)
def test_mathematics_in_a_page_is_well_formed(tex):
    assert ElementTree.fromstring(mathml(tex)).tag.endswith("math")


@pytest.mark.parametrize("tex", [r"\frac{1}", "x_", r"\nonsense x", "{", r"\left( x", "}", ""])
def test_what_is_no_latex_is_a_sentence(tex):
    with pytest.raises(ValueError, match=r"^\$.*\$ (is not LaTeX|has )"):
        mathml(tex)


def test_prose_with_mathematics_is_escaped_html():
    page = html("a **b** `x$y` costs \\$3 & <script> $x<y$ *em*\n\nnext")
    assert "<strong>b</strong>" in page and "<code>x$y</code>" in page and "costs $3 &amp;" in page
    assert "&lt;script&gt;" in page and "<mo>&#x0003C;</mo>" in page and "<em>em</em>" in page
    assert page.count("<p>") == 2
    assert plain(r"costs \$3 if $x_1 < y$") == "costs $3 if x₁ < y"


def test_signs_and_bars_are_set_close():
    assert mathml("[-1, -2] - 3").count('<mo form="prefix">&#x02212;') == 2
    assert mathml("a < -1").count('form="prefix"') == 1 and 'form="prefix"' not in mathml("(a) - 1")
    assert mathml("|a|/b").count('rspace="0.05em"') == 3


def test_no_line_begins_with_the_comma_after_a_formula():
    page = html("if $x$, then ($y$) and $z$ hold")
    assert page.count('<span class="bound"><math') == 2 and "</math>,</span> then" in page


def test_a_long_formula_may_be_broken_after_relations_and_signs():
    page = html(r"$a = b$ and $f(x_1, x_2) = \|g(x_1) - g(x_2)\| + \sum_{i=1}^n y_i + z \le -c$.")
    assert page.count("<math") == page.count("</math>") >= 4
    assert page.count('<mo form="infix">') == page.count("<math") - 2
    text = "".join(ElementTree.fromstring(page).itertext())
    assert text == "a=b and f(x1,x2)=‖g(x1)−g(x2)‖+∑i=1nyi+z≤−c."
    assert "</math>.</span>" in page and '<mo form="prefix">' in page
