// Where bytes live. The host is one space, the memory of a device another; this layer knows no driver. Spaces live as
// long as the program. Any thread may call them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sheaf {

struct Tensor;

class Space {
 public:
  virtual ~Space() = default;
  virtual std::string_view name() const = 0;  // "cpu", "sim"

  // Memory here; throws UserError when there is none. Host code may follow an address of the host only.
  virtual uint64_t take(size_t bytes) = 0;
  // Memory that is given may be in use by what was submitted before: who takes it next comes after that.
  virtual void give(uint64_t address, size_t bytes) = 0;
  // To the host. Waits for what was submitted before.
  virtual void fetch(uint64_t from, std::byte* to, size_t bytes) = 0;
  // From the host, whose bytes may change as soon as this returns.
  virtual void send(const std::byte* from, uint64_t to, size_t bytes) = 0;
  // The elements of `from` in row-major order, in the dtype of `to`, to its memory, which is contiguous. Both are here.
  virtual void copy(const Tensor& from, const Tensor& to) = 0;
};

Space& host_space();

}  // namespace sheaf
