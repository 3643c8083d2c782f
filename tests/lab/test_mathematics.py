"""Mathematics in prose: MathML for pages, Unicode for terminals, a sentence for what is no LaTeX."""

import re
from xml.etree import ElementTree

import pytest

from minicosm.lab.mathematics import html, inline, mathml, plain, unicode

LINES = {
    r"P[H_0 = h \mid x_{1:t}]": "P[H₀ = h ∣ x_{1:t}]",
    r"\|W^\top \mu\|_\infty \le \frac{1}{2}\sqrt{n+1}": "‖Wᵀμ‖_∞ ≤ (1/2)√(n + 1)",
    r"\hat p_{0,i} \in \mathcal{V}^{t+1}": "p̂_{0,i} ∈ 𝒱ᵗ⁺¹",
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
    r"M \sum_{k<y} \sum_i a_i + \|\cdot\|_{1,2}": "M∑_{k<y} ∑ᵢ aᵢ + ‖·‖_{1,2}",
    r"\tfrac12 P_y(A)": "(1/2)P_y(A)",
    r"\frac{q(y)}{\pi^*(y)} \ge \frac{(2j-1)\pi}{2(H-h)}": "q(y)/π*(y) ≥ (2j − 1)π/(2(H − h))",
    r"\frac{a(b+c) - 1}{\|a\|}": "(a(b + c) − 1)/‖a‖",
    r"(W^\dagger)^\top (\mu \odot p_0), \mathcal{H}^\star, \overline{G}_2": "(W†)ᵀ(μ ⊙ p₀), ℋ*, G\u0304₂",
    r"u = \mathbb{1}_{S}, \mathbf{0}, K \sim P": "u = 𝟙_S, 𝟎, K ∼ P",
    r"\tfrac12 \mathbb{E}_{x} \operatorname{Cov}(f)": "(1/2)𝔼ₓ Cov(f)",
    r"\frac{\Pr(x)}{|S|} \preceq C": "Pr(x)/|S| ⪯ C",
    r"\begin{pmatrix} a & b \\ c & d\end{pmatrix}": "(a, b; c, d)",
}


@pytest.mark.parametrize(
    "text, terminal, page",
    [
        ("D_8 less Dyck_4,2", "D₈ less Dyck₄,₂", "D<sub>8</sub> less Dyck<sub>4,2</sub>"),
        ("C_2^3, x_0", "C₂³, x₀", "C<sub>2</sub><sup>3</sup>, x<sub>0</sub>"),
        ("--set tasks=D_6 top_p test_2 D_8x", "--set tasks=D_6 top_p test_2 D_8x", None),
    ],
)
def test_names_with_an_index_need_no_dollars(text, terminal, page):
    assert plain(text) == terminal and inline(text) == (page or text)


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
    assert "&lt;script&gt;" in page and "<mo>&lt;</mo>" in page and "<em>em</em>" in page
    assert page.count("<p>") == 2
    assert plain(r"costs \$3 if $x_1 < y$") == "costs $3 if x₁ < y"


def test_signs_and_bars_are_set_close():
    assert mathml("[-1, -2] - 3").count('<mo form="prefix">−') == 2
    assert mathml("a < -1").count('form="prefix"') == 1 and 'form="prefix"' not in mathml("(a) - 1")
    assert mathml("|a|/b").count('rspace="0.05em"') == 3


def test_names_and_signs_are_spaced_by_what_stands_beside_them():
    assert '<mo lspace="0" rspace="0.167em">log</mo><mi>n</mi>' in mathml(r"\log n")
    assert '<mo lspace="0.167em" rspace="0">exp</mo>' in mathml(r"2 \exp(n)")
    assert '<mo lspace="0" rspace="0">max</mo><mi>i</mi>' in mathml(r"\max_i (x)")
    assert "<mi>·</mi>" in mathml(r"f(\cdot)") and "<mo>·</mo>" in mathml(r"a \cdot b")
    assert '<mo>,</mo><mo form="prefix">−</mo>' in mathml("(0, -2)") and "<mo>−</mo>" in mathml(
        "a-b"
    )
    assert '<mi mathvariant="normal">Γ</mi>' in mathml(r"\Gamma")
    assert "<mi>⋆</mi>" in mathml(r"x^\star") and "<mo>⪯</mo>" in mathml(r"A \preceq B")


def test_a_line_does_not_end_between_mathematics_and_what_stands_close_to_it():
    page = html("the $k$-Gibbs sampler ($x$ in $y$).")
    assert re.findall(
        r'<span class="near">(.*?)</span>', re.sub(r"<math.*?</math>", "M", page)
    ) == [
        "M-Gibbs",
        "(M",
        "M).",
    ]


def test_long_formulas_may_be_broken_after_relations_outside_of_brackets():
    page = inline(r"$(f(a = b))_i \le \sum_{j = 1}^n x_j + \log(n + 1)$, so")
    parts = re.findall(r'<span class="near">(.*?)</span>', page)
    assert [re.sub("<.*?>", "", part) for part in parts] == ["(f(a=b))i≤", "∑j=1nxj+", "log(n+1),"]
    assert inline("$x < y$").count("<math") == 1
