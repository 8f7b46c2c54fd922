#!/usr/bin/env python3
"""Encodes thousands of awkward lines with the `tokenizers` package and writes what it says, for tests of the text room.

  build/venv/bin/python tests/text/make_goldens.py OUT [--model tokenizer.json] [--lines N] [--small FILE]

OUT gets, for each tokenizer NAME: NAME.json (the tokenizer), NAME.bin (what it makes of the lines) and, once, lines.bin. The
byte-level tokenizers are trained here, on the same lines, with the components of RoBERTa, GPT-2, Llama 3, SmolLM2 and Qwen2
files; others put components together that those do not use. Everything is seeded: two runs write the same bytes.

Numbers are little-endian uint32. lines.bin: count, then length and bytes of each. NAME.bin: for each record kind, line, partner
line + 1 (0: none), special tokens?, strategy, max_length, stride, side (0: right), then the encoding and its windows; 0xFFFFFFFF
in place of the window count where the package refuses. An encoding: size, then id, type id, special mask, begin, end, word id + 1
of each token. `kind` 1 is a decoding: skip?, then ids and the text.

--small FILE writes a few of the records as JSON instead, with the tokenizer inside: the golden that is committed.
"""
import argparse
import json
import os
import pathlib
import random
import struct

os.environ["RUST_BACKTRACE"] = "0"  # where we throw, the package panics; that need not fill the screen

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers)

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")

WORDS = """the of and to in is was for as on with by that it he from at his an are were which be this also had or has
first one their its new after who they two her she been other when there all during into school time may years more most
only over city some world would where later up such used many can state about national out known university united then
made people between under three war part both through before it's don't we'll I've they're you'd ain't I'm HE'S 'twas o'clock
Dr. e.g. U.S.A. 3.14 1,000,000 2026-11-30 12:34:56 50% $9.99 C++ C# foo_bar x=y+z http://example.org/a?b=c#d user@example.org
[CLS] [SEP] [MASK] <s> </s> <mask> <|endoftext|> <|begin_of_text|> <|im_start|> ##ing unaffable unbelievable tokenization""".split()

