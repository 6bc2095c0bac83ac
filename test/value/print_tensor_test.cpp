#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <new>

#include "make_values.h"
#include "value/print.h"

namespace sheaf {
namespace {

using namespace testing_values;

TEST(PrintTensor, Elements) {
  EXPECT_EQ(render(f32({4, -7, -0.0, 0.5})), "[ 4. -7.  0. 0.5]");
  EXPECT_EQ(render(f32({1e15, 1})), "[1000000000000000               1.]");
  EXPECT_EQ(render(f32({NAN, INFINITY, -INFINITY})), "[ NaN  inf -inf]");
  EXPECT_EQ(render(T(DType::I32, {3}, {2147483647, -2147483648.0, 0})), "[ 2147483647 -2147483648           0]");
  EXPECT_EQ(render(T(DType::Bool, {3}, {1, 0, 1})), "[true false true]");
  EXPECT_EQ(element_text(array(DType::F32, {2, 2}, {1, 2, 3.5, 4}), 2), "3.5");
  EXPECT_EQ(tensor_type_text(array(DType::BF16, {2, 3}, {0, 0, 0, 0, 0, 0})), "bf16[2x3]");
  EXPECT_EQ(tensor_type_text(array(DType::F32, {}, {0})), "f32[]");
}

// Memory elsewhere, which counts the bytes that are fetched.
struct Elsewhere final : Space {
  size_t fetched = 0;
  std::string_view name() const override { return "elsewhere"; }
  uint64_t take(size_t bytes) override { return reinterpret_cast<uint64_t>(::operator new(bytes)); }
  void give(uint64_t address, size_t) override { ::operator delete(reinterpret_cast<void*>(address)); }
  void fetch(uint64_t from, std::byte* to, size_t bytes) override {
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    fetched += bytes;
  }
  void send(const std::byte* from, uint64_t to, size_t bytes) override {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  }
  void copy(const Tensor&, const Tensor&) override {}
};

TEST(PrintTensor, FetchesWhatIsShown) {
  static Elsewhere elsewhere;
  const Dims sizes{30, 100, 200};
  const Tensor here = empty_tensor(DType::F32, sizes), there = empty_tensor(elsewhere, DType::F32, sizes);
  for (int64_t i = 0; i < here.num_elems(); ++i)
    here.data_mut<float>()[i] = static_cast<float>(i);
  elsewhere.send(here.bytes(), there.buffer->address(), here.buffer->size_bytes());
  EXPECT_EQ(render(Value::tensor(there)), render(Value::tensor(here)));
  EXPECT_LE(elsewhere.fetched, 6u * 6 * 2 * 256);
  Tensor turned = there;
  std::swap(turned.sizes[0], turned.sizes[2]);
  std::swap(turned.strides[0], turned.strides[2]);
  EXPECT_EQ(render(Value::tensor(turned)), render(Value::tensor(contiguous([&] {
              Tensor t = turned;
              t.buffer = here.buffer;
              return t;
            }()))));
}

TEST(PrintTensor, OtherDtypes) {
  EXPECT_EQ(render(T(DType::BF16, {}, {3.14f})), "3.14");
  EXPECT_EQ(render(T(DType::F16, {2}, {0.1, 65504})), "[   0.1 65504.]");
  EXPECT_EQ(render(T(DType::F64, {1}, {0.1})), "[0.1]");
  EXPECT_EQ(render(T(DType::F64, {1}, {1.0 / 3})), "[0.3333333333333333]");
  EXPECT_EQ(render(T(DType::U32, {2}, {4294967295.0, 0})), "[4294967295          0]");
  int64_t big[] = {INT64_MAX, INT64_MIN};
  EXPECT_EQ(render(Value::tensor(tensor_of(DType::I64, {2}, big))), "[ 9223372036854775807 -9223372036854775808]");
  EXPECT_EQ(render(T(DType::I8, {2}, {-128, 127})), "[-128  127]");
}

// Every 16-bit float prints as a decimal that reads back, and no decimal with fewer digits does.
void expect_shortest(DType dtype, uint16_t bits) {
  Tensor t = tensor_of(dtype, {}, &bits);
  auto half = [&](float x) { return dtype == DType::BF16 ? f32_to_bf16(x) : f32_to_f16(x); };
  std::string text = element_text(t, 0);
  float v = dtype == DType::BF16 ? bf16_to_f32(bits) : f16_to_f32(bits);
  if (!std::isfinite(v) || v == 0 || v == std::trunc(v)) return;
  ASSERT_EQ(half(std::strtof(text.c_str(), nullptr)), bits) << text;
  size_t digits = 0;
  for (char c : text.substr(text.find_first_not_of("-0.")))
    digits += c != '.';
  if (digits == 1) return;
  // The two candidates with one digit less around the value.
  char buf[64];
  snprintf(buf, sizeof buf, "%.*e", static_cast<int>(digits) - 2, v);
  double near = std::strtod(buf, nullptr);
  double unit = std::pow(10.0, std::floor(std::log10(std::fabs(v))) - static_cast<double>(digits) + 2);
  for (int step : {-1, 0, 1})
    ASSERT_NE(half(static_cast<float>(near + step * unit)), bits) << text << " vs " << near + step * unit;
}

TEST(PrintTensor, SixteenBitFloatsAreShortest) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    expect_shortest(DType::BF16, static_cast<uint16_t>(bits));
    expect_shortest(DType::F16, static_cast<uint16_t>(bits));
  }
}

