#include "eval/tombstone.h"

#include <fmt/format.h>

#include "trace/traced.h"
#include "value/dict.h"

namespace sheaf::eval {
namespace {

// Payload: 4 bits of kind (a dtype, or one of these), 3 bits of rank, the rest sizes of equal width.
constexpr uint64_t kList = 13, kDict = 14, kFunction = 15;
constexpr int kSizeBits = 57;

int bits_per_size(int rank) { return rank == 0 ? 0 : std::min(kSizeBits / rank, 40); }

// Returns 0 if it does not fit.
uint64_t array_bits(const graph::Operand& x) {
  int rank = x.rank();
  if (rank > 6) return 0;
  int width = bits_per_size(rank), shift = 7;
  uint64_t bits = (static_cast<uint64_t>(x.dtype()) + 1) | static_cast<uint64_t>(rank) << 4;
  for (Size d : x.sizes()) {
    if (!d.is_const() || d.value() >= int64_t{1} << width) return 0;
    bits |= static_cast<uint64_t>(d.value()) << shift;
    shift += width;
  }
  return bits;
}

}  // namespace

Value tombstone_of(const Value& v) {
  uint64_t bits = 0;
  switch (v.tag()) {
    case Tag::Traced:
      if (trace::kind_of(v) != trace::Kind::Tensor) break;
      [[fallthrough]];
    case Tag::Tensor: bits = array_bits(trace::operand_of(v)); break;
    case Tag::List: bits = kList | v.items().size() << 7; break;
    case Tag::Dict: bits = kDict | v.as_dict().size() << 7; break;
    case Tag::Function:
    case Tag::Builtin: bits = kFunction; break;
    default: break;
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
  if (bits == kFunction) return "function";
  int rank = static_cast<int>(bits >> 4 & 7), width = bits_per_size(rank), shift = 7;
  std::string s = std::string(name_of(static_cast<DType>(what - 1))) + "[";
  for (int i = 0; i < rank; ++i) {
    s += fmt::format("{}{}", i ? "x" : "", bits >> shift & ((uint64_t{1} << width) - 1));
    shift += width;
  }
  return s + "]";
}

}  // namespace sheaf::eval
