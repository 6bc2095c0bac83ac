// `sheaf devices`: the devices that programs can use, and why they cannot use the others.
#include <fmt/format.h>

#include "builtins/host/output.h"
#include "runtime/device_cuda.h"
#include "runtime/thread_pool.h"
#include "tools/commands.h"

namespace sheaf::tools {

int run_devices(const Options&) {
  std::string out = fmt::format("{:<8} {}, {} threads\n", "cpu", runtime::host_target().name, runtime::num_threads());
  const runtime::CudaFinding cuda = runtime::find_cuda();
  for (size_t i = 0; i < cuda.devices.size(); ++i)
    out += fmt::format("{:<8} {}\n", fmt::format("cuda:{}", i), cuda.devices[i]);
  if (!cuda.missing.empty()) out += fmt::format("{:<8} not usable: {}\n", "cuda", cuda.missing);
  for (const std::string& library : runtime::find_cuda_libraries())
    out += fmt::format("{:<8}   {}\n", "", library);
  out += fmt::format("{:<8} simulated, for tests\n", "sim");
  builtins::write_out(out);
  builtins::flush_out();
  return 0;
}

}  // namespace sheaf::tools
