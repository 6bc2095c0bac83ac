// Converts many texts, or pairs of texts, to rows of ids at once, truncated and padded.
#include <algorithm>

#include "builtins/core/numeric.h"
#include "builtins/host/families.h"
#include "builtins/host/tokenizer_value.h"
#include "runtime/thread_pool.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using tokenizers::Encoding;
using tokenizers::Padding;
using tokenizers::Side;
using tokenizers::Tokenizer;
using tokenizers::Truncation;
using Offsets = Tokenizer::Request::Offsets;

constexpr std::string_view kWho = "encode-batch";

std::vector<std::string_view> texts_arg(const Value& v, std::string_view what) {
  if (!v.is_seq())
    throw runtime_error(fmt::format("{}: {} must be a list of strings, got {}", kWho, what, type_name(v)))
        .hint("(encode-batch tok '[\"one text\" \"another\"])");
  std::vector<std::string_view> out;
  for (const Value& s : v.items())
    out.push_back(string_arg(s, kWho, fmt::format("each of {}", what)));
  return out;
}

size_t count_option(const Value& v, std::string_view name, int64_t least) {
  int64_t n = to_index(v, fmt::format("{} {}", kWho, name));
  if (n < least || n > 0x7FFFFFFF)
    throw runtime_error(fmt::format("{}: {} must be at least {}, got {}", kWho, name, least, n));
  return static_cast<size_t>(n);
}

// The index in `names` of an option's value.
size_t choice_option(const Value& v, std::string_view name, std::initializer_list<std::string_view> names) {
  if (v.is_keyword()) {
    auto it = std::find(names.begin(), names.end(), v.as_keyword().str());
    if (it != names.end()) return static_cast<size_t>(it - names.begin());
  }
  std::string all;
  for (std::string_view n : names)
    all += fmt::format("{}:{}", all.empty() ? "" : " ", n);
  throw runtime_error(fmt::format("{}: {} must be one of {}, got {}", kWho, name, all, short_text(v)));
}

Side side_option(const Value& v, std::string_view name) {
  return choice_option(v, name, {"right", "left"}) == 1 ? Side::Left : Side::Right;
}

// The truncation of the tokenizer's document, overridden by the options of the call.
std::optional<Truncation> truncation_of(const Call& c, const Tokenizer& t) {
  std::optional<Truncation> out = t.truncation();
  const Value *length = c.option("max-length"), *how = c.option("truncate"), *side = c.option("truncate-side"),
              *stride = c.option("stride");
  size_t strategy = how ? choice_option(*how, ":truncate", {"longest-first", "only-first", "only-second", "none"}) : 0;
  if (strategy == 3) out.reset();
  if (length && strategy != 3) (out ? *out : out.emplace()).max_length = count_option(*length, ":max-length", 0);
  if (!out) {
    bool unused = (how && strategy != 3) || side || stride;
    if (unused)
      throw runtime_error(fmt::format("{}: texts are to be cut, but to what length?", kWho)).hint(":max-length 128");
    return out;
  }
  if (how) out->strategy = static_cast<Truncation::Strategy>(strategy);
  if (side) out->side = side_option(*side, ":truncate-side");
  if (stride) out->stride = count_option(*stride, ":stride", 0);
  return out;
}

// The default id for padding.
int32_t usual_padding(const Tokenizer& t) {
  for (const char* name : {"[PAD]", "<pad>", "<|pad|>", "<|padding|>", "<|finetune_right_pad_id|>", "<|endoftext|>"})
    if (int32_t id = t.id_of(name); id != tokenizers::Vocabulary::kNone) return id;
  throw runtime_error(fmt::format("{}: the tokenizer has no token for padding", kWho))
      .hint(":pad-id 0, or :pad-token \"…\", one of its tokens; :mask says which tokens are padding");
}

