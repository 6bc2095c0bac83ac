#!/usr/bin/env python3
"""Makes test/tokenizers/goldens: small tokenizers of every family, hard strings, and what the `tokenizers` library
makes of them. Needs Python with `tokenizers` and `sentencepiece` (for its table of replacements); no downloads besides.

  text.txt        what the tokenizers were trained on; made once from the pages in docs/, then kept
  strings.jsonl   2,000 strings; {"hex": …} are bytes that are not UTF-8, which count as Python's errors="replace" reads
  them NAME.json       a tokenizer
  NAME.hashes     a line for each string: hashes of its ids, of its ids with special tokens, of the text those decode to
                  with special tokens and without
  ids.json        the ids themselves for the first strings, to see what differs
  stages.json     pieces and normal forms of single stages
"""

import glob
import json
import os
import random
import tempfile
import unicodedata

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(HERE, "goldens")
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
FOREIGN = """
Съешь же ещё этих мягких французских булок, да выпей чаю. Щастлива, как девочка.
Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. Ça va, ma chère? Voilà l'été à Besançon.
El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia y frío, añoraba a su querido cachorro.
色は匂へど散りぬるを我が世誰ぞ常ならむ。有為の奥山今日越えて、浅き夢見じ酔ひもせず。今日は日本語の文章です。
天地玄黃,宇宙洪荒。日月盈昃,辰宿列張。寒來暑往,秋收冬藏。我们今天学习中文。
키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다.
نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر ومغلف بجلد أزرق
ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश करने वाले
เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน
Ξεσκεπάζω τὴν ψυχοφθόρα βδελυγμία. Tiếng Việt: Cụ thể, bạn sẽ tham gia một nhóm các giám đốc.
It's what they'd said: we'll go, you've won, I'm sure they're 'quoted'. DON'T! It’s 10,000 or 3.14159, not 1e-7.
😀 😃 👍🏽 👨‍👩‍👧 🇩🇪 ❤️ ☃ ✈️ 🎉🎉
"""


def training_text():
    path = os.path.join(OUT, "text.txt")
    if not os.path.exists(path):
        pages = [open(p, encoding="utf-8").read() for p in sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))]
        code = [open(os.path.join(ROOT, "lib", n), encoding="utf-8").read() for n in ("nn.shf", "optim.shf")]
        with open(path, "w", encoding="utf-8") as f:
            f.write("".join(p[:9000] for p in pages) + "".join(c[:9000] for c in code) + FOREIGN * 3)
    return open(path, encoding="utf-8", newline="").read()


