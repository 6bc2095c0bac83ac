// Code that a launch runs.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sheaf::runtime {

// Code of some device: the runner of the same device knows how to run it. Immutable; any thread may run it.
class Code {
 public:
  virtual ~Code() = default;
};

// A kernel for this processor.
class Kernel : public Code {
 public:
  // The number of the failed check, or -1; `payload` belongs to it.
  virtual int run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const = 0;
};

// How a launch runs on this processor with one of its operands packed, for operands that are read again and again
// unchanged (weights of a model that generates): see packed.h.
class PackedForm {
 public:
  using Layout = std::array<int64_t, 4>;
  PackedForm(int operand, int64_t bytes, const Layout& layout) : operand(operand), bytes(bytes), layout(layout) {}
  virtual ~PackedForm() = default;
  virtual void pack(const std::byte* from, std::byte* to) const = 0;
  // `buffers` has the packed operand in its place.
  virtual void run(std::span<std::byte* const> buffers) const = 0;

  const int operand;    // of the launch's buffers
  const int64_t bytes;  // when packed
  const Layout layout;  // forms that pack in the same way have the same
};

}  // namespace sheaf::runtime
