// The primitives behind the batch functions of lib/batches.shf.
#include <fmt/format.h>

#include <atomic>

#include "builtins/core/numeric.h"
#include "builtins/host/families.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

// Touched pages of a mapped file count as resident memory of the process. They are released after this much has been
// read from a file; the system may keep them in its page cache.
constexpr int64_t kBytesBeforeRelease = 64 << 20;

void note_touched(const Tensor& tokens, int64_t rows, int64_t row_bytes) {
  if (tokens.buffer->origin() != Buffer::Origin::File) return;
  static std::atomic<int64_t> touched{0};
  constexpr int64_t kAround = 2 << 20;  // a page fault also maps its neighbourhood: up to this much
  if (touched.fetch_add(rows * (row_bytes + kAround)) < kBytesBeforeRelease) return;
  touched = 0;
  tokens.buffer->release_pages(tokens.buffer->host(), tokens.buffer->size_bytes());
}

// (%token-rows tokens starts n): i32 [starts, n], the n tokens from each start.
Value token_rows(Call& c) {
  if (!c[0].is_tensor() || c[0].as_tensor().rank() != 1)
    throw runtime_error("token-batches: expected tokens of one axis, got " + short_text(c[0]));
  const Tensor& tokens = c[0].as_tensor();
  if (is_float(tokens.dtype) || tokens.dtype == DType::Bool)
    throw runtime_error("token-batches: expected whole numbers, got " + short_text(c[0]));
  std::vector<int64_t> starts = to_ints(trace::concrete_tree(c[1]), "token-batches");
  int64_t n = to_index(c[2], "token-batches"), width = size_bytes(tokens.dtype);
  Tensor out = empty_tensor(DType::I32, {static_cast<int64_t>(starts.size()), n});
  auto* to = out.data_mut<int32_t>();
  for (int64_t start : starts) {
    if (start < 0 || start > tokens.sizes[0] - n)
      throw runtime_error(fmt::format("token-batches: tokens {} to {} of {}", start, start + n, tokens.sizes[0]));
    const std::byte* from = tokens.bytes() + start * tokens.strides[0] * width;
    if (tokens.dtype == DType::U16 && tokens.strides[0] == 1) {
      auto* p = reinterpret_cast<const uint16_t*>(from);
      std::copy(p, p + n, to);
    } else {
      for (int64_t i = 0; i < n; ++i)
        to[i] = static_cast<int32_t>(load_double(tokens.dtype, from + i * tokens.strides[0] * width));
    }
    to += n;
  }
  note_touched(tokens, static_cast<int64_t>(starts.size()), n * width);
  return Value::tensor(std::move(out));
}

const BuiltinDef kBuiltins[] = {
    {"%token-rows", "", "", "", {}, 3, 3, token_rows, {}, Effect::Input},
};

}  // namespace

std::span<const BuiltinDef> token_row_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
