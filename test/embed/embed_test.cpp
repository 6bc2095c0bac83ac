// The C interface and the C++ header, as a program uses them: linked only with libsheaf.so.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sheaf/sheaf.hpp>
#include <thread>

extern "C" long sum_from_c(void);

namespace {

using sheaf::api::Error;
using sheaf::api::Session;
using sheaf::api::Value;

template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  throw std::logic_error("no error");
}

TEST(Header, IsC) { EXPECT_EQ(sum_from_c(), 3); }

TEST(Session, EvaluatesAndCalls) {
  Session s;
  EXPECT_EQ(s.eval("(+ 1 2)").as_int(), 3);
  EXPECT_TRUE(s.eval("").is_nil());
  s.eval("(defn twice [x] (* x 2))");
  EXPECT_EQ(s.call("twice", 21).as_int(), 42);
  EXPECT_DOUBLE_EQ(s.call("twice", 1.5).as_float(), 3.0);
  EXPECT_EQ(s.call("str", "a", 1, Value::keyword("k")).as_text(), "a1:k");
  s.eval("(defn lin [x & {:keys [a b] :or {a 1 b 0}}] (+ (* a x) b))");
  EXPECT_EQ(s.call("lin", 5, Value::keyword("b"), 7).as_int(), 12);
  EXPECT_EQ(s.apply(s.eval("(fn [a b] (- a b))"), 5, 3).as_int(), 2);
}

TEST(Session, LaterTextsSeeAndReplaceEarlierDefinitions) {
  Session s;
  s.eval("(defn f [x] (* x 2))");
  EXPECT_EQ(s.call("f", 2).as_int(), 4);
  s.eval("(defn f [x] (* x 20))");
  EXPECT_EQ(s.call("f", 2).as_int(), 40);
  EXPECT_EQ(s.call("maximum", 1, 2).text(), s.eval("(maximum 1 2)").text());
  s.eval("(defn maximum [a b] a)");  // a built-in's name
  EXPECT_EQ(s.call("maximum", 1, 2).as_int(), 1);
  // Functions that mention a redefined name follow the new definition.
  s.eval("(defmacro twice [x] `(* 2 ~x))\n(defn g [x] (twice x))");
  EXPECT_EQ(s.call("g", 5).as_int(), 10);
  s.eval("(defmacro twice [x] `(+ 2 ~x))");
  EXPECT_EQ(s.call("g", 5).as_int(), 7);
}

TEST(Session, LooksNamesUp) {
  Session s;
  s.eval("(def k 3)");
  EXPECT_EQ(s.lookup("k").as_int(), 3);
  EXPECT_EQ(s.lookup("softmax").kind(), SHEAF_FUNCTION);
  Error e = error_of([&] { s.lookup("nobody"); });
  EXPECT_EQ(e.message(), "Undefined symbol: nobody");
}

TEST(Session, RunsFiles) {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "sheaf-embed-test.shf";
  std::ofstream(path) << "(defn g [x] (+ x 1))\n(g \"one\")\n";
  Session s;
  Error e = error_of([&] { s.run_file(path); });
  EXPECT_EQ(e.file(), std::filesystem::weakly_canonical(path));
  EXPECT_EQ(e.line(), 1);
  EXPECT_EQ(e.column(), 13);
  std::ofstream(path) << "(defn h [x] (+ x 2))\n(h 40)\n";
  EXPECT_EQ(s.run_file(path).as_int(), 42);
  EXPECT_EQ(s.call("h", 1).as_int(), 3);
  std::filesystem::remove(path);
  EXPECT_EQ(error_of([&] { s.run_file(path); }).kind(), "io");
}

TEST(Session, DeepProgramsEndInErrors) {
  Session s;
  EXPECT_EQ(s.eval("(defn down [n] (if (= n 0) 0 (+ 1 (down (- n 1)))))\n(down 50000)").as_int(), 50000);
  // Natively nested: would overflow the stack of an ordinary thread.
  s.eval("(defn nest [n] (if (= n 0) 0 (first (map (fn [x] (nest (- n 1))) (list 1)))))");
  EXPECT_EQ(s.call("nest", 1500).as_int(), 0);
  EXPECT_EQ(error_of([&] { s.call("nest", 100000000); }).kind(), "runtime");
  EXPECT_EQ(s.eval("1").as_int(), 1);
}