std::optional<Padding> padding_of(const Call& c, const Tokenizer& t) {
  std::optional<Padding> out = t.padding();
  const Value *how = c.option("pad"), *multiple = c.option("pad-multiple"), *side = c.option("pad-side"),
              *id = c.option("pad-id"), *token = c.option("pad-token"), *type = c.option("pad-type");
  bool is_name = how && how->is_keyword();
  if (is_name && choice_option(*how, ":pad", {"longest", "none"}) == 1) return {};
  if (how && !out) out.emplace();
  if (!out) {
    if (multiple || side || id || token || type)
      throw runtime_error(fmt::format("{}: rows are to be padded, but to what length?", kWho)).hint(":pad :longest");
    return out;
  }
  if (is_name) out->length.reset();
  if (how && !is_name) out->length = count_option(*how, ":pad", 0);
  if (multiple) out->multiple = count_option(*multiple, ":pad-multiple", 1);
  if (side) out->side = side_option(*side, ":pad-side");
  if (type) out->type = static_cast<int32_t>(count_option(*type, ":pad-type", 0));
  if (id) {
    out->id = static_cast<int32_t>(count_option(*id, ":pad-id", 0));
  } else if (token) {
    out->token = string_arg(*token, kWho, ":pad-token");
    out->id = t.id_of(out->token);
    if (out->id == tokenizers::Vocabulary::kNone)
      throw runtime_error(fmt::format("{}: :pad-token '{}' is not in the vocabulary", kWho, out->token));
  } else if (!t.padding()) {
    out->id = usual_padding(t);
  }
  return out;
}

// One column of all rows: a tensor [rows, length, …], or a list of rows if they are not padded. `f(row, out)` appends
// `width` elements per token.
template <class T, class F>
Value column(std::span<const Encoding> rows, std::optional<size_t> length, DType dtype, int64_t width, F&& f) {
  std::vector<T> elements;
  auto tensor = [&](Dims sizes) {
    if (width > 1) sizes.push_back(width);
    return Value::tensor(tensor_of(dtype, std::move(sizes), elements.data()));
  };
  if (length) {
    elements.reserve(rows.size() * *length * static_cast<size_t>(width));
    for (const Encoding& e : rows)
      f(e, elements);
    return tensor({static_cast<int64_t>(rows.size()), static_cast<int64_t>(*length)});
  }
  std::vector<Value> list;
  for (const Encoding& e : rows) {
    elements.clear();
    f(e, elements);
    list.push_back(tensor({static_cast<int64_t>(e.size())}));
  }
  return Value::list(std::move(list));
}

Value encode_batch(Call& c) {
  const Tokenizer& t = tokenizer_arg(c[0], kWho);
  std::vector<std::string_view> texts = texts_arg(c[1], "texts"), pairs;
  const Value* pairs_option = c.option("pairs");
  if (pairs_option) pairs = texts_arg(*pairs_option, ":pairs");
  if (pairs_option && pairs.size() != texts.size())
    throw runtime_error(fmt::format("{}: {} texts, but {} of :pairs", kWho, texts.size(), pairs.size()));
  std::optional<Truncation> truncation = truncation_of(c, t);
  std::optional<Padding> padding = padding_of(c, t);
  Tokenizer::Request request{
      .special = c.flag("special"), .truncation = truncation ? &*truncation : nullptr, .overflow = c.flag("overflow")};
  if (const Value* offsets = c.option("offsets"))
    request.offsets = choice_option(*offsets, ":offsets", {"chars", "bytes"}) == 1 ? Offsets::Bytes : Offsets::Chars;

  std::vector<std::vector<Encoding>> of_texts(texts.size());
  size_t bytes = 0;
  for (size_t i = 0; i < texts.size(); ++i)
    bytes += texts[i].size() + (pairs_option ? pairs[i].size() : 0);
  constexpr size_t kBytesOfTask = 16 << 10;  // about 100 µs of work
  auto grain = static_cast<int64_t>(1 + kBytesOfTask * texts.size() / (bytes + 1));
  auto encode_range = [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      naming(texts.size() == 1 ? std::string(kWho) : fmt::format("{}: text {}", kWho, i),
             [&] { of_texts[i] = t.encode_rows(texts[i], pairs_option ? &pairs[i] : nullptr, request); });
    }
  };
  runtime::parallel_for(static_cast<int64_t>(texts.size()), encode_range, grain);

  std::vector<Encoding> rows;
  std::vector<int32_t> text_of_row;
  for (size_t i = 0; i < of_texts.size(); ++i)
    for (Encoding& e : of_texts[i]) {
      rows.push_back(std::move(e));
      text_of_row.push_back(static_cast<int32_t>(i));
    }
  std::optional<size_t> length;
  if (padding) {
    tokenizers::pad(rows, *padding);
    auto [least, most] = std::minmax_element(rows.begin(), rows.end(),
                                             [](const Encoding& a, const Encoding& b) { return a.size() < b.size(); });
    if (!rows.empty() && least->size() != most->size())
      throw runtime_error(fmt::format("{}: a row has {} tokens, more than the {} that rows are padded to", kWho,
                                      most->size(), least->size()))
          .hint(fmt::format(":max-length {}, or :pad :longest", least->size()));
    length = rows.empty() ? padding->length.value_or(0) : rows[0].size();
  }

  auto ints = [&](auto column_of) {
    return column<int32_t>(rows, length, DType::I32, 1, [&](const Encoding& e, std::vector<int32_t>& to) {
      const tokenizers::Ids& ids = e.*column_of;
      to.insert(to.end(), ids.begin(), ids.end());
    });
  };
  auto bools = [&](auto is_true) {
    return column<uint8_t>(rows, length, DType::Bool, 1, [&](const Encoding& e, std::vector<uint8_t>& to) {
      for (size_t i = 0; i < e.size(); ++i)
        to.push_back(is_true(e, i));
    });
  };
  std::vector<DictEntry> out = {
      {Name("ids"), ints(&Encoding::ids)},
      {Name("types"), ints(&Encoding::types)},
      {Name("sequences"), ints(&Encoding::sequences)},
      {Name("mask"), bools([](const Encoding& e, size_t i) { return !e.is_padding(i); })},
      {Name("special"), bools([](const Encoding& e, size_t i) { return e.sequences[i] == Encoding::kNone; })},
  };
  if (request.overflow)
    out.push_back({Name("rows"), Value::tensor(tensor_of(DType::I32, {static_cast<int64_t>(text_of_row.size())},
                                                         text_of_row.data()))});
  if (request.offsets != Offsets::None) {
    out.push_back({Name("words"), ints(&Encoding::words)});
    auto write_spans = [](const Encoding& e, std::vector<int32_t>& to) {
      for (tokenizers::Span s : e.offsets)
        to.insert(to.end(), {static_cast<int32_t>(s.start), static_cast<int32_t>(s.end)});
    };
    out.push_back({Name("offsets"), column<int32_t>(rows, length, DType::I32, 2, write_spans)});
  }
  return make_dict(std::move(out));
}