def hard_strings(text, count=2000):
    rng = random.Random(20240917)
    words = text.split()
    lines = [l for l in text.split("\n") if l.strip()]
    spaces = [
        " ",
        "  ",
        "   ",
        "        ",
        "\t",
        "\t\t",
        "\n",
        "\n\n",
        "\r\n",
        " \n ",
        "\u00a0",
        "\u3000",
        "\u2003",
        "\u2028",
        "\u202f",
        "\u0085",
        "\u180e",
        "\u200b",
        "\x0b",
        "\x0c",
        " \t ",
        "    \n    ",
        "\r",
        "\u1680",
        "\ufeff",
        "\u2060",
    ]
    emoji = [
        "😀",
        "👍🏽",
        "👨‍👩‍👧‍👦",
        "🇩🇪",
        "🇯🇵🇫🇷",
        "❤️",
        "☃",
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "1️⃣",
        "🤷🏿‍♀️",
        "🎉",
        "👩🏻‍💻",
        "✈️",
        "🧑‍🚀",
        "©",
        "™",
        "🫠"[:0] + "🥲",
    ]
    marks = [
        "e\u0301",
        "a\u0308\u0304",
        "n\u0303",
        "Z\u0351\u036b\u0343\u036a\u0302",
        "o\u0323\u0302",
        "\u0301",
        "ś\u0323",
        "A\u030a",
        "क्षि",
        "ที่",
        "ﷺ",
        "เเ",
        "\u1112\u1161\u11ab",
        "ậ",
        "İ",
        "ẞ",
        "Σίσυφος",
        "ǅ",
        "ﬁﬂ",
        "Å",
        "ﬀ",
        "Ⓐⓑ",
        "𝕳𝖊𝖑𝖑𝖔",
        "ｆｕｌｌ　ｗｉｄｔｈ",
        "ŉ",
        "ſt",
        "Ǆ",
        "ΐ",
    ]
    digits = [
        "0",
        "7",
        "42",
        "123",
        "1234567890",
        "3.14159",
        "1e-7",
        "10,000",
        "0x1F",
        "٣٤٥",
        "१२३",
        "Ⅷ",
        "½",
        "x²",
        "①②",
        "１２３",
        "1_000",
        "00012",
        "-5",
        "+49 30 1234",
    ]
    apostrophes = [
        "it's",
        "IT'S",
        "don't",
        "we'll",
        "WE'LL",
        "they're",
        "you've",
        "I'm",
        "he'd",
        "’s",
        "it’s",
        "'s",
        "''",
        "'tis",
        "o'clock",
        "rock'n'roll",
        "'\u017f",
        "'LL've",
    ]
    code = [
        "def f(x):\n    return x**2\n",
        "for (int i = 0; i < n; ++i) { a[i] += b[i]; }",
        "(defn f [x] (* x 2))",
        '<div class="a">&amp;</div>',
        "a->b::c",
        "x != y && z || !w",
        '\\n\\t\\"',
        "https://example.org/a?b=c&d=%20#e",
        "user@example.com",
        "#include <stdio.h>",
        "$HOME/.config",
        "---\n- a: 1\n- b: [2, 3]\n",
        "SELECT * FROM t;",
        "...",
        "!!!???",
        "=====",
        "/* c */ // d",
        "{{x}}",
        "CamelCaseWord",
        "snake_case_word",
        "kebab-case-word",
    ]
    scripts = [
        "日本語",
        "これはテストです。",
        "中文字符",
        "한국어 텍스트",
        "Привет, мир!",
        "Ελληνικά",
        "עברית",
        "العربية",
        "हिन्दी",
        "ภาษาไทย",
        "tiếng Việt",
        "ქართული",
        "𠜎𠜱",
        "ｶﾀｶﾅ",
        "ünïcödé",
        "ÀÉÎÕÜ",
        "żółć",
        "ĳ",
        "ß",
    ]
    odd = [
        "\x00",
        "\x01",
        "\x1b[0m",
        "\x7f",
        "\u200d",
        "\u200e",
        "\ufffd",
        "\ue000",
        "\U000f0000",
        "\u2581",
        "▁▁",
        "Ġ",
        "Ċ",
        "##",
        "</w>",
        "\u00ad",
        "<0x41>",
        "\U0010ffff",
        "\u0600",
    ]
    special = [
        "<|endoftext|>",
        "<|begin_of_text|>",
        "[MASK]",
        "[CLS]",
        "[SEP]",
        "<s>",
        "</s>",
        "<unk>",
        "<pad>",
        "<extra_id_0>",
        "<word>",
        "<left>",
        "<right>",
        "Hello",
        "<|endoftext",
        "[mask]",
        "<WORD>",
        "x<word>y",
    ]
    pools = [words, words, words, spaces, spaces, emoji, marks, digits, apostrophes, code, scripts, odd, special]
    out = [
        "",
        " ",
        "  ",
        "\n",
        "a",
        "é",
        "e\u0301",
        " a",
        "a ",
        "  a  b  ",
        "\u00a0",
        "<s>",
        "<s> a",
        "a <s>",
        "Hello <mask>",
    ]
    while len(out) < count - 150:
        kind = rng.random()
        if kind < 0.12:
            out.append(rng.choice(lines)[: rng.randrange(10, 120)])
        else:
            parts = []
            for _ in range(rng.randrange(1, 9)):
                pool = rng.choice(pools)
                parts.append(rng.choice(pool))
                if rng.random() < 0.55:
                    parts.append(rng.choice([" ", " ", " ", rng.choice(spaces)]))
            s = "".join(parts)
            if rng.random() < 0.08:
                s = unicodedata.normalize(rng.choice(["NFD", "NFC", "NFKD"]), s)
            if rng.random() < 0.08:
                s = s.upper()
            out.append(s)
    while len(out) < count:  # not UTF-8
        raw = bytearray("".join(rng.choice(rng.choice(pools)) + " " for _ in range(rng.randrange(1, 5))).encode())
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(raw) + 1)
            raw[at : at + rng.randrange(2)] = rng.choice(
                [
                    b"\xff",
                    b"\xc3",
                    b"\xe2\x82",
                    b"\xf0\x9f\x98",
                    b"\x80",
                    b"\xed\xa0\x80",
                    b"\xc0\xaf",
                    b"\xf5",
                    b"\xf4\x90\x80\x80",
                    b"\xe0\x80",
                ]
            )
        try:
            bytes(raw).decode()
        except UnicodeDecodeError:
            out.append(bytes(raw))
    return out


