#include "runtime/device_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "runtime/cublas_lt.h"
#include "runtime/cuda_driver.h"
#include "runtime/cuda_graph.h"
#include "runtime/device_memory.h"
#include "runtime/idle_memory.h"
#include "runtime/nvrtc.h"
#include "runtime/pinned.h"
#include "support/error.h"
#include "support/mutex.h"
#include "tensor/tensor.h"

namespace sheaf::runtime {
namespace {

const CudaDriver& driver() { return CudaDriver::find(); }

std::string description(int number) {
  int device = 0, major = 0, minor = 0;
  size_t bytes = 0;
  char name[256] = "";
  const CudaDriver& d = driver();
  d.check(d.device(&device, number), "cuDeviceGet");
  d.check(d.device_name(name, sizeof name, device), "cuDeviceGetName");
  d.check(d.device_attribute(&major, CudaDriver::kComputeMajor, device), "cuDeviceGetAttribute");
  d.check(d.device_attribute(&minor, CudaDriver::kComputeMinor, device), "cuDeviceGetAttribute");
  d.check(d.device_memory(&bytes, device), "cuDeviceTotalMem");
  return fmt::format("{}, sm_{}{}, {:.0f} GiB", name, major, minor, static_cast<double>(bytes) / (1 << 30));
}

class Cuda final : public CudaDevice {
 public:
  explicit Cuda(int number) : number_(number), name_(fmt::format("cuda:{}", number)) {
    int device = 0, major = 0, minor = 0;
    driver().check(driver().device(&device, number), "cuDeviceGet");
    driver().check(driver().device_attribute(&major, CudaDriver::kComputeMajor, device), "cuDeviceGetAttribute");
    driver().check(driver().device_attribute(&minor, CudaDriver::kComputeMinor, device), "cuDeviceGetAttribute");
    architecture_ = fmt::format("sm_{}{}", major, minor);
    shown_name_ = fmt::format("CUDA GPU ({})", architecture_);
    driver().check(driver().retain_context(&context_, device), "cuDevicePrimaryCtxRetain");
    enter();
    driver().check(driver().create_stream(&stream_, CudaDriver::kNonBlocking), "cuStreamCreate");
    size_t free = 0, total = 0;
    driver().check(driver().memory_info(&free, &total), "cuMemGetInfo");
    memory_.set_limit(free / 100 * kUsedPercent);
    target_ = host_target();
    target_.id = TargetId::Cuda;
    target_.name = "cuda";
    target_.bf16_dot = target_.amx = false;  // facts of the host only
    target_.matrix_units = major >= 8;
    target_.max_recomputed_ops = kRecomputedOps;
  }

  std::string_view name() const override { return name_; }
  std::string_view shown_name() const override { return shown_name_; }
  const Target& target() const override { return target_; }
  const std::string& architecture() const override { return architecture_; }
  int number() const override { return number_; }
  void synchronize_all() override {
    enter();
    driver().check(driver().synchronize_context(), "cuCtxSynchronize");
  }
  void set_copy_elements(CopyElements copy) override { copy_elements_ = copy; }

  uint64_t take(size_t bytes) override {
    enter();
    auto take_or_trim = [&] {
      const uint64_t address = memory_.take(bytes);
      if (address) return address;
      memory_.trim([this] { synchronize(); });
      return memory_.take(bytes);
    };
    uint64_t address = take_or_trim();
    if (!address && free_idle_memory(*this)) address = take_or_trim();
    if (!address) throw out_of_device_memory(*this, bytes, memory_.in_use());
    return address;
  }
  void give(uint64_t address, size_t bytes) override { memory_.give(address, bytes); }
  MemoryUse memory_use() const override { return {memory_.in_use(), memory_.peak()}; }
  void set_memory_limit(size_t bytes) override { memory_.set_limit(bytes); }

  void read(uint64_t from, std::byte* to, size_t bytes) const override {
    if (bytes == 0) return;
    enter();
    driver().check(driver().to_host(to, from, bytes), "cuMemcpyDtoH");
  }
  // Returns as soon as the bytes are copied to pinned memory.
  void send(const std::byte* from, uint64_t to, size_t bytes) override {
    MutexLock lock(mu_);
    enter();
    send_bytes(from, to, bytes);
  }
  void fetch_all(std::span<const Fetch> pieces, Waiting how) override {
    enter();
    size_t total = 0;
    for (const Fetch& f : pieces)
      total += f.bytes;
    if (total <= kLandingBytes) return fetch_together(pieces, how);
    for (const Fetch& f : pieces)
      fetch_large(f, how);
  }
  void copy(const Tensor& from, const Tensor& to) override {
    if (from.dtype != to.dtype || !from.is_contiguous()) return copy_elements_(from, to);
    const auto element = static_cast<uint64_t>(size_bytes(from.dtype));
    MutexLock lock(mu_);
    enter();
    copy_bytes(to.buffer->address() + static_cast<uint64_t>(to.offset) * element,
               from.buffer->address() + static_cast<uint64_t>(from.offset) * element,
               static_cast<size_t>(to.num_elems()) * element);
  }

