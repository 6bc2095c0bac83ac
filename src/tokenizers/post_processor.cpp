#include "tokenizers/post_processor.h"

#include <algorithm>

#include "tokenizers/characters.h"

namespace sheaf::tokenizers {
namespace {

constexpr std::string_view kWhere = "the post_processor";

Encoding special_tokens(const Ids& ids, int32_t type, bool is_followed) {
  Encoding e;
  e.ids = ids;
  e.types.assign(ids.size(), type);
  e.sequences.assign(ids.size(), Encoding::kNone);
  e.is_followed = is_followed;
  if (is_followed) e.offsets.resize(ids.size());
  if (is_followed) e.words.assign(ids.size(), Encoding::kNone);
  return e;
}

// Appends each row of `more` to each row: the first to the first, then every other combination in the library's order.
void append_each(std::vector<Encoding>& rows, const std::vector<Encoding>& more) {
  std::vector<Encoding> out(1);
  auto both = [&](const Encoding& a, const Encoding& b) {
    Encoding e = a;
    e.append(b);
    return e;
  };
  for (size_t i = 1; i < rows.size(); ++i)
    for (const Encoding& b : more)
      out.push_back(both(rows[i], b));
  for (size_t j = 1; j < more.size(); ++j)
    out.push_back(both(rows[0], more[j]));
  out[0] = std::move(rows[0]);
  out[0].append(more[0]);
  rows = std::move(out);
}

// The number of white-space characters at the start or end of `text`, also in the byte alphabet.
size_t count_spaces(std::string_view text, bool at_end) {
  size_t run = 0, leading = 0, count = 0;
  for_each_char(text, [&](int32_t c) {
    run = is_white_space(c) || c == char_of_byte(' ') ? run + 1 : 0;
    ++count;
    if (run == count) leading = count;
  });
  return at_end ? run : leading;
}

}  // namespace

PostProcessor::Parts PostProcessor::read_template(const Json& j, const char* key) const {
  Parts parts;
  int texts[2] = {};
  for (const Json& piece : list_member(j, key, kWhere)) {
    bool is_text = find_member(piece, "Sequence");
    const Json& body = member(piece, is_text ? "Sequence" : "SpecialToken", kWhere);
    std::string name = text_member(body, "id", kWhere);
    int32_t type = count_member_or(body, "type_id", kWhere, 0);
    if (is_text) {
      if (name != "A" && name != "B")
        throw runtime_error(fmt::format("a template of {} has the text {}", kWhere, name));
      ++texts[name == "B"];
      parts.push_back({name == "B", type, {}});
      continue;
    }
    const Json& token = member(member(j, "special_tokens", kWhere), name.c_str(), "\"special_tokens\"");
    Part part{Encoding::kNone, type, {}};
    for (const Json& id : list_member(token, "ids", kWhere))
      part.ids.push_back(count_of(id, fmt::format("an id of '{}'", name)));
    parts.push_back(std::move(part));
  }
  bool is_pair = std::string_view(key) == "pair";
  if (texts[0] != 1 || texts[1] != is_pair)
    throw runtime_error(fmt::format("the template \"{}\" of {} has the text {} times{}", key, kWhere, texts[0],
                                    is_pair ? fmt::format(" and the second {}", texts[1]) : ""));
  return parts;
}

void PostProcessor::add(const Json& j) {
  std::string type = text_member(j, "type", kWhere);
  bool is_roberta = type == "RobertaProcessing";
  if (type == "ByteLevel" || is_roberta) {
    if (bool_member(j, "trim_offsets", kWhere, true))
      trimmings_.push_back({bool_member(j, "add_prefix_space", kWhere, true)});
    if (!is_roberta) return;
  }
  if (type == "TemplateProcessing") {
    Template t{read_template(j, "single"), {}};
    // The template for single texts may lack one for pairs: then the two texts are concatenated.
    if (find_member(j, "pair"))
      t.pair = read_template(j, "pair");
    else
      t.pair = {{0, 0, {}}, {1, 1, {}}};
    return templates_.push_back(std::move(t));
  }
  if (type != "BertProcessing" && !is_roberta)
    throw runtime_error(fmt::format("a post_processor of type \"{}\" is not known", type));
  auto token = [&](const char* key, int32_t segment) {
    const Json& pair = list_member(j, key, kWhere);
    if (pair.size() != 2) throw runtime_error(fmt::format("\"{}\" of {} is not a token and its id", key, kWhere));
    return Part{Encoding::kNone, segment, {count_of(pair[1], fmt::format("the id of \"{}\"", key))}};
  };
  Part start = token("cls", 0), end = token("sep", 0), text{0, 0, {}};
  Template t{{start, text, end}, {start, text, end}};
  int32_t second = is_roberta ? 0 : 1;
  if (is_roberta) t.pair.push_back(end);
  t.pair.push_back({1, second, {}});
  t.pair.push_back(token("sep", second));
  types_are_zero_ |= is_roberta;
  templates_.push_back(std::move(t));
}

PostProcessor::PostProcessor(const Json& document) {
  for_each_part(document, "processors", kWhere, [&](const Json& j) { add(j); });
}

size_t PostProcessor::num_special(bool is_pair) const {
  size_t n = 0;
  for (const Template& t : templates_)
    for (const Part& p : is_pair && &t == &templates_.front() ? t.pair : t.single)
      n += p.ids.size();
  return n;
}

int32_t PostProcessor::largest_id() const {
  int32_t largest = Vocabulary::kNone;
  for (const Template& t : templates_)
    for (const Parts* parts : {&t.single, &t.pair})
      for (const Part& p : *parts)
        for (int32_t id : p.ids)
          largest = std::max(largest, id);
  return largest;
}

void PostProcessor::trim_offsets(Encoding& e, const std::function<std::string_view(int32_t)>& text_of_id) const {
  for (const Trimming& t : trimmings_) {
    for (size_t i = 0; i < e.offsets.size(); ++i) {
      Span& s = e.offsets[i];
      auto at_start = static_cast<uint32_t>(count_spaces(text_of_id(e.ids[i]), false)),
           at_end = static_cast<uint32_t>(count_spaces(text_of_id(e.ids[i]), true));
      // A single space may be an added prefix: then it is not part of the text.
      if (at_start == 1 && t.adds_prefix_space && (i == 0 || s.start == 0)) at_start = 0;
      s.start = std::min(s.start + at_start, s.end);
      if (s.end >= at_end) s.end = std::max(s.end - at_end, s.start);
    }
  }
}

std::vector<Encoding> PostProcessor::join(std::vector<Encoding> first, std::vector<Encoding>* second,
                                          bool special) const {
  auto set = [](std::vector<Encoding>& rows, int32_t sequence, int32_t type) {
    for (Encoding& e : rows) {
      e.types.assign(e.size(), type);
      e.sequences.assign(e.size(), sequence);
    }
  };
  set(first, 0, 0);
  if (second) set(*second, 1, types_are_zero_ ? 0 : 1);
  if (templates_.empty()) {
    if (second) append_each(first, *second);
    return first;
  }
  bool is_followed = first[0].is_followed;
  std::vector<Encoding> rows;
  for (const Template& t : templates_) {
    bool is_first = &t == &templates_.front();
    std::vector<Encoding> inner = std::move(rows);
    rows.assign(1, {});
    for (const Part& p : is_first&& second ? t.pair : t.single) {
      if (p.sequence == Encoding::kNone) {
        if (special) append_each(rows, {special_tokens(p.ids, p.type, is_followed)});
      } else if (is_first) {
        std::vector<Encoding>& text = p.sequence == 0 ? first : *second;
        set(text, p.sequence, p.type);
        append_each(rows, text);
      } else {
        append_each(rows, inner);
      }
    }
  }
  return rows;
}

}  // namespace sheaf::tokenizers
