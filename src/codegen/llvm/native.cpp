#include "codegen/llvm/native.h"

#include <stdexcept>

#include "codegen/llvm/abi.h"
#include "codegen/llvm/loader.h"
#include "kernels/kernels.h"

namespace sheaf::codegen {
namespace {

using native::CallContext;
using native::CallSite;

class NativeKernel final : public runtime::CpuKernel {
 public:
  NativeKernel(std::shared_ptr<const native::LoadedCode> code, native::Entry entry, std::vector<CallSite> calls)
      : code_(std::move(code)), entry_(entry), calls_(std::move(calls)) {}

  int run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const override {
    CallContext c{&native::kServices, buffers.data(), sizes.data(), calls_.data()};
    entry_(&c);
    if (c.error) std::rethrow_exception(c.error);
    payload = c.check.payload;
    return c.check.site;
  }

 private:
  std::shared_ptr<const native::LoadedCode> code_;
  native::Entry entry_;
  std::vector<CallSite> calls_;
};

}  // namespace

std::vector<std::shared_ptr<const runtime::CpuKernel>> load_native_object(const NativeObject& object,
                                                                          const runtime::Target& target) {
  auto code = std::make_shared<const native::LoadedCode>(object.elf);
  std::vector<std::shared_ptr<const runtime::CpuKernel>> out;
  for (size_t i = 0; i < object.calls.size(); ++i) {
    const void* entry = code->find("k" + std::to_string(i));
    if (!entry) throw std::runtime_error("native code: a kernel is missing");
    std::vector<CallSite> calls;
    for (const NativeObject::Call& c : object.calls[i]) {
      routines::Routine routine = kernels::find_fast_routine(c.routine);
      if (!routine || c.buffers.size() > native::kMaxCallBuffers)
        throw std::runtime_error("native code: no routine " + c.routine);
      calls.push_back({routine, c.buffers, c.num_arguments, kernels::arithmetic_of(target)});
    }
    out.push_back(std::make_shared<NativeKernel>(code, reinterpret_cast<native::Entry>(const_cast<void*>(entry)),
                                                 std::move(calls)));
  }
  return out;
}

}  // namespace sheaf::codegen
