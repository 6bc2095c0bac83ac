// `sheaf explain`: runs a program and reports how each of its functions ran, and why.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "builtins/host/output.h"
#include "builtins/host/process.h"
#include "eval/session.h"
#include "support/mutex.h"
#include "tools/commands.h"
#include "tools/read_file.h"
#include "tools/terminal.h"
#include "tools/watch.h"
#include "trace/jit.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::tools {
namespace {

// Adds the types of arguments, as far as they fit: "f32[4 8], {:w f32[8 2] :b f32[2]}, 3".
void add_types(const Value& v, std::string& out) {
  constexpr size_t kEnough = 120;
  if (out.size() > kEnough) return;
  switch (v.tag()) {
    case Tag::Tensor: {
      const Tensor& t = v.as_tensor();
      out += name_of(t.dtype);
      out += '[';
      for (int i = 0; i < t.rank(); ++i)
        out += fmt::format("{}{}", i ? " " : "", t.sizes[i]);
      out += ']';
      return;
    }
    case Tag::List:
    case Tag::Tuple: {
      out += '(';
      const char* between = "";
      for (const Value& x : v.items()) {
        out += between;
        between = " ";
        add_types(x, out);
        if (out.size() > kEnough) return;
      }
      out += ')';
      return;
    }
    case Tag::Dict: {
      out += '{';
      const char* between = "";
      for (const DictEntry& e : v.as_dict().entries()) {
        out += fmt::format("{}:{} ", between, e.key.str());
        between = " ";
        add_types(e.value, out);
        if (out.size() > kEnough) return;
      }
      out += '}';
      return;
    }
    case Tag::Int: out += "int"; return;
    case Tag::Float: out += "float"; return;
    default: out += type_name(v); return;
  }
}

std::string types_text(std::span<const Value> args) {
  std::string out;
  for (const Value& v : args) {
    if (!out.empty()) out += ", ";
    add_types(v, out);
  }
  return out;
}

// Counts the calls of each function, and keeps the arguments of the last one.
class CallCounter final : public eval::CallObserver {
 public:
  CallCounter() : CallObserver(false) {}
  void enter(eval::Callee, std::string_view name, std::span<const Value> args) override {
    add(name, 1);
    std::string types = types_text(args);
    MutexLock lock(mu_);
    last_types_[std::string(name)] = std::move(types);
  }
  void leave(eval::Callee, std::string_view, const Value&) override {}
  void unwind(eval::Callee, std::string_view) override {}
  void cancel(eval::Callee, std::string_view name) override { add(name, -1); }
  std::map<std::string, int64_t> calls() {
    MutexLock lock(mu_);
    return calls_;
  }
  std::string last_types(const std::string& name) {
    MutexLock lock(mu_);
    return last_types_[name];
  }

 private:
  void add(std::string_view name, int64_t n) {
    MutexLock lock(mu_);
    calls_[std::string(name)] += n;
  }
  Mutex mu_;
  std::map<std::string, int64_t> calls_ GUARDED_BY(mu_);
  std::map<std::string, std::string> last_types_ GUARDED_BY(mu_);
};

struct Story {
  std::vector<std::string> variants;  // the arguments that each was compiled for
  std::set<std::string> reasons;      // for not compiling
};

constexpr size_t kShownVariants = 8;

// Why a function without an event from the tracer was interpreted.
std::string silent_reason(int64_t calls) {
  if (!trace::g_jit_enabled) return "compiling is switched off";
  if (calls == 1) return "called once; code is made at the second call with the same types";
  return "no second call with the same types and sizes, outside of gradients and of what is compiled already";
}

std::string line(const std::string& name, int64_t calls, const Story& s, const std::string& at) {
  size_t n = s.variants.size();
  std::string how = n ? fmt::format("compiled ({} variant{})", n, n == 1 ? "" : "s") : "interpreted";
  std::string count =
      calls ? fmt::format("{:>8} calls", calls) : "";  // calls of a function without a name are not counted
  std::string out = fmt::format("  {:<30} {:<14}  {:<24} {}\n", name, count, how, at);
  for (size_t i = 0; i < std::min(n, kShownVariants); ++i) {
    bool same = i > 0 && std::find(s.variants.begin(), s.variants.begin() + static_cast<long>(i), s.variants[i]) !=
                             s.variants.begin() + static_cast<long>(i);
    if (s.variants[i].empty()) continue;  // a gradient has no arguments of its own
    const char* why = i == 0 ? ""
                      : same ? "  (a number or function it depends on has changed)"
                             : "  (other types or sizes)";
    out += fmt::format("  {:<30}   {} {}{}\n", "", i == 0 ? "compiled for" : "recompiled for", s.variants[i], why);
  }
  for (const std::string& r : s.reasons)
    out += fmt::format("  {:<30}   not compiled: {}\n", "", r);
  if (n == 0 && s.reasons.empty()) out += fmt::format("  {:<30}   not compiled: {}\n", "", silent_reason(calls));
  return out;
}

}  // namespace

int run_explain(const Options& o) {
  if (o.words.empty()) throw UsageError("explain requires a file");
  if (!check_readable(o.words[0])) return 1;
  builtins::set_program_args({o.words.begin() + 1, o.words.end()});
  Watch watch(o);
  CallCounter counter;
  std::map<std::string, Story> stories;
  trace::set_jit_listener([&](const trace::JitEvent& e) {
    if (e.outcome == trace::JitOutcome::Compiled)
      stories[e.function].variants.push_back(counter.last_types(e.function));
    else
      stories[e.function].reasons.insert(e.reason + (e.span ? " at " + place(e.span) : ""));
  });
  eval::g_observer = &counter;
  int status = 0;
  try {
    eval::Session session;
    try {
      session.run_file(o.words[0]);
    } catch (...) {
      status = watch.report_exception();
    }
    eval::g_observer = nullptr;
    std::string out = "How the functions ran (what compiled functions call is part of them):\n";
    std::map<std::string, int64_t> calls = counter.calls();
    for (const auto& [name, story] : stories)
      calls.emplace(name, 0);
    std::string of_library;  // shown after the program's own
    for (const auto& [name, n] : calls) {
      if (n <= 0 && !stories.count(name)) continue;
      eval::Cell* cell = session.globals().find_user(Name(name));
      bool own = cell && cell->user_defined;
      (own ? out : of_library) += line(name, n, stories[name], own ? place(cell->defined_at) : "library");
    }
    builtins::write_out(out + of_library);
    builtins::flush_out();
  } catch (...) {
    status = watch.report_exception();
  }
  eval::g_observer = nullptr;
  return status;
}

}  // namespace sheaf::tools
