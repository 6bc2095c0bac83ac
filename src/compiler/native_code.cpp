#include "compiler/native_code.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <atomic>
#include <map>
#include <set>

#include "codegen/llvm/native.h"
#include "support/mutex.h"

namespace sheaf::compiler {
namespace {

Mutex mu;
CondVar made_some;
// Kernels come and go with the programs of a prompt: code is freed with its last user.
std::map<CodeKey, std::weak_ptr<const runtime::CpuKernel>> known GUARDED_BY(mu);
std::set<CodeKey> in_progress GUARDED_BY(mu);
std::atomic<uint64_t> num_made{0}, num_loaded{0};

NativeCode loaded(const codegen::NativeObject& object) { return codegen::load_native_object(object)[0]; }

NativeCode remembered(const CodeKey& key) {
  MutexLock lock(mu);
  auto it = known.find(key);
  return it == known.end() ? nullptr : it->second.lock();
}

NativeCode from_disk(const CodeKey& key) {
  auto object = load_code(key);
  if (!object || object->calls.size() != 1) return nullptr;
  try {
    NativeCode code = loaded(*object);
    ++num_loaded;
    return code;
  } catch (const std::exception&) {
    return nullptr;  // an intact file with other contents: compiled again and overwritten
  }
}

NativeCode remember(const CodeKey& key, NativeCode code) {
  MutexLock lock(mu);
  known[key] = code;
  return code;
}

}  // namespace

CodeKey code_key(std::string_view kernel_text, const std::vector<passes::KnownSize>& known_sizes) {
  std::string text(kernel_text);
  for (const auto& k : known_sizes)
    text += fmt::format("\n{}{}{}", k.index, k.at_most ? "<=" : "=", k.value);
  text += "\n" + compiler_identity();
  XXH128_hash_t h = XXH3_128bits(text.data(), text.size());
  return {{h.high64, h.low64}};
}

NativeCode find_code(const CodeKey& key) {
  if (NativeCode code = remembered(key)) return code;
  NativeCode code = from_disk(key);
  return code ? remember(key, std::move(code)) : nullptr;
}

NativeCode find_or_make_code(const CodeKey& key, const std::function<loop::Kernel()>& kernel,
                             const std::string& function) {
  {
    MutexLock lock(mu);
    while (in_progress.count(key))
      made_some.wait(mu);
    auto it = known.find(key);
    if (it != known.end())
      if (NativeCode code = it->second.lock()) return code;
    in_progress.insert(key);
  }
  struct Done {
    const CodeKey& key;
    ~Done() {
      MutexLock lock(mu);
      in_progress.erase(key);
      made_some.notify_all();
    }
  } done{key};
  // Another process may have stored it in the meantime.
  if (NativeCode code = from_disk(key)) return remember(key, std::move(code));
  loop::Kernel kernels[] = {kernel()};
  codegen::NativeObject object = codegen::make_native_object(kernels);
  NativeCode code = loaded(object);
  ++num_made;
  store_code(key, object, kernels[0].name + (function.empty() ? " by itself" : " of " + function));
  return remember(key, std::move(code));
}

CodeStats code_stats() { return {num_made, num_loaded}; }

}  // namespace sheaf::compiler