TEST(Errors, TellEverything) {
  Session s;
  s.eval("(defn head [x]\n  (@ x (ones [3 4])))");
  std::vector<float> data(10);
  Error e = error_of([&] { s.call("head", Value::view(data.data(), {2, 5})); });
  EXPECT_EQ(e.kind(), "runtime");
  EXPECT_EQ(e.file(), "<eval>");
  EXPECT_EQ(e.line(), 2);
  EXPECT_EQ(e.column(), 3);
  EXPECT_NE(e.message().find("[2, 5]"), std::string::npos) << e.message();
  EXPECT_NE(e.report().find("2 |   (@ x (ones [3 4])))"), std::string::npos) << e.report();
  EXPECT_NE(e.report().find("head"), std::string::npos) << e.report();
  EXPECT_STREQ(e.what(), e.message().c_str());
}

TEST(Errors, Kinds) {
  Session s;
  auto kind = [&](const char* text) { return error_of([&] { s.eval(text); }).kind(); };
  EXPECT_EQ(kind("(+ 1"), "parse");
  EXPECT_EQ(kind("(nobody 1)"), "runtime");
  EXPECT_EQ(kind("(error \"no\")"), "runtime");
  EXPECT_EQ(kind("(guard :no-nan (/ 0.0 0.0))"), "runtime");
  EXPECT_EQ(error_of([&] { s.eval("(exit 3)"); }).exit_code(), 3);
  EXPECT_EQ(kind("(exit 3)"), "exit");
  s.eval("(defn f [x] x)");
  Error wrong_count = error_of([&] { s.call("f", 1, 2); });
  EXPECT_NE(wrong_count.message().find("f expects 1 argument"), std::string::npos) << wrong_count.message();
  EXPECT_EQ(error_of([&] { s.call("ff(", 1); }).kind(), "parse");
  EXPECT_EQ(error_of([&] { s.call("f 1", 1); }).kind(), "argument");
  EXPECT_EQ(error_of([&] { s.call("nobody", 1); }).message(), "Unknown function: nobody");
}

TEST(Values, GoInAndComeOut) {
  Session s;
  s.eval("(defn same [x] x)");
  Value tree = Value::dict(
      {{"b", Value::list({1, 2.5, "three", true, nullptr})}, {"a", Value::tuple({Value::keyword("k"), -1})}});
  Value v = s.call("same", tree);
  EXPECT_EQ(v.kind(), SHEAF_DICT);
  ASSERT_EQ(v.size(), 2u);
  EXPECT_EQ(v.key(0), "a");
  EXPECT_EQ(v[0].kind(), SHEAF_TUPLE);
  EXPECT_EQ(v[0][0].kind(), SHEAF_KEYWORD);
  EXPECT_EQ(v[0][0].as_text(), "k");
  EXPECT_EQ(v[0][1].as_int(), -1);
  Value b = v.get("b");
  ASSERT_EQ(b.size(), 5u);
  EXPECT_EQ(b[0].kind(), SHEAF_INT);
  EXPECT_EQ(b[1].kind(), SHEAF_FLOAT);
  EXPECT_EQ(b[2].as_text(), "three");
  EXPECT_TRUE(b[3].as_bool());
  EXPECT_TRUE(b[4].is_nil());
  EXPECT_TRUE(v.get("c").is_nil());
  EXPECT_EQ(v.text(), s.eval("(str {:a (tuple :k -1) :b (list 1 2.5 \"three\" true nil)})").as_text());
  // Of another kind: empty answers.
  EXPECT_EQ(b.as_int(), 0);
  EXPECT_EQ(sheaf_get_text(b.get(), nullptr), nullptr);
  EXPECT_EQ(sheaf_item(b.get(), 5), nullptr);
  EXPECT_EQ(sheaf_dict_key(b.get(), 0), nullptr);
}

TEST(Values, KeepBytesOfText) {
  Session s;
  std::string text("a\0b", 3);
  EXPECT_EQ(s.call("str", text).as_text(), text);
}