FIXED = [
    "", " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u200b", "\ufeff", "\u0000", "a\u0000b", "\ufffd", "a\ufffdb", "\u200d", "\u2028",
    "Luka Don\u010di\u0107 and Nikola Joki\u0107", "Luka Donc\u030cic\u0301 and Nikola Jokic\u0301", "Franti\u0161ek \u017didek\u2019s caf\u00e9", "e\u0301\u0323 e\u0323\u0301 \u1eb9\u0301",
    "\u306f\u3099\u306f\u309a\u30ab\u3099\u30ac\u304c\u304b\u3099 \uff76\uff9e\uff8a\uff9f", "\u041d\u043e \u0439 \u0438\u0306 \u0451 \u0415\u0308",
    "\U0001f600\U0001f601\U0001f602\U0001f603", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 family", "\U0001f1ed\U0001f1f7\U0001f1f8\U0001f1ee", "\U0001f44d\U0001f3fd ok", "\u2764\ufe0f\u200d\U0001f525",
    "\u4eca\u5929\u5929\u6c14\u5f88\u597d\u3002Hello\u4e16\u754c", "\u6771\u4eac\u90fd\u306b\u884c\u304d\u307e\u3059", "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165", "\u6d4b\u8bd5test\u6d4b\u8bd5", "\U00020000\U0002f800\uf900",
    "\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3 \u1fbc\u1fcc \u03ac\u03ad \u1f84\u0345", "\u0130stanbul I\u0131 i\u0307 \u0130\u0307", "STRASSE stra\u00dfe \u1e9e \ufb01\ufb02\ufb03 \ufb05", "\u01c4\u01c5\u01c6 \u2126 \u212b \u212a",
    " this is \U0001f999.cpp", "F\u00fchrer", "Caf\u00e9 d\u00e9j\u00e0 vu \u2014 123 \U0001f600", "\n\n\n  \n a", "a  \n  b\r\n\r\nc", "   leading", "trailing   ", "a\tb\u00a0c\u2003d\u3000e",
    "it's IT'S It'\u017f 'S's''s we'LL I'Ve 'tis 'Re", "1234567890 12 345 \u0661\u0662\u0663 \u00bd\u2153 \u2167 \u4e00\u4e8c \U0001d7d8", "!!!???...---___***", "a-b_c.d,e;f:g", "\u00bfQu\u00e9? \u00a1S\u00ed! \u00ab\u201equote\u201c\u00bb",
    "a" * 100, "a" * 101, "x" * 10000, "\u00e9" * 3000, "ab" * 600 + " end", "\u4e2d" * 300, "\U0001f600" * 120, " " * 500 + "x", "'" * 300, "1" * 1000, "a\u0301" * 300,
    "[MASK] [MASK]\u00a0 [MASK]x", "  <mask>  <mask> x<mask>y", "<s>hello</s>", "hello[SEP]world", "\u0f73\u0f75\u0344\u0958 \u1e9b\u0323", "\u0340\u0341\u0343\u0374\u037e\u0387", "\u1100\u1161\u11a8 \uac01\u11a8",
    "\u0915\u094d\u0937\u093f \u0e01\u0e33 \u0639\u0650\u0631\u064e\u0628\u0650\u064a\u0651 \u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd", "\ufb2c\u05c1 \ufb49", "\u2460\u2461 \u33a1 \uff21\uff22\uff43 \uff11 \u2075 x\u00b2", "\U0001d400\U0001d56b \U0001f150", "\u202eright-to-left\u202c \u00ad soft",
    "\ue000\U000f0000 private", "\u0378\U000e0001 unassigned", "\U00031350 \U0002ebf0 \u1c89 \ua7cb \U00010d50", "\U00011938 \U00011935\U00011930", "\u1cf2 \u166d \u1b7d \U000111c9",
]

ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789\u0661\u0967\u00bd\u00b2\u2167", " \t\n\r\u00a0\u2003\u3000\u0085\u2028\u000b", ".,;:!?'\"()[]{}<>-_+=*/\\|@#$%^&~`",
    "\u00e9\u00e8\u00fc\u00f6\u00df\u00f1\u00e7\u0107\u010d\u0161\u017e\u0142\u0130\u0131\u017f\u1e9e\u00c5\u00d8", "\u0301\u0308\u0323\u030c\u0345\u0327\u0338\u3099\u309a\u05b8\u0651\u093c\u0f71\u0f72", "\u0391\u03a3\u03c3\u03c2\u1f00\u1f84\u1fb3\u03af\u03ca",
    "\u0410\u0411\u0439\u0451\u0407\u0453", "\u4e2d\u6587\u65e5\u672c\u8a9e\uf900\U00020000\U0002a700\U00031350", "\u304b\u304c\u306f\u3070\u3071\u30ab\u30ac\uff76\uff9e\u30fc", "\uac00\uac01\ud55c\u1112\u1161\u11ab",
    "\U0001f600\U0001f468\u200d\U0001f469\ufe0f\U0001f3fd\U0001f1e6\u2764\u20e3", "\u0000\u0001\u0007\u001f\u007f\u0080\u00ad\u200b\u200c\u200e\u202e\u2060\ufeff\ufffd\ufffe\ue000",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629\u05d0\u05dc\u05d5\u0915\u094d\u0937\u0e01\u0e33\u1780\u17d2", "\u2460\u33a1\ufb01\uff21\u2126\u212b\u1d2c\u3392\U0001d400",
]


def make_lines(count):
    rng = random.Random(20261130)
    lines = list(FIXED)

    def word():
        kind = rng.random()
        if kind < 0.6:
            w = rng.choice(WORDS)
            return rng.choice((w, w, w, w.capitalize(), w.upper()))
        if kind < 0.75:
            return "".join(rng.choice(rng.choice(ALPHABETS[:2])) for _ in range(rng.randint(1, 14)))
        if kind < 0.95:
            alphabet = rng.choice(ALPHABETS)
            return "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 8)))
        return "".join(rng.choice(rng.choice(ALPHABETS)) for _ in range(rng.randint(1, 12)))

    def any_char():
        while True:
            c = rng.randrange(rng.choice((0x80, 0x250, 0x3100, 0x10000, 0x20000, 0x110000)))
            if not 0xD800 <= c <= 0xDFFF:
                return chr(c)

    while len(lines) < count:
        kind = rng.random()
        if kind < 0.7:
            separators = (" ", " ", " ", " ", " ", "  ", "", "\n", ", ", ". ", "\u00a0", " - ", "\t")
            line = "".join(word() + rng.choice(separators) for _ in range(rng.randint(1, 24)))
        elif kind < 0.85:
            line = "".join(rng.choice(rng.choice(ALPHABETS)) for _ in range(rng.randint(1, 60)))
        else:
            line = "".join(any_char() for _ in range(rng.randint(1, 40)))
        lines.append(line)
    return lines


