// Tensors on a GPU, in both directions, on the library that plays NVIDIA's driver: its memory is the host's, so a test
// can look at it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <sheaf/sheaf.hpp>
#include <vector>

namespace {

using sheaf::api::Error;
using sheaf::api::Session;
using sheaf::api::Value;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message();
  }
  return "no error";
}

// A matrix [2, 3] of columns 0 and 2 of three, on the GPU.
struct Lent {
  static constexpr int64_t kElements = 6;
  uint64_t address = 0;
  int64_t shape[2] = {2, 2}, strides[2] = {3, 2};
  DLManagedTensor managed{};
  int* deleted;

  Lent(int* deleted, int device) : deleted(deleted) {
    void* driver = dlopen(FAKE_CUDA_DIR "/libcuda.so.1", RTLD_NOW);
    auto allocate = reinterpret_cast<int (*)(uint64_t*, size_t)>(dlsym(driver, "cuMemAlloc_v2"));
    EXPECT_EQ(allocate(&address, kElements * sizeof(float)), 0);
    for (int i = 0; i < kElements; ++i)
      data()[i] = static_cast<float>(i);
    managed.dl_tensor = {reinterpret_cast<void*>(address), {kDLCUDA, device}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* m) { ++*static_cast<Lent*>(m->manager_ctx)->deleted; };
  }
  float* data() const { return reinterpret_cast<float*>(address); }
};

TEST(Device, TensorsComeAndGoOnTheGpu) {
  setenv("SHEAF_CUDA_PATH", FAKE_CUDA_DIR, 1);
  setenv("SHEAF_CUDA", "least:1", 1);
  EXPECT_EQ(sheaf_use_device("cuda"), nullptr);
  Session s;
  int deleted = 0;
  Lent lent(&deleted, 0);
  Value x = Value::from_dlpack(&lent.managed);
  EXPECT_EQ(deleted, 1) << "it is copied, so its memory is free";
  lent.data()[2] = 100;
  s.eval("(defn f [x] (+ (* 10 x) 1))");
  const Value y = s.call("f", x);
  EXPECT_EQ(s.call("str", y).as_text(), "[[ 1. 21.]\n [31. 51.]]");

  DLManagedTensor* m = y.to_dlpack_on_device();
  EXPECT_EQ(m->dl_tensor.device.device_type, kDLCUDA);
  EXPECT_EQ(m->dl_tensor.device.device_id, 0);
  const float expected[] = {1, 21, 31, 51};
  EXPECT_EQ(std::memcmp(m->dl_tensor.data, expected, sizeof expected), 0) << "what writes to it is complete";
  m->deleter(m);
  m = y.to_dlpack();
  EXPECT_EQ(m->dl_tensor.device.device_type, kDLCPU);
  EXPECT_EQ(std::memcmp(m->dl_tensor.data, expected, sizeof expected), 0);
  m->deleter(m);
  // Negative strides are straightened on the GPU.
  m = s.call("flip", y, 0).to_dlpack_on_device();
  EXPECT_EQ(m->dl_tensor.device.device_type, kDLCUDA);
  EXPECT_EQ(static_cast<float*>(m->dl_tensor.data)[0], 31);
  m->deleter(m);
}

TEST(Device, MistakesAreErrors) {
  int deleted = 0;
  Lent other(&deleted, 1);
  EXPECT_EQ(message_of([&] { Value::from_dlpack(&other.managed); }),
            "the tensor is on the GPU cuda:1 and Sheaf computes on cuda:0; move it to the CPU, or choose the GPU first "
            "(sheaf_use_device, in Python sheaf.use_device(\"cuda:1\"))");
  other.managed.dl_tensor.device = {static_cast<DLDeviceType>(4), 0};
  EXPECT_EQ(message_of([&] { Value::from_dlpack(&other.managed); }),
            "the tensor is neither in the memory of the CPU nor of a CUDA GPU; move it to the CPU first");
  EXPECT_EQ(deleted, 0) << "the caller still owns it";
  sheaf_error* e = sheaf_use_device("cpu");
  ASSERT_NE(e, nullptr);
  EXPECT_STREQ(sheaf_error_message(e), "the device is chosen once, before the first session");
  sheaf_error_free(e);
}

}  // namespace
