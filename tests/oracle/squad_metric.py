"""SQuAD v1.1 exact match and F1: lower case, no punctuation, no articles, single spaces; best over the accepted answers; mean x 100."""

import collections
import re
import string

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = set(string.punctuation)


def normalise(text):
    text = "".join(c for c in text.lower() if c not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def f1(prediction, reference):
    a, b = normalise(prediction).split(), normalise(reference).split()
    same = sum((collections.Counter(a) & collections.Counter(b)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(a), same / len(b)
    return 2 * precision * recall / (precision + recall)


def squad_metrics(predictions, references):
    """predictions: id -> text, references: id -> accepted texts. Returns exact_match and f1 in percent, a missing prediction scores 0."""
    em = total = 0.0
    for key, accepted in references.items():
        if key in predictions:
            em += max(normalise(predictions[key]) == normalise(a) for a in accepted)
            total += max(f1(predictions[key], a) for a in accepted)
    n = len(references)
    return {"exact_match": 100.0 * em / n, "f1": 100.0 * total / n, "samples": n}
