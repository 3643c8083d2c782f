"""Real text and code: files in two languages, subwords, BLEU, and running a program that is judged."""
