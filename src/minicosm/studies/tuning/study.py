"""The study's name, source and the code it stands on."""

from minicosm.lab import Study

STUDY = Study(
    name="head-and-prompt-tuning",
    title="Why tuning a head or a prompt on a language model works",
    source=(
        "C. Wei, S. M. Xie, T. Ma: Why Do Pretrained Language Models Help in Downstream Tasks? "
        "An Analysis of Head and Prompt Tuning. NeurIPS 2021"
    ),
    about=(
        "Text comes from a hidden Markov world; a label is a linear function of the exact posterior "
        "of a hidden variable; the model outputs exact conditionals and is frozen. When does a head "
        "on its outputs, with a soft prompt or without, compute the label? Every statement of the "
        "paper is run on random worlds in double precision, beside the statements that are wrong as "
        "printed, and the paper's experiments are run on the exact model and on pretrained Transformers, "
        "with the controls they need."
    ),
)
