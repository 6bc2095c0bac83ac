// This processor as an LLVM target: detects its features, and compiles modules to object files.
#include "runtime/target.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>

#include "codegen/llvm/emit.h"
#include "support/error.h"

namespace sheaf::codegen {
namespace native {
namespace {

struct Machine {
  const llvm::Target* target = nullptr;
  std::string triple, cpu, features;
  EmitTarget host{};

  Machine() {
    // These two passes take half of the compile time and the code gets no faster: addresses are already simple, and the
    // emitted order already interleaves independent work.
    const char* options[] = {"sheaf", "-disable-lsr", "-enable-misched=false"};
    llvm::cl::ParseCommandLineOptions(static_cast<int>(std::size(options)), options);
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    triple = llvm::sys::getProcessTriple();
    cpu = llvm::sys::getHostCPUName().str();
    auto has = llvm::sys::getHostCPUFeatures();
    llvm::SubtargetFeatures list;
    for (const auto& f : has)
      list.AddFeature(f.getKey(), f.getValue());
    auto can = [&](const char* name) { return has.lookup(name); };
#if defined(__aarch64__)
    // The processor's name implies scalable vectors, which the system may have disabled.
    for (const char* name : {"sve", "sve2", "sme"})
      if (!can(name)) list.AddFeature(name, false);
    list.AddFeature("bf16", runtime::host_target().bf16_dot);
    host = {.lanes = 4,
            .fma = true,
            .f16 = true,
            .bf16 = runtime::host_target().bf16_dot,
            .aarch64 = true,
            .bypass_bytes = 0};
#else
    const bool widest = can("avx512f") && can("avx512bw") && can("avx512dq") && can("avx512vl");
    host = {.lanes = widest        ? 16
                     : can("avx2") ? 8
                                   : 4,
            .fma = can("fma"),
            .f16 = can("f16c"),
            .bf16 = false,
            .aarch64 = false,
            .bypass_bytes = runtime::host_target().bypass_bytes};
#endif
    features = list.getString();
    std::string error;
#if LLVM_VERSION_MAJOR >= 22
    target = llvm::TargetRegistry::lookupTarget(llvm::Triple(triple), error);
#else
    target = llvm::TargetRegistry::lookupTarget(triple, error);
#endif
    INVARIANT(target, "LLVM: " << error);
  }

  std::unique_ptr<llvm::TargetMachine> make() const {
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // the kernel says where a fused multiply-add is
#if LLVM_VERSION_MAJOR >= 21
    auto* machine = target->createTargetMachine(llvm::Triple(triple), cpu, features, options, llvm::Reloc::PIC_,
                                                llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default);
#else
    auto* machine = target->createTargetMachine(triple, cpu, features, options, llvm::Reloc::PIC_,
                                                llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default);
#endif
    return std::unique_ptr<llvm::TargetMachine>(machine);
  }
};

const Machine& machine() {
  static const Machine m;
  return m;
}

}  // namespace
}  // namespace native

bool native_available() { return true; }

namespace native {
namespace {

// Cached per thread: creating a TargetMachine costs a fifth of compiling a small kernel.
llvm::TargetMachine& target_of_thread() {
  thread_local std::unique_ptr<llvm::TargetMachine> target;
  if (!target) target = machine().make();
  return *target;
}

void set_target(llvm::Module& module) {
#if LLVM_VERSION_MAJOR >= 21
  module.setTargetTriple(llvm::Triple(machine().triple));
#else
  module.setTargetTriple(machine().triple);
#endif
  module.setDataLayout(target_of_thread().createDataLayout());
}

std::string emit_file(llvm::Module& module, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  bool failed = target_of_thread().addPassesToEmitFile(passes, stream, nullptr, type);
  INVARIANT(!failed, "LLVM cannot write this kind of file");
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

}  // namespace
}  // namespace native

std::string native_text(const loop::Kernel& kernel, NativeText what) {
  llvm::LLVMContext context;
  llvm::Module module("sheaf", context);
  native::set_target(module);
  native::emit_kernel(kernel, kernel.name, native::machine().host, module);
  if (what == NativeText::Assembly) return native::emit_file(module, llvm::CodeGenFileType::AssemblyFile);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

NativeObject make_native_object(std::span<const loop::Kernel> kernels) {
  const auto& m = native::machine();
  llvm::LLVMContext context;
  llvm::Module module("sheaf", context);
  native::set_target(module);
  NativeObject out;
  for (size_t i = 0; i < kernels.size(); ++i)
    out.calls.push_back(native::emit_kernel(kernels[i], "k" + std::to_string(i), m.host, module));
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  INVARIANT(!llvm::verifyModule(module, &problems), "LLVM: " << problem);
  out.elf = native::emit_file(module, llvm::CodeGenFileType::ObjectFile);
  return out;
}

}  // namespace sheaf::codegen
