#include "codegen/gpu/shim_program.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/error.h"

namespace sheaf::codegen::gpu::testing {
namespace {

// A function that takes the parameters from an array of pointers, as a driver's launch does.
std::string wrapper(const Launch& l) {
  std::string arguments;
  // Types follow from the kernel itself.
  for (size_t i = 0; i < l.parameters.size(); ++i)
    arguments += fmt::format("{}*static_cast<shim_argument<{}, decltype({})>*>(a[{}])", i ? ", " : "", i, l.name, i);
  return fmt::format(
      "static void call_{0}(void* p) {{\n  void** a = static_cast<void**>(p);\n  (void)a;\n  {0}({1});\n}}\n"
      "extern \"C\" void run_{0}(void** a, unsigned blocks, unsigned threads, uint64_t seed) {{\n"
      "  shim::launch(call_{0}, a, blocks, threads, seed);\n}}\n",
      l.name, arguments);
}

constexpr std::string_view kHead = R"(#include "codegen/gpu/cuda_shim.h"
template <int i, class F>
struct Argument;
template <int i, class R, class A, class... B>
struct Argument<i, R(A, B...)> : Argument<i - 1, R(B...)> {};
template <class R, class A, class... B>
struct Argument<0, R(A, B...)> {
  using type = A;
};
template <int i, class F>
using shim_argument = typename Argument<i, F>::type;
)";

}  // namespace

void ShimProgram::compile(const std::function<std::string(std::string)>& edit) {
  text_ = kernel_text();
  for (const Launch& l : launches())
    text_ += wrapper(l);
  if (edit) text_ = edit(std::move(text_));
  std::string folder = (std::filesystem::temp_directory_path() / "sheaf-gpu-XXXXXX").string();
  INVARIANT(mkdtemp(folder.data()), "no temporary folder");
  const std::string source = folder + "/batch.cpp", object = folder + "/batch.so", log = folder + "/log";
  std::ofstream(source) << kHead << text_;
  const std::string command =
      fmt::format("{} -std=c++17 -O0 -w -ffp-contract=off -fno-gnu-unique -shared -fPIC -I{} -o {} {} > {} 2>&1",
                  SHEAF_CXX, SHIM_INCLUDE, object, source, log);
  const int status = std::system(command.c_str());
  std::string errors;
  if (status != 0) {
    std::ifstream in(log);
    errors.assign(std::istreambuf_iterator<char>(in), {});
  } else {
    library_ = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library_) errors = dlerror();
  }
  if (std::getenv("SHEAF_KEEP_TEXT"))
    std::fprintf(stderr, "text is kept in %s\n", folder.c_str());
  else
    std::filesystem::remove_all(folder);
  INVARIANT(library_, command << "\n" << errors.substr(0, 4000));
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
  // No zeros that sums could live with.
  std::vector<std::byte> workspace(static_cast<size_t>(workspace_bytes(i)), std::byte{0x5a});
  for (const auto& s : e.program.steps) {
    if (auto* call = std::get_if<HostCall>(&s)) {
      call_host(e, *call, buffers, sizes);
      continue;
    }
    const auto& l = std::get<Launch>(s);
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
