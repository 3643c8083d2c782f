"""Results of Transformers as they would be if all went as the source says."""

import numpy as np

from minicosm.lab import TrialResult
from minicosm.studies.distillation import head_trials, leak_trials
from minicosm.studies.distillation import transformer_trials as trials

TIMES = {"labels": 2600, "one-shot, warm": 2400, "middle": 900, "progressive": 700}


def rising(steps, when):
    """Accuracy that rises from .5 to 1 in a hundred steps around one."""
    return np.clip(0.95 + (steps - when) / 200, 0.5, 1.0)


def attention(times=None, own=400, tight=True, teacher=None):
    config = trials.attention("laptop", 0)["attention"].config
    steps = np.arange(config.chunk, config.teacher_steps + 1, config.chunk)
    later = np.arange(config.judged, config.steps + 1, config.judged)
    seeds = np.arange(config.seeds)
    when = own + 25 * (seeds % 3)
    curve = np.stack([rising(steps, w) for w in when], axis=1)
    curves = {
        f"curve_{arm}": np.stack([rising(later, t + 100 * (s % 2)) for s in seeds], axis=1)
        for arm, t in (TIMES | (times or {})).items()
    }

    def first(level):
        return [int(steps[np.argmax(curve[:, i] > level)]) for i in seeds]

    support = curve if tight else np.sin(np.arange(curve.size)).reshape(curve.shape)
    numbers = {
        "teacher": teacher or [1.0] * config.seeds,
        "start": first(0.55), "middle": first(0.7), "end": first(0.97),
    }  # fmt: skip
    arrays = {
        "steps": steps, "student_steps": later, "teacher_curve": curve, **curves, "support": support,
        "paths": np.repeat(support[..., None], config.d, axis=2) / config.d,
    }  # fmt: skip
    return {"attention": TrialResult(numbers, arrays, config)}


def leaks(leak=0.05, teacher=None):
    """What is said of single variables before training and in the transition, seed by seed."""
    config = leak_trials.leaks("laptop", 0)["leaks"].config
    on = np.full((2, config.seeds, config.k - 1), 0.005)
    on[0, :, 0] = 0.005 * np.exp(0.5 * np.sin(np.arange(config.seeds)))
    on[1, :, 0] = leak * (1 + 0.02 * np.arange(config.seeds))
    numbers = {"teacher": teacher or [1.0] * config.seeds, "middle": [400] * config.seeds}
    return {"leaks": TrialResult(numbers, {"on": on, "off": np.full_like(on, 0.005)}, config)}


def heads(few=900, many=400, learned=None):
    """Steps with 90%; of the models with many heads only `learned` get there, if that is said."""
    config = head_trials.concatenated("laptop", 0)["heads"].config
    steps = np.arange(config.judged, config.steps + 1, config.judged)
    seeds = np.arange(config.seeds)
    curves = {
        arm: np.stack([rising(steps, when + 50 * (s % 3)) for s in seeds], axis=1)
        for arm, when in (("few", few), ("many", many))
    }
    curves["many"][:, seeds >= (config.seeds if learned is None else learned)] = 0.5
    return {"heads": TrialResult({}, {"steps": steps, **curves}, config)}


def next_tokens(low=1.0, high=3.0, loss=0.2, top=0.9):
    """Gains in points at the lowest and the highest height."""
    config = trials.next_tokens("laptop", 0)["next tokens"].config
    jitter = 0.1 * np.sin(np.arange(config.pairs))
    numbers = {}
    for height, gain in zip(
        config.heights, np.linspace(low, high, len(config.heights)), strict=True
    ):
        base = np.full(config.pairs, 0.7)
        numbers[str(height)] = {
            "floor": 1.0, "bayes": 0.05, "ceiling": 0.95, "error": 0.01, "loss": [loss] * config.teachers,
            "teacher_accuracy": [top] * config.teachers,
            "exact_robust": [0.1] * 4, "exact_close": [0.2] * 4,
            "accuracy": {"labels": (base - 0.02).tolist(), "one-shot": base.tolist(),
                         "progressive": (base + (gain + jitter * height) / 100).tolist()},
        }  # fmt: skip
    steps = np.arange(200, config.teacher_steps + 1, 200)
    many = (len(steps), config.teachers * len(config.heights))
    arrays = {"steps": steps, "losses": np.full(many, 0.4), "top": np.full(many, 0.8)}
    arrays |= {name: np.full((*many, 4), 0.3) for name in ("robust", "close")}
    arrays["grams"] = np.array([3, 4, 5, 9])
    return {"next tokens": TrialResult(numbers, arrays, config)}


def text(gain=1.0, fall=0.2, loss=3.0):
    config = trials.Text(seed=0)
    jitter = 0.1 * np.sin(np.arange(config.pairs))
    arms = {"labels": 0.2 + 0 * jitter, "one-shot": 0.25 + 0 * jitter,
            "progressive": 0.25 + (gain + jitter) / 100}  # fmt: skip
    numbers = {
        "floor": 5.0, "loss": [loss] * config.teachers, "windows": 100, "words": 50,
        "accuracy": {str(h): {k: v.tolist() for k, v in arms.items()} for h in config.horizons},
    }  # fmt: skip
    steps = np.arange(config.chunk, config.teacher_steps + 1, config.chunk)
    robust = np.full((len(steps), config.teachers, 4), 0.2)
    robust[3] += fall * (1 + 0.05 * np.arange(config.teachers))[:, None]
    arrays = {"steps": steps, "losses": robust[..., 0], "robust": robust}
    return {"sentences": TrialResult(numbers, arrays, config)}
