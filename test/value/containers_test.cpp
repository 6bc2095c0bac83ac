// Lists that grow and shrink at both ends, and dicts that several threads read.
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <thread>

#include "value/dict.h"

namespace sheaf {
namespace {

TEST(Items, BothEndsAgreeWithADeque) {
  std::mt19937 rng(1);
  for (int trial = 0; trial < 50; ++trial) {
    Value list = Value::list({});
    std::deque<int64_t> plain;
    for (int64_t step = 0; step < 400; ++step) {
      int what = static_cast<int>(rng() % 5);
      if (what < 2) {
        list.mutable_items().push_front(Value::integer(step));
        plain.push_front(step);
      } else if (what == 2) {
        list.mutable_items().push_back(Value::integer(step));
        plain.push_back(step);
      } else if (!plain.empty()) {
        list.mutable_items().pop_front();
        plain.pop_front();
      }
      ASSERT_EQ(list.items().size(), plain.size());
      for (size_t i = 0; i < plain.size(); ++i)
        ASSERT_EQ(list.items()[i].as_int(), plain[i]) << "trial " << trial << ", step " << step;
    }
    Value copy = list;  // shared from here: a change must leave the other alone
    copy.mutable_items().push_front(Value::nil());
    EXPECT_EQ(list.items().size() + 1, copy.items().size());
  }
}

TEST(Items, AMillionInFrontIsLinear) {
  Value list = Value::list({});
  for (int64_t i = 0; i < 1'000'000; ++i)
    list.mutable_items().push_front(Value::integer(i));
  EXPECT_EQ(list.items()[0].as_int(), 999'999);
  for (int64_t i = 0; i < 999'999; ++i)
    list.mutable_items().pop_front();
  EXPECT_EQ(list.items()[0].as_int(), 0);
}

// One thread iterates (which wants the order of the keys) while others look up.
TEST(Dict, ThreadsReadWhileOneSorts) {
  enable_atomic_counts();
  for (int trial = 0; trial < 20; ++trial) {
    Value d = empty_dict();
    for (int i = 999; i >= 0; --i)
      d.mutable_dict().set(Name("k" + std::to_string(i)), Value::integer(i));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([d, t] {
        if (t % 2) {
          int64_t total = 0;
          for (const DictEntry& e : d.as_dict().entries())
            total += e.value.as_int();
          EXPECT_EQ(total, 499'500);
        }
        for (int i = 0; i < 1000; ++i)
          EXPECT_EQ(d.as_dict().find(Name("k" + std::to_string(i)))->as_int(), i);
      });
    }
    for (auto& t : threads)
      t.join();
    d.mutable_dict().set(Name("k1"), Value::integer(7));
    EXPECT_EQ(d.as_dict().entries()[1].value.as_int(), 7);  // "k0", "k1", "k10" …
    EXPECT_EQ(d.as_dict().size(), 1000u);
  }
}

}  // namespace
}  // namespace sheaf
