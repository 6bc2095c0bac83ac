#include "trace/signature.h"

namespace sheaf::trace {

uint64_t Signature::hash_words(const std::vector<uint64_t>& words) {
  uint64_t h = 0;
  for (uint64_t w : words)
    h = (h ^ w) * 0x9E3779B97F4A7C15ull + (h >> 31);
  return h;
}

void add_to_signature(const Value& v, Signature& s, bool owned, int depth) {
  // A structure this deep or this large is data, not a parameter tree: walking it at every call would cost too much.
  constexpr size_t kMaxWords = 1 << 16;
  if (depth > kMaxInputDepth || s.key.size() > kMaxWords) s.traceable = false;
  if (!s.traceable) return;
  if (s.key.capacity() == 0) {
    // One allocation each for the calls that are short enough to notice.
    s.key.reserve(32);
    s.leaves.reserve(16);
    s.owned.reserve(16);
  }
  auto word = [&](uint64_t x) { s.key.push_back(x); };
  uint64_t tag = static_cast<uint64_t>(v.tag()) << 56;
  owned = owned && v.unique();
  switch (v.tag()) {
    case Tag::Nil:
    case Tag::Marker: word(tag); return;
    case Tag::Bool: word(tag | v.as_bool()); return;
    case Tag::Int:
    case Tag::Float:
      word(tag);
      s.leaves.push_back(&v);
      s.owned.push_back(false);
      return;
    case Tag::Tensor: {
      const Tensor& t = v.as_tensor();
      word(tag | static_cast<uint64_t>(t.dtype) << 8 | static_cast<uint64_t>(t.rank()));
      for (int i = 0; i < t.rank(); ++i) {
        if (s.slots)
          s.slots->push_back(
              {static_cast<uint32_t>(s.key.size()), static_cast<uint32_t>(s.leaves.size()), static_cast<uint32_t>(i)});
        word(static_cast<uint64_t>(t.sizes[i]));
      }
      s.num_elems += t.num_elems();
      s.leaves.push_back(&v);
      s.owned.push_back(owned && t.buffer->unique() && t.buffer->is_ours());
      s.has_tensor = true;
      return;
    }
    case Tag::Keyword:
      word(tag);
      word(reinterpret_cast<uint64_t>(v.as_keyword().entry()));
      return;
    case Tag::String:
      word(tag);
      word(reinterpret_cast<uint64_t>(Name(v.as_string()).entry()));
      return;
    case Tag::List:
    case Tag::Tuple:
      word(tag | v.items().size());
      for (const Value& x : v.items())
        add_to_signature(x, s, owned, depth + 1);
      return;
    case Tag::Dict:
      word(tag | v.as_dict().size());
      for (const DictEntry& e : v.as_dict().entries()) {
        word(reinterpret_cast<uint64_t>(e.key.entry()));
        add_to_signature(e.value, s, owned, depth + 1);
      }
      return;
    case Tag::Function: {
      word(tag);
      word(v.as_function()->code_number());
      if (const std::vector<Value>* captured = v.as_function()->captured())
        for (const Value& x : *captured)
          add_to_signature(x, s, owned, depth + 1);
      return;
    }
    case Tag::Builtin:
      word(tag);
      word(v.as_function()->code_number());
      return;
    default: s.traceable = false;
  }
}

}  // namespace sheaf::trace
