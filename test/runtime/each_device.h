// Tests that run on the simulated device, and on a GPU if there is one, or with the fake driver (ctest runtime_cuda).
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "runtime/cuda_mix.h"
#include "runtime/mix_plans.h"

namespace sheaf::runtime {

class EachDevice : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (is_cuda() && !cuda_missing().empty()) GTEST_SKIP() << "no GPU: " << cuda_missing();
  }
  static bool is_cuda() { return std::string(GetParam()) == "Cuda"; }
  static Device& device() { return is_cuda() ? cuda_device(0) : simulated_device("seed:1"); }
  static MixPlans plans() { return MixPlans(is_cuda() ? MakeMix(mix_on_cuda) : MakeMix(mix_on_cpu)); }
};
#define SHEAF_EACH_DEVICE(Suite)                                      \
  INSTANTIATE_TEST_SUITE_P(, Suite, ::testing::Values("Sim", "Cuda"), \
                           [](const ::testing::TestParamInfo<const char*>& info) { return std::string(info.param); })

}  // namespace sheaf::runtime