  bool needs_ranges(const Code& code) const override {
    return static_cast<const DeviceCode&>(code).has_host_routines();
  }
  void submit(DeviceStep step) override {
    // Look up or compile code without holding the lock.
    auto* const launch = std::get_if<DeviceLaunch>(&step);
    const std::shared_ptr<const DeviceProgram> program = launch ? program_of(*launch) : nullptr;
    const uint64_t workspace =
        program && program->workspace_bytes > 0 ? take(static_cast<size_t>(program->workspace_bytes)) : 0;
    {
      MutexLock lock(mu_);
      enter();
      if (launch) run_launch(*launch, *program, workspace);
      if (auto* c = std::get_if<DeviceCopy>(&step)) copy_bytes(address(c->to), address(c->from), c->size_bytes);
      if (auto* s = std::get_if<DeviceStore>(&step))
        send_bytes(reinterpret_cast<const std::byte*>(&s->number), address(s->to), sizeof s->number);
      ++submitted_;
    }
    if (workspace) give(workspace, static_cast<size_t>(program->workspace_bytes));
  }

  std::unique_ptr<DeviceGraph> record(std::vector<DeviceStep> steps,
                                      const std::vector<std::vector<int>>& after) override {
    enter();
    return CudaGraph::record(std::move(steps), after);
  }
  void submit(DeviceGraph& graph) override {
    MutexLock lock(mu_);
    enter();
    static_cast<CudaGraph&>(graph).launch(stream_);
    ++submitted_;
  }
  bool can_record(const Code& code, std::span<const int64_t> sizes, bool guarded) const override {
    const auto program = static_cast<const DeviceCode&>(code).program(sizes, {true, guarded});
    return driver().has_graphs() && std::all_of(program->steps.begin(), program->steps.end(), [](const auto& step) {
             return !std::holds_alternative<HostRoutine>(step);
           });
  }
  size_t workspace_bytes(const DeviceLaunch& launch) const override {
    return static_cast<size_t>(program_of(launch)->workspace_bytes);
  }

  uint64_t time(DeviceStep step) override {
    MutexLock timing(timing_);
    enter();
    for (void*& event : timers_)
      if (!event) driver().check(driver().create_event(&event, 0), "cuEventCreate");
    driver().check(driver().record_event(timers_[0], stream_), "cuEventRecord");
    submit(std::move(step));
    driver().check(driver().record_event(timers_[1], stream_), "cuEventRecord");
    driver().check(driver().synchronize_event(timers_[1]), "cuEventSynchronize");
    float milliseconds = 0;
    driver().check(driver().elapsed(&milliseconds, timers_[0], timers_[1]), "cuEventElapsedTime");
    return static_cast<uint64_t>(milliseconds * 1e6f);
  }

  Event mark() override {
    MutexLock lock(mu_);
    return submitted_;
  }
  bool wait_for(Event event, std::chrono::microseconds most) override {
    enter();
    return poll(most, [&] {
      MutexLock lock(mu_);
      if (event <= done_) return true;
      if (!is_done(driver().query_stream(stream_), "cuStreamQuery")) return false;
      done_ = submitted_;
      return true;
    });
  }

  std::shared_ptr<const PlannedProduct> plan_product(const LibraryProduct& product) override {
    enter();
    return PlannedProduct::find(product);
  }

  void* load(std::string_view cubin, const std::string& function) override {
    enter();
    void *module = nullptr, *found = nullptr;
    driver().check(driver().load_module(&module, cubin.data()), "cuModuleLoadData");
    driver().check(driver().find_function(&found, module, function.c_str()), "cuModuleGetFunction");
    return found;
  }

 private:
  // Leaves memory for the driver (graphs, local memory) and for other programs of the user.
  static constexpr size_t kUsedPercent = 92;
  static constexpr size_t kLandingBytes = 4096, kSmall = 32 << 10, kLargePiece = 16 << 20;

  static uint64_t address(const std::byte* p) { return reinterpret_cast<uint64_t>(p); }
  // Makes the context current on the calling thread.
  void enter() const {
    thread_local const void* current = nullptr;
    if (current == context_) return;
    driver().check(driver().set_context(context_), "cuCtxSetCurrent");
    current = context_;
  }
  void synchronize() const {
    enter();
    driver().check(driver().synchronize_stream(stream_), "cuStreamSynchronize");
  }

