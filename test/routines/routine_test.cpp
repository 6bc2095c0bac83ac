#include "routines/routine.h"

#include <gtest/gtest.h>

#include "routines/gemm/args.h"
#include "routines/gemm/grouped.h"
#include "routines/linalg/args.h"
#include "support/internal_error.h"

namespace sheaf::routines {
namespace {

TEST(Routine, FoundByName) {
  EXPECT_NE(find_routine(GemmArgs<>::kRoutine), nullptr);
  EXPECT_NE(find_routine(CholeskyArgs<>::kRoutine), nullptr);
}

TEST(Routine, UnknownName) { EXPECT_EQ(find_routine("nothing"), nullptr); }

GemmArgs<> some_product() {
  return {
      .dtype = DType::BF16, .batch = 2, .m = 3, .n = 4, .k = 5, .a = {15, 5, 1}, .b = {20, 4, 1}, .result = DType::F32};
}

TEST(Pack, ListsFieldsInTheirOrder) {
  EXPECT_EQ(pack(some_product()), (std::vector<int64_t>{static_cast<int64_t>(DType::BF16), 2, 3, 4, 5, 15, 5, 1, 20, 4,
                                                        1, static_cast<int64_t>(DType::F32), 0}));
}

TEST(Pack, RoundTrips) {
  for (bool outer : {false, true}) {  // z has one stride less than w
    GroupedArgs<> args{.dtype = DType::F32, .outer = outer, .batch = 1, .rows = 9, .groups = 2, .k = 3, .n = 4};
    args.counts = {2, 1}, args.x = {27, 3, 1}, args.result = DType::F32;
    args.other = {.batch = 100, .group = outer ? 0 : 50, .row = 4, .column = 1};
    std::vector<int64_t> list = pack(args);
    EXPECT_EQ(list.size(), outer ? 16u : 17u);
    EXPECT_EQ(pack(unpack<GroupedArgs<>>(list)), list);
    EXPECT_EQ(unpack<GroupedArgs<>>(list).other.column, 1);
  }
}

TEST(Pack, ListsOfAnotherLengthAreRefused) {
  std::vector<int64_t> list = pack(some_product());
  list.push_back(0);
  EXPECT_THROW(unpack<GemmArgs<>>(list), InternalError);
  list.resize(5);
  EXPECT_THROW(unpack<GemmArgs<>>(list), InternalError);
}

}  // namespace
}  // namespace sheaf::routines
