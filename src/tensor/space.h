// A memory space: the host's memory or a device's. This layer knows no driver. Spaces live as long as the program. Any
// thread may call them.
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

  // Allocates; throws UserError if there is no room. Host code may dereference addresses of the host space only.
  virtual uint64_t take(size_t bytes) = 0;
  // Frees. Work submitted earlier may still use the memory: whoever takes it next runs after that work.
  virtual void give(uint64_t address, size_t bytes) = 0;
  // Copies to the host. Waits for all work submitted before.
  virtual void fetch(uint64_t from, std::byte* to, size_t bytes) = 0;
  // Copies from the host; the caller may change the host bytes as soon as this returns.
  virtual void send(const std::byte* from, uint64_t to, size_t bytes) = 0;
  // Copies `from` in row-major order, converted to the dtype of `to`, into `to`, which is contiguous; both are here.
  virtual void copy(const Tensor& from, const Tensor& to) = 0;
};

Space& host_space();

}  // namespace sheaf