TEST(Tensors, AreNotCopiedInEitherDirection) {
  Session s;
  std::vector<float> data(1000);
  std::iota(data.begin(), data.end(), 0.f);
  int released = 0;
  {
    s.eval("(defn same [x] x)");
    Value in = Value::view(data.data(), {10, 100}, [&] { ++released; });
    auto out = s.call("same", in).tensor<float>();
    EXPECT_EQ(out.data(), data.data());
    EXPECT_EQ(out.shape(), (std::vector<int64_t>{10, 100}));
    EXPECT_EQ(out(3, 7), 307.f);
    Value sum = s.eval("(def w (ones [4 5])) w");
    EXPECT_EQ(sum.tensor<float>().data(), s.eval("w").tensor<float>().data());
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Tensors, KeptByTheProgramLiveOn) {
  int released = 0;
  std::vector<float> data{1, 2, 3};
  auto s = std::make_unique<Session>();
  s->eval("(def kept (atom nil)) (defn keep [x] (reset! kept (get x 1)) nil)");
  s->call("keep", Value::view(data.data(), {3}, [&] { ++released; }));
  // A view may have been replaced by a copy of one element; the exported values must be right either way.
  EXPECT_EQ(s->eval("(+ 0.0 (deref kept))").text(), "2.0");
  s.reset();
  EXPECT_EQ(released, 1);
}

TEST(Tensors, OutlivesSessionAndValue) {
  auto s = std::make_unique<Session>();
  auto t = s->eval("(reshape (arange 6 :f32) [2 3])").tensor<float>();
  s.reset();
  EXPECT_EQ(t(1, 2), 5.f);
}

TEST(Tensors, InputsAreNeverWritten) {
  Session s;
  s.eval("(defn step [w g] (- w (* 0.1 g)))\n(defn bump [w] (at-set w 9.0 0))");
  std::vector<float> w(4096, 1.f), g(4096, 2.f);
  for (int i = 0; i < 4; ++i) {  // interpreted, then compiled
    Value r = s.call("step", Value::view(w.data(), {4096}), Value::view(g.data(), {4096}));
    EXPECT_NEAR(r.tensor<float>()(5), 0.8f, 1e-6f);
    EXPECT_NE(r.tensor<float>().data(), w.data());
  }
  s.call("bump", Value::view(w.data(), {4096}));
  EXPECT_EQ(w, std::vector<float>(4096, 1.f));
  EXPECT_EQ(g, std::vector<float>(4096, 2.f));
}

// Exported memory must not change when the program continues.
TEST(Tensors, OutputsAreNeverWritten) {
  Session s;
  s.eval("(defn step [w] (- w 1.0))\n(defn run [w n] (reduce (fn [a i] (step a)) w (range n)))");
  Value first = s.call("run", s.eval("(zeros [5000])"), 3);
  auto shown = first.tensor<float>();
  for (int i = 0; i < 5; ++i)
    s.call("run", first, 3);
  for (int64_t i = 0; i < 5000; ++i)
    ASSERT_EQ(shown(i), -3.f);
}

TEST(Tensors, AnyStrides) {
  Session s;
  s.eval("(defn same [x] x)\n(defn total [x] (sum x :axis 1))");
  std::vector<double> data(24);
  std::iota(data.begin(), data.end(), 0.0);
  // Columns first; every second row; backwards.
  Value by_column = Value::view(data.data(), {6, 4}, {}, {1, 6});
  EXPECT_EQ(s.call("total", by_column).text(),
            s.eval("(sum (transpose (reshape (arange 24 :f64) [4 6])) :axis 1)").text());
  Value skipping = Value::view(data.data(), {3, 4}, {}, {8, 1});
  EXPECT_EQ(s.call("same", skipping).tensor<double>()(2, 1), 17.0);
  Value backwards = Value::view(data.data() + 23, {24}, {}, {-1});
  EXPECT_EQ(s.call("str", s.call("sum", s.call("take", backwards, 2))).as_text(),
            s.eval("(str (sum (take (flip (arange 24 :f64)) 2)))").as_text());
  auto straight = backwards.tensor<double>();
  EXPECT_EQ(straight.stride(0), 1);
  EXPECT_EQ(straight(0), 23.0);
}

template <class T>
void same_in_and_out(Session& s, const char* dtype) {
  std::array<T, 3> data{T(0), T(1), T(1)};
  Value v = Value::view(data.data(), {3});
  EXPECT_EQ(s.call("dtype", v).as_text(), dtype);
  EXPECT_EQ(v.tensor<T>().data(), data.data());
  EXPECT_EQ(s.call("sum", s.call("float", v)).text(), "2.0") << dtype;
}

TEST(Tensors, OfEveryType) {
  Session s;
  same_in_and_out<float>(s, "f32");
  same_in_and_out<double>(s, "f64");
  same_in_and_out<int32_t>(s, "i32");
  same_in_and_out<int64_t>(s, "i64");
  same_in_and_out<uint32_t>(s, "u32");
  same_in_and_out<int8_t>(s, "i8");
  same_in_and_out<uint8_t>(s, "u8");
  same_in_and_out<int16_t>(s, "i16");
  same_in_and_out<uint16_t>(s, "u16");
  same_in_and_out<bool>(s, "bool");
  EXPECT_THROW(s.eval("(ones [2])").tensor<int>(), std::bad_cast);
}

TEST(Tensors, WithoutElementsOrAxes) {
  Session s;
  float x = 7;
  EXPECT_EQ(s.call("+", Value::view(&x, {}), 1).text(), "8.0");
  auto none = s.call("shape", Value::view(static_cast<float*>(nullptr), {0, 3}));
  EXPECT_EQ(none.text(), s.eval("(shape (zeros [0 3]))").text());
}

TEST(Tensors, ThatCannotComeIn) {
  std::vector<uint64_t> data(4);
  bool released = false;
  auto release = [&] { released = true; };
  Error e = error_of([&] { Value::view(data.data(), {4}, release); });
  EXPECT_EQ(e.kind(), "argument");
  EXPECT_NE(e.message().find("uint64; its dtypes are :f32"), std::string::npos) << e.message();
  auto* odd = reinterpret_cast<float*>(reinterpret_cast<char*>(data.data()) + 1);
  EXPECT_EQ(error_of([&] { Value::view(odd, {2}, release); }).kind(), "argument");
  EXPECT_EQ(error_of([&] {
              Value::view(reinterpret_cast<float*>(data.data()), std::vector<int64_t>(40, 1), release);
            }).kind(),
            "argument");
  EXPECT_EQ(error_of([&] { Value::view(reinterpret_cast<float*>(data.data()), {-1}, release); }).kind(), "argument");
  EXPECT_FALSE(released) << "what was refused still belongs to the host";
  EXPECT_EQ(error_of([&] { Value(3).to_dlpack(); }).kind(), "argument");
}

TEST(Sessions, AreApart) {
  Session a, b;
  a.eval("(def x 1) (defn f [] x)");
  b.eval("(def x 2) (defn f [] x)");
  EXPECT_EQ(a.call("f").as_int(), 1);
  EXPECT_EQ(b.call("f").as_int(), 2);
  // Data can be passed between sessions, functions cannot.
  Value t = a.eval("(ones [2])");
  EXPECT_EQ(b.call("sum", t).text(), "2.0");
  Value f = a.lookup("f");
  EXPECT_EQ(error_of([&] { b.apply(f); }).kind(), "argument");
  EXPECT_EQ(error_of([&] { b.call("str", Value::list({1, f})); }).kind(), "argument");
  EXPECT_EQ(error_of([&] { b.call("str", Value::list({b.lookup("f"), f})); }).kind(), "argument");
  EXPECT_EQ(a.apply(Value::list({1, f})[1]).as_int(), 1);
}

TEST(Sessions, ValuesOutliveThem) {
  auto s = std::make_unique<Session>();
  Value f = s->eval("(let [k (ones [3])] (fn [x] (+ x k)))");
  Value d = s->eval("{:a (list 1 2)}");
  s.reset();
  EXPECT_EQ(d.text(), "{:a [1, 2]}");
  Session other;
  EXPECT_EQ(error_of([&] { other.apply(f, 1); }).kind(), "argument");
}

TEST(Threads, OneSessionServesOneAtATime) {
  Session s;
  s.eval("(def n (atom 0)) (defn count-up [] (do (reset! n (+ (deref n) 1)) nil))");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i)
        s.call("count-up");
    });
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(s.eval("(deref n)").as_int(), 400);
}

