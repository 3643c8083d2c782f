"""What Transformers on a parity leak over all inputs, and how large each profile makes it: as large as the
trial with students, whose teachers these are."""

from minicosm.lab import Trial, sized

from .transformer_trials import Attention

SMOKE = {"d": 6, "k": 2, "layers": 1, "teacher_heads": 1, "student_heads": 1, "seeds": 2,
         "teacher_steps": 20, "steps": 20, "chunk": 5, "judged": 5, "every": 10, "shot": 10, "batch": 8,
         "tests": 64, "traces": 16}  # fmt: skip
PAPER = {"d": 100, "k": 6, "teacher_heads": 32, "student_heads": 4, "seeds": 5,
         "teacher_steps": 250_000, "steps": 250_000, "chunk": 2_500, "judged": 2_500,
         "every": 10_000, "shot": 10_000, "rate": 3e-4, "batch": 32}  # fmt: skip


@sized(Attention, smoke=SMOKE, laptop={}, paper=PAPER)
def leaks(config: Attention) -> dict[str, Trial]:
    """No students are trained; their sizes have no effect."""
    from .experiments import exact_leaks

    return {"leaks": Trial(exact_leaks.run, config)}
