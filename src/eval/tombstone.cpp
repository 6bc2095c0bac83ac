#include "eval/tombstone.h"

#include <fmt/format.h>

#include "value/dict.h"

namespace sheaf::eval {
namespace {

// Payload: 4 bits of what it was (a dtype, or one of these), 3 bits of rank, the rest sizes of equal width.
constexpr uint64_t kList = 13, kDict = 14;
constexpr int kSizeBits = 57;

int bits_per_size(int rank) { return rank == 0 ? 0 : std::min(kSizeBits / rank, 40); }

}  // namespace

Value tombstone_of(const Value& v) {
  uint64_t bits = 0;
  switch (v.tag()) {
    case Tag::Tensor: {
      const Tensor& t = v.as_tensor();
      if (t.rank() > 6) return Value();
      int width = bits_per_size(t.rank()), shift = 7;
      bits = (static_cast<uint64_t>(t.dtype) + 1) | static_cast<uint64_t>(t.rank()) << 4;
      for (int64_t d : t.sizes) {
        if (d >= int64_t{1} << width) return Value();
        bits |= static_cast<uint64_t>(d) << shift;
        shift += width;
      }
      break;
    }
    case Tag::List: bits = kList | v.items().size() << 7; break;
    case Tag::Dict: bits = kDict | v.as_dict().size() << 7; break;
    default: return Value();
  }
  return Value::unbound(static_cast<int64_t>(bits));
}

std::string tombstone_text(const Value& v) {
  if (v.tag() != Tag::Unbound) return "";
  uint64_t bits = static_cast<uint64_t>(v.as_int());
  uint64_t what = bits & 15;
  if (what == 0) return "";
  if (what == kList) return fmt::format("list({})", bits >> 7);
  if (what == kDict) return fmt::format("dict({})", bits >> 7);
  int rank = static_cast<int>(bits >> 4 & 7), width = bits_per_size(rank), shift = 7;
  std::string s = std::string(name_of(static_cast<DType>(what - 1))) + "[";
  for (int i = 0; i < rank; ++i) {
    s += fmt::format("{}{}", i ? "x" : "", bits >> shift & ((uint64_t{1} << width) - 1));
    shift += width;
  }
  return s + "]";
}

}  // namespace sheaf::eval