def byte_level(lines, size, specials, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    return tokenizer, trainer


def make_tokenizers(lines, model_file):
    out = {}
    if model_file:
        out["bert"] = Tokenizer.from_file(str(model_file))

    t, trainer = byte_level(lines, 3000, ["<s>", "<pad>", "</s>", "<unk>"])
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(lines, trainer)
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    t.post_processor = processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")),
                                                    trim_offsets=True, add_prefix_space=False)
    out["roberta"] = t

    t = Tokenizer.from_str(t.to_str())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.post_processor = processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")),
                                                    trim_offsets=True, add_prefix_space=True)
    out["roberta_prefix"] = t

    t, trainer = byte_level(lines, 2500, ["<|endoftext|>"])
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(lines, trainer)
    out["gpt2"] = t

    def split(pattern):
        return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])

    t, trainer = byte_level(lines, 4000, ["<|begin_of_text|>", "<|end_of_text|>"], ignore_merges=True)
    t.pre_tokenizer = split(LLAMA3)
    t.train_from_iterator(lines, trainer)
    bos = ("<|begin_of_text|>", t.token_to_id("<|begin_of_text|>"))
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|>:0 $A:0 <|begin_of_text|>:1 $B:1",
                                      special_tokens=[bos])])
    t.decoder = decoders.ByteLevel()
    out["llama3"] = t

    t, trainer = byte_level(lines, 3500, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(lines, trainer)
    out["smollm2"] = t

    t, trainer = byte_level(lines, 3500, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = split(QWEN2)
    t.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(lines, trainer)
    out["qwen2"] = t

    t, trainer = byte_level(lines, 3000, [])
    t.pre_tokenizer = split(O200K)  # no scanner of our own: Oniguruma runs it
    t.post_processor = processors.ByteLevel(trim_offsets=True)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(lines, trainer)
    out["regex"] = t

    # Llama 2: no pre-tokenizer, characters, bytes for the rest.
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    words = [w for line in lines[:1500] if len(line) < 400 for w in line.split(" ")]
    trainer = trainers.BpeTrainer(vocab_size=1500, limit_alphabet=300, show_progress=False,
                                  special_tokens=["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256) if b != 0xF0])
    t.train_from_iterator(words, trainer)
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1",
                                                     special_tokens=[("<s>", t.token_to_id("<s>"))])
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])
    out["llama2"] = t

    t = Tokenizer.from_str(t.to_str())
    t.normalizer = normalizers.NFKC()
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    t.post_processor = None
    t.decoder = decoders.Metaspace(prepend_scheme="first")
    t.add_tokens([AddedToken("year", single_word=True), AddedToken(" of ", rstrip=True, normalized=False),
                  AddedToken("\u00c9t\u00e9", normalized=True)])
    out["metaspace"] = t

    # The old style: cased, suffix at the end of words, unknown characters.
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", continuing_subword_prefix="@@"))
    t.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Strip(),
                                         normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous")])
    t.train_from_iterator(lines[:2500], trainers.BpeTrainer(
        vocab_size=1500, limit_alphabet=120, special_tokens=["<unk>"], show_progress=False, end_of_word_suffix="</w>",
        continuing_subword_prefix="@@"))
    t.decoder = decoders.BPEDecoder(suffix="</w>")
    out["suffix"] = t

    vocab = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}
    for line in lines[:3000]:
        for w in line.split():
            for piece in (w[:3], w[:1], "##" + w[1:2], "##" + w[1:4], w if len(w) < 9 else "", w.lower()[:5]):
                if piece and piece != "##":
                    vocab.setdefault(piece, len(vocab))
    t = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=40))
    t.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=False)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    t.decoder = decoders.WordPiece()
    t.add_special_tokens([AddedToken("[MASK]", lstrip=True, rstrip=True, special=True)])
    out["bert_cased"] = t

    t = Tokenizer.from_str(t.to_str())
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=False),
                                               pre_tokenizers.Split("e", "merged_with_previous"),
                                               pre_tokenizers.Split(Regex("[aou]+"), "merged_with_next"),
                                               pre_tokenizers.Split("i", "removed", invert=False)])
    out["pieces"] = t
    return out


class Writer:
    def __init__(self, path):
        self.file = open(path, "wb")

    def u32(self, *values):
        self.file.write(struct.pack("<%dI" % len(values), *values))

    def text(self, s):
        raw = s.encode()
        self.u32(len(raw))
        self.file.write(raw)

    def encoding(self, e):
        flat = [len(e.ids)]
        for row in zip(e.ids, e.type_ids, e.special_tokens_mask, e.offsets, e.word_ids):
            flat += (row[0], row[1], row[2], row[3][0], row[3][1], 0 if row[4] is None else row[4] + 1)
        self.u32(*flat)


