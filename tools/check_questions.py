#!/usr/bin/env python3
"""Check a SQuAD v1.1 file: structure, ids, answer offsets in code points, counts, and the length of its passages in tokens.

  check_questions.py examples/data/questions.json --tokenizer models/minilm-l6-squad/tokenizer.json \\
      --min-questions 160 --min-passages 40 --min-long 6

Prints a summary; lists every problem and ends with status 1 if there is one. Token lengths need the `tokenizers` wheel.
"""

import argparse
import json
import sys
import unicodedata
from pathlib import Path


def check(document):
    """(problems, passages, questions) of a parsed file; each question comes with its passage."""
    problems, passages, questions, ids = [], [], [], {}

    def need(ok, where, what):
        if not ok:
            problems.append(f"{where}: {what}")
        return ok

    need(document.get("version") == "1.1", "version", "is not '1.1'")
    for a, article in enumerate(document.get("data", [])):
        at = f"data[{a}]"
        need(isinstance(article.get("title"), str) and article["title"].strip(), at, "has no title")
        for p, paragraph in enumerate(article.get("paragraphs", [])):
            at = f"data[{a}].paragraphs[{p}]"
            context = paragraph.get("context")
            if not need(isinstance(context, str) and context.strip(), at, "has no context"):
                continue
            need(context == context.strip(), at, "context begins or ends with white space")
            need(unicodedata.is_normalized("NFC", context), at, "context is not in NFC")
            need(context not in passages, at, "context occurs twice")
            need(paragraph.get("qas"), at, "has no questions")
            passages.append(context)
            for q, qa in enumerate(paragraph.get("qas", [])):
                where = f"{at}.qas[{q}]"
                key, question = qa.get("id"), qa.get("question")
                if need(isinstance(key, str) and key, where, "has no id"):
                    need(key not in ids, where, f"id {key!r} was used at {ids.get(key)}")
                    ids[key] = where
                need(
                    isinstance(question, str) and question.strip().endswith("?"), where, "question does not end in '?'"
                )
                if not need(qa.get("answers"), where, "has no answers"):
                    continue
                seen = set()
                for answer in qa["answers"]:
                    text, start = answer.get("text"), answer.get("answer_start")
                    if not need(
                        isinstance(text, str) and text and text == text.strip(), where, f"bad answer text {text!r}"
                    ):
                        continue
                    if not need(
                        isinstance(start, int) and not isinstance(start, bool), where, f"bad answer_start {start!r}"
                    ):
                        continue
                    found = context[start : start + len(text)] if start >= 0 else ""
                    need(found == text, where, f"answer {text!r} is not at {start}, {found!r} is")
                    need((start, text) not in seen, where, f"answer {text!r} is listed twice")
                    seen.add((start, text))
                questions.append((qa, context))
    return problems, passages, questions


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("file")
    ap.add_argument("--tokenizer", help="tokenizer.json; without it token lengths are not checked")
    ap.add_argument("--window", type=int, default=384, help="tokens of one window (default %(default)s)")
    ap.add_argument("--min-questions", type=int, default=1)
    ap.add_argument("--min-passages", type=int, default=1)
    ap.add_argument("--min-long", type=int, default=0, help="passages that must be longer than a window")
    args = ap.parse_args()
    try:
        document = json.loads(Path(args.file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        sys.exit(f"{args.file}: {error}")
    problems, passages, questions = check(document)
    answers = [a["text"] for qa, _ in questions for a in qa["answers"]]
    summary = {
        "articles": len(document["data"]),
        "passages": len(passages),
        "questions": len(questions),
        "answers": len(answers),
        "questions_with_several_answers": sum(len(qa["answers"]) > 1 for qa, _ in questions),
        "answers_with_digits": sum(any(c.isdigit() for c in t) for t in answers),
        "answers_beyond_ascii": sum(not t.isascii() for t in answers),
        "answers_not_latin": sum(
            any(c.isalpha() and not unicodedata.name(c).startswith("LATIN") for c in t) for t in answers
        ),
        "answers_after_non_bmp": sum(
            any(ord(c) > 0xFFFF for c in text[: qa["answers"][0]["answer_start"]]) for qa, text in questions
        ),
        "answers_at_the_end": sum(
            any(a["answer_start"] + len(a["text"]) == len(text) for a in qa["answers"]) for qa, text in questions
        ),
    }
    if args.tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(args.tokenizer)
        lengths = sorted(len(tokenizer.encode(p, add_special_tokens=False).ids) for p in passages)
        summary["passage_tokens"] = (
            {"min": lengths[0], "median": lengths[len(lengths) // 2], "max": lengths[-1]} if lengths else {}
        )
        long = sum(n > args.window for n in lengths)
        summary["passages_longer_than_a_window"] = long
        summary["passages_longer_than_two_windows"] = sum(n > 2 * args.window for n in lengths)
        if long < args.min_long:
            problems.append(
                f"{long} passages are longer than {args.window} tokens, at least {args.min_long} are wanted"
            )
    for name, least in (("questions", args.min_questions), ("passages", args.min_passages)):
        if summary[name] < least:
            problems.append(f"{summary[name]} {name}, at least {least} are wanted")
    print(json.dumps(summary, indent=1))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
