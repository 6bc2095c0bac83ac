#include "runtime/device_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "runtime/cuda_driver.h"
#include "runtime/device_code.h"
#include "runtime/device_memory.h"
#include "runtime/nvrtc.h"
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
    record_ = take(sizeof(CheckRecord));
    const CheckRecord fresh;
    send_bytes(&fresh, record_, sizeof fresh);
    target_ = host_target();
    target_.id = TargetId::Cuda;
    target_.name = "cuda";
  }

  std::string_view name() const override { return name_; }
  std::string_view shown_name() const override { return shown_name_; }
  const Target& target() const override { return target_; }
  const std::string& architecture() const override { return architecture_; }
  void set_copy_elements(CopyElements copy) override { copy_elements_ = copy; }

  uint64_t take(size_t bytes) override {
    enter();
    uint64_t address = memory_.take(bytes);
    if (!address) {
      memory_.trim([this] { synchronize(); });
      address = memory_.take(bytes);
    }
    if (!address)
      throw runtime_error(
          fmt::format("out of memory: the device {} has no {} bytes, with {} in use", name_, bytes, memory_.in_use()));
    return address;
  }
  void give(uint64_t address, size_t bytes) override { memory_.give(address, bytes); }

  void read(uint64_t from, std::byte* to, size_t bytes) const override {
    if (bytes == 0) return;
    enter();
    driver().check(driver().to_host(to, from, bytes), "cuMemcpyDtoH");
  }
  void send(const std::byte* from, uint64_t to, size_t bytes) override {
    if (bytes == 0) return;
    MutexLock lock(mu_);
    enter();
    send_bytes(from, to, bytes);
    ++submitted_;
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
  void submit(DeviceStep step, std::shared_ptr<DeviceRun> run) override {
    if (run->failed) return;
    // Code is found or made without the lock.
    std::shared_ptr<const DeviceProgram> program;
    if (auto* l = std::get_if<DeviceLaunch>(&step)) {
      const bool aligned = std::all_of(l->buffers.begin(), l->buffers.end(), [](const std::byte* b) {
        return reinterpret_cast<uint64_t>(b) % kDeviceAlignment == 0;
      });
      program = static_cast<const DeviceCode&>(*l->code).program(l->sizes, aligned);
    }
    const uint64_t workspace =
        program && program->workspace_bytes > 0 ? take(static_cast<size_t>(program->workspace_bytes)) : 0;
    {
      MutexLock lock(mu_);
      enter();
      if (auto* l = std::get_if<DeviceLaunch>(&step)) run_launch(*l, *program, workspace, *run);
      if (auto* c = std::get_if<DeviceCopy>(&step)) copy_bytes(address(c->to), address(c->from), c->size_bytes);
      if (auto* s = std::get_if<DeviceStore>(&step)) send_bytes(&s->number, address(s->to), sizeof s->number);
      ++submitted_;
    }
    if (workspace) give(workspace, static_cast<size_t>(program->workspace_bytes));
  }

  Event mark() override {
    MutexLock lock(mu_);
    return submitted_;
  }
  bool passed(Event event) const override {
    MutexLock lock(mu_);
    if (event <= done_) return true;
    enter();
    return driver().query_stream(stream_) == CudaDriver::kSuccess;
  }
  void wait(Event event) override {
    {
      MutexLock lock(mu_);
      if (event <= done_) return;
    }
    const Event submitted = mark();
    synchronize();
    MutexLock lock(mu_);
    done_ = std::max(done_, submitted);
  }

  void* load(std::string_view cubin, const std::string& function) override {
    enter();
    void *module = nullptr, *found = nullptr;
    driver().check(driver().load_module(&module, cubin.data()), "cuModuleLoadData");
    driver().check(driver().find_function(&found, module, function.c_str()), "cuModuleGetFunction");
    return found;
  }

 private:
  // As the text of kernels declares it (codegen/gpu/dialect.cpp).
  struct CheckRecord {
    int lock = 0, failed = 0, step = 0, site = 0;
    long long index = 0, payload = 0;
  };

  static uint64_t address(const std::byte* p) { return reinterpret_cast<uint64_t>(p); }
  // Makes the context that of the calling thread.
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

  // From memory that is not pinned: the driver has copied it when this returns. On the stream, or launches would not
  // wait for it.
  void send_bytes(const void* from, uint64_t to, size_t bytes) const {
    driver().check(driver().to_device_async(to, from, bytes, stream_), "cuMemcpyHtoDAsync");
  }
  void copy_bytes(uint64_t to, uint64_t from, size_t bytes) REQUIRES(mu_) {
    if (bytes == 0 || to == from) return;
    driver().check(driver().on_device_async(to, from, bytes, stream_), "cuMemcpyDtoDAsync");
    ++submitted_;
  }

  void run_launch(const DeviceLaunch& l, const DeviceProgram& program, uint64_t workspace, DeviceRun& run)
      REQUIRES(mu_) {
    int number = 0;
    for (const auto& step : program.steps) {
      if (auto* kernel = std::get_if<DeviceKernel>(&step))
        run_kernel(*kernel, l, workspace, number);
      else
        run_on_host(std::get<HostRoutine>(step), l, run);
      if (run.failed) return;
      ++number;
    }
    if (program.checks) read_record(l, run);
  }

  void run_kernel(const DeviceKernel& kernel, const DeviceLaunch& l, uint64_t workspace, int number) REQUIRES(mu_) {
    if (kernel.blocks == 0) return;
    SmallVec<int64_t, 64> values;
    for (const KernelParameter& p : kernel.parameters) {
      int64_t value = 0;
      // A narrow value is what its first four bytes hold.
      auto set = [&](auto x) { std::memcpy(&value, &x, sizeof x); };
      auto set_number = [&](int64_t x) { p.narrow ? set(static_cast<int>(x)) : set(x); };
      switch (p.kind) {
        case KernelParameter::Buffer: set(l.buffers[static_cast<size_t>(p.index)]); break;
        case KernelParameter::Workspace: set(workspace); break;
        case KernelParameter::Check: set(record_); break;
        case KernelParameter::Step: set(number); break;
        case KernelParameter::Size: set_number(l.sizes[static_cast<size_t>(p.index)]); break;
        case KernelParameter::Value: set_number(p.value); break;
      }
      values.push_back(value);
    }
    SmallVec<void*, 64> pointers;
    for (int64_t& value : values)
      pointers.push_back(&value);
    driver().check(driver().launch(kernel.function, static_cast<unsigned>(kernel.blocks), 1, 1,
                                   static_cast<unsigned>(kernel.threads), 1, 1, 0, stream_, pointers.data(), nullptr),
                   "cuLaunchKernel");
  }

  // Waits: what is to be read must be there.
  void run_on_host(const HostRoutine& routine, const DeviceLaunch& l, DeviceRun& run) REQUIRES(mu_) {
    synchronize();
    struct Copy {
      int64_t first = 0, end = 0;  // bytes from the pointer of the launch
      bool written = false;
      std::vector<std::byte> bytes;
    };
    // Buffers that begin at the same address are one: a result may take the place of an operand.
    std::map<const std::byte*, Copy> copies;
    for (const HostRoutine::Buffer& b : routine.buffers) {
      const ByteRange& range = l.ranges[static_cast<size_t>(b.index)];
      auto [at, fresh] = copies.try_emplace(l.buffers[static_cast<size_t>(b.index)]);
      Copy& c = at->second;
      c.first = fresh ? range.first : std::min(c.first, range.first);
      c.end = std::max(fresh ? range.first : c.end, range.first + range.count);
      c.written |= b.written;
    }
    constexpr size_t kAlign = 64;
    for (auto& [at, c] : copies) {
      const auto size = static_cast<size_t>(c.end - c.first);
      c.bytes.resize(size + kAlign);
      read(address(at) + static_cast<uint64_t>(c.first), aligned(c.bytes), size);
    }
    SmallVec<std::byte*, 16> pointers;
    for (const HostRoutine::Buffer& b : routine.buffers) {
      Copy& c = copies.at(l.buffers[static_cast<size_t>(b.index)]);
      pointers.push_back(aligned(c.bytes) - c.first);
    }
    int64_t payload = 0;
    const int site = routine.run({pointers.data(), pointers.size()}, payload);
    if (site >= 0) {
      run.failed = CheckFailure{l.label, site, payload};
      return;
    }
    for (auto& [at, c] : copies)
      if (const auto size = static_cast<size_t>(c.end - c.first); c.written && size > 0)
        send_bytes(aligned(c.bytes), address(at) + static_cast<uint64_t>(c.first), size);
  }
  static std::byte* aligned(std::vector<std::byte>& bytes) {
    constexpr uint64_t kAlign = 64;
    return bytes.data() + (kAlign - reinterpret_cast<uint64_t>(bytes.data()) % kAlign) % kAlign;
  }

  // One record serves all launches, as each that may fail is waited for.
  void read_record(const DeviceLaunch& l, DeviceRun& run) REQUIRES(mu_) {
    synchronize();
    CheckRecord record;
    read(record_, reinterpret_cast<std::byte*>(&record), sizeof record);
    if (!record.failed) return;
    run.failed = CheckFailure{l.label, record.site, record.payload};
    const CheckRecord fresh;
    send_bytes(&fresh, record_, sizeof fresh);
  }

  const int number_;
  const std::string name_;
  std::string architecture_, shown_name_;
  Target target_;
  void* context_ = nullptr;
  void* stream_ = nullptr;
  uint64_t record_ = 0;
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
  CudaFinding out;
  const Nvrtc& nvrtc = Nvrtc::find();
  out.libraries.push_back(nvrtc.missing().empty() ? fmt::format("compiler: {}, NVRTC {}", nvrtc.path(), nvrtc.version())
                                                  : "compiler: " + nvrtc.missing());
  out.missing = driver().missing;
  if (!out.missing.empty()) return out;
  int count = 0, version = 0;
  driver().check(driver().driver_version(&version), "cuDriverGetVersion");
  out.libraries.push_back(fmt::format("driver: {}, CUDA {}.{}", driver().path, version / 1000, version % 1000 / 10));
  driver().check(driver().device_count(&count), "cuDeviceGetCount");
  for (int i = 0; i < count; ++i)
    out.devices.push_back(description(i));
  return out;
}

}  // namespace sheaf::runtime
