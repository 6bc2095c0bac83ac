#include "runtime/cuda_mix.h"

#include "runtime/mix_plans.h"
#include "runtime/nvrtc.h"
#include "support/error.h"

namespace sheaf::runtime {
namespace {

// One thread, as the order counts where arrays overlap. Failed checks as in the text of other kernels.
constexpr const char* kText = R"(struct CheckRecord {
  int lock, failed, step, site;
  long long index, payload;
};
extern "C" __global__ void multiply(const unsigned* a, unsigned* w, unsigned divisor, CheckRecord* record, int step) {
  int bad = -1;
  for (int i = 0; i < 8; ++i) {
    if (divisor && bad < 0 && a[i] % divisor == 0) bad = i;
    w[i] = 3 * a[i];
  }
  if (bad < 0) return;
  while (atomicCAS(&record->lock, 0, 1) != 0) {
  }
  __threadfence();
  volatile CheckRecord* r = record;
  if (!r->failed || step < r->step) {
    r->failed = 1;
    r->step = step;
    r->site = 1;
    r->payload = bad;
  }
  __threadfence();
  atomicExch(&record->lock, 0);
}
extern "C" __global__ void add(const unsigned* w, const unsigned* b, unsigned* out, unsigned c) {
  for (int i = 0; i < 8; ++i) out[i] = w[i] + b[i] + c;
}
extern "C" __global__ void add_guarded(const unsigned* w, const unsigned* b, unsigned* out, unsigned c,
                                       const int* failed) {
  if (*failed) return;
  for (int i = 0; i < 8; ++i) out[i] = w[i] + b[i] + c;
}
)";

void* function(const std::string& name) {
  CudaDevice& device = cuda_device(0);
  static const Nvrtc::Result made = Nvrtc::find().compile(kText, device.architecture());
  INVARIANT(made.ok, made.log);
  return device.load(made.cubin, name);
}

class CudaMix final : public DeviceCode {
 public:
  CudaMix(uint32_t c, uint32_t divisor) : c_(c), divisor_(divisor) {}
  std::shared_ptr<const DeviceProgram> program(std::span<const int64_t>, LaunchForm form) const override {
    static void *const multiply = function("multiply"), *const add = function("add"),
                       *const add_guarded = function("add_guarded");
    using P = KernelParameter;
    auto number = [](int64_t x) { return P{P::Value, 0, true, x}; };
    auto& made = made_[form.guarded];
    if (made) return made;
    auto out = std::make_shared<DeviceProgram>();
    out->workspace_bytes = kBytes;
    out->steps.emplace_back(
        DeviceKernel{multiply, 1, 1, {{P::Buffer, 0}, {P::Workspace}, number(divisor_), {P::Check}, {P::Step}}});
    std::vector<P> parameters = {{P::Workspace}, {P::Buffer, 1}, {P::Buffer, 2}, number(c_)};
    if (form.guarded) parameters.push_back({P::Failed});
    out->steps.emplace_back(DeviceKernel{form.guarded ? add_guarded : add, 1, 1, std::move(parameters)});
    return made = std::move(out);
  }
  bool has_host_routines() const override { return false; }

 private:
  uint32_t c_, divisor_;
  mutable std::shared_ptr<const DeviceProgram> made_[2];
};

}  // namespace

std::string cuda_missing() {
  const CudaFinding found = find_cuda();
  return found.missing.empty() ? Nvrtc::find().missing() : found.missing;
}

std::shared_ptr<const Code> mix_on_cuda(uint32_t c, uint32_t divisor) { return std::make_shared<CudaMix>(c, divisor); }

}  // namespace sheaf::runtime