const BuiltinDef kBuiltins[] = {
    {"encode-batch",
     "Tokenizers",
     "(encode-batch tok texts [:special] [:pairs texts] [:max-length n] [:pad :longest] …)",
     "A list of texts, or of pairs of texts with :pairs, as rows of ids, on all threads: {:ids :types :sequences :mask "
     ":special}. With padding each is a tensor [rows, length], without it a list of rows. :types numbers the segments "
     "of a pair as the model wants them, :sequences says which text a token is from (-1: none), :mask is false for "
     "padding, :special true for what was put around the texts.\n"
     "Cutting: :max-length n, with special tokens (:special); :truncate :longest-first, :only-first, :only-second or "
     ":none; :truncate-side :right or :left; with :overflow, what was cut off makes further rows that share :stride "
     "tokens, and :rows says which text each row is from.\n"
     "Padding: :pad :longest, :none or a length; :pad-multiple n; :pad-side :right or :left; :pad-token, :pad-id and "
     ":pad-type. What is not given is as tokenizer.json says.\n"
     ":offsets :chars or :bytes also gives :offsets, where each token starts and ends in its text, and :words, the "
     "number of its word (-1: none).",
     {{"(:ids (encode-batch (char-tokenizer \"abc\") '[\"abc\" \"b\"] :pad :longest :pad-id 0))",
       "[[0 1 2]\n [1 0 0]]"},
      {"(:mask (encode-batch (char-tokenizer \"abc\") '[\"abc\" \"b\"] :pad :longest :pad-id 0))",
       "[[true true true]\n [true false false]]"},
      {"(:ids (encode-batch (char-tokenizer \"abc\") '[\"abcab\"] :max-length 3 :overflow :stride 1))",
       "[[0 1 2], [2 0 1]]"},
      {"(:offsets (encode-batch (train-bpe \"low low low\" {:vocab 260}) '[\"low low\"] :offsets :chars))",
       "[[[0 3]\n  [3 7]]]"}},
     2,
     2,
     encode_batch,
     "special overflow pairs= max-length= stride= truncate= truncate-side= pad= pad-multiple= pad-side= pad-id= "
     "pad-token= pad-type= offsets=",
     Effect::Input},
};

}  // namespace

std::span<const BuiltinDef> token_batch_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
