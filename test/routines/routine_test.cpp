#include "routines/routine.h"

#include <gtest/gtest.h>

namespace sheaf::routines {
namespace {

TEST(Routine, UnknownName) { EXPECT_EQ(find_routine("nothing"), nullptr); }

}  // namespace
}  // namespace sheaf::routines
