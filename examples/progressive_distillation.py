"""A small student of a sparse parity: from labels, and from one checkpoint of its teacher's transition."""

import equinox as eqx
import jax
import optax

from minicosm import training
from minicosm.training import Distilled, SignVectors, fit, keeping, labels_only
from minicosm.worlds import SparseParity

world = SparseParity(d=20, k=3)
task, sgd, key = SignVectors(world), optax.sgd(0.02), jax.random.key(5)
tests = SignVectors(world, batch=2000).draw(jax.random.key(9))


def train(name, width, loss, seed):
    def accuracy(model, done):
        return {"test": (jax.vmap(model)(tests.signs).argmax(axis=1) == tests.label).mean()}

    start = eqx.nn.MLP(world.d, 2, width, 1, key=jax.random.key(seed))
    model, seen = fit(loss, start, sgd, 12_000, key, chunk=500, watch=keeping(accuracy))
    print(f"{name}: 90% after {seen['step'][(seen['test'] > 0.9).argmax()]} steps")
    return training.Trajectory.of(seen, model), seen["test"]


teacher, curve = train("teacher", 256, labels := Distilled(task, labels_only(), block=500), 0)
train("student of labels", 16, labels, 1)
middle = int((curve > 0.75).argmax())  # the checkpoint in the middle of its transition
lesson = training.two_shot(middle, 4000, final=len(teacher) - 1)
train("student of one checkpoint", 16, Distilled.of(task, teacher, lesson, block=500), 1)