def charsmap(text):
    """A small table of replacements in SentencePiece's form."""
    rules = {
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬀ": "ff",
        "™": "TM",
        "½": "1⁄2",
        "Ⅷ": "VIII",
        "①": "1",
        "②": "2",
        "\u3000": " ",
        "\u00a0": " ",
        "\t": " ",
        "\n": " ",
        "\r": " ",
        "\u200b": " ",
        "\u2003": " ",
        "\u00ad": "",
        "\x00": "",
        "e\u0301": "é",
        "A\u030a": "Å",
        "n\u0303": "ñ",
        "a\u0308": "ä",
        "Å": "Å",
        "ｶ": "カ",
        "ﾀ": "タ",
        "ﾅ": "ナ",
        "ŉ": "ʼn",
        "…": "...",
        "ſ": "s",
        "\ufeff": "",
        "\u2028": " ",
        "²": "2",
        "１": "1",
        "２": "2",
        "３": "3",
        "\r\n": " ",
        "\u1112\u1161\u11ab": "한",
    }
    for c in range(0xFF21, 0xFF5B):
        rules[chr(c)] = unicodedata.normalize("NFKC", chr(c))
    rules = {a: b for a, b in rules.items() if a != b and a != "\x00"}
    with tempfile.TemporaryDirectory() as d:
        tsv, corpus = os.path.join(d, "rules.tsv"), os.path.join(d, "text.txt")
        with open(tsv, "w") as f:
            for a, b in rules.items():
                f.write(" ".join(f"{ord(c):X}" for c in a) + "\t" + " ".join(f"{ord(c):X}" for c in b) + "\n")
        with open(corpus, "w") as f:
            f.write(text)
        sentencepiece.SentencePieceTrainer.train(
            input=corpus, model_prefix=os.path.join(d, "m"), vocab_size=600, normalization_rule_tsv=tsv, minloglevel=2
        )
        proto = sentencepiece_model_pb2.ModelProto()
        proto.ParseFromString(open(os.path.join(d, "m.model"), "rb").read())
        return proto.normalizer_spec.precompiled_charsmap


def edited(tok, change):
    """The tokenizer after `change` to its document."""
    doc = json.loads(tok.to_str())
    change(doc)
    return Tokenizer.from_str(json.dumps(doc, ensure_ascii=False))