  static bool is_done(int status, const char* call) {
    if (status == CudaDriver::kNotReady) return false;
    driver().check(status, call);
    return true;
  }
  // Polls until done() is true or the time is over. Spins instead of sleeping: most waits are short.
  template <class Done>
  static bool poll(std::chrono::microseconds most, Done done) {
    for (const auto end = std::chrono::steady_clock::now() + most;; std::this_thread::yield()) {
      if (done()) return true;
      if (std::chrono::steady_clock::now() >= end) return false;
    }
  }
  void wait_for_event(void* event, Waiting how) {
    const auto look = std::chrono::milliseconds(2);
    while (!poll(look, [&] { return is_done(driver().query_event(event), "cuEventQuery"); }))
      if (how == Waiting::Stoppable && g_stop_requested && g_stop_requested()) throw Stopped{};
  }

  // Copies on the stream, so that later launches wait for the copy.
  void send_bytes(const std::byte* from, uint64_t to, size_t bytes) REQUIRES(mu_) {
    PinnedRing& ring = bytes <= kSmall ? small_ring_ : large_ring_;
    for (size_t at = 0; at < bytes; at += ring.piece_bytes()) {
      const size_t count = std::min(bytes - at, ring.piece_bytes());
      std::byte* const piece = ring.take(count, stream_);
      runtime::copy_bytes(piece, from + at, count);
      driver().check(driver().to_device_async(to + at, piece, count, stream_), "cuMemcpyHtoDAsync");
    }
    ++submitted_;
  }
  void submit_fetch(uint64_t from, std::byte* to, size_t bytes) REQUIRES(mu_) {
    if (bytes) driver().check(driver().to_host_async(to, from, bytes, stream_), "cuMemcpyDtoHAsync");
  }

  // Copies all pieces with one wait. If a wait was stopped, its landing buffer may be reused before the copy to it is
  // done: this is safe because copies on the stream are in order.
  void fetch_together(std::span<const Fetch> pieces, Waiting how) {
    Landing landing;
    {
      MutexLock lock(mu_);
      if (landings_.empty()) landings_.push_back(new_landing(kLandingBytes));
      landing = landings_.back();
      landings_.pop_back();
      std::byte* to = landing.data;
      for (const Fetch& f : pieces) {
        submit_fetch(address(f.from), to, f.bytes);
        to += f.bytes;
      }
      driver().check(driver().record_event(landing.event, stream_), "cuEventRecord");
    }
    struct Back {
      Cuda& cuda;
      const Landing& landing;
      ~Back() {
        MutexLock lock(cuda.mu_);
        cuda.landings_.push_back(landing);
      }
    } back{*this, landing};
    wait_for_event(landing.event, how);
    const std::byte* from = landing.data;
    for (const Fetch& f : pieces) {
      if (f.bytes) std::memcpy(f.to, from, f.bytes);
      from += f.bytes;
    }
  }

  // Double-buffered: one chunk is copied to its destination while the transfer of the next one is in flight.
  void fetch_large(const Fetch& f, Waiting how) {
    MutexLock fetching(fetching_);
    auto submit = [&](size_t at) {
      Landing& landing = large_[at / kLargePiece % 2];
      MutexLock lock(mu_);
      if (!landing.data) landing = new_landing(kLargePiece);
      submit_fetch(address(f.from) + at, landing.data, std::min(f.bytes - at, kLargePiece));
      driver().check(driver().record_event(landing.event, stream_), "cuEventRecord");
    };
    if (f.bytes) submit(0);
    for (size_t at = 0; at < f.bytes; at += kLargePiece) {
      if (at + kLargePiece < f.bytes) submit(at + kLargePiece);
      const Landing& landing = large_[at / kLargePiece % 2];
      wait_for_event(landing.event, how);
      runtime::copy_bytes(f.to + at, landing.data, std::min(f.bytes - at, kLargePiece));
    }
  }

  void copy_bytes(uint64_t to, uint64_t from, size_t bytes) REQUIRES(mu_) {
    if (bytes == 0 || to == from) return;
    driver().check(driver().on_device_async(to, from, bytes, stream_), "cuMemcpyDtoDAsync");
    ++submitted_;
  }

  void run_launch(const DeviceLaunch& l, const DeviceProgram& program, uint64_t workspace) REQUIRES(mu_) {
    int number = 0;
    for (const auto& step : program.steps) {
      if (auto* kernel = std::get_if<DeviceKernel>(&step))
        run_kernel(*kernel, l, workspace, number);
      else if (auto* call = std::get_if<LibraryCall>(&step))
        call->submit(addresses_of(*call, l, workspace), stream_);
      else
        run_on_host(std::get<HostRoutine>(step), l, number);
      ++number;
    }
  }

