// Loops in traced code: a node if the carried value keeps its structure, otherwise unrolled.
#include "trace/loops.h"

#include "trace/jitted.h"

namespace sheaf::trace {
namespace {

using namespace testing_values;

class Loops : public Jitted {
 protected:
  void SetUp() override {
    Jitted::SetUp();
    set_jit_mode(JitMode::Always);
  }
  bool has_node(std::string_view op) const { return last_event().graph.find(op) != std::string::npos; }

  using Turn = std::function<std::pair<Value, Value>(const Operand&, Value, const std::vector<Operand>&)>;
  // Interpreted iteration by iteration; traced as a loop, which must be possible if `is_node`.
  static Value run_loop(int64_t turns, Value init, std::vector<Operand> xs, const Turn& turn, bool is_node = true) {
    std::optional<LoopResult> loop;
    if (is_tracing()) loop = trace_loop({turns, init, xs, turn});
    if (is_tracing() && is_node) {
      EXPECT_TRUE(loop.has_value());
    }
    if (loop) return loop->carry;
    for (int64_t i = 0; i < turns; ++i) {
      std::vector<Operand> rows;
      for (const Operand& x : xs)
        rows.push_back(ops::squeeze_axis(ops::slice_axis(x, 0, i, 1), 0));
      init = turn(ops::constant_int(DType::I64, i), std::move(init), rows).first;
    }
    return init;
  }
};

TEST_F(Loops, TurnsOverRowsBecomeOneNode) {
  define([](std::vector<Value> args) {
    Operand x = operand_of(args[0]);
    return run_loop(40, to_value(ops::zeros({DType::F32, {2}}), Kind::Tensor), {x},
                    [](const Operand&, Value carry, const std::vector<Operand>& rows) {
                      return std::pair(to_value(ops::add(operand_of(carry), rows[0]), Kind::Tensor), Value::nil());
                    });
  });
  EXPECT_EQ(call({tensor({40, 2})}), "[1600. 1640.]");
  EXPECT_TRUE(was_compiled());
  EXPECT_TRUE(has_node("scan")) << last_event().graph;
}

TEST_F(Loops, TreesAreCarried) {
  define([](std::vector<Value> args) {
    Value init = D({{"n", I(0)}, {"parts", L({args[0], S("kept")})}});
    return run_loop(20, init, {}, [](const Operand& index, Value carry, const std::vector<Operand>&) {
      Operand n = operand_of(*carry.as_dict().find(Name("n")));
      Operand x = operand_of(carry.as_dict().find(Name("parts"))->items()[0]);
      Value next = D({{"n", to_value(ops::add(n, index), Kind::Int)},
                      {"parts", L({to_value(ops::add(x, x), Kind::Tensor), S("kept")})}});
      return std::pair(next, Value::nil());
    });
  });
  EXPECT_EQ(call({tensor({1})}), "{:n 190, :parts [[1048576.], 'kept']}");
  EXPECT_TRUE(was_compiled());
}

TEST_F(Loops, AFirstTurnThatChangesTheFormIsRunByItself) {
  define([](std::vector<Value> args) {
    Operand x = operand_of(args[0]);
    return run_loop(30, I(0), {x}, [](const Operand&, Value carry, const std::vector<Operand>& rows) {
      Operand sum = ops::add(ops::cast(operand_of(carry), DType::F32), rows[0]);
      return std::pair(to_value(sum, Kind::Float), Value::nil());
    });
  });
  EXPECT_EQ(call({tensor({30})}), "465.0");
  EXPECT_TRUE(was_compiled());
}

TEST_F(Loops, AFormThatKeepsChangingIsNoNode) {
  define([](std::vector<Value> args) {
    return run_loop(
        20, L({args[0]}), {},
        [](const Operand&, Value carry, const std::vector<Operand>&) {
          std::vector<Value> items = carry.items_copy();
          items.push_back(items.back());
          return std::pair(L(std::move(items)), Value::nil());
        },
        false);
  });
  std::string result = call({tensor({1})});
  EXPECT_EQ(std::count(result.begin(), result.end(), ','), 20);
  EXPECT_FALSE(has_node("scan"));
}

TEST_F(Loops, OutputsOfAllTurnsAreAList) {
  define([](std::vector<Value> args) {
    Operand x = operand_of(args[0]);
    auto turn = [](const Operand&, Value carry, const std::vector<Operand>& rows) {
      Value next = to_value(ops::add(operand_of(carry), rows[0]), Kind::Float);
      return std::pair(next, D({{"so-far", next}}));
    };
    if (!is_tracing()) return Value::nil();
    auto loop = trace_loop({20, F(0), {x}, turn});
    if (!loop) abandon_trace("no node");
    return Value::list(loop->outputs.list()).items()[19];
  });
  EXPECT_EQ(call({tensor({20})}), "{:so-far 210.0}");
  EXPECT_TRUE(was_compiled());
}

TEST_F(Loops, WhileOnATracedValue) {
  define([](std::vector<Value> args) {
    auto test = [](Value v) { return to_value(ops::less(operand_of(v), ops::constant(DType::F32, 100)), Kind::Bool); };
    auto body = [](Value v) { return to_value(ops::add(operand_of(v), operand_of(v)), Kind::Float); };
    Value x = to_value(ops::sum_all(operand_of(args[0])), Kind::Float);
    if (is_tracing()) return trace_while(x, test, body);
    while (test(x).as_bool())
      x = body(x);
    return x;
  });
  EXPECT_EQ(call({tensor({3})}), "192.0");
  EXPECT_TRUE(was_compiled());
  EXPECT_EQ(call({tensor({3}, 40)}), "123.0");
  EXPECT_FALSE(was_traced()) << "the number of turns is data";
}

}  // namespace
}  // namespace sheaf::trace