EVERY_LINE = {"bert", "roberta", "gpt2", "llama3", "smollm2", "qwen2"}  # the others take every fourth
STRATEGIES = ["longest_first", "only_first", "only_second"]


def write(tokenizer, lines, path, step):
    rng = random.Random(7)
    out = Writer(path)

    def record(line, partner, special, truncation=None):
        strategy, length, stride, side = truncation or (0, 0, 0, 0)
        out.u32(0, line, 0 if partner is None else partner + 1, int(special), strategy, length, stride, side)
        try:
            if truncation:
                tokenizer.enable_truncation(length, stride=stride, strategy=STRATEGIES[strategy],
                                            direction="left" if side else "right")
            else:
                tokenizer.no_truncation()
            e = tokenizer.encode(lines[line], None if partner is None else lines[partner], add_special_tokens=special)
        except BaseException:  # the package panics where we throw
            out.u32(0xFFFFFFFF)
            return None
        out.u32(1 + len(e.overflowing))
        for part in [e] + e.overflowing:
            out.encoding(part)
        return e

    for i in range(0, len(lines), step):
        e = record(i, None, True)
        skip = bool(i % 2)
        out.u32(1, int(skip), len(e.ids), *e.ids)
        out.text(tokenizer.decode(e.ids, skip_special_tokens=skip))
        if i % 3 == 0:
            record(i, None, False)
        j = rng.randrange(len(lines))
        if len(lines[i]) + len(lines[j]) < 1000:
            record(i, j, bool(i % 3))
            length = rng.randint(4, 40)
            stride = rng.randint(0, max(0, length // 2 - 3))
            truncation = (rng.randrange(3), length, stride, rng.randrange(2))
            if i % 2:
                record(i, j if rng.random() < 0.7 else None, bool(i % 5), truncation)


def small(tokenizers, lines, path):
    """A cut-down BERT and the GPT-2 kind, a few records each, as one readable file."""
    words = [line for line in lines[:len(FIXED)] if len(line) <= 60][:70]
    out = {"lines": words, "tokenizers": []}
    keep = json.loads(tokenizers["bert"].to_str())
    full = keep["model"]["vocab"]
    used = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    for line in words:
        used.update(tokenizers["bert"].encode(line).tokens)
    keep["model"]["vocab"] = {t: full[t] for t in sorted(used, key=full.get) if t in full}
    gpt2, trainer = byte_level(words, 420, ["<|endoftext|>"])
    gpt2.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    gpt2.post_processor = processors.ByteLevel(trim_offsets=True, add_prefix_space=False)
    gpt2.decoder = decoders.ByteLevel()
    gpt2.train_from_iterator(words, trainer)
    for source in (json.dumps(keep), gpt2.to_str()):
        t = Tokenizer.from_str(source)
        records = []
        for i, line in enumerate(words):
            t.no_truncation()
            e = t.encode(line)
            pair = t.encode(line, words[-1 - i])
            t.enable_truncation(12, stride=3)
            cut = t.encode(line, words[-1 - i])
            records.append({"ids": e.ids, "offsets": e.offsets, "text": t.decode(e.ids), "pair_ids": pair.ids,
                            "pair_types": pair.type_ids, "pair_mask": pair.special_tokens_mask,
                            "windows": [w.ids for w in [cut] + cut.overflowing]})
        out["tokenizers"].append({"json": json.loads(source), "records": records})
    body = json.dumps(out, ensure_ascii=True, separators=(",", ":")).replace('{"ids"', '\n{"ids"')
    pathlib.Path(path).write_text(body + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--model")
    parser.add_argument("--lines", type=int, default=5000)
    parser.add_argument("--small")
    args = parser.parse_args()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    lines = make_lines(args.lines)
    tokenizers = make_tokenizers(lines, args.model)
    if args.small:
        small(tokenizers, lines, args.small)
        return
    writer = Writer(out / "lines.bin")
    writer.u32(len(lines))
    for line in lines:
        writer.text(line)
    names = []
    for name, tokenizer in tokenizers.items():
        (out / f"{name}.json").write_text(tokenizer.to_str())
        write(tokenizer, lines, out / f"{name}.bin", 1 if name in EVERY_LINE else 4)
        names.append(name)
    (out / "names.txt").write_text("\n".join(names) + "\n")  # last: its presence says that all is there


main()