  void run_kernel(const DeviceKernel& kernel, const DeviceLaunch& l, uint64_t workspace, int number) REQUIRES(mu_) {
    KernelArguments arguments(kernel, l, workspace, number);
    driver().check(
        driver().launch(kernel.function, static_cast<unsigned>(kernel.blocks), 1, 1,
                        static_cast<unsigned>(kernel.threads), 1, 1, 0, stream_, arguments.pointers(), nullptr),
        "cuLaunchKernel");
  }

  // Waits for the stream first: the bytes to read must have been written.
  void run_on_host(const HostRoutine& routine, const DeviceLaunch& l, int number) REQUIRES(mu_) {
    synchronize();
    CheckRecord record;
    if (l.record) read(address(l.record), reinterpret_cast<std::byte*>(&record), sizeof record);
    if (record.failed) return;
    int64_t payload = 0;
    const int site = runtime::run_on_host(
        routine, l, payload, [&](uint64_t from, std::byte* to, size_t bytes) { read(from, to, bytes); },
        [&](const std::byte* from, uint64_t to, size_t bytes) REQUIRES(mu_) { send_bytes(from, to, bytes); });
    if (site < 0) return;
    record = {0, 1, l.number * kStepsOfLaunch + number, site, 0, payload};
    send_bytes(reinterpret_cast<const std::byte*>(&record), address(l.record), sizeof record);
  }

  const int number_;
  const std::string name_;
  std::string architecture_, shown_name_;
  Target target_;
  void* context_ = nullptr;
  void* stream_ = nullptr;
  CopyElements copy_elements_ = nullptr;
  DeviceMemory memory_{[](size_t bytes) {
                         uint64_t address = 0;
                         const int status = driver().allocate(&address, bytes);
                         if (status == CudaDriver::kOutOfMemory) return uint64_t{0};
                         driver().check(status, "cuMemAlloc");
                         return address;
                       },
                       [](uint64_t address) { driver().check(driver().release(address), "cuMemFree"); }};
  mutable Mutex mu_;
  Event submitted_ GUARDED_BY(mu_) = 0, done_ GUARDED_BY(mu_) = 0;
  PinnedRing small_ring_ GUARDED_BY(mu_){64 << 10, 16}, large_ring_ GUARDED_BY(mu_){kLargePiece, 4};
  std::vector<Landing> landings_ GUARDED_BY(mu_);  // unused ones, for small fetches
  Mutex timing_;
  void* timers_[2] GUARDED_BY(timing_) = {};
  Mutex fetching_;
  Landing large_[2] GUARDED_BY(fetching_);
};

}  // namespace

CudaDevice& cuda_device(int number) {
  static Cuda* const device = [&] {
    const CudaFinding found = find_cuda();
    const int count = static_cast<int>(found.devices.size());
    const std::string reason = !found.missing.empty() ? found.missing
                               : number >= count      ? fmt::format("there are {} GPUs, from number 0 on", count)
                                                      : "";
    if (!reason.empty())
      throw runtime_error(fmt::format("--device cuda{}: there is no working CUDA device: {}",
                                      number ? fmt::format(":{}", number) : "", reason));
    return new Cuda(number);  // for the life of the program
  }();
  return *device;
}

CudaFinding find_cuda() {
  CudaFinding out{{}, driver().missing};
  if (!out.missing.empty()) return out;
  int count = 0;
  driver().check(driver().device_count(&count), "cuDeviceGetCount");
  for (int i = 0; i < count; ++i)
    out.devices.push_back(description(i));
  return out;
}

std::vector<std::string> find_cuda_libraries() {
  const Nvrtc& nvrtc = Nvrtc::find();
  std::vector<std::string> out{nvrtc.missing().empty()
                                   ? fmt::format("compiler: {}, NVRTC {}", nvrtc.path(), nvrtc.version())
                                   : "compiler: " + nvrtc.missing()};
  if (int version = 0; driver().missing.empty()) {
    driver().check(driver().driver_version(&version), "cuDriverGetVersion");
    out.push_back(fmt::format("driver: {}, CUDA {}.{}", driver().path, version / 1000, version % 1000 / 10));
  }
  const CublasLt& products = CublasLt::find();
  out.push_back(products.missing.empty() ? fmt::format("products: {}, cuBLASLt {}", products.path, products.version)
                                         : "products: " + products.missing);
  return out;
}

}  // namespace sheaf::runtime
