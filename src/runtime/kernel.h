// Code that a launch runs.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sheaf::runtime {

// Code for one device, which the runner of that device can run. Immutable; any thread may run it.
class Code {
 public:
  virtual ~Code() = default;
};

// A kernel for this processor.
class CpuKernel : public Code {
 public:
  // Runs the kernel. Returns the number of the failed check and its `payload`, or -1.
  virtual int run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const = 0;
};

struct Fusion;

// A form of a product for this processor in which one operand is packed ahead of time, for operands that are read
// repeatedly without changes (weights during generation): see packed.h.
class PackedForm {
 public:
  using Layout = std::array<int64_t, 4>;
  struct Facts {
    int operand;           // of the launch's buffers
    bool packs;            // its reads count towards packing; else it only uses copies that other launches packed
    bool is_copy;          // packs to identical bytes: pays only for a mapped file, which has small pages
    int64_t bytes;         // when packed
    int64_t source_bytes;  // from the first element of the operand to its last
    Layout layout;         // equal for forms that pack in the same way
  };
  explicit PackedForm(const Facts& facts) : facts(facts) {}
  virtual ~PackedForm() = default;
  // Packs the operand; not called if `is_copy`.
  virtual void pack(const std::byte* from, std::byte* to) const = 0;
  // Runs the product; `buffers` has the packed operand in place of the original.
  virtual void run(std::span<std::byte* const> buffers, const Fusion& fusion) const = 0;
  // As FusedProduct::completes_rows.
  virtual bool completes_rows() const = 0;

  const Facts facts;
};

}  // namespace sheaf::runtime