def gpt2(text):
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(
        [text],
        trainers.BpeTrainer(
            vocab_size=2000,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tok.post_processor = processors.ByteLevel(trim_offsets=False)
    return tok


def llama3(text):
    tok = Tokenizer(models.BPE(ignore_merges=True))
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(
        [text],
        trainers.BpeTrainer(vocab_size=2000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False),
    )
    tok.add_special_tokens(["<|begin_of_text|>", "<|endoftext|>"])
    tok.post_processor = processors.Sequence(
        [
            processors.ByteLevel(),
            processors.TemplateProcessing(
                single="<|begin_of_text|> $A",
                pair="<|begin_of_text|> $A $B",
                special_tokens=[("<|begin_of_text|>", tok.token_to_id("<|begin_of_text|>"))],
            ),
        ]
    )
    return tok


def bert(text):
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer()
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = decoders.WordPiece()
    tok.train_from_iterator(
        text.split("\n"),
        trainers.WordPieceTrainer(
            vocab_size=2000, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False
        ),
    )
    tok.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tok


def t5(text):
    tok = Tokenizer(models.Unigram())
    tok.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(charsmap(text)), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tok.decoder = decoders.Metaspace()
    tok.train_from_iterator(
        text.split("\n"),
        trainers.UnigramTrainer(
            vocab_size=1500,
            unk_token="<unk>",
            special_tokens=["<pad>", "</s>", "<unk>", "<extra_id_0>"],
            show_progress=False,
        ),
    )
    tok.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return tok


def llama2(text):
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    specials = ["<unk>", "<s>", "</s>"]
    byte_tokens = [f"<0x{b:02X}>" for b in range(256)]
    tok.train_from_iterator(
        text.split("\n"),
        trainers.BpeTrainer(
            vocab_size=1600, special_tokens=specials + byte_tokens, limit_alphabet=200, show_progress=False
        ),
    )

    def change(doc):
        doc["added_tokens"] = [t for t in doc["added_tokens"] if t["content"] in specials]
        doc["pre_tokenizer"] = None
        doc["normalizer"] = {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        }
        doc["decoder"] = {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        }
        doc["post_processor"] = json.loads(
            processors.TemplateProcessing(
                single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
            ).__getstate__()
        )

    return edited(tok, change)


def metaspace(text):
    """Unigram over whole texts, with bytes for what it lacks; SentencePiece models converted more recently."""
    tok = Tokenizer(models.Unigram())
    tok.normalizer = normalizers.NFKC()
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    byte_tokens = [f"<0x{b:02X}>" for b in range(256)]
    tok.train_from_iterator(
        text.split("\n"),
        trainers.UnigramTrainer(
            vocab_size=1200, unk_token="<unk>", special_tokens=["<unk>", "<s>", "</s>"], show_progress=False
        ),
    )

    def change(doc):
        doc["model"]["vocab"] += [[t, -20.0] for t in byte_tokens]
        doc["model"]["byte_fallback"] = True
        doc["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
        doc["decoder"] = {
            "type": "Sequence",
            "decoders": [
                {"type": "ByteFallback"},
                {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
            ],
        }
        doc["post_processor"] = {
            "type": "RobertaProcessing",
            "sep": ["</s>", 2],
            "cls": ["<s>", 1],
            "trim_offsets": True,
            "add_prefix_space": True,
        }

    return edited(tok, change)


def mixed(text):
    """Parts that the known models do not have."""
    tok = Tokenizer(
        models.BPE(unk_token="<unk>", fuse_unk=False, continuing_subword_prefix="##", end_of_word_suffix="</w>")
    )
    tok.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()]
    )
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation()]
    )
    tok.decoder = decoders.BPEDecoder()
    tok.train_from_iterator(
        text.split("\n"),
        trainers.BpeTrainer(
            vocab_size=900,
            special_tokens=["<unk>"],
            continuing_subword_prefix="##",
            end_of_word_suffix="</w>",
            limit_alphabet=120,
            show_progress=False,
        ),
    )
    tok.add_tokens(
        [
            AddedToken("<word>", single_word=True),
            AddedToken("<left>", lstrip=True),
            AddedToken("<right>", rstrip=True),
            AddedToken("Hello", normalized=True),
            AddedToken("Über", normalized=True),
        ]
    )
    tok.add_special_tokens(
        [AddedToken("[MASK]", lstrip=True, rstrip=True), AddedToken("[CLS]", normalized=False), AddedToken("[SEP]")]
    )
    tok.post_processor = processors.BertProcessing(
        ("[SEP]", tok.token_to_id("[SEP]")), ("[CLS]", tok.token_to_id("[CLS]"))
    )
    return tok


def hash_of(data):
    h = 2166136261
    for b in data:
        h = (h ^ b) * 16777619 & 0xFFFFFFFF
    return f"{h:08x}"


def hash_ids(ids):
    return hash_of(b"".join(i.to_bytes(4, "little") for i in ids))


