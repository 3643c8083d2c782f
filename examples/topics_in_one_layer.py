"""Where one attention layer stores topics: exact optima, then a model that is trained to find them."""

import jax

from minicosm.models import BagAttention
from minicosm.theory.topics import best_attention, theorem_2_1_2
from minicosm.training import ARMS, Arm, BagLoss, draw_bags, fit
from minicosm.worlds import Corruption, TopicWorld, recover_topics, topic_agreement

bert = Corruption(chosen=0.15, kept=0.1, random=0.1)
world = TopicWorld(topics=10, words=10, per_document=3)  # documents are sets of 3 topics
stage1 = theorem_2_1_2(world, bert)  # the best value matrix under uniform attention
print(stage1.construction.value[1, [0, 2, 50]])  # for the mask, the same topic, another one
print(stage1.certify())
print(best_attention(world, bert, value="block"))
print(best_attention(world, bert, value="diagonal"))
print(f"Stage 1 {world.stage1_loss():.5f}, best possible {world.bayes_loss(bert):.5f}")

lda = TopicWorld(topics=5, words=6, dirichlet=0.1, lengths=(50, 60))
keys = jax.random.split(jax.random.key(0), 3)
bags = draw_bags(lda, bert, keys[0], 2000)  # masked documents, drawn beforehand
model = BagAttention.random(keys[1], words=lda.vocab)
arm, history = fit(BagLoss(bags), Arm(model, rate=0.02, cross_entropy=False), ARMS, 200, keys[2])
value = jax.device_get(arm.model.value)[1:, 1:]
print(f"squared loss {history['loss'][-1]:.3f}, of a uniform guess {1 - 1 / lda.vocab:.3f}")
print(topic_agreement(recover_topics(value, lda.topics), lda.labels))
