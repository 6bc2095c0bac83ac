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
class CpuKernel : public Code {
 public:
  // The number of the failed check, or -1; `payload` belongs to it.
  virtual int run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const = 0;
};

struct Fusion;

// How a product runs on this processor with one of its operands packed, for operands that are read again and again
// unchanged (weights of a model that generates): see packed.h.
class PackedForm {
 public:
  using Layout = std::array<int64_t, 4>;
  struct Facts {
    int operand;           // of the launch's buffers
    bool packs;            // its reads count towards packing; else it reads what others had packed
    bool is_copy;          // the same bytes: of use only for what lies in the small pages of a file
    int64_t bytes;         // when packed
    int64_t source_bytes;  // from the first element of the operand to its last
    Layout layout;         // forms that pack in the same way have the same
  };
  explicit PackedForm(const Facts& facts) : facts(facts) {}
  virtual ~PackedForm() = default;
  // Unless it is a copy.
  virtual void pack(const std::byte* from, std::byte* to) const = 0;
  // `buffers` has the packed operand in its place.
  virtual void run(std::span<std::byte* const> buffers, const Fusion& fusion) const = 0;
  // As FusedProduct::completes_rows.
  virtual bool completes_rows() const = 0;

  const Facts facts;
};

}  // namespace sheaf::runtime
