// Damaged objects are refused, not loaded: every prefix of an object, and objects with bytes changed in their headers.
#include "codegen/llvm/loader.h"

#include <gtest/gtest.h>

#include <random>

#include "codegen/llvm/native.h"
#include "loop/builder.h"

namespace sheaf::codegen {
namespace {

std::string some_object() {
  loop::Builder b("f");
  b.buffer(DType::F32, true);
  auto i = b.begin_loop(b.size(), loop::Mark::Vector);
  b.store(0, i, b.add(b.load(0, i), b.f32(0.3f)));
  b.end();
  loop::Kernel kernels[] = {b.finish()};
  return make_native_object(kernels).elf;
}

TEST(Loader, FindsTheKernel) {
  if (!native_available()) GTEST_SKIP() << "built without LLVM";
  native::LoadedCode code(some_object());
  EXPECT_NE(code.find("k0"), nullptr);
  EXPECT_EQ(code.find("k1"), nullptr);
}

TEST(Loader, RefusesEveryPrefix) {
  if (!native_available()) GTEST_SKIP() << "built without LLVM";
  std::string elf = some_object();
  for (size_t n = 0; n < elf.size(); n += 1 + n / 64)
    EXPECT_THROW(native::LoadedCode(elf.substr(0, n)), std::runtime_error) << n;
}

TEST(Loader, SurvivesChangedBytes) {
  if (!native_available()) GTEST_SKIP() << "built without LLVM";
  std::string elf = some_object();
  std::mt19937 rng(5);
  for (int trial = 0; trial < 3000; ++trial) {
    std::string changed = elf;
    for (int k = 0; k < 3; ++k) {
      // The tables at both ends hold the offsets of sections.
      size_t at = rng() % 2 ? rng() % 64 : changed.size() - 1 - rng() % (changed.size() / 2);
      changed[at] = static_cast<char>(rng());
    }
    try {
      native::LoadedCode code(changed);
    } catch (const std::runtime_error&) {
    }
  }
}

}  // namespace
}  // namespace sheaf::codegen
