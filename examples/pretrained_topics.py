"""Topics in a pretrained masked model: pretrained_topics.py MODEL CORPUS (pip install 'minicosm[hf]')."""

import sys

import numpy as np

try:
    from transformers import AutoModelForMaskedLM, AutoTokenizer
except ImportError:
    raise SystemExit("this example needs transformers: pip install 'minicosm[hf]'") from None
from minicosm.text import read_topic_corpus
from minicosm.worlds import pair_attention, topic_pairs

name, corpus = sys.argv[1], read_topic_corpus(sys.argv[2], others="leave")
tokenizer = AutoTokenizer.from_pretrained(name, add_prefix_space=True)
model = AutoModelForMaskedLM.from_pretrained(name, attn_implementation="eager").eval()
ids, weights, documents = np.full(corpus.vocab, -1), [], []
for text in corpus.documents:
    batch = tokenizer([corpus.words[w] for w in text], is_split_into_words=True, truncation=True)
    owner = batch.word_ids()  # of every piece; only words of one piece count
    whole = [i for i, w in enumerate(owner) if w is not None and owner.count(w) == 1]
    documents.append(text[[owner[i] for i in whole]])
    ids[documents[-1]] = np.array(batch["input_ids"])[whole]
    maps = model(**batch.convert_to_tensors("pt", True), output_attentions=True).attentions
    weights.append(sum(maps)[0].mean(0)[whole][:, whole].detach().numpy() * len(owner) / len(maps))
pairs = topic_pairs(corpus.members & ~np.isin(ids, [-1, tokenizer.unk_token_id])[:, None])
rows = model.get_input_embeddings().weight.detach().numpy()[ids]
print("same topic and different: inner product", *((rows @ rows.T)[r].mean() for r in pairs))
read = pair_attention(weights, documents, corpus.vocab, debias=False)
print("attention, where uniform attention is 1:", *map(read.mean, pairs))