TEST(Threads, SessionsRunSideBySide) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&right, t] {
      for (int round = 0; round < 3; ++round) {
        Session s;
        s.eval("(defn loss [w x] (mean (** (@ x w) 2)))");
        s.eval("(defn step [w x] (- w (* 0.1 ((grad (fn [v] (loss v x))) w))))");
        std::vector<float> x(64 * 8, 0.5f), w(8, static_cast<float>(t + 1));
        Value weights = Value::view(w.data(), {8});
        Value data = Value::view(x.data(), {64, 8});
        for (int i = 0; i < 6; ++i)
          weights = s.call("step", weights, data);
        // The same step in doubles.
        double v = t + 1;
        for (int i = 0; i < 6; ++i)
          v -= 0.1 * (2 * 0.5 * 8 * 0.5 * v);
        if (std::abs(weights.tensor<float>()(3) - v) < 1e-4) ++right;
      }
    });
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(right, 12);
}

TEST(Threads, CanBeInterrupted) {
  Session s;
  std::atomic<bool> done{false};
  std::thread stopper([&] {
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      s.interrupt();
    }
  });
  Error e = error_of([&] { s.eval("(loop [i 0] (recur (+ i 1)))"); });
  EXPECT_EQ(e.message(), "Interrupted");
  done = true;
  stopper.join();
}

}  // namespace
