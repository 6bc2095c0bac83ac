#include "codegen/gpu/text_program.h"

#include <cstdlib>
#include <cstring>
#include <random>

#include "codegen/gpu/device_program.h"
#include "codegen/gpu/shim_program.h"
#include "passes/loop/expand_math.h"
#include "passes/loop/hoist.h"
#include "passes/loop/specialize.h"
#include "routines/routine.h"
#include "support/error.h"

namespace sheaf::codegen::gpu::testing {

std::vector<Region> regions(std::vector<codegen::testing::Memory>& m) {
  std::vector<Region> out;
  for (auto& x : m)
    out.push_back({x.bytes.data(), x.bytes.data(), x.bytes.size()});
  return out;
}

size_t TextProgram::add(const loop::Kernel& k, std::span<const int64_t> sizes, const Facilities& facilities) {
  auto kernel = std::make_shared<loop::Kernel>(
      passes::expand_math(passes::hoist_invariants(passes::specialize(k, passes::StrideSizes(k).known(sizes)), sizes)));
  loop::verify(*kernel);
  EmittedProgram p = make_program(*kernel, sizes, next_prefix(), helpers_, facilities);
  return add({std::move(kernel), std::move(p)});
}

size_t TextProgram::add(Entry e) {
  for (auto& step : e.program.steps) {
    auto* l = std::get_if<EmittedLaunch>(&step);
    if (!l) continue;
    std::string anonymous = l->text;
    // The schedule in the first line may differ in what the text does not depend on.
    anonymous.erase(0, anonymous.find('\n') + 1);
    if (size_t at = anonymous.find(l->name + "("); at != std::string::npos) anonymous.erase(at, l->name.size());
    auto [known, fresh] = known_.emplace(anonymous, l->name);
    if (fresh) launches_.push_back(*l);
    l->name = known->second;
  }
  entries_.push_back(std::move(e));
  return entries_.size() - 1;
}

TextProgram::Arguments TextProgram::arguments(const EmittedLaunch& l, std::span<std::byte* const> buffers,
                                              std::span<const int64_t> sizes, const std::byte* workspace,
                                              const std::byte* record, int step) {
  Arguments out;
  for (const Parameter& p : l.parameters) {
    int64_t& value = out.values.emplace_back();
    // A narrow value is what its first four bytes hold.
    auto set = [&](auto x) { std::memcpy(&value, &x, sizeof x); };
    auto number = [&](int64_t x) { p.narrow ? set(static_cast<int>(x)) : set(x); };
    switch (p.kind) {
      case Parameter::Buffer: set(buffers[static_cast<size_t>(p.index)]); break;
      case Parameter::Workspace: set(workspace + p.value); break;
      case Parameter::Check: set(record); break;
      case Parameter::Failed: set(record + offsetof(Record, failed)); break;
      case Parameter::Step: set(step); break;
      case Parameter::Size: number(sizes[static_cast<size_t>(p.index)]); break;
      case Parameter::Value: number(p.value); break;
    }
  }
  for (int64_t& value : out.values)
    out.pointers.push_back(&value);
  return out;
}

void TextProgram::call_host(const Entry& e, const HostCall& call, std::span<std::byte* const> buffers,
                            std::span<const int64_t> sizes) {
  INVARIANT(call.call, e.kernel->name << " has no form for a device");
  std::vector<std::byte*> pointers;
  for (int32_t b : call.call->buffers)
    pointers.push_back(buffers[static_cast<size_t>(b)]);
  routines::find_routine(call.call->routine)({pointers, {}}, call_arguments(*e.kernel, *call.call, sizes));
}

int64_t TextProgram::workspace_bytes(size_t i) const {
  int64_t bytes = 0;
  for (const auto& s : entries_[i].program.steps)
    if (auto* l = std::get_if<EmittedLaunch>(&s))
      bytes = std::max(bytes, l->workspace_bytes);
    else if (auto* call = std::get_if<LibraryCall>(&s))
      bytes = std::max(bytes, call->workspace_bytes);
  return bytes;
}

std::array<std::byte*, 4> TextProgram::addresses(const LibraryCall& call, std::span<std::byte* const> buffers,
                                                 std::byte* workspace) {
  auto address = [&](const Parameter& p) {
    return p.kind == Parameter::Buffer ? buffers[static_cast<size_t>(p.index)] : workspace + p.value;
  };
  return {address(call.a), address(call.b), address(call.c), address(call.workspace)};
}

std::string TextProgram::text_of(size_t i) const {
  std::string out;
  for (const auto& s : entries_[i].program.steps)
    if (auto* l = std::get_if<EmittedLaunch>(&s)) out += l->text + "\n";
  return out;
}

std::string TextProgram::kernel_text() const {
  std::string out = helpers_.text() + "\n";
  for (const EmittedLaunch& l : launches_)
    out += l.text + "\n";
  return out;
}

uint64_t seed() {
  const char* text = std::getenv("SHEAF_SEED");
  return text ? std::strtoull(text, nullptr, 10) : uint64_t{std::random_device{}()};
}

void EachProgram::SetUp() {
  if (on_device() && !Device::find().missing.empty()) GTEST_SKIP() << "no GPU: " << Device::find().missing;
}

std::unique_ptr<TextProgram> EachProgram::make() const {
  if (on_device()) return std::make_unique<DeviceProgram>();
  return std::make_unique<ShimProgram>();
}

}  // namespace sheaf::codegen::gpu::testing
