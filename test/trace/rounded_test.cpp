// Steps of mixed-precision training: each run reads the rounded weights that the previous one stored, and the bits are
// those of rounding in each run.
#include "trace/rounded.h"

#include "compiler/pipeline.h"
#include "trace/jitted.h"

namespace sheaf::trace {
namespace {

class Rounded : public Jitted {
 protected:
  void SetUp() override {
    Jitted::SetUp();
    set_jit_mode(JitMode::Always);
    define(step);
  }
  void TearDown() override {
    compiler::switch_pass("keep-rounded", true);
    Jitted::TearDown();
  }

  // [the next weight, the rounded one times x]
  static Value step(std::vector<Value> args) {
    Operand w = operand_of(args[0]), x = operand_of(args[1]);
    Operand y = ops::mul(x, ops::cast(ops::cast(w, DType::BF16), DType::F32));
    Operand next = ops::sub(w, ops::mul(w, ops::sum_all(y)));
    return Value::list({to_value(next, Kind::Tensor), to_value(y, Kind::Tensor)});
  }
  static Value weight(Dims sizes) {
    Tensor t = empty_tensor(DType::F32, std::move(sizes));
    for (int64_t i = 0; i < t.num_elems(); ++i)
      t.data_mut<float>()[i] = 1e-3f * static_cast<float>(i % 977) - 0.3f;
    return Value::tensor(std::move(t));
  }
  static Value rows() { return tensor({64, 64}, -1000); }
  Value run(const Value& w) {
    call({w, rows()});
    return result();
  }
  static Value next_of(const Value& result) { return result.items()[0]; }
  static bool has_copy(const Value& w) { return w.as_tensor().buffer->derived(Buffer::Made::Rounded); }

  // The output of `steps` steps from w on, without copies.
  std::vector<std::string> plain(Value w, int steps) {
    compiler::switch_pass("keep-rounded", false);
    define(step);
    std::vector<std::string> out;
    for (int i = 0; i < steps; ++i) {
      out.push_back(call({w, rows()}));
      EXPECT_FALSE(has_copy(next_of(result())));
      w = next_of(result());
    }
    compiler::switch_pass("keep-rounded", true);
    define(step);
    return out;
  }
};

TEST_F(Rounded, AWeightIsLeftRoundedForTheNextRun) {
  const auto expected = plain(weight({64, 64}), 4);
  Value w = weight({64, 64});
  for (const std::string& e : expected) {
    EXPECT_EQ(call({w, rows()}), e);
    w = next_of(result());
    EXPECT_TRUE(has_copy(w));
  }
}

TEST_F(Rounded, TheSameArgumentsAreRoundedOnce) {
  const auto expected = plain(weight({64, 64}), 1);
  Value w = weight({64, 64});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(call({w, rows()}), expected[0]);
    EXPECT_TRUE(has_copy(w));
    EXPECT_TRUE(has_copy(next_of(result())));
  }
}

TEST_F(Rounded, ACopyIsOfTheElementsAsTheyLieInTheArray) {
  Value w = weight({64, 64});
  run(w);
  Tensor t = w.as_tensor();
  std::swap(t.strides[0], t.strides[1]);
  const auto expected = plain(Value::tensor(contiguous(t)), 1);
  EXPECT_EQ(call({Value::tensor(t), rows()}), expected[0]);
}

TEST_F(Rounded, MemoryOfOtherOwnersIsReadEachTime) {
  const Tensor ours = weight({64, 64}).as_tensor();
  std::vector<float> theirs(64 * 64);
  Tensor t = ours;
  t.buffer = make_ref<Buffer>(reinterpret_cast<std::byte*>(theirs.data()), theirs.size() * sizeof(float), nullptr);
  for (const float factor : {1.0f, 3.0f}) {
    Value w = weight({64, 64});
    for (size_t i = 0; i < theirs.size(); ++i)
      w.as_tensor().data_mut<float>()[i] = theirs[i] = factor * ours.data<float>()[i];
    const auto expected = plain(w, 1);
    EXPECT_EQ(call({Value::tensor(t), rows()}), expected[0]);
    EXPECT_EQ(call({Value::tensor(t), rows()}), expected[0]);
  }
}

TEST_F(Rounded, WhereNobodyLeavesCopiesWeightsAreRoundedInTheStep) {
  for (int i = 0; i < 6; ++i) {
    Value w = weight({64, 64});
    EXPECT_EQ(has_copy(next_of(run(w))), i < 2) << i;
  }
}

}  // namespace
}  // namespace sheaf::trace
