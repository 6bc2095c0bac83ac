#include "codegen/gpu/shim_program.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "codegen/gpu/shim_compile.h"
#include "codegen/gpu/shim_load.h"
#include "support/error.h"

namespace sheaf::codegen::gpu::testing {

namespace {

// The product that the library would compute, in the order of k.
void multiply(const runtime::LibraryProduct& p, const std::array<std::byte*, 4>& at) {
  auto value = [&](int which, const runtime::LibraryProduct::Matrix& m, int64_t batch, int64_t number, int64_t l) {
    const int64_t i = batch * m.batch_step + (m.along_k ? number * m.line_step + l : l * m.line_step + number);
    uint16_t bits;
    std::memcpy(&bits, at[static_cast<size_t>(which)] + i * 2, sizeof bits);
    return p.dtype == DType::BF16 ? bf16_to_f32(bits) : f16_to_f32(bits);
  };
  for (int64_t batch = 0; batch < p.batch; ++batch)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        float sum = 0;
        for (int64_t l = 0; l < p.k; ++l)
          sum += value(0, p.a, batch, i, l) * value(1, p.b, batch, j, l);
        const uint16_t narrow = p.result == DType::BF16 ? f32_to_bf16(sum) : f32_to_f16(sum);
        const auto size = static_cast<size_t>(size_bytes(p.result));
        std::memcpy(at[2] + (batch * p.c_batch_step + i * p.c_line_step + j) * static_cast<int64_t>(size),
                    size == 4 ? static_cast<const void*>(&sum) : &narrow, size);
      }
}

}  // namespace

void ShimProgram::compile(const std::function<std::string(std::string)>& edit) {
  text_ = kernel_text();
  for (const EmittedLaunch& l : launches())
    text_ += fmt::format("SHIM_RUNS({})\n", l.name);
  if (edit) text_ = edit(std::move(text_));
  ShimObject object = compile_shim(text_, std::getenv("SHEAF_KEEP_TEXT") != nullptr);
  if (!object.bytes.empty()) library_ = load_shim(object.bytes.data(), object.bytes.size(), object.errors);
  INVARIANT(library_, object.errors.substr(0, 4000));
}

ShimProgram::~ShimProgram() {
  if (library_) dlclose(library_);
}

void ShimProgram::run(size_t i, std::span<const Region> memory, std::span<const int64_t> sizes,
                      loop::CheckRecord& check, uint64_t seed) {
  const Entry& e = entry(i);
  std::vector<std::byte*> buffers;
  for (const Region& r : memory)
    buffers.push_back(r.at);
  Record record;
  int step = 0;
  // Not zeros, which sums would not notice.
  std::vector<std::byte> workspace(static_cast<size_t>(workspace_bytes(i)), std::byte{0x5a});
  for (const auto& s : e.program.steps) {
    if (auto* call = std::get_if<HostCall>(&s)) {
      call_host(e, *call, buffers, sizes);
      continue;
    }
    if (auto* call = std::get_if<LibraryCall>(&s)) {
      multiply(call->product, addresses(*call, buffers, workspace.data()));
      continue;
    }
    const auto& l = std::get<EmittedLaunch>(s);
    Arguments a = arguments(l, buffers, sizes, workspace.data(), reinterpret_cast<std::byte*>(&record), step);
    void* symbol = dlsym(library_, ("run_" + l.name).c_str());
    INVARIANT(symbol, "the library has no " << l.name);
    auto run = reinterpret_cast<void (*)(void**, unsigned, unsigned, uint64_t)>(symbol);
    if (l.schedule.blocks > 0)
      run(a.pointers.data(), static_cast<unsigned>(l.schedule.blocks), static_cast<unsigned>(l.schedule.threads),
          seed + static_cast<uint64_t>(step));
    ++step;
  }
  if (record.failed) check = {record.site, record.payload};
}

}  // namespace sheaf::codegen::gpu::testing