def stages(strings):
    sample = [s for s in strings if isinstance(s, str)][15:400:5]
    pre = {}
    configs = [
        pre_tokenizers.Whitespace(),
        pre_tokenizers.WhitespaceSplit(),
        pre_tokenizers.BertPreTokenizer(),
        pre_tokenizers.Punctuation("contiguous"),
        pre_tokenizers.Digits(False),
        pre_tokenizers.CharDelimiterSplit("e"),
        pre_tokenizers.Metaspace(prepend_scheme="never"),
        pre_tokenizers.ByteLevel(add_prefix_space=True),
        pre_tokenizers.Split(Regex(O200K), "isolated"),
        pre_tokenizers.Split(Regex(r" ?[^(\s|[.,!?…。，、।۔،])]+"), "isolated"),
        pre_tokenizers.Split(Regex(r"\d"), "merged_with_previous"),
        pre_tokenizers.Split(Regex(r"(?=[A-Z])"), "isolated"),
        pre_tokenizers.Split(Regex(r"\w+"), "removed", invert=True),
        pre_tokenizers.Split(Regex(r"^.|.$"), "isolated"),
        pre_tokenizers.Split("a.", "isolated"),
    ]
    configs += [
        pre_tokenizers.Split("e", b)
        for b in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
    ]
    configs += [
        pre_tokenizers.Split(Regex(r"\s+"), b, invert=i)
        for b in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
        for i in (False, True)
    ]
    out = {"strings": sample, "pieces": [], "normal": []}
    for c in configs:
        out["pieces"].append(
            {
                "pre_tokenizer": json.loads(c.__getstate__()),
                "hashes": [hash_of("\0".join(p for p, _ in c.pre_tokenize_str(s)).encode()) for s in sample],
            }
        )
    forms = [
        normalizers.NFC(),
        normalizers.NFD(),
        normalizers.NFKC(),
        normalizers.NFKD(),
        normalizers.Lowercase(),
        normalizers.StripAccents(),
        normalizers.Strip(),
        normalizers.Strip(left=False),
        normalizers.Strip(right=False),
        normalizers.Nmt(),
        normalizers.BertNormalizer(),
        normalizers.BertNormalizer(lowercase=False),
        normalizers.BertNormalizer(clean_text=False, strip_accents=False),
        normalizers.Replace(Regex(r"\s+"), "_"),
        normalizers.Replace("a.", "?"),
        normalizers.Prepend("x"),
        normalizers.ByteLevel(),
    ]
    for n in forms:
        out["normal"].append(
            {
                "normalizer": json.loads(n.__getstate__()),
                "hashes": [hash_of(n.normalize_str(s).encode()) for s in sample],
            }
        )
    return out


def main():
    os.makedirs(OUT, exist_ok=True)
    text = training_text()
    strings = hard_strings(text)
    with open(os.path.join(OUT, "strings.jsonl"), "w") as f:
        for s in strings:
            f.write(json.dumps({"hex": s.hex()} if isinstance(s, bytes) else s, ensure_ascii=False) + "\n")
    shown = {}
    for make in (gpt2, llama3, bert, t5, llama2, metaspace, mixed):
        name, path = make.__name__, os.path.join(OUT, make.__name__ + ".json")
        if not os.path.exists(path):  # training by the library may differ from run to run
            make(text).save(path, pretty=False)
        tok = Tokenizer.from_file(path)
        lines = []
        shown[name] = []
        for i, s in enumerate(strings):
            s = s.decode("utf-8", "replace") if isinstance(s, bytes) else s
            ids, special = tok.encode(s, add_special_tokens=False).ids, tok.encode(s).ids
            texts = [tok.decode(special, skip_special_tokens=skip) if special else "" for skip in (False, True)]
            lines.append(" ".join([hash_ids(ids), hash_ids(special), *(hash_of(t.encode()) for t in texts)]))
            if i < 120:
                shown[name].append(ids)
        with open(os.path.join(OUT, name + ".hashes"), "w") as f:
            f.write("\n".join(lines) + "\n")
    with open(os.path.join(OUT, "ids.json"), "w") as f:
        json.dump(shown, f, separators=(",", ":"))
    with open(os.path.join(OUT, "stages.json"), "w") as f:
        json.dump(stages(strings), f, ensure_ascii=False, separators=(",", ":"))


main()