TEST(PrintTensor, RankZeroAndOne) {
  EXPECT_EQ(render(T(DType::F32, {}, {4})), "4.");
  EXPECT_EQ(render(T(DType::F32, {}, {15})), "15.");
  EXPECT_EQ(render(f32({})), "[]");
  EXPECT_EQ(render(f32({1.5, 2.5})), "[1.5 2.5]");
  EXPECT_EQ(render(f32({0, 1.5, 3})), "[ 0. 1.5  3.]");
  EXPECT_EQ(render(f32({-1, 20})), "[-1. 20.]");
  EXPECT_EQ(render(T(DType::I32, {2}, {1, -1})), "[ 1 -1]");
  EXPECT_EQ(render(f32({0, 7.5, 0})), "[ 0. 7.5  0.]");
  EXPECT_EQ(render(iota({10})), "[0 1 2 3 4 5 6 7 8 9]");
  EXPECT_EQ(render(iota({12})), "[ 0  1  2 ...  9 10 11]");
  EXPECT_EQ(render(iota({30})), "[ 0  1  2 ... 27 28 29]");
  EXPECT_EQ(render(T(DType::Bool, {11}, std::vector<double>(11, 1))), "[true true true ... true true true]");
}

TEST(PrintTensor, RankTwo) {
  EXPECT_EQ(render(T(DType::F32, {2, 2}, {0.5, 10, 3.5, 4})), "[[0.5 10.]\n [3.5  4.]]");
  EXPECT_EQ(render(T(DType::F32, {2, 2}, {-1, 20, -300, -4})), "[[  -1. 20.]\n [-300. -4.]]");
  EXPECT_EQ(render(T(DType::Bool, {2, 2}, {1, 0, 0, 1})), "[[true false]\n [false true]]");
  EXPECT_EQ(render(T(DType::F32, {0, 3}, {})), "[]");
  EXPECT_EQ(render(T(DType::F32, {2, 0}, {})), "[[]\n []]");
  EXPECT_EQ(render(iota({11, 1})), "[[  0]\n [  1]\n [  2]\n [...]\n [  8]\n [  9]\n [ 10]]");
  EXPECT_EQ(render(iota({1, 11})), "[[0 1 2 ... 8 9 10]]");
  EXPECT_EQ(render(iota({11, 11})),
            "[[  0   1   2 ...   8   9  10]\n [ 11  12  13 ...  19  20  21]\n [ 22  23  24 ...  30  31  32]\n"
            " [... ... ... ... ... ... ...]\n [ 88  89  90 ...  96  97  98]\n [ 99 100 101 ... 107 108 109]\n"
            " [110 111 112 ... 118 119 120]]");
}

TEST(PrintTensor, RankThreeAndMore) {
  EXPECT_EQ(render(iota({2, 2, 2})), "[[[0 1]\n [2 3]]\n [[4 5]\n [6 7]]]");
  EXPECT_EQ(render(iota({2, 2, 1})), "[[[0]\n [1]]\n [[2]\n [3]]]");
  EXPECT_EQ(render(iota({11, 1, 1})), "[[[0]]\n [[1]]\n [[2]]\n ...\n [[8]]\n [[9]]\n [[10]]]");
  EXPECT_EQ(render(iota({1, 1, 1, 2})), "[[[[0 1]]]]");
  EXPECT_EQ(render(T(DType::F32, {2, 0, 3}, {})), "[[]\n []]");
}

TEST(PrintTensor, ViewsFollowTheirStrides) {
  Tensor t = iota({2, 3}).as_tensor();
  std::swap(t.sizes[0], t.sizes[1]);
  std::swap(t.strides[0], t.strides[1]);
  EXPECT_EQ(render(Value::tensor(t)), "[[0 3]\n [1 4]\n [2 5]]");
  Tensor back = iota({4}).as_tensor();
  back.strides[0] = -1;
  back.offset = 3;
  EXPECT_EQ(render(Value::tensor(back)), "[3 2 1 0]");
  EXPECT_EQ(element_text(back, 1), "2");
}

TEST(PrintTensor, CostFollowsWhatIsShown) {
  // A quadrillion elements over one stored number: a printer that is not O(shown) would not return.
  Tensor t = array(DType::F32, {}, {2});
  t.sizes = {100000, 100000, 100000};
  t.strides = {0, 0, 0};
  std::string s = render(Value::tensor(t));
  EXPECT_LT(s.size(), 2000u);
  EXPECT_EQ(s.substr(0, 31), "[[[ 2.  2.  2. ...  2.  2.  2.]");
}

}  // namespace
}  // namespace sheaf
