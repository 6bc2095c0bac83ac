#include "builtins/host/process.h"

#include <csignal>

#include "builtins/call.h"
#include "builtins/data/families.h"
#include "builtins/host/families.h"
#include "builtins/host/options.h"
#include "builtins/host/output.h"
#include "support/interrupt.h"
#include "value/dict.h"

namespace sheaf::builtins {
namespace {

Value defaults() {
  return make_dict({{Name("lr"), Value::floating(0.5f)},
                    {Name("steps"), Value::integer(10)},
                    {Name("name"), Value::string("run")},
                    {Name("fast"), Value::boolean(false)},
                    {Name("dims"), ints({1, 2})}});
}

Value choices() {
  return make_dict({{Name("name"), Value::list({Value::string("run"), Value::string("eval"), Value::string("walk")})}});
}

std::string options_text(std::vector<std::string> words) {
  return render(parse_program_options(defaults(), choices(), words));
}

TEST(Options, DefaultsAndTypes) {
  EXPECT_EQ(options_text({}), "{:dims [1, 2], :fast false, :lr 0.5, :name run, :steps 10}");
  EXPECT_EQ(options_text({"--lr", "2", "--steps=30", "--name", "walk", "--fast", "--dims", "3,4,5", "file.txt"}),
            "{:dims [3, 4, 5], :fast true, :lr 2.0, :name walk, :steps 30}");
  EXPECT_EQ(options_text({"--lr", "-1", "--fast", "false", "--", "--nonsense"}),
            "{:dims [1, 2], :fast false, :lr -1.0, :name run, :steps 10}");
  EXPECT_EQ(render(parse_program_options(defaults(), Value::nil(), {"--name", "x y", "-5", "-"})),
            "{:dims [1, 2], :fast false, :lr 0.5, :name x y, :steps 10}");
  EXPECT_EQ(options_text({"--fast=true", "--no-fast"}), "{:dims [1, 2], :fast false, :lr 0.5, :name run, :steps 10}");
}

TEST(Options, Errors) {
  EXPECT_EQ(message_of([] { options_text({"--rate", "1"}); }),
            "unknown option --rate. Known options: --dims --fast --lr --name --steps");
  EXPECT_EQ(message_of([] { options_text({"--steps", "1.5"}); }), "option --steps: expected an int, got '1.5'");
  EXPECT_EQ(message_of([] { options_text({"--lr"}); }), "option --lr needs a value");
  EXPECT_EQ(message_of([] { options_text({"-lr", "1"}); }),
            "unknown option -lr. Known options: --dims --fast --lr --name --steps");
  EXPECT_EQ(message_of([] { options_text({"--name=fly"}); }), "option --name: expected run, eval or walk, got 'fly'");
}

TEST(Options, HelpListsThem) {
  std::string text;
  std::string* previous = set_capture(&text);
  EXPECT_THROW(options_text({"--help"}), ExitRequest);
  set_capture(previous);
  EXPECT_NE(text.find("--steps"), std::string::npos);
  EXPECT_NE(text.find("run (run, eval or walk)\n"), std::string::npos) << text;
}

std::string printed(std::vector<Value> args, const char* name = "print") {
  std::string text;
  std::string* previous = set_capture(&text);
  call_in(output_builtins(), name, std::move(args));
  set_capture(previous);
  return text;
}

Value kw(const char* s) { return Value::keyword(Name(s)); }

TEST(Print, ValuesFormatsAndEnd) {
  EXPECT_EQ(printed({}), "\n");
  EXPECT_EQ(printed(values(kw("a"), Value::integer(1), Value::string("s"))), ":a 1 s\n");
  EXPECT_EQ(printed(values(Value::string("{}|{:.1f}"), Value::integer(1), Value::floating(2.25f))), "1|2.2\n");
  EXPECT_EQ(printed(values(Value::string("{}"))), "{}\n");
  EXPECT_EQ(printed(values(Value::string("a"), kw("end"), Value::string(", "))), "a, ");
  EXPECT_EQ(printed(values(kw("end"), Value::string(""), Value::string("a"), kw("b"))), "a :b");
  EXPECT_EQ(printed(values(kw("end"))), ":end\n");
  EXPECT_EQ(printed(values(Value::string("a"), kw("end"), Value::string("b")), "println"), "a :end b\n");
}

TEST(Atoms, GrowInPlaceAndSurviveErrors) {
  Value a = call_in(process_builtins(), "atom", values(ints({})));
  Value append = native_function("append", [](Caller&, std::vector<Value>& args) {
    return call_in(sequence_builtins(), "append", std::move(args));
  });
  for (int i = 0; i < 3; ++i)
    call_in(process_builtins(), "swap!", values(a, append, Value::integer(i)));
  EXPECT_EQ(render(a), "<atom [0, 1, 2]>");
  Value bad = native_function("append", [](Caller&, std::vector<Value>&) -> Value { throw runtime_error("no"); });
  EXPECT_EQ(message_of([&] { call_in(process_builtins(), "swap!", values(a, bad)); }), "no");
  EXPECT_EQ(render(a), "<atom [0, 1, 2]>");
  EXPECT_EQ(message_of([] { call_in(process_builtins(), "deref", values(Value::integer(1))); }),
            "deref: expected an atom, got int");
}

TEST(Interrupts, AProgramThatAsksGetsTheFirst) {
  auto asked = [] { return call_in(process_builtins(), "interrupted?", {}).as_bool(); };
  clear_interrupts();
  interrupt();
  EXPECT_TRUE(g_interrupted);
  clear_interrupts();
  EXPECT_FALSE(asked());
  interrupt();
  EXPECT_FALSE(g_interrupted);
  EXPECT_TRUE(asked());
  interrupt();
  EXPECT_TRUE(g_interrupted);
  clear_interrupts();
  EXPECT_FALSE(g_interrupted);
  EXPECT_FALSE(asked());
}

TEST(Interrupts, OneThatIsNotAskedAboutEndsTheProgram) {
  clear_interrupts();
  call_in(process_builtins(), "interrupted?", {});
  interrupt();
  EXPECT_FALSE(g_interrupted);
  call_in(process_builtins(), "%stop-asking", {});
  EXPECT_TRUE(g_interrupted);
  g_interrupted = false;
  EXPECT_FALSE(call_in(process_builtins(), "interrupted?", {}).as_bool());
  clear_interrupts();
}

TEST(Interrupts, OtherSignalsAreAnswersToo) {
  auto status = [] { return call_in(process_builtins(), "%interrupted-status", {}).as_int(); };
  clear_interrupts();
  EXPECT_FALSE(answer_with(SIGTERM)) << "nobody has asked";
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    call_in(process_builtins(), "interrupted?", {});
    EXPECT_TRUE(answer_with(signal));
    EXPECT_FALSE(answer_with(SIGTERM)) << "it has an answer";
    EXPECT_TRUE(call_in(process_builtins(), "interrupted?", {}).as_bool());
    EXPECT_EQ(status(), 128 + signal);
    EXPECT_FALSE(g_interrupted);
    clear_interrupts();
  }
  call_in(process_builtins(), "interrupted?", {});
  EXPECT_TRUE(answer_with(SIGTERM));
  try {
    call_in(process_builtins(), "%stop-asking", {});
    ADD_FAILURE() << "what was not asked about ends the program";
  } catch (const ExitRequest& e) {
    EXPECT_EQ(e.code, 143);
  }
  clear_interrupts();
}

TEST(Exit, CarriesTheStatus) {
  try {
    call_in(process_builtins(), "exit", values(Value::integer(3)));
    FAIL();
  } catch (const ExitRequest& e) {
    EXPECT_EQ(e.code, 3);
  }
}

}  // namespace
}  // namespace sheaf::builtins
