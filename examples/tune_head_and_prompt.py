"""More states than tokens: the best head on the exact model errs, behind a tuned prompt it does not."""

import jax
import numpy as np

from minicosm.adaptation import HeadTuning, PromptTuning
from minicosm.worlds import PosteriorTask, covered_world

world, mu, *_ = covered_world(jax.random.key(3), hidden=8, vocab=4)
task = PosteriorTask(mu)  # label: 1(mu . P[H_0 | x] >= 0)
keys = jax.random.split(jax.random.key(1), 2000)
tokens = np.asarray(jax.jit(jax.vmap(lambda key: world.sample(key, 10).tokens))(keys))
labels = np.asarray(jax.jit(jax.vmap(lambda x: task.label(world, x)))(tokens))
train, test = slice(1500), slice(1500, None)
print(f"the more frequent label: {max(labels.mean(), 1 - labels.mean()):.1%}")

# The model can be any masked language model: here the exact one, as well a trained Transformer.
head = HeadTuning().fit(world, tokens[train], labels[train])
print(f"a linear head:           {head.score(tokens[test], labels[test]):.1%}")

prompt = PromptTuning(length=1).fit(world, tokens[train], labels[train], jax.random.key(5))
print(f"behind a tuned prompt:   {prompt.score(tokens[test], labels[test]):.1%}")
print("the prompt's row:", np.round(prompt.classifier.prompt.rows[0], 2))
print("predictions:", prompt.predict(tokens[test][:8]), "labels:", labels[test][:8])
