"""The explorer's notebook: widgets, wired to the panels.

`minicosm explore` runs it; `marimo edit` of this file changes it.
"""

import marimo

app = marimo.App(width="medium", app_title="minicosm explorer", css_file="explorer.css")

with app.setup:
    import marimo as mo

    from minicosm.explorer import settings
    from minicosm.explorer.computing import compute
    from minicosm.explorer.page import prose


@app.cell
def _():
    TABS = {"Hidden states": "markov", "Brackets": "brackets", "VGB": "tree", "Spins": "spins"}
    tab = mo.ui.tabs(dict.fromkeys(TABS, ""), label="")
    mo.vstack([mo.Html("<h1>minicosm explorer</h1>"), tab])
    return TABS, tab


@app.cell
def _(TABS, tab):
    chosen = TABS[tab.value]
    return (chosen,)


@app.cell
def _():
    _first = settings.WORLD
    _names = {key: name for name, key in settings.KINDS.items()}
    kind = mo.ui.dropdown(settings.KINDS, value=_names[_first["kind"]], label="World")
    hidden = mo.ui.slider(2, 8, value=_first["hidden"], label="States", show_value=True)
    vocab = mo.ui.slider(2, 8, value=_first["vocab"], label="Tokens", show_value=True)
    seed = mo.ui.number(0, 9999, value=_first["seed"], label="Seed")
    temperature = mo.ui.slider(
        steps=[0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0], value=_first["temperature"],
        label="Temperature (softmax)", show_value=True,
    )  # fmt: skip
    sparse = mo.ui.checkbox(value=_first["sparse"], label="Zeros in emissions (independent)")
    return hidden, kind, seed, sparse, temperature, vocab


@app.cell
def _(hidden, kind, seed, sparse, temperature, vocab):
    _settings = kind.value, hidden.value, vocab.value, int(seed.value or 0)
    texts, refused = compute("texts_of_world", *_settings, temperature.value, sparse.value)
    A = mo.ui.text_area(
        texts["A"], label="A: next state (row), state", rows=hidden.value, full_width=True
    )
    W = mo.ui.text_area(
        texts["W"], label="W: token (row), state", rows=hidden.value, full_width=True
    )
    p0 = mo.ui.text(texts["p0"], label="p0: start", full_width=True)
    mu = mo.ui.text(texts["mu"], label="mu: the task's weights", full_width=True)
    tokens = mo.ui.text(texts["tokens"], label="Tokens; ? is not seen", full_width=True)
    return A, W, mu, p0, refused, tokens


@app.cell
def _(chosen, hidden, kind, refused, seed, sparse, temperature, vocab):
    mo.stop(chosen != "markov")
    mo.vstack([
        mo.Html(prose(settings.ABOUT["markov"])),
        mo.hstack([kind, hidden, vocab, seed, temperature, sparse], wrap=True, justify="start"),
        mo.Html(refused),
    ])  # fmt: skip


@app.cell
def _(A, W, chosen, mu, p0, tokens):
    mo.stop(chosen != "markov")
    mo.vstack([mo.hstack([A, W], wrap=True, widths="equal"), p0, mu, tokens])


@app.cell
def _(A, W, chosen, p0, refused, tokens):
    mo.stop(chosen != "markov" or bool(refused))
    mo.Html(compute("answers", A.value, W.value, p0.value, tokens.value))


@app.cell
def _(A, W, chosen, mu, p0, refused):
    mo.stop(chosen != "markov" or bool(refused))
    mo.Html(compute("theorems", A.value, W.value, p0.value, mu.value))


@app.cell
def _():
    _first = settings.BRACKETS
    text = mo.ui.text(_first["text"], label="Brackets", full_width=True, debounce=False)
    attention_seed = mo.ui.slider(0, 9, value=_first["seed"], label="Balanced attention, draw",
                                  show_value=True)  # fmt: skip
    return attention_seed, text


@app.cell
def _(attention_seed, chosen, text):
    mo.stop(chosen != "brackets")
    mo.vstack([
        mo.Html(prose(settings.ABOUT["brackets"])),
        text, attention_seed,
    ])  # fmt: skip


@app.cell
def _(attention_seed, chosen, text):
    mo.stop(chosen != "brackets")
    mo.Html(compute("brackets", text.value, attention_seed.value))


@app.cell
def _():
    _first = settings.TREE
    bits = mo.ui.slider(2, settings.MOST_BITS, value=_first["bits"], label="Bits", show_value=True)
    noise = mo.ui.slider(0, 2, 0.1, value=_first["noise"], label="Error of the verifier",
                         show_value=True)  # fmt: skip
    tree_seed = mo.ui.number(0, 9999, value=_first["seed"], label="World")
    walk_seed = mo.ui.number(0, 9999, value=_first["walk_seed"], label="Walk")
    walk_step = mo.ui.slider(0, settings.WALK_STEPS, value=_first["step"], label="Step",
                             show_value=True, full_width=True)  # fmt: skip
    return bits, noise, tree_seed, walk_seed, walk_step


@app.cell
def _(bits, chosen, noise, tree_seed, walk_seed, walk_step):
    mo.stop(chosen != "tree")
    mo.vstack([
        mo.Html(prose(settings.ABOUT["tree"])),
        mo.hstack([bits, noise, tree_seed, walk_seed], wrap=True, justify="start"),
        walk_step,
    ])  # fmt: skip


@app.cell
def _(bits, chosen, noise, tree_seed, walk_seed, walk_step):
    mo.stop(chosen != "tree")
    _seeds = int(tree_seed.value or 0), int(walk_seed.value or 0)
    mo.Html(compute("tree", bits.value, noise.value, *_seeds, walk_step.value))


@app.cell
def _():
    _first = settings.SPINS
    shape = mo.ui.dropdown(settings.SHAPES, value=_first["shape"], label="Neighbours")
    count = mo.ui.slider(
        3, settings.MOST_SPINS, value=_first["count"], label="Spins", show_value=True
    )
    heat = mo.ui.slider(0.2, 3, 0.1, value=_first["temperature"], label="Temperature",
                        show_value=True)  # fmt: skip
    field = mo.ui.slider(-0.5, 0.5, 0.05, value=_first["field"], label="Field", show_value=True)
    block = mo.ui.slider(1, settings.MOST_SPINS, value=_first["k"], label="Block", show_value=True)
    run_seed = mo.ui.number(0, 9999, value=_first["seed"], label="Run")
    spin_step = mo.ui.slider(0, settings.CHAIN_STEPS, value=_first["step"], label="Step", show_value=True,
                             full_width=True)  # fmt: skip
    return block, count, field, heat, run_seed, shape, spin_step


@app.cell
def _(block, chosen, count, field, heat, run_seed, shape, spin_step):
    mo.stop(chosen != "spins")
    mo.vstack([
        mo.Html(prose(settings.ABOUT["spins"])),
        mo.hstack([shape, count, heat, field, block, run_seed], wrap=True, justify="start"),
        spin_step,
    ])  # fmt: skip


@app.cell
def _(block, chosen, count, field, heat, run_seed, shape, spin_step):
    mo.stop(chosen != "spins")
    _settings = shape.value, count.value, heat.value, field.value, block.value
    mo.Html(compute("ising", *_settings, int(run_seed.value or 0), spin_step.value))


if __name__ == "__main__":
    app.run()
