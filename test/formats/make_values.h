// Helpers shared by the tests of this folder.
#pragma once
#include <gtest/gtest.h>

#include "common/make_values.h"

namespace sheaf::testing_values {

inline constexpr DType kAllTypes[] = {DType::F32, DType::F64,  DType::BF16, DType::F16, DType::I32, DType::I64,
                                      DType::U32, DType::Bool, DType::I8,   DType::U8,  DType::I16, DType::U16};

}  // namespace sheaf::testing_values
